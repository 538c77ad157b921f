"""The proof: one test of the judge's own metric, over basic and over a constant; it never rewards silence."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from measures import interval

from jurist.errors import UsageError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.clustered_t import ClusteredT
from jurist.evaluation.paired import Verdict
from jurist.evaluation.proof import Proof, level_of, prove_improvement
from jurist.evaluation.rows import Row
from jurist.evaluation.units import encode

SIDED = ClosedLabels("ab", {"a"})


def rows_of(answers: Sequence[str], *, gold: str = "ab") -> list[Row]:
    """One group per string; gold repeats ``gold``; '+' right, 'x' wrong, '-' abstained, '!' failed case."""
    found = []
    for place, marks in enumerate(answers):
        truth = tuple((gold * len(marks))[: len(marks)])
        wrong = {"a": "b", "b": "a"}
        said = tuple(
            {"+": label, "x": wrong[label]}.get(mark) for label, mark in zip(truth, marks, strict=True)
        )
        failed = "!" in marks
        found.append(Row(id=f"c{place}", group=f"g{place}", gold=truth, predicted=said, failed=failed))
    return found


def verdict(basic: Sequence[str], compiled: Sequence[str], metric: str = "f1") -> Verdict:
    return prove_improvement(rows_of(basic), rows_of(compiled), metric, SIDED).decision.verdict


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
def test_verdicts(basic: Sequence[str], compiled: Sequence[str], expected: Verdict) -> None:
    assert verdict(basic, compiled) == expected


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
    gold = "abbbbbbbbb"
    found = prove_improvement(
        rows_of([basic] * 20, gold=gold), rows_of([compiled] * 20, gold=gold), metric, SIDED
    )
    assert found.decision.verdict == expected


def constant(answer: str, groups: int, gold: str = "ab", units: int = 2) -> tuple[str, list[Row]]:
    rows = rows_of(["+" * units] * groups, gold=gold)
    return f"always {answer!r}", [replace(row, predicted=(answer,) * len(row.gold)) for row in rows]


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
    basic, other = rows_of(["xxxxx"] * 20, gold=gold), rows_of([compiled] * 20, gold=gold)
    always = constant("b", 20, gold, 5)
    found = prove_improvement(basic, other, "accuracy", SIDED, constant=always).decision
    assert (found.verdict, found.constant is not None) == (verdict, True)
    assert words in found.words
    card = found.to_card()["constant"]
    assert (card["answer"], card["value"], card["better"]) == ("always 'b'", 0.8, verdict == "better")


@pytest.fixture
def proof() -> Proof:
    return prove_improvement(
        rows_of(["+x+-", "!!", "x"] * 5), rows_of(["+x++", "+x", "+"] * 5), "f1", SIDED, seed=3
    )


def test_the_decision_is_made_of_the_public_tests(proof: Proof) -> None:
    basic, compiled = rows_of(["+x+-", "!!", "x"] * 5), rows_of(["+x++", "+x", "+"] * 5)
    decision = proof.to_card()["decision"]
    tested = ClusteredT.of(encode(SIDED, basic, compiled), SIDED.metrics["f1"])
    expected = {
        "low": tested.gains.bound(0.025),
        "high": min(1.0, -tested.losses.bound(0.025)),
        "p": tested.better,
        "test": "the one-sided t-test over groups, with a pair of units added in each class",
        "tested": 0.025,
        "level": 0.95,
    }
    counted = {"b": 0, "c": 15, "units": 35, "cases": 15, "groups": 15, "verdict": "better", "constant": None}
    assert {key: decision[key] for key in (*expected, *counted)} == {**expected, **counted}
    assert decision["difference"] == pytest.approx(tested.difference)
    own = interval(basic, "kappa", SIDED)
    card = proof.to_card()["scores"]["basic"]["kappa"]
    assert (card["low"], card["high"]) == (own.low, own.high)


def test_the_levels_of_all_openings_add_up_to_alpha() -> None:
    levels = [level_of(0.05, k) for k in range(1, 2000)]
    assert levels[:3] == [0.025, 0.0125, 0.00625]
    assert min(levels) > 0.0
    assert sum(levels) == pytest.approx(0.05)
    basic, compiled = rows_of(["+x"] * 7 + ["++"] * 5), rows_of(["++"] * 12)
    verdicts = [
        prove_improvement(basic, compiled, "accuracy", SIDED, openings=k).decision.verdict for k in (1, 3)
    ]
    assert verdicts == ["better", "not shown to be better"]
    assert (
        prove_improvement(basic, compiled, "accuracy", SIDED, alpha=0.01).decision.verdict
        == "not shown to be better"
    )
    for alpha in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match="alpha"):
            prove_improvement(basic, compiled, "accuracy", SIDED, alpha=alpha)


def test_the_proof_depends_on_rows_and_seed_only(proof: Proof) -> None:
    basic, compiled = rows_of(["+x+-", "!!", "x"] * 5), rows_of(["+x++", "+x", "+"] * 5)
    again = prove_improvement(basic[::-1], compiled, "f1", SIDED, seed=3)
    assert json.dumps(again.to_card()) == json.dumps(proof.to_card())


@pytest.mark.parametrize(
    ("groups", "warned"),
    [(1, "one group"), (5, "it takes 6 groups"), (6, "only 6 groups: intervals"), (20, "")],
)
def test_few_groups_are_warned_about(groups: int, warned: str) -> None:
    rows = rows_of(["++x"] * groups)
    found = prove_improvement(rows, rows, "f1", SIDED).decision.warnings
    assert (warned in found[0]) if warned else not found


def test_unlabelled_units_count_nowhere() -> None:
    basic, compiled = rows_of(["+x"] * 12), rows_of(["++"] * 12)
    extra = [Row(id="u", group="u", gold=(None, None), predicted=("a", None))]
    plain = prove_improvement(basic, compiled, "f1", SIDED).to_card()
    found = prove_improvement([*basic, *extra], [*compiled, *extra], "f1", SIDED).to_card()
    assert found["scores"] == plain["scores"]
    assert found["decision"] == plain["decision"]
    assert found["counts"]["basic"]["cases"]["unlabelled"] == 1


def test_without_a_positive_side_right_means_the_exact_label() -> None:
    gold = tuple("abc")
    basic = [Row(id=str(n), group=str(n), gold=gold, predicted=("b", "a", "c")) for n in range(12)]
    compiled = [Row(id=str(n), group=str(n), gold=gold, predicted=gold) for n in range(12)]
    exact = prove_improvement(basic, compiled, "macro_f1", ClosedLabels("abc")).to_card()
    assert (exact["decision"]["c"], exact["decision"]["verdict"]) == (24, "better")
    assert "exact label" in exact["decision"]["right"]
    assert "f1" not in exact["scores"]["basic"]
    sided = prove_improvement(basic, compiled, "f1", ClosedLabels("abc", {"a", "b"})).to_card()["decision"]
    assert (sided["c"], sided["verdict"]) == (0, "not shown to be better")
    assert "right side" in sided["right"]
