"""Two systems held against each other in each of several criteria, with Holm's correction over all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .criteria import CriteriaScale
from .intervals import Interval
from .paired import Direction, Paired, compare_pair, holm, holm_levels
from .rows import JudgedRow
from .scale import Scale
from .units import encode


@dataclass(frozen=True, kw_only=True)
class Criterion(Paired):
    """Two systems compared on one criterion; direction and interval keep Holm's correction over all criteria."""

    units: int
    corrected: tuple[float, float]  # one-sided p that the second is better, and worse, by Holm
    levels: tuple[float, float]  # of the tests that the second is better, and worse, by Holm's steps

    @property
    def direction(self) -> Direction | None:
        level_better, level_worse = self.levels
        if self.test.better < level_better:
            return "better"
        if self.test.worse < level_worse:
            return "worse"
        return None

    @property
    def interval(self) -> Interval:
        level_better, level_worse = self.levels
        return self.interval_at(level_better, level_worse)

    def to_card(self) -> dict[str, object]:
        """Return the figures of the criterion as JSON values, as a card has them."""
        return {
            "metric": self.metric,
            "basic": self.value_before,
            "compiled": self.value_after,
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "p": self.corrected[0],
            "shown": self.direction or "",
            "units": self.units,
            "groups": self.groups,
        }


def labelled_criteria(
    scale: Scale, *sets: Sequence[JudgedRow]
) -> Iterator[tuple[str, Scale, list[Sequence[JudgedRow]]]]:
    """Yield each criterion that people labelled, its scale, and the rows of each set with its answers alone.

    A scale without criteria yields nothing.
    """
    if not isinstance(scale, CriteriaScale):
        return
    for criterion, criterion_scale in scale.scales.items():
        criterion_sets: list[Sequence[JudgedRow]] = []
        for rows in sets:
            criterion_sets.append(scale.rows(criterion, rows))
        if any(row.labelled for row in criterion_sets[0]):
            yield criterion, criterion_scale, criterion_sets


def compare_by_criterion(
    scale: Scale, first: Sequence[JudgedRow], second: Sequence[JudgedRow], *, seed: int, tested: float
) -> dict[str, Criterion]:
    """Compare two systems by the default metric of each criterion that people labelled; none without criteria."""
    pairs: dict[str, Paired] = {}
    units_labelled: dict[str, int] = {}
    p_better: dict[str, float] = {}
    p_worse: dict[str, float] = {}
    for name, criterion_scale, (first_rows, second_rows) in labelled_criteria(scale, first, second):
        units = encode(criterion_scale, first_rows, second_rows)
        metric = criterion_scale.metrics[criterion_scale.default]
        pair = compare_pair(units, metric, seed=seed, tested=tested)
        pairs[name] = pair
        units_labelled[name] = len(units.gold)
        p_better[name] = pair.test.better
        p_worse[name] = pair.test.worse
    corrected_better = holm(p_better)
    corrected_worse = holm(p_worse)
    levels_better = holm_levels(p_better, tested)
    levels_worse = holm_levels(p_worse, tested)
    criteria: dict[str, Criterion] = {}
    for name, pair in pairs.items():
        criteria[name] = Criterion(
            **vars(pair),
            units=units_labelled[name],
            corrected=(corrected_better[name], corrected_worse[name]),
            levels=(levels_better[name], levels_worse[name]),
        )
    return criteria
