"""Clustered intervals against slow ones written out, and the laws of clusters."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import NAMES, difference, interval, rows_of, scores
from scipy import stats
from scipy.special import expit, logit

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import BLOCKS, Interval, leaving_out
from jurist.evaluation.rows import JudgedRow

LABELS = "abc"


KIND = ClosedLabels(LABELS, {"a"})
CLOSED = ClosedLabels("ax")


def simulated(seed: int, *, groups: int, accuracy: float, missing: float = 0.0) -> list[JudgedRow]:
    """Return groups of one to five units; gold depends on the place only, so that two seeds share it."""
    truth = random.Random(7)
    noise = random.Random(seed)
    rows = []
    for place in range(groups):
        gold = tuple(truth.choice(LABELS) for _ in range(truth.randint(1, 5)))
        answers = [label if noise.random() < accuracy else noise.choice(LABELS) for label in gold]
        with_gaps = tuple(None if noise.random() < missing else answer for answer in answers)
        rows.append(JudgedRow(id=str(place), group=f"{place:04d}", gold=gold, predicted=with_gaps))
    return rows


@pytest.mark.parametrize(("groups", "blocks"), [(1, 1), (12, 12), (BLOCKS, BLOCKS), (3 * BLOCKS + 1, BLOCKS)])
def test_every_group_is_left_out_once(groups: int, blocks: int) -> None:
    weights = leaving_out(groups)
    assert weights.shape == (blocks, groups)
    assert (weights == 0).sum(axis=0).tolist() == [1] * groups


def test_groups_that_are_named_by_their_kind_are_no_surer() -> None:
    """Names are sorted; taking every two-hundredth group together held the kinds in balance: [0.491, 0.509]."""
    rows = rows_of([("a", "a")] * BLOCKS + [("a", "x")] * BLOCKS, group_size=1)
    ends = interval(rows, "accuracy", CLOSED)
    assert ends.high - ends.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(2 * BLOCKS), rel=0.1)


def values_without_each_group(rows: Sequence[JudgedRow], name: str) -> list[float]:
    """Return the metric without each group in turn, where each row is a group."""
    values = []
    for place in range(len(rows)):
        other_rows = list(rows)
        del other_rows[place]
        values.append(scores(other_rows, KIND)[name].value)
    return values


def divisors(rows: Sequence[JudgedRow], name: str) -> list[float]:
    """Return what a metric divides by, counted one by one."""
    golds = Counter[str]()
    answers = Counter[str]()
    for row in rows:
        for gold, answer in zip(row.gold, row.predicted, strict=True):
            if answer is not None:
                golds[gold] += 1
                answers[answer] += 1
    units = answers.total()
    if name == "kappa":
        return [units**2 - sum(golds[label] * answers[label] for label in LABELS)]
    if name == "balanced_accuracy":
        return [golds[label] for label in LABELS]
    if name == "macro_f1":
        return [golds[label] + answers[label] for label in LABELS]
    of_positive = {"precision": answers["a"], "recall": golds["a"], "f1": golds["a"] + answers["a"]}
    return [of_positive.get(name, units)]


def degrees_by_hand(rows: Sequence[JudgedRow], name: str) -> float:
    """Return Kish's effective number of groups less 1; a group counts by what the divisors lack without it."""
    weights = np.zeros(len(rows))
    for place in range(len(rows)):
        other_rows = list(rows)
        del other_rows[place]
        for total, rest in zip(divisors(rows, name), divisors(other_rows, name), strict=True):
            if total:
                weights[place] += (total - rest) / total
    return float(weights.sum() ** 2 / (weights**2).sum() - 1)


def jackknife_error(values: Sequence[float]) -> float:
    """Return the standard error from the values without each group."""
    deviations = np.array(values) - np.mean(values)
    return float(np.sqrt((len(values) - 1) / len(values) * (deviations**2).sum()))


@pytest.mark.parametrize("name", NAMES)
def test_intervals_are_those_computed_row_by_row(name: str) -> None:
    rows = simulated(1, groups=12, accuracy=0.6, missing=0.1)
    error = jackknife_error(values_without_each_group(rows, name))
    low = KIND.metrics[name].low
    share = (scores(rows, KIND)[name].value - low) / (1 - low)
    reach = stats.t.ppf(0.975, degrees_by_hand(rows, name)) * error
    logit_reach = reach / (1 - low) / (share * (1 - share))
    ends = low + (1 - low) * expit(logit(share) + np.array([-logit_reach, logit_reach]))
    assert ends_of(interval(rows, name, KIND)) == pytest.approx(tuple(ends), abs=1e-12)


