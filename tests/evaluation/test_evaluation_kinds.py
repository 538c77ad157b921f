"""Scores, label sets and object sets: their metrics against scikit-learn and scipy, and the laws of every kind."""

import itertools
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from measures import noisy, rows_of, scores, value_of
from scipy import stats
from sklearn import metrics as sk

from jurist.errors import JuristError, UsageError
from jurist.evaluation import metrics
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import objective_score
from jurist.evaluation.scale import Scale, choosable
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets, ObjectSets
from jurist.evaluation.units import encode

FIVE, UNIT, LABELS, OBJECTS = Scores(1, 5, whole=True), Scores(0.0, 1.0), LabelSets("abcd"), ObjectSets(eq)
some_scores = st.integers(1, 5)
some_numbers = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)
# Kappa of numbers that hardly differ is a quotient of rounding errors, so laws are held to hundredths.
some_hundredths = st.integers(0, 100).map(lambda hundredths: hundredths / 100)
some_labels = st.sets(st.sampled_from("abcd")).map(lambda chosen: tuple(sorted(chosen)))
some_objects = st.lists(st.integers(0, 4), max_size=4).map(tuple)
KINDS: dict[str, tuple[Scale, st.SearchStrategy[Any]]] = {
    "labels": (ClosedLabels("abc", {"a"}), st.sampled_from("abc")),
    "whole scores": (FIVE, some_scores),
    "scores": (UNIT, some_hundredths),
    "label sets": (LABELS, some_labels),
    "object sets": (OBJECTS, some_objects),
}


def pairs(values: st.SearchStrategy[Any], *, least: int = 1, most: int = 20) -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(values, values), min_size=least, max_size=most)


