"""What the offline engine measures, what instructions move, and how it samples."""

import random
from collections import Counter
from typing import Any, Literal

import dspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.engines.adapters import adapter
from jurist.engines.offline import OfflineEngine
from jurist.engines.offline.features import GROUPS, NAMES, Scene, read_units
from jurist.engines.offline.labels import (
    AXES,
    BANK,
    BIAS,
    DIRECTIONS,
    active,
    meaning_of,
    meanings,
    prior_weights,
)
from jurist.engines.offline.learning import fit, softmax
from jurist.text.lexicons import hits
from jurist.text.terms import neutralise, numbers, sentences, shorten, stem, terms

CALL = """Agent: Hello, this is Dana. How can I help?
Customer: My router stopped working after the storm. I want a replacement.
Agent: You sound frustrated. We can send a new router on 14 May at no charge.
Customer: That would be great, thank you."""


def measure(evidence: str, *units: str, ask: str = "", history: str = "") -> list[dict[str, float]]:
    matrix = read_units(Scene(evidence=evidence, units=units, ask=ask, history=history)).matrix
    return [dict(zip(NAMES, map(float, row), strict=True)) for row in matrix]


class Check(dspy.Signature):
    """Decide."""

    conversation: str = dspy.InputField()
    claim: str = dspy.InputField()
    reasoning: str = dspy.OutputField()
    factual: bool = dspy.OutputField()


def judge(
    claim: str, instruction: str = "Decide.", *, evidence: str = CALL, seed: int = 0, **config: Any
) -> Any:
    program = dspy.Predict(Check.with_instructions(instruction))
    with dspy.context(
        lm=dspy.LM("jurist/offline", engine=OfflineEngine(seed), cache=False), adapter=adapter("chat")
    ):
        return program(conversation=evidence, claim=claim, config=config)


@pytest.mark.parametrize(
    ("evidence", "unit", "feature", "low", "high"),
    [
        ("The mill closed in 1911.", "The mill closed in 1911.", "cov_all", 1.0, 1.0),
        ("The mill closed in 1911.", "Dragons sleep.", "cov_all", 0.0, 0.0),
        ("The mill closed in 1911.", "The mill closed in 1912.", "number_missing", 1.0, 1.0),
        ("Nine carts came.", "There were 9 carts.", "number_missing", 0.0, 0.0),
        ("The mill was built by Anna Holt.", "It was built by Bela Kun.", "name_missing", 1.0, 1.0),
        ("The request was approved.", "The request was not approved.", "negation_gap", 0.5, 1.0),
        ("Prices will rise.", "Prices will fall.", "antonym", 0.3, 1.0),
        (
            "The mill closed in 1911 after a flood.",
            "The mill closed in 1912 after a flood.",
            "changed",
            1.0,
            1.0,
        ),
        ("Rain fell. Ann met Tom in Rome.", "Rain fell. Ann met Tom in Oslo.", "changed", 0.9, 1.0),
        ("The mill closed in 1911.", "A school opened in Oslo in 1912.", "changed", 0.0, 0.0),
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
    assert low - 1e-9 <= measure(evidence, unit)[0][feature] <= high + 1e-9


def test_directions_and_shifts_name_existing_axes_and_features() -> None:
    columns = {*NAMES, BIAS}
    assert set(DIRECTIONS) == set(AXES)
    assert all(set(table) <= columns for table in DIRECTIONS.values())
    assert all(a in AXES and n in columns for c in BANK for a, n in (s.split(".") for s in c.shifts))
    assert len({c.name for c in BANK}) == len(BANK) >= 25
    assert [n for group in GROUPS.values() for n in group] == list(NAMES)


@pytest.mark.parametrize("criterion", BANK, ids=lambda c: c.name)
def test_each_criterion_recognises_its_own_sentences(criterion: Any) -> None:
    assert dict(active(criterion.english)).get(criterion.name) == 1
    assert dict(active(criterion.chinese)).get(criterion.name) == 1


@pytest.mark.parametrize("criterion", [c for c in BANK if c.fixes], ids=lambda c: c.name)
def test_each_criterion_moves_support_the_documented_way(criterion: Any) -> None:
    known = meanings(("supported", "unsupported"), "verdict", "")
    units = (
        "The customer felt frustrated because the store may be the largest, according to Bela on 3 June.",
        "The agent did not offer a great deal, which shows its importance. Overall, it should help.",
    )
    matrix = read_units(Scene(evidence=CALL, units=units)).matrix
    x = np.hstack([matrix, np.ones((2, 1))])
    moved = prior_weights(known, criterion.english) - prior_weights(known)
    change = float((x @ moved.T)[:, 0].sum())
    assert change < 0 if criterion.fixes == "over" else change > 0


@pytest.mark.parametrize(
    ("instruction", "name", "sign"),
    [
        ("Be strict.", "strict", 1),
        ("Do not be strict.", "strict", -1),
        ("There is no need to check numbers.", "numbers", -1),
        ("The exact dates matter.", "numbers", 1),
        ("Wrong if anything in it is not supported.", "one-detail", 1),
        ("不要求逐一核对数字。", "numbers", -1),
        ("Mild praise is fine; ignore style and tone.", "praise-ok", 1),
    ],
)
def test_cues_in_other_words_and_negated(instruction: str, name: str, sign: int) -> None:
    assert dict(active(instruction)).get(name) == sign


def test_an_instruction_changes_an_answer_in_the_documented_direction() -> None:
    claim = "The customer wants a new router after the storm because of a guarantee."
    verdicts = [
        judge(claim, text).factual
        for text in ("Decide. Be lenient.", "Decide. Be strict. A cause must be stated.")
    ]
    assert verdicts == [True, False]


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("faithful", "supported"), ("unfaithful", "unsupported"), ("non_factual", "unsupported"),
        ("True", "supported"),
        ("not supported", "unsupported"), ("hallucinated", "unsupported"), ("irrelevant", "offtopic"),
        ("inconsistent", "unsupported"), ("misleading", "unsupported"), ("speculative", "unsupported"),
        ("reliable", "supported"), ("irrefutable", "supported"), ("rational", "supported"),
        ("不支持", "unsupported"),
        ("支持", "supported"), ("purple", "unknown"),
    ],
)  # fmt: skip
def test_label_names_are_understood(name: str, group: str) -> None:
    assert meaning_of(name).group == group


