"""Two systems on the same rows: the permutation of whole groups, which decides, and what describes the difference.

One test for every metric: the judge's own, recomputed under swaps of whole groups of answers between the two systems.
It is exact, however errors cluster, where the two are equally good in every row. Where they only have the same score
(one misses more, the other alarms more), few units of a rare class would make it too sure: their errors were hardly
seen. So two more units are swapped along, once each way, of the class in which a unit counts most. And where one group
holds more than half of the units, its errors are one draw for most of the score: the other groups must show the
difference without it, too. Units corrected and broken (McNemar 1947) and the interval of the difference describe, and
decide nothing.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import betainc

from ..errors import UsageError
from .intervals import Interval, Jackknife, difference_of, t_quantile
from .metrics import Metric
from .units import Floats, Ints, Units

EXACT_GROUPS = 14
FEW_GROUPS = 20
SLICE = 1024  # swaps held in memory at once
POWER = 0.8
_CHANGED = 2.0  # units that differ, for each that is gained: of four, three are corrected and one is broken
_TOGETHER = 0.15  # the correlation of what two units of a group gain: moderate, and not known before
_ROUNDING = 1e-12


def sign_test(wins: int, losses: int) -> float:
    """Return the exact probability of so many wins or more, if each unit were won or lost by the toss of a coin."""
    # One too small for a float is given as the smallest normal one, so that it is never 0.
    return max(float(betainc(wins, losses + 1, 0.5)), sys.float_info.min) if wins else 1.0


@dataclass(frozen=True, kw_only=True)
class McNemar:
    """The exact two-sided test on discordant units. It takes units as independent."""

    b: int
    c: int
    p: float

    @classmethod
    def of(cls, b: int, c: int) -> "McNemar":
        """Test b against c at 1/2."""
        return cls(b=b, c=c, p=min(1.0, 2.0 * sign_test(max(b, c), min(b, c))))


Direction: TypeAlias = Literal["better", "worse"]
Verdict: TypeAlias = Literal["better", "worse", "not shown to be better"]


@dataclass(frozen=True, kw_only=True)
class Permutation:
    """A paired permutation test that swaps the two systems' answers in whole groups.

    All 2^g swaps are enumerated when at most 14 groups differ, so both p are exact; otherwise random ones are evaluated
    and p is (k + 1) / (draws + 1). With g differing groups p cannot go below 2^-g.
    """

    difference: float
    better: float
    worse: float
    swaps: int
    exact: bool
    groups: int

    @property
    def p(self) -> float:
        """Two-sided, in (0, 1]."""
        return min(1.0, 2.0 * min(self.better, self.worse))


def permute(units: Units, metric: Metric, *, seed: int, cautious: bool = True) -> Permutation:
    """Test whether two systems differ in a metric, with the group as the unit of exchange."""
    filled, half = units.worst, len(units.predicted) // 2
    first, second = filled.sets(slice(half)), filled.sets(slice(half, None))
    differing = np.unique(units.group[(first.predicted != second.predicted).any(axis=0)])
    exact = len(differing) <= EXACT_GROUPS
    count = 1 << len(differing) if exact else metric.draws
    sign = 1.0 if metric.higher_is_better else -1.0
    observed = sign * (metric.of(second) - metric.of(first))
    values: list[Floats] = []
    rng = np.random.default_rng(seed)
    for start in range(0, count, SLICE):
        codes = np.arange(start, min(start + SLICE, count))
        swaps = np.zeros((len(codes), units.groups), dtype=np.bool_)
        swaps[:, differing] = (
            codes[:, np.newaxis] >> np.arange(len(differing)) & 1
            if exact
            else rng.integers(0, 2, size=(len(codes), len(differing)))
        )
        values.append(sign * metric.swapped(filled, swaps))
    swapped = np.concatenate(values)
    shift = 2.0 * _unit_weight(filled, metric) if cautious else 0.0
    apart = units.group != int(units.sizes.argmax())  # from a group that may hold more than half of the units
    alone = None
    if cautious and units.groups > 1 and 2 * int(apart.sum()) < len(apart):
        alone = permute(units.only(apart), metric, seed=seed)
    return Permutation(
        difference=sign * observed,
        better=max(_one_sided(swapped, observed, shift, exact=exact), alone.better if alone else 0.0),
        worse=max(_one_sided(-swapped, -observed, shift, exact=exact), alone.worse if alone else 0.0),
        swaps=count,
        exact=exact,
        groups=len(differing),
    )


def _one_sided(swapped: Floats, observed: float, shift: float, *, exact: bool) -> float:
    """Return the share of swaps that reach a difference, with two more units swapped along; at least that without."""

    def reached(least: float) -> float:
        # Equal differences may be computed along different roundings; ties must count as reached.
        count = int((swapped >= least - _ROUNDING).sum())
        return count / len(swapped) if exact else (count + 1) / (len(swapped) + 1)

    alone = reached(observed)
    return max(alone, (reached(observed - shift) + 2.0 * alone + reached(observed + shift)) / 4.0)


def _unit_weight(filled: Units, metric: Metric) -> float:
    """Return how far one unit can move a metric of closed labels, in the class where it moves it most; else 0."""
    if not filled.kind.domain or filled.right is None:
        return 0.0
    most = 0.0
    for answers in (filled.predicted[:1], filled.predicted[-1:]):
        value = metric.of(filled.answering(answers))
        for label in np.unique(filled.gold):
            own = np.flatnonzero(filled.gold == label)
            unit = own[np.argmax(answers[0, own] == label)]  # a right one, where there is one
            changed = answers.copy()
            changed[0, unit] = filled.wrong[unit] if answers[0, unit] == label else label
            most = max(most, abs(metric.of(filled.answering(changed)) - value))
    return most


@dataclass(frozen=True, kw_only=True)
class Paired:
    """What two systems' answers to the same cases show."""

    metric: str
    higher_is_better: bool
    before: float  # the metric of the first system, missing answers counted as wrong
    after: float  # and that of the second
    gap: Jackknife  # of their difference
    limit: float  # how large a difference can be
    mcnemar: McNemar | None
    permutation: Permutation
    tested: float  # the one-sided level

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.after - self.before

    @property
    def groups(self) -> int:
        """Groups with a labelled unit."""
        return self.gap.groups

    @property
    def level(self) -> float:
        """The level of the interval: 0.95 at a one-sided level of 0.025."""
        return 1.0 - 2.0 * self.tested

    @property
    def interval(self) -> Interval:
        """The clustered interval of ``difference``."""
        return self.gap.around(self.limit, self.level)

    @property
    def interval_words(self) -> str:
        """The interval with its level."""
        ends = self.interval
        return f"{100.0 * self.level:.4g} % interval {ends.low:+.3f} to {ends.high:+.3f}"

    @property
    def p(self) -> float:
        """Two-sided, not corrected for how many tests there are."""
        return self.permutation.p

    @property
    def direction(self) -> Direction | None:
        """What is shown of the second system, if anything is: one side of the test is below the level."""
        if self.permutation.better < self.tested:
            return "better"
        return "worse" if self.permutation.worse < self.tested else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits a decision, in words; empty if nothing is known to."""
        return tuple(filter(None, [limits(self.groups, self.tested)]))


def fewest_groups(alpha: float) -> int:
    """Return the fewest groups that can show a difference at a one-sided level: else no permutation is below it."""
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha is {alpha!r}", hint="give a level between 0 and 1, usually 0.05")
    return math.floor(-math.log2(alpha)) + 1


def wide(groups: int) -> str:
    """What so few groups do to the intervals of scores, in words; empty from ``FEW_GROUPS`` groups on."""
    if groups == 1:
        return "all rows belong to one group: no interval can be given"
    return f"only {groups} groups: intervals are wide" if groups < FEW_GROUPS else ""


def limits(groups: int, alpha: float) -> str:
    """What so few groups cannot show at a level, in words; empty from ``FEW_GROUPS`` groups on."""
    if groups == 1:
        return f"{wide(groups)}, so nothing can be shown"
    if groups < (needed := fewest_groups(alpha)):
        return (
            f"only {groups} groups: nothing can be shown at the level {alpha:.3g}, as the permutation of whole groups "
            f"has no p below {2.0**-groups:.3g}; it takes {needed} groups or more"
        )
    if not (words := wide(groups)):
        return ""
    ways = [math.comb(groups, improved) for improved in range(groups + 1)]
    least = next(k for k in range(groups + 1) if sum(ways[k:]) <= alpha * 2**groups)
    return f"{words}, and about {least} of them must improve"


def compare_pair(units: Units, metric: Metric, *, seed: int, tested: float) -> Paired:
    """Compare two systems, the first and the second half of the answer sets, at a one-sided level, ``tested``."""
    filled, half = units.worst, len(units.predicted) // 2
    right = units.right if half == 1 else None
    test = None
    if right is not None:
        test = McNemar.of(int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum()))
    return Paired(
        metric=metric.name,
        higher_is_better=bool(metric.higher_is_better),
        before=metric.of(filled.sets(slice(half))),
        after=metric.of(filled.sets(slice(half, None))),
        gap=difference_of(units, metric),
        limit=metric.high - metric.low,
        mcnemar=test,
        permutation=permute(units, metric, seed=seed),
        tested=tested,
    )


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values, by the same names: each at least its own p and at most 1."""
    adjusted: dict[str, float] = {}
    floor = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p))
        adjusted[name] = floor
    return {name: adjusted[name] for name in p_values}