def clopper_pearson(hits: int, trials: int) -> tuple[float, float]:
    """Return the ends of the exact interval of a share."""
    exact = stats.binomtest(hits, trials).proportion_ci(0.95, "exact")
    return exact.low, exact.high


@pytest.mark.parametrize(("answer", "right"), [("x", 0), ("a", 12)])
def test_no_error_in_few_groups_is_not_no_error(answer: str, right: int) -> None:
    """Percentiles of resamples that are all alike would say [0, 0]; Clopper and Pearson do not."""
    rows = rows_of([("a", answer)] * 12, group_size=1)
    ends = ends_of(interval(rows, "accuracy", CLOSED))
    assert ends == pytest.approx(clopper_pearson(right, 12), abs=1e-9)


@pytest.mark.parametrize(("answer", "hits"), [("a", 3), ("x", 0)])
def test_a_recall_is_no_surer_for_units_with_nothing_to_find(answer: str, hits: int) -> None:
    """Three positives among 80 units, all found or none: three trials, not 80; with one there is no interval."""
    rows = rows_of([("a", answer)] * 3 + [("x", "x")] * 77, group_size=1)
    kind = ClosedLabels("ax", {"a"})
    exact = clopper_pearson(hits, 3)
    assert ends_of(interval(rows, "recall", kind)) == pytest.approx(exact, abs=1e-9)
    assert ends_of(interval(rows[2:], "recall", kind)) == (0.0, 1.0)
    assert ends_of(interval(rows[3:], "kappa", kind)) == (-1.0, 1.0)


def test_a_class_without_an_error_is_not_certain() -> None:
    """Few units of a class are often all right by luck, which says little about the class: it covered in 0.8."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        gold = rng.random(80) < 0.1
        answers = gold ^ (rng.random(80) < 0.2)
        gold_labels = np.where(gold, "a", "x").tolist()
        answer_labels = np.where(answers, "a", "x").tolist()
        rows = rows_of(list(zip(gold_labels, answer_labels, strict=True)), group_size=1)
        ends = interval(rows, "balanced_accuracy", CLOSED)
        covered += ends.low <= 0.8 <= ends.high
    assert covered >= 282


@pytest.mark.parametrize("name", ["balanced_accuracy", "macro_f1"])
def test_classes_without_an_error_may_get_theirs_in_the_same_groups(name: str) -> None:
    rows = [JudgedRow(id=str(n), group=str(n), gold=("a", "x"), predicted=("a", "x")) for n in range(12)]
    assert ends_of(interval(rows, name, CLOSED)) == pytest.approx(clopper_pearson(12, 12), abs=1e-9)


def ends_of(result: Interval) -> tuple[float, float]:
    return result.low, result.high


@pytest.mark.parametrize("name", NAMES)
def test_repeating_every_unit_within_its_group_adds_no_certainty(name: str) -> None:
    rows = simulated(1, groups=40, accuracy=0.7)
    repeated_rows = [replace(row, gold=row.gold * 9, predicted=row.predicted * 9) for row in rows]
    ends = ends_of(interval(rows, name, KIND))
    assert ends == pytest.approx(ends_of(interval(repeated_rows, name, KIND)))


@pytest.mark.parametrize(("name", "low"), [("f1", 0.0), ("kappa", -1.0)])
def test_one_group_gives_the_whole_range(name: str, low: float) -> None:
    rows = [JudgedRow(id="1", group="g", gold=("a", "b"), predicted=("a", "b"))]
    kind = ClosedLabels("ab", {"a"})
    assert interval(rows, name, kind) == Interval(low=low, high=1.0, groups=1)
    assert difference(rows, rows, name, kind) == Interval(low=low - 1.0, high=1.0 - low, groups=1)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_differences_are_antisymmetric_and_zero_for_equals(name: str, seed: int) -> None:
    first = simulated(seed, groups=9, accuracy=0.6, missing=0.2)
    second = simulated(seed + 1, groups=9, accuracy=0.6, missing=0.2)
    low, high = ends_of(difference(first, second, name, KIND))
    assert ends_of(difference(second, first, name, KIND)) == pytest.approx((-high, -low), abs=1e-12)
    # no difference in so many groups is not no difference
    low_of_equals, high_of_equals = ends_of(difference(first, first, name, KIND))
    assert low_of_equals == pytest.approx(-high_of_equals)
    assert high_of_equals > 0.0
    largest = 1.0 - KIND.metrics[name].low
    assert -largest <= low <= high <= largest
