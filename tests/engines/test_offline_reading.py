"""What the offline engine measures, what names of labels mean, who is who among the inputs; advice moves nothing."""

import dspy
import numpy as np
import pytest
from asking import offline
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.engines.offline.features import NAMES, CaseTexts, measure_case
from jurist.engines.offline.labels import meanings
from jurist.engines.offline.proposals import BANK, Advice

CALL = """Agent: Hello, this is Dana. How can I help?
Customer: My router stopped working after the storm. I want a replacement.
Agent: You sound frustrated. We can send a new router on 14 May at no charge.
Customer: That would be great, thank you."""


@settings(max_examples=30)
@given(st.text(max_size=200), st.lists(st.text(max_size=80), min_size=1, max_size=4))
def test_features_are_finite_and_bounded(evidence: str, units: list[str]) -> None:
    matrix = np.array(measure_case(CaseTexts(evidence=evidence, units=tuple(units))).matrix)
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
def test_what_a_label_means_is_in_its_field(labels: str, field: str, instruction: str, groups: str) -> None:
    found = meanings(tuple(labels.split()), field, instruction)
    assert [one.group for one in found] == groups.split()


@pytest.mark.parametrize("advice", BANK, ids=lambda advice: advice.english[:30])
def test_what_is_proposed_stages_nothing(advice: Advice) -> None:
    claim = "The customer wants a new router after the storm because of a guarantee."
    signature = dspy.Signature("conversation, claim -> factual: bool, reasoning: str")
    answers = [
        offline(signature.with_instructions(f"Decide. {text}"), conversation=CALL, claim=claim)
        for text in ("", advice.english, advice.chinese)
    ]
    assert answers[0].toDict() == answers[1].toDict() == answers[2].toDict()
