"""Scores, label sets and object sets: their metrics against scikit-learn and scipy, and the laws of every kind."""

import itertools
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
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
from jurist.evaluation.scale import Scale
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets, ObjectSets
from jurist.evaluation.units import encode

FIVE = Scores(1, 5, whole=True)
UNIT = Scores(0.0, 1.0)
LABELS = LabelSets("abcd")
OBJECTS = ObjectSets(eq)
some_scores = st.integers(1, 5)
some_numbers = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)
# Kappa of numbers that hardly differ is a quotient of rounding errors, so laws are held to hundredths.
some_hundredths = st.integers(0, 100).map(lambda hundredths: hundredths / 100)
some_labels = st.sets(st.sampled_from("abcd")).map(lambda labels: tuple(sorted(labels)))
some_objects = st.lists(st.integers(0, 4), max_size=4).map(tuple)
KINDS: dict[str, tuple[Scale, st.SearchStrategy[Any]]] = {
    "labels": (ClosedLabels("abc", {"a"}), st.sampled_from("abc")),
    "whole scores": (FIVE, some_scores),
    "scores": (UNIT, some_hundredths),
    "label sets": (LABELS, some_labels),
    "object sets": (OBJECTS, some_objects),
}


Pairs = list[tuple[Any, Any]]


def pairs_of(
    values: st.SearchStrategy[Any], smallest: int = 1, largest: int = 20
) -> st.SearchStrategy[Pairs]:
    """Return gold and answer of so many units."""
    return st.lists(st.tuples(values, values), min_size=smallest, max_size=largest)


def sides_of(pairs: Pairs) -> tuple[list[Any], list[Any]]:
    """Return the golds of pairs, and the answers."""
    return [gold for gold, _ in pairs], [answer for _, answer in pairs]


def share_within_deviation(gold: Sequence[float], answers: Sequence[float]) -> float:
    """Return the share of deviations within a standard deviation of their mean."""
    deviations = np.subtract(answers, gold)
    from_mean = np.abs(deviations - deviations.mean())
    return float(np.mean(from_mean <= deviations.std() + 1e-9))


LIBRARY_METRICS: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "mae": sk.mean_absolute_error,
    "mse": sk.mean_squared_error,
    "quadratic_kappa": partial(sk.cohen_kappa_score, labels=[1, 2, 3, 4, 5], weights="quadratic"),
    "spearman": lambda gold, answers: stats.spearmanr(gold, answers).statistic,
    "mean_deviation": lambda gold, answers: np.mean(np.subtract(answers, gold)),
    "accuracy": sk.accuracy_score,
    "within_one": lambda gold, answers: np.mean(np.abs(np.subtract(gold, answers)) <= 1),
    "within_deviation": share_within_deviation,
}


def by_library(name: str, gold: Sequence[float], answers: Sequence[float]) -> float:
    """Return a metric of scores by scikit-learn or scipy, NaN replaced by our documented 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = float(LIBRARY_METRICS[name](gold, answers))
    if math.isnan(value):
        return 0.0
    return value


@pytest.mark.parametrize("name", FIVE.metrics)
@given(pairs=pairs_of(some_scores, 2, 40))
def test_metrics_of_whole_scores_are_those_of_scikit_learn_and_scipy(name: str, pairs: Pairs) -> None:
    gold, answers = sides_of(pairs)
    value = value_of(FIVE.metrics[name], gold, answers, FIVE)
    assert value == pytest.approx(by_library(name, gold, answers), abs=1e-9)
    assert FIVE.metrics[name].low - 1e-12 <= value <= FIVE.metrics[name].high + 1e-12


@pytest.mark.parametrize("name", ["mae", "mse", "spearman"])
@given(pairs=pairs_of(some_numbers, 2, 30))
def test_metrics_of_numbers_are_those_of_scikit_learn_and_scipy(name: str, pairs: Pairs) -> None:
    gold, answers = sides_of(pairs)
    value = value_of(name, gold, answers, UNIT)
    assert value == pytest.approx(by_library(name, gold, answers), abs=1e-9)


def test_what_is_shown_beside_is_nothing_to_compile_for() -> None:
    kind = Scores(0, 10, top="perfect_rate")
    bounds = scores(rows_of([(10, 10), (3, 10), (4.5, 9.99)]), kind, [kind.metrics["perfect_rate"]])
    assert bounds["perfect_rate"].value == pytest.approx(2 / 3)
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


def by_scikit_learn(name: str, gold: np.ndarray, answers: np.ndarray) -> float:
    """Return a metric of label sets by scikit-learn, from arrays (units, labels) of 0 and 1."""
    if name == "exact_match":
        return float(sk.accuracy_score(gold, answers))
    if name == "micro_f1":
        return float(sk.f1_score(gold, answers, average="micro", zero_division=0.0))
    if name == "example_f1":
        return float(sk.f1_score(gold, answers, average="samples", zero_division=1.0))
    if name == "macro_f1":
        used = np.flatnonzero(gold.any(axis=0) | answers.any(axis=0)).tolist()
        if not used:
            return 0.0
        return float(sk.f1_score(gold, answers, average="macro", labels=used, zero_division=0.0))
    assert name == "balanced_accuracy"
    accuracies = []
    for of_gold, of_answers in zip(gold.T, answers.T, strict=True):
        if len(set(of_gold.tolist())) > 1:
            accuracies.append(sk.balanced_accuracy_score(of_gold, of_answers))
    if not accuracies:
        return 0.0
    return float(np.mean(accuracies))


def indicators(label_sets: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Return an array (units, labels): 1 where a set has a label."""
    return np.array([[label in labels for label in "abcd"] for labels in label_sets], dtype=np.int64)


