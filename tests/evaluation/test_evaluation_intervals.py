"""Clustered intervals against slow ones written out, and the laws of clusters."""

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import NAMES, difference, interval, rows_of, scores
from scipy import stats
from scipy.special import expit, logit

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import BLOCKS, Interval, leaving_out
from jurist.evaluation.rows import Row

LABELS = "abc"


def simulated(seed: int, *, groups: int, right: float, missing: float = 0.0) -> list[Row]:
    """Groups of one to five units; gold depends on the place only, so that two seeds share it."""
    truth, noise = random.Random(7), random.Random(seed)
    rows = []
    for place in range(groups):
        gold = tuple(truth.choice(LABELS) for _ in range(truth.randint(1, 5)))
        answers = tuple(label if noise.random() < right else noise.choice(LABELS) for label in gold)
        seen = tuple(None if noise.random() < missing else answer for answer in answers)
        rows.append(Row(id=str(place), group=f"{place:04d}", gold=gold, predicted=seen))
    return rows


@pytest.mark.parametrize(("groups", "blocks"), [(1, 1), (12, 12), (BLOCKS, BLOCKS), (3 * BLOCKS + 1, BLOCKS)])
def test_every_group_is_left_out_once(groups: int, blocks: int) -> None:
    weights = leaving_out(groups)
    assert weights.shape == (blocks, groups)
    assert (weights == 0).sum(axis=0).tolist() == [1] * groups


def test_groups_that_are_named_by_their_kind_are_no_surer() -> None:
    """Names are sorted; taking every two-hundredth group together held the kinds in balance: [0.491, 0.509]."""
    right = [n < BLOCKS for n in range(2 * BLOCKS)]
    found = interval(judged(right), "accuracy", ClosedLabels("ax"))
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(2 * BLOCKS), rel=0.1)


def left_by_hand(rows: Sequence[Row], name: str) -> list[float]:
    """The metric without each group in turn."""
    kind = ClosedLabels(LABELS, {"a"})
    groups = sorted({row.group for row in rows})
    return [scores([row for row in rows if row.group != out], kind)[name].value for out in groups]


def divisors(pairs: Sequence[tuple[str, str]], name: str) -> list[float]:
    """What a metric divides by, counted one by one."""
    gold, said = Counter(pair[0] for pair in pairs), Counter(pair[1] for pair in pairs)
    if name == "kappa":
        return [len(pairs) ** 2 - sum(gold[label] * said[label] for label in LABELS)]
    if name in ("balanced_accuracy", "macro_f1"):
        return [gold[label] + said[label] * (name == "macro_f1") for label in LABELS]
    found = {"precision": [said["a"]], "recall": [gold["a"]], "f1": [gold["a"] + said["a"]]}
    return list(map(float, found.get(name, [len(pairs)])))


def degrees_by_hand(rows: Sequence[Row], name: str) -> float:
    """Kish's effective number of groups less 1, each counting by what is gone from the divisors without it."""
    pairs = [[pair for pair in zip(r.gold, r.predicted, strict=True) if pair[1]] for r in rows]
    total, weights = divisors([pair for group in pairs for pair in group], name), np.zeros(len(rows))
    for out in range(len(rows)):
        rest = divisors([pair for n, group in enumerate(pairs) if n != out for pair in group], name)
        weights[out] = sum((one - two) / one for one, two in zip(total, rest, strict=True) if one)
    return float(weights.sum() ** 2 / (weights**2).sum() - 1)


def error_of(left: Sequence[float]) -> float:
    return float(np.sqrt((len(left) - 1) / len(left) * ((np.array(left) - np.mean(left)) ** 2).sum()))


@pytest.mark.parametrize("name", NAMES)
def test_intervals_are_those_computed_row_by_row(name: str) -> None:
    kind, rows = ClosedLabels(LABELS, {"a"}), simulated(1, groups=12, right=0.6, missing=0.1)
    degrees = degrees_by_hand(rows, name)
    error, value = error_of(left_by_hand(rows, name)), scores(rows, kind)[name].value
    low = kind.metrics[name].low
    share = (value - low) / (1 - low)
    reach = stats.t.ppf(0.975, degrees) * error / (1 - low) / (share * (1 - share))
    ends = low + (1 - low) * expit(logit(share) + np.array([-reach, reach]))
    found = interval(rows, name, kind)
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-12)