@pytest.mark.parametrize(
    ("labels", "field", "groups"),
    [
        (("True", "False"), "factual", ["supported", "unsupported"]),
        (("True", "False"), "hallucinated", ["unsupported", "supported"]),
        (("True", "False"), "has_error", ["unsupported", "supported"]),
        (("True", "False"), "anything", ["supported", "unsupported"]),
        (("yes", "no"), "is_hallucination", ["unsupported", "supported"]),
        (("yes", "no", "uncertain"), "hallucinated", ["unsupported", "supported", "unknown"]),
        (("yes", "no", "uncertain"), "correct", ["supported", "unsupported", "unknown"]),
    ],
)
def test_a_boolean_means_what_its_field_is_called(
    labels: tuple[str, ...], field: str, groups: list[str]
) -> None:
    assert [m.group for m in meanings(labels, field, "")] == groups


def test_unknown_labels_are_read_from_their_definition() -> None:
    text = "Answer red if the evidence supports the claim, blue if it does not support it."
    assert [m.group for m in meanings(("red", "blue"), "verdict", text)] == ["supported", "unsupported"]
    assert [m.group for m in meanings(("red", "blue"), "verdict", "Choose.")] == ["unknown", "unknown"]


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(4, 40))
def test_learning_lowers_the_loss_on_its_examples(seed: int, labels: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.hstack([rng.random((count, 5)), np.ones((count, 1))])
    gold = np.arange(count, dtype=np.int64) % labels
    prior = rng.normal(size=(labels, 6))
    weights = fit(x, gold, np.ones(count), prior, tuple(str(i % 2) for i in range(labels)))

    def loss(w: Any) -> float:
        each = -np.log(softmax(x @ w.T)[np.arange(count), gold])
        return float(np.mean([each[gold == label].mean() for label in range(labels)]))

    assert np.isfinite(weights).all()
    assert loss(weights) < loss(prior) + 1e-6


def test_temperature_zero_ignores_seeds_and_above_zero_they_matter() -> None:
    claim = "The customer wants a discount on the router."
    assert len({judge(claim, seed=s, temperature=0.0).factual for s in range(8)}) == 1
    draws = [judge(claim, temperature=2.0, seed=0, **{}).factual for _ in range(3)]
    assert len(set(draws)) == 1  # the same request is the same draw


def test_draws_follow_the_request_seed_and_the_temperature() -> None:
    claim = "The customer wants a replacement due to the warranty."
    program = dspy.Predict(Check)

    def draw(temperature: float) -> Counter[bool]:
        with dspy.context(
            lm=dspy.LM("jurist/offline", engine=OfflineEngine(), cache=False, temperature=temperature),
            adapter=adapter("chat"),
        ):
            return Counter(
                program(conversation=CALL, claim=claim, config={"seed": s}).factual for s in range(60)
            )

    hot, cold = draw(2.0), draw(0.05)
    assert len(hot) == 2
    assert max(cold.values()) > max(hot.values())
    assert hot == draw(2.0)


def test_per_sentence_labels_cover_every_unit() -> None:
    class Label(dspy.Signature):
        """Label."""

        reference: str = dspy.InputField()
        sentences: str = dspy.InputField()
        labels: list[Literal["faithful", "invented", "irrelevant"]] = dspy.OutputField()

    text = "\n".join(f"{i}. sentence number {i}: 1. inner" for i in range(1, 31))
    lm = dspy.LM("jurist/offline", engine=OfflineEngine(), cache=False)
    with dspy.context(lm=lm, adapter=adapter("chat")):
        answer = dspy.Predict(Label)(reference="x", sentences=text)
    assert len(answer["labels"]) == 30


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("contribution", "contribute"),
        ("created", "creation"),
        ("stories", "story"),
        ("running", "runs"),
        ("boxes", "box"),
    ],
)
def test_stems_meet(word: str, other: str) -> None:
    assert stem(word) == stem(other)