@pytest.mark.parametrize("name", LABELS.metrics)
@given(pairs=pairs_of(some_labels))
def test_metrics_of_label_sets_are_those_of_scikit_learn(name: str, pairs: Pairs) -> None:
    gold, answers = sides_of(pairs)
    expected = by_scikit_learn(name, indicators(gold), indicators(answers))
    assert value_of(name, gold, answers, LABELS) == pytest.approx(expected, abs=1e-9)


CONSTANTS: list[tuple[Scale, list[Any]]] = [
    (ClosedLabels(("first", "second", "tie")), ["first", "second", "tie"]),
    (ClosedLabels(("send", "hold"), frozenset({"hold"})), ["send", "hold"]),
    (FIVE, [1.0, 2.0, 3.0, 4.0, 5.0]),
    (LABELS, [labels for size in range(5) for labels in itertools.combinations("abcd", size)]),
]


@pytest.mark.parametrize(("kind", "values"), CONSTANTS, ids=lambda part: type(part).__name__)
@given(data=st.data())
def test_no_constant_answer_is_better_than_another_by_the_default_metric(
    kind: Scale, values: list[Any], data: st.DataObject
) -> None:
    gold = data.draw(st.lists(st.sampled_from(values), min_size=2, max_size=30))
    assume(len(set(gold)) > 1)
    constants = values
    if isinstance(kind, ClosedLabels):  # a label that gold never has is never right
        constants = sorted(set(gold))
    elif isinstance(kind, LabelSets):  # a label that all units have, or none, says nothing about a judge
        units_by_label = indicators(gold).sum(axis=0)
        assume(((units_by_label > 0) & (units_by_label < len(gold))).any())
    values_of_constants = set()
    for constant in constants:
        value = value_of(kind.default, gold, [constant] * len(gold), kind)
        values_of_constants.add(round(value, 9))
    assert len(values_of_constants) == 1
    assert max(values_of_constants) <= 0.5
    assert value_of(kind.default, gold, gold, kind) == pytest.approx(1.0)


SOFT_OBJECTS = ObjectSets(lambda gold, value: max(0.0, 1.0 - abs(gold - value) / 3))


def best_sum(kind: ObjectSets, gold: tuple[int, ...], answer: tuple[int, ...]) -> float:
    """Return the largest sum of similarities of all assignments, tried one by one."""
    shorter, longer = sorted((gold, answer), key=len)
    sums = []
    for partners in itertools.permutations(longer, len(shorter)):
        similarities = [kind.same(first, second) for first, second in zip(shorter, partners, strict=True)]
        sums.append(sum(similarities))
    return max(sums)


@pytest.mark.parametrize("kind", [OBJECTS, SOFT_OBJECTS], ids=["equal", "soft"])
@given(gold=some_objects, answer=some_objects)
def test_the_assignment_is_the_best_of_all(
    kind: ObjectSets, gold: tuple[int, ...], answer: tuple[int, ...]
) -> None:
    best = best_sum(kind, gold, answer)
    matches = kind.match(gold, answer)
    assert sum(similarity for _, _, similarity in matches) == pytest.approx(best)
    assert len({gold_place for gold_place, _, _ in matches}) == len(matches)
    assert len({answer_place for _, answer_place, _ in matches}) == len(matches)
    sizes = {"precision": len(answer), "recall": len(gold), "f1": (len(gold) + len(answer)) / 2}
    for name, size in sizes.items():
        expected = 0.0
        if size:
            expected = best / size
        assert value_of(name, [gold], [answer], kind) == pytest.approx(expected, abs=1e-9)