@pytest.mark.parametrize(("said", "value"), [("x", 0.0), ("a", 1.0)])
def test_no_error_in_few_groups_is_not_no_error(said: str, value: float) -> None:
    """Percentiles of resamples that are all alike would say [0, 0]; Clopper and Pearson do not."""
    rows = rows_of([("a", said)] * 12, group_size=1)
    found = interval(rows, "accuracy", ClosedLabels("ax"))
    exact = stats.binomtest(int(12 * value), 12).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize(("found", "missed"), [(3, 0), (0, 3)])
def test_a_recall_is_no_surer_for_units_with_nothing_to_find(found: int, missed: int) -> None:
    """Three positives among 80 units, all found or none: three trials, not 80; with one there is no interval."""
    said = ["a"] * found + ["x"] * (77 + missed)
    rows = rows_of([("ax"[n > 2], answer) for n, answer in enumerate(said)], group_size=1)
    kind = ClosedLabels("ax", {"a"})
    exact = stats.binomtest(found, 3).proportion_ci(0.95, "exact")
    assert ends_of(interval(rows, "recall", kind)) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert ends_of(interval(rows[2:], "recall", kind)) == (0.0, 1.0)
    assert ends_of(interval(rows[3:], "kappa", kind)) == (-1.0, 1.0)


def judged(right: Sequence[bool], size: int = 1) -> list[Row]:
    """Units that are all "a", ``size`` neighbours a group, and whether a judge has each right."""
    return rows_of([("a", "xa"[one]) for one in right], group_size=size)


def test_a_class_without_an_error_is_not_certain() -> None:
    """Few units of a class are often all right by luck, which says little about the class: it covered in 0.8."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(300):
        gold = rng.random(80) < 0.1
        said = gold ^ (rng.random(80) < 0.2)
        pairs = zip(gold.tolist(), said.tolist(), strict=True)
        rows = rows_of([("xa"[one], "xa"[two]) for one, two in pairs], group_size=1)
        found = interval(rows, "balanced_accuracy", ClosedLabels("ax"))
        held += found.low <= 0.8 <= found.high
    assert held >= 282


def test_classes_without_an_error_may_get_theirs_in_the_same_groups() -> None:
    rows = [Row(id=str(n), group=str(n), gold=("a", "x"), predicted=("a", "x")) for n in range(12)]
    exact = stats.binomtest(12, 12).proportion_ci(0.95, "exact")
    for name in ("balanced_accuracy", "macro_f1"):
        assert ends_of(interval(rows, name, ClosedLabels("ax"))) == pytest.approx((exact.low, 1.0), abs=1e-9)


def ends_of(found: Interval) -> tuple[float, float]:
    return found.low, found.high


@pytest.mark.parametrize("name", NAMES)
def test_repeating_every_unit_within_its_group_adds_no_certainty(name: str) -> None:
    rows = simulated(1, groups=40, right=0.7)
    fat = [Row(id=r.id, group=r.group, gold=r.gold * 9, predicted=r.predicted * 9) for r in rows]
    thin = interval(rows, name, ClosedLabels(LABELS, {"a"}))
    thick = interval(fat, name, ClosedLabels(LABELS, {"a"}))
    assert (thin.low, thin.high) == pytest.approx((thick.low, thick.high))


@pytest.mark.parametrize(("name", "low"), [("f1", 0.0), ("kappa", -1.0)])
def test_one_group_gives_the_whole_range(name: str, low: float) -> None:
    rows = [Row(id="1", group="g", gold=("a", "b"), predicted=("a", "b"))]
    found = interval(rows, name, ClosedLabels("ab", {"a"}))
    assert (found.low, found.high, found.groups) == (low, 1.0, 1)
    found = difference(rows, rows, name, ClosedLabels("ab", {"a"}))
    assert (found.low, found.high, found.groups) == (low - 1.0, 1.0 - low, 1)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_differences_are_antisymmetric_and_zero_for_equals(name: str, seed: int) -> None:
    one, two = (simulated(seed + n, groups=9, right=0.6, missing=0.2) for n in (0, 1))

    def ends(first: list[Row], second: list[Row]) -> tuple[float, float]:
        found = difference(first, second, name, ClosedLabels(LABELS, {"a"}))
        return found.low, found.high

    low, high = ends(one, two)
    assert ends(two, one) == pytest.approx((-high, -low), abs=1e-12)
    # no difference in so many groups is not no difference
    low_same, high_same = ends(one, one)
    assert low_same == pytest.approx(-high_same)
    assert high_same > 0.0
    most = 1.0 - ClosedLabels(LABELS, {"a"}).metrics[name].low
    assert -most <= low <= high <= most
