"""The clustered bootstrap against a slow one written out, and the laws of clusters."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import NAMES, difference, interval, scores

from jurist.errors import JuristError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import group_weights
from jurist.evaluation.measured import objective_score
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


def hits(gold: Sequence[str], predicted: Sequence[str]) -> float:
    return sum(one == two for one, two in zip(gold, predicted, strict=True)) / len(gold)


def test_weights_are_resamples_with_replacement() -> None:
    weights = group_weights(30, seed=3, resamples=600)
    assert weights.shape == (600, 30)
    assert set(weights.sum(axis=1).tolist()) == {30}
    # Each weight is binomial(30, 1/30): mean 1, variance 29/30; 18 000 draws pin both closely.
    assert weights.mean() == pytest.approx(1.0)
    assert weights.var() == pytest.approx(29 / 30, rel=0.05)
    assert (weights == group_weights(30, seed=3, resamples=600)).all()
    assert (weights != group_weights(30, seed=4, resamples=600)).any()


@pytest.mark.parametrize("name", NAMES)
def test_the_interval_equals_one_computed_row_by_row(name: str) -> None:
    rows = simulated(1, groups=12, right=0.6, missing=0.1)
    values = []
    for weights in group_weights(12, seed=5, resamples=60):
        drawn = [row for row, count in zip(rows, weights, strict=True) for _ in range(count)]
        again = [
            Row(id=str(place), group="g", gold=row.gold, predicted=row.predicted)
            for place, row in enumerate(drawn)
        ]
        values.append(scores(again, ClosedLabels(LABELS, {"a"}))[name].value)
    low, high = np.quantile(values, [0.025, 0.975])
    found = interval(rows, name, ClosedLabels(LABELS, {"a"}), seed=5, resamples=60)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert (found.groups, found.resamples) == (12, 60)


@pytest.mark.parametrize("name", NAMES)
def test_the_difference_interval_equals_one_computed_row_by_row(name: str) -> None:
    one, two = simulated(1, groups=12, right=0.5, missing=0.1), simulated(2, groups=12, right=0.8)
    # Complete answers leave nothing to fill, so the slow path needs no knowledge of how gaps are filled.
    one = [
        Row(id=row.id, group=row.group, gold=row.gold, predicted=tuple(x or "b" for x in row.predicted))
        for row in one
    ]
    values = []
    for weights in group_weights(12, seed=5, resamples=60):
        pair = []
        for rows in (one, two):
            drawn = [row for row, count in zip(rows, weights, strict=True) for _ in range(count)]
            again = [
                Row(id=str(n), group="g", gold=row.gold, predicted=row.predicted)
                for n, row in enumerate(drawn)
            ]
            pair.append(scores(again, ClosedLabels(LABELS, {"a"}))[name].value)
        values.append(pair[1] - pair[0])
    low, high = np.quantile(values, [0.025, 0.975])
    found = difference(one, two, name, ClosedLabels(LABELS, {"a"}), seed=5, resamples=60)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


def test_an_own_metric_has_the_same_interval_as_the_named_one_it_equals() -> None:
    one, two = simulated(1, groups=20, right=0.5), simulated(2, groups=20, right=0.7, missing=0.1)
    own = interval(two, hits, ClosedLabels(LABELS), seed=1, resamples=200)
    named = interval(two, "accuracy", ClosedLabels(LABELS), seed=1, resamples=200)
    assert (own.low, own.high) == pytest.approx((named.low, named.high))
    own = difference(one, two, hits, ClosedLabels(LABELS), seed=1, resamples=200)
    named = difference(one, two, "accuracy", ClosedLabels(LABELS), seed=1, resamples=200)
    assert (own.low, own.high) == pytest.approx((named.low, named.high))


@pytest.mark.parametrize("name", NAMES)
def test_repeating_every_unit_within_its_group_adds_no_certainty(name: str) -> None:
    rows = simulated(1, groups=40, right=0.7)
    fat = [Row(id=r.id, group=r.group, gold=r.gold * 9, predicted=r.predicted * 9) for r in rows]
    thin = interval(rows, name, ClosedLabels(LABELS, {"a"}))
    thick = interval(fat, name, ClosedLabels(LABELS, {"a"}))
    assert (thin.low, thin.high) == pytest.approx((thick.low, thick.high))


def test_clustered_errors_widen_the_interval() -> None:
    gold = ("a", "b") * 5
    rows = [
        Row(id=str(n), group=str(n), gold=gold, predicted=gold if n % 2 else gold[::-1]) for n in range(40)
    ]
    alone = [
        Row(id=f"{row.id}-{n}", group=f"{row.id}-{n}", gold=(x,), predicted=(y,))
        for row in rows
        for n, (x, y) in enumerate(zip(row.gold, row.predicted, strict=True))
    ]
    clustered, naive = (interval(some, "accuracy", ClosedLabels("ab")) for some in (rows, alone))
    assert clustered.high - clustered.low > 2.5 * (naive.high - naive.low)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_the_interval_holds_the_estimate_with_many_groups(name: str, missing: float) -> None:
    one, two = (simulated(seed, groups=80, right=seed / 10, missing=missing) for seed in (6, 8))
    found = interval(one, name, ClosedLabels(LABELS, {"a"}))
    assert found.low < scores(one, ClosedLabels(LABELS, {"a"}))[name].value < found.high
    found = difference(one, two, name, ClosedLabels(LABELS, {"a"}))
    before, after = (objective_score(rows, name, ClosedLabels(LABELS, {"a"})) for rows in (one, two))
    assert found.low < after - before < found.high


def test_about_95_of_100_intervals_hold_the_truth() -> None:
    held = 0
    for seed in range(200):
        noise = random.Random(seed)
        rows = []
        for group in range(40):
            # The group's rate is 0.3 or 0.9, so the true accuracy is 0.6 and units of a group go together.
            rate = noise.choice([0.3, 0.9])
            answers = tuple("a" if noise.random() < rate else "b" for _ in range(6))
            rows.append(Row(id=str(group), group=str(group), gold=("a",) * 6, predicted=answers))
        found = interval(rows, "accuracy", ClosedLabels("ab"), seed=seed, resamples=400)
        held += found.low <= 0.6 <= found.high
    assert 178 <= held <= 198


@pytest.mark.parametrize(("name", "low"), [("f1", 0.0), ("kappa", -1.0)])
def test_one_group_gives_the_whole_range(name: str, low: float) -> None:
    rows = [Row(id="1", group="g", gold=("a", "b"), predicted=("a", "b"))]
    found = interval(rows, name, ClosedLabels("ab", {"a"}))
    assert (found.low, found.high, found.groups, found.resamples) == (low, 1.0, 1, 0)
    found = difference(rows, rows, name, ClosedLabels("ab", {"a"}))
    assert (found.low, found.high, found.resamples) == (low - 1.0, 1.0 - low, 0)


def test_the_same_seed_gives_the_same_interval_whatever_the_order_of_rows() -> None:
    rows = simulated(1, groups=20, right=0.7, missing=0.2)
    found = interval(rows, "f1", ClosedLabels(LABELS, {"a"}), seed=1)
    assert found == interval(rows[::-1], "f1", ClosedLabels(LABELS, {"a"}), seed=1)
    assert found != interval(rows, "f1", ClosedLabels(LABELS, {"a"}), seed=2)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_differences_are_antisymmetric_and_zero_for_equals(name: str, seed: int) -> None:
    one, two = (simulated(seed + n, groups=9, right=0.6, missing=0.2) for n in (0, 1))

    def ends(first: list[Row], second: list[Row]) -> tuple[float, float]:
        found = difference(first, second, name, ClosedLabels(LABELS, {"a"}), resamples=100)
        return found.low, found.high

    low, high = ends(one, two)
    assert ends(two, one) == pytest.approx((-high, -low), abs=1e-12)
    assert ends(one, one) == (0.0, 0.0)
    assert (
        ClosedLabels(LABELS, {"a"}).metrics[name].low - 1.0
        <= low
        <= high
        <= 1.0 - ClosedLabels(LABELS, {"a"}).metrics[name].low
    )


def test_different_cases_are_refused() -> None:
    one, two = simulated(1, groups=5, right=0.5), simulated(1, groups=6, right=0.5)
    with pytest.raises(JuristError, match="judged different cases"):
        difference(one, two, "accuracy", ClosedLabels(LABELS))
