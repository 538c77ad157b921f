"""The proof: one test of the judge's own metric, over basic and over a constant; it never rewards silence."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measures import interval

from jurist.errors import UsageError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.clustered_t import ClusteredT
from jurist.evaluation.paired import ProofOutcome
from jurist.evaluation.permutation import permute
from jurist.evaluation.proof import Proof, level_of, prove_improvement
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.units import encode

SIDED = ClosedLabels("ab", {"a"})


def rows_of(answers: Sequence[str], *, gold: str = "ab") -> list[JudgedRow]:
    """Return a group for each string; gold repeats ``gold``; '+' right, 'x' wrong, '-' abstained, '!' failed case."""
    wrong = {"a": "b", "b": "a"}
    rows = []
    for place, marks in enumerate(answers):
        labels = tuple((gold * len(marks))[: len(marks)])
        predicted = []
        for label, mark in zip(labels, marks, strict=True):
            predicted.append({"+": label, "x": wrong[label]}.get(mark))
        rows.append(
            JudgedRow(
                id=f"c{place}",
                group=f"g{place}",
                gold=labels,
                predicted=tuple(predicted),
                failed="!" in marks,
            )
        )
    return rows


@pytest.mark.parametrize(
    ("basic", "compiled", "expected"),
    [
        (["xx+x"] * 20, ["++++"] * 20, "better"),
        (["++++"] * 20, ["xx+x"] * 20, "worse"),
        (["xx++"] * 20, ["xx++"] * 20, "not shown to be better"),
        # Four groups corrected, none broken: p = 0.0625.
        (["+x"] * 4 + ["++"] * 8, ["++"] * 12, "not shown to be better"),
        # One long case corrected, nine short ones broken.
        (["x" * 60] + ["++"] * 9, ["+" * 60] + ["+x"] * 9, "not shown to be better"),
        (["+" * 60] + ["+x"] * 9, ["x" * 60] + ["++"] * 9, "not shown to be better"),
        # One group in six is lost: 40 units corrected and 8 broken are six groups.
        (["x" * 8] * 5 + ["+" * 8], ["+" * 8] * 5 + ["x" * 8], "not shown to be better"),
        # One group only, all corrected.
        (["x" * 60], ["+" * 60], "not shown to be better"),
        # Silence is wrong: answering nothing does not beat errors, and being silent on them gains nothing.
        (["+x+x"] * 20, ["----"] * 20, "worse"),
        (["+x+x"] * 20, ["+-+-"] * 20, "not shown to be better"),
        (["++++"] * 20, ["!!!!"] * 20, "worse"),
        (["----"] * 20, ["++++"] * 20, "better"),
    ],
)
def test_verdicts(basic: Sequence[str], compiled: Sequence[str], expected: ProofOutcome) -> None:
    decision = prove_improvement(rows_of(basic), rows_of(compiled), "f1", SIDED).decision
    assert decision.verdict == expected


@pytest.mark.parametrize(
    ("basic", "compiled", "metric", "expected"),
    [
        # Gold is nine b to one a. Giving up on a raises accuracy and lowers recall.
        ("+" + "x" * 3 + "+" * 6, "x" + "+" * 9, "accuracy", "better"),
        ("+" + "x" * 3 + "+" * 6, "x" + "+" * 9, "recall", "worse"),
        # Calling nearly everything a raises recall, though most units are wrong then.
        ("x" + "+" * 9, "+" + "x" * 9, "recall", "better"),
        ("x" + "+" * 9, "+" + "x" * 9, "accuracy", "worse"),
    ],
)
def test_the_judges_own_metric_decides_alone(basic: str, compiled: str, metric: str, expected: str) -> None:
    basic_rows = rows_of([basic] * 20, gold="abbbbbbbbb")
    compiled_rows = rows_of([compiled] * 20, gold="abbbbbbbbb")
    assert prove_improvement(basic_rows, compiled_rows, metric, SIDED).decision.verdict == expected


@pytest.mark.parametrize(
    ("compiled", "verdict", "words"),
    [
        ("+++++", "better", "the best constant answer, always 'b', has 0.800: compiled is better than that"),
        ("x++++", "not shown to be better", "better than basic, but not shown to be better than a constant"),
        ("+xx++", "not shown to be better", "better than basic, but worse than a constant answer"),
        (
            "xxxxx",
            "not shown to be better",
            "not shown to be better, and worse than a constant answer: accuracy 0",
        ),
    ],
)
def test_a_constant_answer_must_be_beaten_too(compiled: str, verdict: str, words: str) -> None:
    gold = "abbbb"
    basic_rows = rows_of(["xxxxx"] * 20, gold=gold)
    compiled_rows = rows_of([compiled] * 20, gold=gold)
    constant_rows = [replace(row, predicted=("b",) * 5) for row in basic_rows]
    decision = prove_improvement(
        basic_rows, compiled_rows, "accuracy", SIDED, constant=("always 'b'", constant_rows)
    ).decision
    assert decision.verdict == verdict
    assert words in decision.words
    card = decision.to_card()["constant"]
    assert (card["answer"], card["value"], card["better"]) == ("always 'b'", 0.8, verdict == "better")


BASIC = rows_of(["+x+-", "!!", "x"] * 5)
COMPILED = rows_of(["+x++", "+x", "+"] * 5)


@pytest.fixture
def proof() -> Proof:
    return prove_improvement(BASIC, COMPILED, "f1", SIDED, seed=3)


def test_the_decision_is_made_of_the_public_tests(proof: Proof) -> None:
    decision = proof.to_card()["decision"]
    test = ClusteredT.of(encode(SIDED, BASIC, COMPILED), SIDED.metrics["f1"])
    expected = {
        "low": test.gains.bound(0.025),
        "high": min(1.0, -test.losses.bound(0.025)),
        "p": test.better,
        "test": "the one-sided t-test over groups, with a pair of units added in each class",
        "tested": 0.025,
        "level": 0.95,
        "b": 0,
        "c": 15,
        "units": 35,
        "cases": 15,
        "groups": 15,
        "verdict": "better",
        "constant": None,
    }
    assert {name: decision[name] for name in expected} == expected
    assert decision["difference"] == pytest.approx(test.difference)


def test_the_scores_of_the_proof_have_their_intervals(proof: Proof) -> None:
    ends = interval(BASIC, "kappa", SIDED)
    card = proof.to_card()["scores"]["basic"]["kappa"]
    assert (card["low"], card["high"]) == (ends.low, ends.high)


@pytest.mark.parametrize(
    ("p", "openings", "words"),
    [
        (1 / 10_001, 1, "less than 1 time in 10,000"),  # the least p that the test gives
        (1 / 10_000, 1, "at most 1 time in 10,000"),
        (1 / 3_980, 1, "at most 1 time in 3,900"),
        (1 / 40.9, 1, "at most 1 time in 40"),
        (0.0251, 1, "at most 1 time in 39"),
        (1 / 1_290, 6, "at most 1 time in 1,280"),  # below the limit of a sixth opening, and the words say so
        (1 / 1_270, 6, "at most 1 time in 1,200"),
        (0.253, 1, "at most 1 time in 3"),
        (0.5, 1, "at most 1 time in 2"),
        (0.6341, 1, "at most 64% of the time"),
        (1.0, 1, "at most 100% of the time"),
    ],
)
def test_the_words_for_luck_bound_its_probability(proof: Proof, p: float, openings: int, words: str) -> None:
    assert replace(proof.decision, tested=level_of(0.05, openings)).luck_words(p) == words


DECISION = prove_improvement(BASIC, COMPILED, "f1", SIDED).decision


@given(p=st.floats(min_value=1 / 10_001, max_value=1.0), openings=st.integers(1, 12))
def test_luck_is_never_said_to_be_rarer_than_its_p(p: float, openings: int) -> None:
    words = replace(DECISION, tested=level_of(0.05, openings)).luck_words(p)
    percent = re.search(r"(\d+)%", words)
    times = re.search(r"in ([\d,]+)", words)
    if percent:
        bound = int(percent[1]) / 100
    else:
        assert times
        bound = 1 / int(times[1].replace(",", ""))
    assert p <= bound * (1 + 1e-6)


def test_random_swaps_have_a_least_p_and_all_swaps_have_none() -> None:
    few = permute(encode(SIDED, *SEVEN_CORRECTED), SIDED.metrics["f1"], seed=0)
    many = permute(encode(SIDED, rows_of(["+x"] * 30), rows_of(["++"] * 30)), SIDED.metrics["f1"], seed=0)
    assert (few.exact, few.least_p) == (True, 0.0)
    assert (many.exact, many.least_p) == (False, many.better)


SEVEN_CORRECTED = rows_of(["+x"] * 7 + ["++"] * 5), rows_of(["++"] * 12)


def test_the_levels_of_all_openings_add_up_to_alpha() -> None:
    levels = [level_of(0.05, opening) for opening in range(1, 2000)]
    assert levels[:3] == [0.025, 0.0125, 0.00625]
    assert min(levels) > 0.0
    assert sum(levels) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("openings", "alpha", "verdict"),
    [(1, 0.05, "better"), (3, 0.05, "not shown to be better"), (1, 0.01, "not shown to be better")],
)
def test_a_later_opening_and_a_lower_alpha_ask_for_more(openings: int, alpha: float, verdict: str) -> None:
    basic, compiled = SEVEN_CORRECTED
    result = prove_improvement(basic, compiled, "accuracy", SIDED, openings=openings, alpha=alpha)
    assert result.decision.verdict == verdict


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, float("nan")])
def test_an_alpha_that_is_no_level_is_refused(alpha: float) -> None:
    basic, compiled = SEVEN_CORRECTED
    with pytest.raises(UsageError, match="alpha"):
        prove_improvement(basic, compiled, "accuracy", SIDED, alpha=alpha)


def test_the_proof_depends_on_rows_and_seed_only(proof: Proof) -> None:
    reordered = prove_improvement(BASIC[::-1], COMPILED, "f1", SIDED, seed=3)
    assert json.dumps(reordered.to_card()) == json.dumps(proof.to_card())


@pytest.mark.parametrize(
    ("groups", "words"), [(1, "one group"), (5, "it takes 6 groups"), (6, "only 6 groups: intervals")]
)
def test_few_groups_are_warned_about(groups: int, words: str) -> None:
    rows = rows_of(["++x"] * groups)
    assert words in prove_improvement(rows, rows, "f1", SIDED).decision.warnings[0]


def test_many_groups_have_no_warning() -> None:
    rows = rows_of(["++x"] * 20)
    assert prove_improvement(rows, rows, "f1", SIDED).decision.warnings == ()


def test_unlabelled_units_count_nowhere() -> None:
    basic = rows_of(["+x"] * 12)
    compiled = rows_of(["++"] * 12)
    unlabelled = [JudgedRow(id="u", group="u", gold=(None, None), predicted=("a", None))]
    card = prove_improvement(basic, compiled, "f1", SIDED).to_card()
    card_with_unlabelled = prove_improvement(basic + unlabelled, compiled + unlabelled, "f1", SIDED).to_card()
    assert card_with_unlabelled["scores"] == card["scores"]
    assert card_with_unlabelled["decision"] == card["decision"]
    assert card_with_unlabelled["counts"]["basic"]["cases"]["unlabelled"] == 1


THREE_LABELS = [
    JudgedRow(id=str(n), group=str(n), gold=tuple("abc"), predicted=tuple("abc")) for n in range(12)
]
TWO_EXCHANGED = [replace(row, predicted=tuple("bac")) for row in THREE_LABELS]


def test_without_a_positive_side_right_means_the_exact_label() -> None:
    card = prove_improvement(TWO_EXCHANGED, THREE_LABELS, "macro_f1", ClosedLabels("abc")).to_card()
    assert (card["decision"]["c"], card["decision"]["verdict"]) == (24, "better")
    assert "exact label" in card["decision"]["right"]
    assert "f1" not in card["scores"]["basic"]


def test_with_a_positive_side_right_means_the_right_side() -> None:
    kind = ClosedLabels("abc", {"a", "b"})
    card = prove_improvement(TWO_EXCHANGED, THREE_LABELS, "f1", kind).to_card()
    assert (card["decision"]["c"], card["decision"]["verdict"]) == (0, "not shown to be better")
    assert "right side" in card["decision"]["right"]