def test_sets_are_micro_averaged() -> None:
    bounds = scores(rows_of([((1, 2), (1,)), ((3,), (3, 4, 5))]), OBJECTS)
    assert bounds["precision"].value == pytest.approx(2 / 4)
    assert bounds["recall"].value == pytest.approx(2 / 3)
    assert bounds["f1"].value == pytest.approx(4 / 7)


def test_a_similarity_out_of_range_is_refused() -> None:
    with pytest.raises(JuristError, match=r"not in \[0, 1\]"):
        scores(rows_of([((1, 2), (1,))]), ObjectSets(lambda gold, value: 2.0))


WORST_MAY_BE_BETTER = ("macro_f1", "kappa", "quadratic_kappa", "spearman")
"""Metrics whose bounds are not exact."""


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25)
def test_the_laws_of_every_kind(kind: str, data: st.DataObject) -> None:
    comparison, values = KINDS[kind]
    pairs = data.draw(st.lists(st.tuples(values, st.none() | values), min_size=2, max_size=12))
    rows = rows_of(pairs)
    right_rows = [replace(row, predicted=row.gold) for row in rows]
    units = encode(comparison, rows)
    for name in comparison.choosable:
        metric = comparison.metrics[name]
        score = objective_score(rows, name, comparison)
        assert score == metric.oriented(metric.of(units.worst))
        worst, best = metric.bounds(units)
        if name not in WORST_MAY_BE_BETTER:
            assert metric.oriented(worst) <= metric.oriented(best) + 1e-9, name
        # gold itself scores best of all
        assert objective_score(right_rows, name, comparison) >= score - 1e-9, name
        # neither the order of rows nor which of two judges comes first changes what either is worth
        assert metric.of(encode(comparison, rows[::-1])) == metric.of(units), name
        both = encode(comparison, rows, right_rows).worst
        first, second = metric.values(both)
        swaps = np.array([[False] * units.groups, [True] * units.groups])
        differences = [second - first, first - second]
        assert metric.swapped(both, swaps) == pytest.approx(differences, abs=1e-9), name
        assert metric.of(both) == pytest.approx((first + second) / 2), name


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25)
def test_a_resample_is_what_repeated_rows_score(kind: str, data: st.DataObject) -> None:
    comparison, values = KINDS[kind]
    pairs = data.draw(st.lists(st.tuples(values, st.none() | values), min_size=2, max_size=12))
    rows = rows_of(pairs)
    units = encode(comparison, rows)
    groups = sorted({row.group for row in rows})
    weights = np.random.default_rng(1).multinomial(units.groups, [1 / units.groups] * units.groups, 5)
    for counts in weights:
        repeated_rows = []
        for row in rows:
            for copy in range(counts[groups.index(row.group)]):
                repeated_rows.append(replace(row, id=f"{row.id}/{copy}"))
        repeated_units = encode(comparison, repeated_rows)
        for name in comparison.choosable:
            metric = comparison.metrics[name]
            (value,) = metric.resampled(units, counts[np.newaxis])
            assert value == pytest.approx(metric.of(repeated_units), abs=1e-9), name


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25)
def test_values_are_similar_to_themselves_and_agree_with_themselves(kind: str, data: st.DataObject) -> None:
    comparison, values = KINDS[kind]
    gold = data.draw(values)
    answer = data.draw(values)
    assert comparison.similarity(gold, gold) == 1.0
    assert comparison.consensus([gold, gold, gold]) == gold
    assert comparison.consensus([answer]) == answer
    assert 0.0 <= comparison.similarity(gold, answer) <= 1.0


@pytest.mark.parametrize(
    "make",
    [lambda: Scores(5, 1), lambda: Scores(0, math.inf), lambda: LabelSets("aa")],
)
def test_impossible_kinds_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        make()


@pytest.mark.parametrize(
    ("kind", "values", "consensus"),
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
def test_what_several_raters_stand_for(kind: Scale, values: list[Any], consensus: Any) -> None:
    assert kind.consensus(values) == consensus


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
    lines = page.read_text("utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(f"| {answer} |")]
    names = re.findall("`([a-z0-9_]+)`", line.split("|")[2])
    kind = DOCUMENTED[answer]
    assert (names[0], set(names)) == (kind.default, set(kind.metrics))
