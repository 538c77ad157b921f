"""The interval of a difference is made from the test that decides: on every scale and at every level they agree."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import difference, rows_of
from scipy import stats

from jurist.cases import Value
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.contrasts import contrast, corrected
from jurist.evaluation.criteria import CriteriaScale, Rated
from jurist.evaluation.criterion_pairs import compare_by_criterion
from jurist.evaluation.intervals import Interval
from jurist.evaluation.paired import compare_pair, holm, holm_levels
from jurist.evaluation.proof import level_of
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scale import Scale
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets, ObjectSets
from jurist.evaluation.units import encode

SIDED = ClosedLabels("ab", {"a"})
FIVE = Scores(1, 5, whole=True)
TWO_CRITERIA = CriteriaScale({"fit": SIDED, "tone": FIVE})


def draw_set(rng: random.Random) -> tuple[str, ...]:
    return tuple(label for label in "abc" if rng.random() < 0.4)


@dataclass(frozen=True)
class Kind:
    """A scale, and how a value of it is drawn."""

    scale: Scale
    draw: Callable[[random.Random], Value]


KINDS = {
    "closed": Kind(ClosedLabels("abc"), lambda rng: rng.choice("abc")),
    "sided": Kind(SIDED, lambda rng: rng.choice("aab")),
    "scores": Kind(FIVE, lambda rng: rng.choice([1, 3, 4, 4, 5])),
    "numbers": Kind(Scores(0.0, 1.0), lambda rng: round(rng.random(), 2)),
    "label sets": Kind(LabelSets("abc"), draw_set),
    "objects": Kind(ObjectSets(lambda gold, value: float(gold == value)), draw_set),
}
METRICS = [(name, metric) for name, kind in KINDS.items() for metric in kind.scale.choosable]


def draw_systems(
    kind: Kind, seed: int, groups: int, largest: int, accuracies: Sequence[float]
) -> list[list[JudgedRow]]:
    """Return the rows of systems that are right so often, and else answer anything, or nothing."""
    rng = random.Random(seed)
    systems: list[list[JudgedRow]] = [[] for _ in accuracies]
    for group in range(groups):
        name = f"{group:03d}"
        gold = tuple(kind.draw(rng) for _ in range(rng.randint(1, largest)))
        for rows, accuracy in zip(systems, accuracies, strict=True):
            answers = []
            for value in gold:
                answer = None if rng.random() < 0.1 else kind.draw(rng)
                if rng.random() < accuracy:
                    answer = value
                answers.append(answer)
            rows.append(JudgedRow(id=name, group=name, gold=gold, predicted=tuple(answers)))
    return systems


def side_of(interval: Interval) -> int:
    """Return 1 for an interval above 0, -1 for one below, 0 for one that holds it."""
    if interval.low > 0.0:
        return 1
    if interval.high < 0.0:
        return -1
    return 0


SIDE_OF_DIRECTION = {"better": 1, "worse": -1, None: 0}


@pytest.mark.parametrize(("kind", "name"), METRICS)
@settings(max_examples=8)
@given(
    seed=st.integers(0, 10_000),
    groups=st.sampled_from([3, 7, 12, 25]),
    largest=st.integers(1, 3),
    accuracies=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    opening=st.integers(1, 3),
)
def test_a_difference_is_shown_exactly_where_its_interval_excludes_0(
    kind: str,
    name: str,
    seed: int,
    groups: int,
    largest: int,
    accuracies: tuple[float, float],
    opening: int,
) -> None:
    scale = KINDS[kind].scale
    metric = scale.metrics[name]
    systems = draw_systems(KINDS[kind], seed, groups, largest, accuracies)
    result = compare_pair(encode(scale, *systems), metric, seed=seed, tested=level_of(0.05, opening))
    side = SIDE_OF_DIRECTION[result.direction]
    if not metric.higher_is_better:
        side = -side
    assert side_of(result.interval) == side
    assert result.interval.low <= result.difference <= result.interval.high


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), accuracies=st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_contrasts_agree_with_their_intervals_after_holm(seed: int, accuracies: Sequence[float]) -> None:
    systems = draw_systems(KINDS["sided"], seed, 12, 1, accuracies)
    contrasts = []
    for number, rows in enumerate(systems[1:], 1):
        contrasts.append(contrast(("0", [systems[0]]), (str(number), [rows]), "accuracy", SIDED))
    for result in corrected(contrasts):
        is_shown = result.verdict != "not shown to differ"
        assert is_shown == (side_of(result.interval) != 0)
        assert is_shown == (result.p_holm < result.alpha)


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), accuracy=st.floats(0, 1))
def test_criteria_agree_with_their_intervals_after_holm(seed: int, accuracy: float) -> None:
    rng = random.Random(seed)
    first: list[JudgedRow] = []
    second: list[JudgedRow] = []
    for number in range(20):
        gold = (Rated("fit", rng.choice("ab")), Rated("tone", rng.randint(1, 5)))
        for rows, rate in ((first, accuracy), (second, 0.5)):
            fit = gold[0] if rng.random() < rate else Rated("fit", rng.choice("ab"))
            tone = gold[1] if rng.random() < rate else Rated("tone", rng.randint(1, 5))
            rows.append(JudgedRow(id=str(number), group=str(number), gold=gold, predicted=(fit, tone)))
    for criterion in compare_by_criterion(TWO_CRITERIA, first, second, seed=0, tested=0.025).values():
        assert side_of(criterion.interval) == SIDE_OF_DIRECTION[criterion.direction]
        assert (criterion.direction is not None) == (min(criterion.corrected) < 0.025)


@given(
    st.dictionaries(st.text("xyz", max_size=3), st.floats(1e-6, 1), max_size=6),
    st.sampled_from([0.05, 0.025, 0.1]),
)
def test_the_levels_of_holm_reject_what_its_adjusted_p_reject(
    p_values: dict[str, float], alpha: float
) -> None:
    adjusted = holm(p_values)
    levels = holm_levels(p_values, alpha)
    assert list(levels) == list(p_values)
    for name, p in p_values.items():
        assert (p < levels[name]) == (adjusted[name] < alpha)


RIGHT = ("a", "a")
WRONG = ("a", "x")


@pytest.mark.parametrize(("corrected_units", "broken_units"), [(30, 5), (40, 40), (60, 20)])
def test_of_single_units_it_is_about_that_of_bonett_and_price(
    corrected_units: int, broken_units: int
) -> None:
    first = [RIGHT] * 100 + [WRONG] * 100
    second = [WRONG] * broken_units + [RIGHT] * (100 - broken_units)
    second += [RIGHT] * corrected_units + [WRONG] * (100 - corrected_units)
    ends = difference(
        rows_of(first, group_size=1), rows_of(second, group_size=1), "accuracy", ClosedLabels("ax")
    )
    corrected_share = (corrected_units + 1) / 202
    broken_share = (broken_units + 1) / 202
    variance = corrected_share + broken_share - (corrected_share - broken_share) ** 2
    reach = stats.norm.ppf(0.975) * np.sqrt(variance / 202)
    assert (ends.high - ends.low) / 2 == pytest.approx(reach, rel=0.15)


def test_no_difference_in_so_many_groups_is_not_no_difference() -> None:
    reaches = []
    for units in (20, 80, 320):
        rows = rows_of([RIGHT] * units, group_size=1)
        ends = difference(rows, rows, "accuracy", ClosedLabels("ax"))
        assert ends.low == pytest.approx(-ends.high, rel=0.2)
        reaches.append(ends.high)
    assert reaches[0] > 2.5 * reaches[1] > 6 * reaches[2] > 0.0
