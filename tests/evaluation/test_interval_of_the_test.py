"""The interval of a difference is made from the test that decides: on every scale and at every level they agree."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import difference, rows_of
from scipy import stats

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.contrasts import contrast, corrected
from jurist.evaluation.criteria import CriteriaScale, Rated, by_criterion
from jurist.evaluation.paired import compare_pair, holm, holm_levels
from jurist.evaluation.proof import level_of
from jurist.evaluation.rows import Row
from jurist.evaluation.scale import Scale, choosable
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets, ObjectSets
from jurist.evaluation.units import encode

CLOSED, SIDED = ClosedLabels("abc"), ClosedLabels("ab", {"a"})
FIVE, UNIT = Scores(1, 5, whole=True), Scores(0.0, 1.0)
SETS, OBJECTS = LabelSets("abc"), ObjectSets(lambda one, other: float(one == other))
BOTH = CriteriaScale({"fit": SIDED, "tone": FIVE})


def some_set(rng: random.Random) -> tuple[str, ...]:
    return tuple(label for label in "abc" if rng.random() < 0.4)


DRAWN: dict[str, tuple[Scale, Callable[[random.Random], Any]]] = {
    "closed": (CLOSED, lambda rng: rng.choice("abc")),
    "sided": (SIDED, lambda rng: rng.choice("aab")),
    "scores": (FIVE, lambda rng: rng.choice([1, 3, 4, 4, 5])),
    "numbers": (UNIT, lambda rng: round(rng.random(), 2)),
    "label sets": (SETS, some_set),
    "objects": (OBJECTS, some_set),
}
METRICS = [(kind, name) for kind, (scale, _) in DRAWN.items() for name in choosable(scale)]


def two_systems(
    kind: str, seed: int, *, groups: int, size: int, right: tuple[float, float]
) -> tuple[Scale, list[Row], list[Row]]:
    """Return a scale and the rows of two systems that are right so often, and else say anything, or nothing."""
    scale, value = DRAWN[kind]
    rng = random.Random(seed)
    systems: list[list[Row]] = [[], []]
    for group in range(groups):
        gold = tuple(value(rng) for _ in range(rng.randint(1, size)))
        for rows, share in zip(systems, right, strict=True):
            said = []
            for truth in gold:
                other = None if rng.random() < 0.1 else value(rng)
                said.append(truth if rng.random() < share else other)
            rows.append(Row(id=f"{group:03d}", group=f"{group:03d}", gold=gold, predicted=tuple(said)))
    return scale, systems[0], systems[1]


@pytest.mark.parametrize(("kind", "name"), METRICS)
@settings(max_examples=8)
@given(
    seed=st.integers(0, 10_000),
    groups=st.sampled_from([3, 7, 12, 25]),
    size=st.integers(1, 3),
    right=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    opening=st.integers(1, 3),
)
def test_a_difference_is_shown_exactly_where_its_interval_excludes_0(
    kind: str, name: str, seed: int, groups: int, size: int, right: tuple[float, float], opening: int
) -> None:
    scale, first, second = two_systems(kind, seed, groups=groups, size=size, right=right)
    metric = scale.metrics[name]
    found = compare_pair(encode(scale, first, second), metric, seed=seed, tested=level_of(0.05, opening))
    ends = found.interval
    better, worse = ends.low > 0.0, ends.high < 0.0
    if not metric.higher_is_better:
        better, worse = worse, better
    assert (found.direction == "better", found.direction == "worse") == (better, worse)
    assert ends.low <= found.difference <= ends.high


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), rights=st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_contrasts_agree_with_their_intervals_after_holm(seed: int, rights: Sequence[float]) -> None:
    judges = []
    for right in rights:  # one seed draws one gold
        scale, rows, _ = two_systems("sided", seed, groups=12, size=1, right=(right, 1.0))
        judges.append((str(right), [rows]))
    first, *others = judges
    tests = [
        contrast(first, other, "accuracy", scale)
        for other in others
        if other[1][0][0].gold == first[1][0][0].gold
    ]
    for test in corrected(tests):
        ends = test.interval
        assert (test.verdict != "not shown to differ") == (ends.low > 0.0 or ends.high < 0.0)
        assert (test.verdict != "not shown to differ") == (test.p_holm < test.alpha)


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), right=st.floats(0, 1))
def test_criteria_agree_with_their_intervals_after_holm(seed: int, right: float) -> None:
    rng = random.Random(seed)
    systems: list[list[Row]] = [[], []]
    for number in range(20):
        gold = (Rated("fit", rng.choice("ab")), Rated("tone", rng.randint(1, 5)))
        for rows, share in zip(systems, (right, 0.5), strict=True):
            fit = gold[0] if rng.random() < share else Rated("fit", rng.choice("ab"))
            tone = gold[1] if rng.random() < share else Rated("tone", rng.randint(1, 5))
            rows.append(Row(id=str(number), group=str(number), gold=gold, predicted=(fit, tone)))
    for criterion in by_criterion(BOTH, *systems, seed=0, tested=0.025).values():
        ends = criterion.interval
        assert (criterion.direction == "better", criterion.direction == "worse") == (
            ends.low > 0.0,
            ends.high < 0.0,
        )
        better, worse = criterion.corrected
        assert (criterion.direction is not None) == (min(better, worse) < 0.025)


@given(
    st.dictionaries(st.text("xyz", max_size=3), st.floats(1e-6, 1), max_size=6),
    st.sampled_from([0.05, 0.025, 0.1]),
)
def test_the_levels_of_holm_reject_what_its_adjusted_p_reject(
    p_values: dict[str, float], alpha: float
) -> None:
    adjusted, levels = holm(p_values), holm_levels(p_values, alpha)
    assert list(levels) == list(p_values)
    for name, p in p_values.items():
        assert (p < levels[name]) == (adjusted[name] < alpha)


@pytest.mark.parametrize(("corrected_units", "broken_units"), [(30, 5), (40, 40), (60, 20)])
def test_of_single_units_it_is_about_that_of_bonett_and_price(
    corrected_units: int, broken_units: int
) -> None:
    units, middle = 200, 100
    one = [n < middle for n in range(units)]
    two = [broken_units <= n < middle + corrected_units for n in range(units)]
    rows = [rows_of([("a", "xa"[right]) for right in said], group_size=1) for said in (one, two)]
    found = difference(rows[0], rows[1], "accuracy", ClosedLabels("ax"))
    up, down = (corrected_units + 1) / (units + 2), (broken_units + 1) / (units + 2)
    error = np.sqrt((up + down - (up - down) ** 2) / (units + 2))
    assert (found.high - found.low) / 2 == pytest.approx(stats.norm.ppf(0.975) * error, rel=0.15)


def test_no_difference_in_so_many_groups_is_not_no_difference() -> None:
    reaches = []
    for units in (20, 80, 320):
        rows = rows_of([("a", "a")] * units, group_size=1)
        found = difference(rows, rows, "accuracy", ClosedLabels("ax"))
        assert found.low == pytest.approx(-found.high, rel=0.2)
        reaches.append(found.high)
    assert reaches[0] > 2.5 * reaches[1] > 6 * reaches[2] > 0.0