@dataclass(frozen=True, kw_only=True)
class Gains:
    """Which gains, in the share of correct units, a paired test of this size can show, whatever the two systems are."""

    units: int
    groups: int
    alpha: float  # the one-sided level
    least: float  # no smaller gain can be shown
    likely: float | None  # one that is shown with a power of .8; ``None`` if even the largest may be missed

    def __str__(self) -> str:
        """One line for people."""
        size = f"({self.units} labelled units in {self.groups} groups, level {self.alpha:.3g})"
        low = f"below {math.ceil(100 * self.least - 1e-9)} points"
        if self.likely is None:
            return f"a gain in correct answers {low} cannot be confirmed, and any larger one may be missed {size}"
        points = math.ceil(100 * self.likely - 1e-9)
        return f"gains of about {points} points in correct answers can be confirmed, {low} none can {size}"


def gains(sizes: Ints, alpha: float) -> Gains:
    """Return which gains can be shown, by the one-sided t-test of the groups' means."""
    units, least = int(sizes.sum()), fewest_groups(alpha)
    uneven = float((sizes**2).sum()) / units  # units of the group that a unit is in, on average
    degrees = max(1.0, units / uneven - 1.0)
    errors = t_quantile(1.0 - alpha, degrees) + t_quantile(POWER, degrees)
    # a unit's difference has the variance k d - d^2 at a gain of d, if k d of the units differ; solved for d
    square = errors**2 * (1.0 + _TOGETHER * (uneven - 1.0)) / units
    likely = max(least / units, _CHANGED * square / (1.0 + square))
    return Gains(
        units=units,
        groups=len(sizes),
        alpha=alpha,
        least=min(1.0, least / units),
        likely=likely if _CHANGED * likely <= 1.0 else None,
    )