@settings(max_examples=100)
@given(st.text(max_size=300))
def test_text_functions_take_any_text(text: str) -> None:
    assert all(terms(text))
    assert all(piece.strip() for piece in sentences(text))
    assert all(digits for digits in numbers(text))
    assert len(shorten(text, 20)) <= 20
    assert "[[ ##" not in neutralise(text)
    assert hits("hedge", text.lower()) >= 0


@settings(max_examples=30)
@given(st.text(max_size=200), st.lists(st.text(max_size=80), min_size=1, max_size=4))
def test_features_are_finite_and_bounded(evidence: str, units: list[str]) -> None:
    matrix = read_units(Scene(evidence=evidence, units=tuple(units))).matrix
    assert matrix.shape == (len(units), len(NAMES))
    assert np.isfinite(matrix).all()
    assert np.abs(matrix).max(initial=0.0) <= 1.0 + 1e-9


def test_the_same_words_in_another_order_of_calls_give_the_same_numbers() -> None:
    scenes = [Scene(evidence=CALL, units=(f"The customer said {i} things.",)) for i in range(20)]
    before = [read_units(s).matrix.tolist() for s in scenes]
    random.Random(1).shuffle(scenes)
    after = {s.units: read_units(s).matrix.tolist() for s in scenes}
    assert [after[(f"The customer said {i} things.",)] for i in range(20)] == before


@pytest.mark.parametrize(
    ("fields", "evidence", "judged", "context"),
    [
        (
            {"reference": "r", "dialogue": "d", "sentences": "1. s"},
            ("reference",),
            "sentences",
            ("dialogue",),
        ),
        ({"conversation": "c", "claim": "x"}, ("conversation",), "claim", ()),
        ({"question": "q", "knowledge": "k", "answer": "a"}, ("knowledge",), "answer", ("question",)),
        ({"document": "d", "context": "c", "summary": "s"}, ("document",), "summary", ("context",)),
        (
            {"query": "q", "constraints": "1. a", "response": "long text"},
            ("response",),
            "constraints",
            ("query",),
        ),
        ({"policy": "p", "reply": "r"}, ("policy",), "reply", ()),
        ({"alpha": "a long text", "beta": "b"}, ("alpha",), "beta", ()),
        ({"only": "text"}, (), "only", ()),
    ],
)
def test_roles_follow_names_then_fallbacks(
    fields: dict[str, str], evidence: tuple[str, ...], judged: str, context: tuple[str, ...]
) -> None:
    from jurist.engines.offline.request import Ask, Field, Shape, assign_roles

    def field(name: str, kind: Any = "text") -> Field:
        return Field(name=name, description="", shape=Shape(kind=kind))

    ask = Ask(
        inputs=tuple(field(name) for name in fields),
        outputs=(field("flags", "bools"),),
        instruction="",
        demos=(),
        values=fields,
    )
    roles = assign_roles(ask)
    assert (roles.evidence, roles.judged, roles.context) == (evidence, judged, context)
