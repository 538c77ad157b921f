"""What the offline engine measures, what names of labels mean, who is who among the inputs; advice moves nothing."""

import dspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.engines.adapters import adapter
from jurist.engines.draws import TypedRequest
from jurist.engines.offline.features import NAMES, Scene, read_units
from jurist.engines.offline.labels import meanings
from jurist.engines.offline.proposer import BANK, Advice
from jurist.engines.offline.request import assign_roles, read_request

CALL = """Agent: Hello, this is Dana. How can I help?
Customer: My router stopped working after the storm. I want a replacement.
Agent: You sound frustrated. We can send a new router on 14 May at no charge.
Customer: That would be great, thank you."""
MILL = "The mill closed in 1911."


@pytest.mark.parametrize(
    ("evidence", "unit", "feature", "low", "high"),
    [
        (MILL, MILL, "cov_all", 1.0, 1.0),
        (MILL, "Dragons sleep.", "cov_all", 0.0, 0.0),
        (MILL, "The mill closed in 1912.", "number_missing", 1.0, 1.0),
        ("Nine carts came.", "There were 9 carts.", "number_missing", 0.0, 0.0),
        ("The mill was built by Anna Holt.", "It was built by Bela Kun.", "name_missing", 1.0, 1.0),
        ("The request was approved.", "The request was not approved.", "negation_gap", 0.5, 1.0),
        ("Prices will rise.", "Prices will fall.", "antonym", 0.3, 1.0),
        ("The mill closed in 1911 after a flood.", "The mill closed in 1912 after a flood.", "changed", 1, 1),
        ("Rain fell. Ann met Tom in Rome.", "Rain fell. Ann met Tom in Oslo.", "changed", 0.9, 1.0),
        (MILL, "A school opened in Oslo in 1912.", "changed", 0.0, 0.0),
        ("A mill.", "A truly magnificent, legendary mill.", "evaluative", 0.5, 1.0),
        ("A mill.", "It may perhaps be a mill.", "hedge", 0.5, 1.0),
        ("A mill.", "Is it a mill?", "question", 1.0, 1.0),
        ("A mill.", "Certainly! Great question.", "filler", 0.9, 1.0),
        ("价格上升了3元。", "价格上升了5元。", "number_missing", 1.0, 1.0),
        ("博物馆周一闭馆。", "博物馆周一闭馆。", "cov_all", 1.0, 1.0),
        (CALL, "The customer wants a replacement router.", "other_side", 0.0, 0.1),
        (CALL, "The customer can get it at no charge on 14 May.", "other_side", 0.3, 1.0),
        (CALL, "The customer called due to a billing mistake.", "cause_missing", 1.0, 1.0),
        (CALL, "The customer felt frustrated.", "mood_missing", 1.0, 1.0),
    ],
)
def test_features_say_what_they_are_named_for(
    evidence: str, unit: str, feature: str, low: float, high: float
) -> None:
    row = read_units(Scene(evidence=evidence, units=(unit,))).matrix[0]
    assert low - 1e-9 <= row[NAMES.index(feature)] <= high + 1e-9


@settings(max_examples=30)
@given(st.text(max_size=200), st.lists(st.text(max_size=80), min_size=1, max_size=4))
def test_features_are_finite_and_bounded(evidence: str, units: list[str]) -> None:
    matrix = read_units(Scene(evidence=evidence, units=tuple(units))).matrix
    assert matrix.shape == (len(units), len(NAMES))
    assert np.isfinite(matrix).all()
    assert np.abs(matrix).max(initial=0.0) <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ("labels", "field", "instruction", "groups"),
    [
        ("True False", "factual", "", "supported unsupported"),
        ("True False", "hallucinated", "", "unsupported supported"),
        ("True False", "has_error", "", "unsupported supported"),
        ("True False", "anything", "", "supported unsupported"),
        ("yes no", "is_hallucination", "", "unsupported supported"),
        ("yes no uncertain", "hallucinated", "", "unsupported supported unknown"),
        ("yes no uncertain", "correct", "", "supported unsupported unknown"),
        (
            "red blue",
            "verdict",
            "Answer red if the evidence supports the claim, blue if it does not support it.",
            "supported unsupported",
        ),
        ("red blue", "verdict", "Choose.", "unknown unknown"),
    ],
)
def test_what_a_label_means_follows_from_its_field_and_its_definition(
    labels: str, field: str, instruction: str, groups: str
) -> None:
    found = meanings(tuple(labels.split()), field, instruction)
    assert [one.group for one in found] == groups.split()


@pytest.mark.parametrize("advice", BANK, ids=lambda advice: advice.english[:30])
def test_what_is_proposed_stages_nothing(advice: Advice) -> None:
    from jurist.engines.offline import OfflineEngine

    claim = "The customer wants a new router after the storm because of a guarantee."
    lm = dspy.LM("jurist/offline", engine=OfflineEngine(), cache=False)
    signature = dspy.Signature("conversation, claim -> factual: bool, reasoning: str")
    with dspy.context(lm=lm, adapter=adapter("chat")):
        answers = [
            dspy.Predict(signature.with_instructions(f"Decide. {text}"))(conversation=CALL, claim=claim)
            for text in ("", advice.english, advice.chinese)
        ]
    assert answers[0].toDict() == answers[1].toDict() == answers[2].toDict()


@pytest.mark.parametrize(
    ("values", "evidence", "judged", "context"),
    [
        ({"reference": "r", "dialogue": "d", "sentences": "1. s"}, ["reference"], "sentences", ["dialogue"]),
        ({"conversation": "c", "claim": "x"}, ["conversation"], "claim", []),
        ({"question": "q", "knowledge": "k", "answer": "a"}, ["knowledge"], "answer", ["question"]),
        ({"document": "d", "context": "c", "summary": "s"}, ["document"], "summary", ["context"]),
        ({"query": "q", "constraints": "1. a", "response": "long"}, ["response"], "constraints", ["query"]),
        ({"policy": "p", "reply": "r"}, ["policy"], "reply", []),
        ({"alpha": "a long text", "beta": "b"}, ["alpha"], "beta", []),
        ({"only": "text"}, [], "only", []),
    ],
)
def test_roles_follow_names_then_fallbacks(
    values: dict[str, str], evidence: list[str], judged: str, context: list[str]
) -> None:
    signature = dspy.Signature(f"{', '.join(values)} -> flags: list[bool]")
    request = TypedRequest(adapter=adapter("chat"), signature=signature, demos=(), inputs=values)
    roles = assign_roles(read_request(request))
    assert (list(roles.evidence), roles.judged, list(roles.context)) == (evidence, judged, context)
