"""Intervals that respect clusters, by Student's t and a jackknife that leaves out whole groups, never single units.

Sentences of one document share its difficulty, so treating them as independent makes intervals too narrow. How far a
value moves when each group is left out in turn is its standard error (Efron and Tibshirani 1993, chapter 11);
Student's t says how many of them an interval reaches, with one degree of freedom less than there are groups. Groups
that count unequally count as fewer: (sum of weights)^2 / sum of squared weights (Kish 1965, section 11.7); the weight
of a group is its share of what the value is over: for a recall what there is to find, not all units. A value of a
bounded range is put on the logit scale of that range, so that its interval stays within.

No error seen in few groups is not no error: docs/metrics.md says what is added, docs/measured.md has the coverage by
simulation.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from .metrics import GroupWeights, Metric, Ratio, mean
from .units import Floats, Ints, Units

LEVEL = 0.95
_ROUNDING = 1e-12  # equal values may be computed along different roundings
_MOVED = 1e-9  # values without each group that differ by less are the same
BLOCKS = 200
"""More groups than these are left out in so many blocks: the standard error hardly gains, and the work is bounded."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An interval, of 95 % unless another level was asked for."""

    low: float
    high: float
    groups: int  # that it comes from

    def __str__(self) -> str:
        return f"[{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value, with its 95 % interval clustered by group."""

    value: float
    interval: Interval

    def __str__(self) -> str:
        return f"{self.value:.3f} {self.interval}"


@dataclass(frozen=True, kw_only=True)
class Ranged:
    """A value that may not be known, with the ends of its 95 % interval, which may not be known either."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        if self.low is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, kw_only=True)
class Jackknife:
    """A value and its standard error over groups."""

    value: float
    error: float
    groups: int
    effective: float  # the number of groups of equal weight that say as much
    # The effective groups of each quotient in which no error, and in which nothing but errors, was seen: how far the
    # value may fall, and rise, by groups that were not seen.
    fall: tuple[float, ...]
    rise: tuple[float, ...]
    quotients: int  # that the value is the sum of, without those over nothing

    @classmethod
    def of(cls, value: float, without_each: Floats, weights: GroupWeights) -> "Jackknife":
        """Return a value with the error that its values without each block of groups give."""
        blocks = len(without_each)
        deviations = without_each - without_each.mean()
        error = math.sqrt((blocks - 1) / blocks * float((deviations**2).sum()))
        if error <= _ROUNDING:
            error = 0.0
        fall = weights.effective_by_quotient(weights.top)
        rise = weights.effective_by_quotient(weights.bottom)
        quotients = int(weights.weights.any(axis=0).sum())
        if error == 0.0 and len(fall) + len(rise) < quotients:
            fall = rise = (weights.effective,)
            quotients = 1
        if np.count_nonzero(weights.weights.any(axis=1)) <= 1:
            error = math.inf
        return cls(
            value=value,
            error=error,
            groups=len(weights.weights),
            effective=weights.effective,
            fall=fall,
            rise=rise,
            quotients=quotients,
        )

    @property
    def degrees(self) -> float:
        """The degrees of freedom of the standard error, at least 1."""
        return max(1.0, min(self.effective, BLOCKS) - 1.0)

    def reach(self, level: float = LEVEL) -> float:
        """Return the half width of an interval of this level, on the scale of the value, by the standard error."""
        if math.isinf(self.error):
            return math.inf
        return t_quantile(0.5 + level / 2.0, self.degrees) * self.error

    def within(self, low: float, high: float, level: float = LEVEL) -> Interval:
        """Return the interval of a value that lies between ``low`` and ``high``; either may be infinite."""
        below = above = self.reach(level)
        width = high - low
        if not math.isfinite(width):
            width = 0.0
        elif 0.0 < below < math.inf and low < self.value < high:
            below, above = self._reaches_on_logit_scale(below, low, width)
        below = math.hypot(below, width * self._unseen_move(self.fall, level))
        above = math.hypot(above, width * self._unseen_move(self.rise, level))
        return Interval(
            low=max(low, self.value - below), high=min(high, self.value + above), groups=self.groups
        )

    def _reaches_on_logit_scale(self, reach: float, low: float, width: float) -> tuple[float, float]:
        """Return how far the interval reaches below and above the value, if it is made on the logit scale."""
        share = (self.value - low) / width
        logit_reach = reach / width / (share * (1.0 - share))
        logits = scipy.special.logit(share) + np.array([-logit_reach, logit_reach])
        lower, upper = (low + width * scipy.special.expit(logits)).tolist()
        return max(0.0, self.value - lower), max(0.0, upper - self.value)

    def _unseen_move(self, effective_groups: Sequence[float], level: float) -> float:
        """Return the largest move by groups that were not seen, as a share of the range."""
        # Classes without an error may get theirs in the same groups, so these reaches are not squared.
        total = math.fsum(1.0 - ((1.0 - level) / 2.0) ** (1.0 / groups) for groups in effective_groups)
        return total / max(1, self.quotients)


def t_quantile(p: float, degrees: float) -> float:
    """Return the quantile of Student's t."""
    return float(scipy.special.stdtrit(degrees, p))