def counterpart(name: str, gold: Sequence[float], said: Sequence[float]) -> float:
    """A metric of scores by scikit-learn or scipy, NaN replaced by our documented 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "mae": lambda: sk.mean_absolute_error(gold, said),
            "mse": lambda: sk.mean_squared_error(gold, said),
            "quadratic_kappa": lambda: sk.cohen_kappa_score(
                gold, said, labels=[1, 2, 3, 4, 5], weights="quadratic"
            ),
            "spearman": lambda: stats.spearmanr(gold, said).statistic,
            "mean_deviation": lambda: np.mean(np.subtract(said, gold)),
            "accuracy": lambda: sk.accuracy_score(gold, said),
            "within_one": lambda: np.mean(np.abs(np.subtract(gold, said)) <= 1),
            "within_deviation": lambda: np.mean(
                np.abs(np.subtract(said, gold) - np.mean(np.subtract(said, gold)))
                <= np.std(np.subtract(said, gold)) + 1e-9
            ),
        }[name]()
    return 0.0 if math.isnan(found) else float(found)


@pytest.mark.parametrize("name", FIVE.metrics)
@given(data=pairs(some_scores, least=2, most=40))
def test_metrics_of_whole_scores_are_those_of_scikit_learn_and_scipy(name: str, data: Any) -> None:
    gold, said = zip(*data, strict=True)
    found = value_of(FIVE.metrics[name], gold, said, FIVE)
    assert found == pytest.approx(counterpart(name, gold, said), abs=1e-9)
    assert FIVE.metrics[name].low - 1e-12 <= found <= FIVE.metrics[name].high + 1e-12


@pytest.mark.parametrize("name", ["mae", "mse", "spearman"])
@given(data=pairs(some_numbers, least=2, most=30))
def test_metrics_of_numbers_are_those_of_scikit_learn_and_scipy(name: str, data: Any) -> None:
    gold, said = zip(*data, strict=True)
    assert value_of(name, gold, said, UNIT) == pytest.approx(counterpart(name, gold, said), abs=1e-9)


def test_what_is_shown_beside_is_nothing_to_compile_for() -> None:
    kind = Scores(0, 10, top="perfect_rate")
    shown = scores(rows_of([(10, 10), (3, 10), (4.5, 9.99)]), kind, [kind.metrics["perfect_rate"]])
    assert shown["perfect_rate"].value == pytest.approx(2 / 3)
    assert kind.compared == ("mean_deviation", "within_one", "within_deviation", "perfect_rate")
    assert "perfect_rate" not in Scores(0, 10).metrics
    for name in ("perfect_rate", "mean_deviation"):
        with pytest.raises(UsageError, match=name):
            value_of(name, [1], [2], kind)


def test_within_one_is_a_point_of_a_long_scale() -> None:
    assert value_of("within_one", [0, 0, 0], [0, 1, 1.5], Scores(0, 10)) == pytest.approx(2 / 3)
    assert "within_one" not in UNIT.metrics


@pytest.mark.parametrize("name", ["spearman", "mae"])
def test_large_tables_are_sparse_and_say_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = Scores(1, 5)
    units = encode(kind, noisy(1, 2.0, float), noisy(2, 0.3, float))
    weights = np.random.default_rng(0).multinomial(units.groups, [1 / units.groups] * units.groups, 9)
    swaps = weights > 1
    metric = kind.metrics[name]
    dense = metric.resampled(units, weights), metric.swapped(units, swaps)
    monkeypatch.setattr(metrics, "_LARGEST_DENSE_TABLE", 0)
    sparse = metric.resampled(units, weights), metric.swapped(units, swaps)
    assert np.concatenate(sparse) == pytest.approx(np.concatenate(dense), abs=1e-12)


@pytest.mark.parametrize("name", LABELS.metrics)
@given(data=pairs(some_labels))
def test_metrics_of_label_sets_are_those_of_scikit_learn(name: str, data: Any) -> None:
    gold, said = ([[label in one for label in "abcd"] for one in side] for side in zip(*data, strict=True))
    used = [place for place in range(4) if any(row[place] for row in [*gold, *said])]
    sides = [
        (g, s)
        for g, s in zip(zip(*gold, strict=True), zip(*said, strict=True), strict=True)
        if len(set(g)) > 1
    ]
    expected = {
        "balanced_accuracy": lambda: (
            sum(sk.balanced_accuracy_score(g, s) for g, s in sides) / len(sides) if sides else 0.0
        ),
        "micro_f1": lambda: sk.f1_score(gold, said, average="micro", zero_division=0.0),
        "macro_f1": lambda: (
            sk.f1_score(gold, said, average="macro", labels=used, zero_division=0.0) if used else 0.0
        ),
        "example_f1": lambda: sk.f1_score(gold, said, average="samples", zero_division=1.0),
        "exact_match": lambda: sk.accuracy_score(gold, said),
    }[name]()
    assert value_of(name, *zip(*data, strict=True), LABELS) == pytest.approx(expected, abs=1e-9)


PREFERENCES = ClosedLabels(("first", "second", "tie"))
CONSTANTS: list[tuple[Any, list[Any]]] = [
    (PREFERENCES, list(PREFERENCES.labels)),
    (ClosedLabels(("send", "hold"), frozenset({"hold"})), ["send", "hold"]),
    (FIVE, [1.0, 2.0, 3.0, 4.0, 5.0]),
    (LABELS, [tuple(one) for size in range(5) for one in itertools.combinations("abcd", size)]),
]


@pytest.mark.parametrize(("kind", "values"), CONSTANTS, ids=lambda one: type(one).__name__)
@given(data=st.data())
def test_no_constant_answer_is_better_than_another_by_the_default_metric(
    kind: Any, values: list[Any], data: st.DataObject
) -> None:
    gold = data.draw(
        st.lists(st.sampled_from(values), min_size=2, max_size=30).filter(lambda g: len(set(g)) > 1)
    )
    if isinstance(kind, LabelSets):  # a label that all units have, or none, says nothing about a judge
        assume(any(0 < sum(label in one for one in gold) < len(gold) for label in kind.labels))
    given_ = values if not isinstance(kind, ClosedLabels) else sorted(set(gold))  # others are never right
    scores = {round(value_of(kind.default, gold, [one] * len(gold), kind), 9) for one in given_}
    assert len(scores) == 1
    assert max(scores) <= 0.5
    assert value_of(kind.default, gold, gold, kind) == pytest.approx(1.0)


def close(gold: float, said: float) -> float:
    return max(0.0, 1.0 - abs(gold - said))


@given(gold=some_objects, said=some_objects, soft=st.booleans())
def test_the_assignment_is_the_best_of_all(gold: tuple[int, ...], said: tuple[int, ...], soft: bool) -> None:
    kind = ObjectSets(lambda g, v: close(g / 3, v / 3)) if soft else OBJECTS
    short, long_ = sorted((gold, said), key=len)
    best = max(
        sum(kind.same(one, two) for one, two in zip(short, chosen, strict=True))
        for chosen in itertools.permutations(long_, len(short))
    )
    for name, size in (("precision", len(said)), ("recall", len(gold))):
        assert value_of(name, [gold], [said], kind) == pytest.approx(best / size if size else 0.0, abs=1e-9)
    total = len(gold) + len(said)
    assert value_of("f1", [gold], [said], kind) == pytest.approx(2 * best / total if total else 0.0, abs=1e-9)
    found = kind.match(gold, said)
    assert len({one for one, _, _ in found}) == len({two for _, two, _ in found}) == len(found)
    assert sum(similarity for _, _, similarity in found) == pytest.approx(best)


def test_sets_are_micro_averaged_and_a_similarity_out_of_range_is_refused() -> None:
    rows = rows_of([((1, 2), (1,)), ((3,), (3, 4, 5))])
    found = scores(rows, OBJECTS)
    assert [found[name].value for name in ("precision", "recall", "f1")] == pytest.approx(
        [2 / 4, 2 / 3, 4 / 7]
    )
    with pytest.raises(JuristError, match=r"not in \[0, 1\]"):
        scores(rows, ObjectSets(lambda gold, value: 2.0))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25)
def test_the_laws_of_every_kind(kind: str, data: st.DataObject) -> None:
    comparison, values = KINDS[kind]
    drawn = data.draw(st.lists(st.tuples(values, st.none() | values), min_size=2, max_size=12))
    rows = rows_of(drawn)
    units = encode(comparison, rows)
    weights = np.random.default_rng(1).multinomial(units.groups, [1 / units.groups] * units.groups, 5)
    for name in choosable(comparison):
        metric = comparison.metrics[name]
        worst, best = (metric.oriented(end) for end in metric.bounds(units))
        assert worst <= best + 1e-9 or name in ("macro_f1", "kappa", "quadratic_kappa", "spearman"), name
        assert objective_score(rows, name, comparison) == metric.oriented(metric.of(units.worst))
        # gold itself scores best of all
        right = encode(comparison, [replace(row, predicted=row.gold) for row in rows])
        assert metric.oriented(metric.of(right)) >= objective_score(rows, name, comparison) - 1e-9, name
        # neither the order of rows nor which of two judges comes first changes what either is worth
        assert metric.of(encode(comparison, rows[::-1])) == metric.of(units), name
        both = encode(comparison, rows, [replace(row, predicted=row.gold) for row in rows]).worst
        one, two = metric.values(both)
        swaps = np.array([[False] * units.groups, [True] * units.groups])
        assert metric.swapped(both, swaps) == pytest.approx([two - one, one - two], abs=1e-9), name
        assert metric.of(both) == pytest.approx((one + two) / 2), name
        # a resample is what repeated rows score
        drawn_values = metric.resampled(units, weights)
        for value, counts in zip(drawn_values, weights, strict=True):
            names = sorted({row.group for row in rows})
            again = [
                replace(row, id=f"{row.id}/{copy}")
                for row in rows
                for copy in range(counts[names.index(row.group)])
            ]
            assert value == pytest.approx(metric.of(encode(comparison, again)), abs=1e-9), name
    for gold, said in drawn:
        assert comparison.similarity(gold, gold) == 1.0
        assert 0.0 <= comparison.similarity(gold, comparison.consensus([said or gold]) or gold) <= 1.0
        assert comparison.consensus([gold, gold, gold]) == gold


@pytest.mark.parametrize(
    "make",
    [lambda: Scores(5, 1), lambda: Scores(0, math.inf), lambda: LabelSets("aa")],
)
def test_impossible_kinds_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        make()


@pytest.mark.parametrize(
    ("kind", "values", "agreed"),
    [
        (ClosedLabels("ab"), ["a", "b", "a"], "a"),
        (ClosedLabels("ab"), ["a", "b"], None),
        (FIVE, [1, 5, 4], 4),
        (LABELS, [("a", "b"), ("b",), ("b", "c")], ("b",)),
        (LABELS, [("a",), ("b",)], ()),
        (OBJECTS, [(1, 2), (1, 2, 3), (7,)], (1, 2)),
        (FIVE, [], None),
    ],
)
def test_what_several_raters_stand_for(kind: Scale, values: list[Any], agreed: Any) -> None:
    assert kind.consensus(values) == agreed


DOCUMENTED = {
    "closed label with `positive=`": ClosedLabels("ab", {"a"}),
    "closed label without, a preference": ClosedLabels("ab"),
    "score": FIVE,
    "several labels": LABELS,
    "set of objects": OBJECTS,
}


@pytest.mark.parametrize("answer", DOCUMENTED)
def test_the_documented_metrics_are_those_that_there_are(answer: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    (line,) = [line for line in page.read_text("utf-8").splitlines() if line.startswith(f"| {answer} |")]
    names = re.findall("`([a-z0-9_]+)`", line.split("|")[2])
    kind = DOCUMENTED[answer]
    assert (names[0], set(names)) == (kind.default, set(kind.metrics))