def leaving_out(groups: int) -> Ints:
    """Return 0 or 1 for each group, (B, groups): each row leaves out one group, or one block of groups."""
    blocks = min(groups, BLOCKS)
    places = np.arange(groups)
    block = places % blocks  # (groups,)
    if groups > blocks:
        # By lot: groups are sorted by name, and every 200th of them holds kinds that share a name in balance.
        block = np.random.default_rng(groups).permutation(block)
    weights = np.ones((blocks, groups), dtype=np.int64)
    weights[block, places] = 0
    return weights


def has_one_value(units: Units, metric: Metric) -> bool:
    """Return True where a metric of these answers is the same without any of the groups or units, as of a constant."""
    # Without the units too: an accuracy is the same without each group where all groups have the same labels.
    alone = replace(units, group=np.arange(len(units.gold)), groups=len(units.gold))
    for grouped in (units, alone):
        without_each = metric.resampled(grouped, leaving_out(grouped.groups))
        if float(np.abs(without_each - metric.of(units)).max()) > _MOVED:
            return False
    return True


def metric_interval(units: Units, metric: Metric) -> Interval:
    """The interval of a metric over answered units."""
    without_each = metric.resampled(units, leaving_out(units.groups))
    jackknife = Jackknife.of(metric.of(units), without_each, metric.group_weights(units))
    return jackknife.within(metric.low, metric.high)


def difference_parts(filled: Units, metric: Metric) -> Floats:
    """Return how far each block of groups (B,) moves the second system's value less the first's from its mean.

    The squares of the parts add up to the square of the standard error over groups.
    """
    weights = leaving_out(filled.groups)
    first, second = filled.halves
    # (B,): without each block of groups
    differences = metric.resampled(second, weights) - metric.resampled(first, weights)
    blocks = len(differences)
    # This is how far groups vary: for a mean it is the spread of their swaps, but for the mean difference itself.
    return np.asarray((differences.mean() - differences) * (blocks - 1) / blocks)


def difference_error(filled: Units, metric: Metric) -> float:
    """Return the standard error over groups of the second system's value less the first's."""
    return float(np.sqrt((difference_parts(filled, metric) ** 2).sum()))


def over_groups(sums: Floats, of: Ratio) -> Jackknife:
    """Return a ratio of sums by group, (G, ...), with its standard error."""
    weights = leaving_out(len(sums)).astype(np.float64)
    sums_without_each = np.tensordot(weights, sums, axes=1)
    return Jackknife.of(float(of(sums.sum(axis=0))), of(sums_without_each), of.group_weights(sums))


def estimated(per_unit: NDArray[Any], group: NDArray[Any], of: Ratio, *, low: float = 0.0) -> Estimate:
    """A ratio of sums of tables (N, ...), one a unit, with its interval by group; it lies in [``low``, 1]."""
    names, numbers = np.unique(group, return_inverse=True)
    sums = np.zeros((len(names),) + per_unit.shape[1:])
    np.add.at(sums, numbers, per_unit)
    ratio = over_groups(sums, of)
    return Estimate(value=ratio.value, interval=ratio.within(low, 1.0))


@dataclass(frozen=True, kw_only=True)
class Share(Ranged):
    """One ratio."""

    count: float  # the sum of the parts
    of: float  # the sum of the totals
    groups: int  # groups with a total above 0

    @classmethod
    def over(cls, items: Iterable[tuple[str, float, float]]) -> "Share":
        """The sum of parts over that of totals, from (group, part, total) of every item; 1 at most."""
        sums: dict[str, Floats] = {}
        for group, part, total in items:
            if total:
                sums[group] = sums.get(group, np.zeros(2)) + (part, total)
        table = np.array([sums[group] for group in sorted(sums)]).reshape(-1, 2)
        count, of = table.sum(axis=0).tolist()
        if not of:
            return cls(count=count, of=of, groups=0)
        ratio = over_groups(table, mean)
        share = cls(value=ratio.value, count=count, of=of, groups=len(table))
        if len(table) == 1:
            return share
        interval = ratio.within(0.0, 1.0)
        return replace(share, low=interval.low, high=interval.high)

    def of_scale(self, highest: float) -> "Share":
        """Return a ratio of points to all possible ones as the mean of points, on a scale from 0 to ``highest``."""
        return replace(
            self,
            value=_times(self.value, highest),
            low=_times(self.low, highest),
            high=_times(self.high, highest),
            of=self.of / highest,
        )


def _times(number: float | None, factor: float) -> float | None:
    """Return a number times a factor; ``None`` for an unknown one."""
    if number is None:
        return None
    return number * factor


K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=Hashable)
Cell: TypeAlias = tuple[str, R, K, float, float]
"""(group, row, column, part, total) of what is counted in a cell of a table."""


def breakdown(cells: Iterable[Cell[R, K]]) -> dict[R, dict[K, Share]]:
    """Return row -> column -> share; rows and columns in the order of their first cells."""
    items_by_row: dict[R, dict[K, list[tuple[str, float, float]]]] = {}
    for group, row, column, part, total in cells:
        items_by_row.setdefault(row, {}).setdefault(column, []).append((group, part, total))
    table: dict[R, dict[K, Share]] = {}
    for row, items_by_column in items_by_row.items():
        table[row] = {}
        for column, items in items_by_column.items():
            table[row][column] = Share.over(items)
    return table
