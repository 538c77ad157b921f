"""The smallest effect that this many rows can show, approximately.

Not a verdict on a judge but on the experiment: a difference below these sizes would often not have been seen even if it
were there, so "not shown" then says little. :func:`gains` says it before anything is asked.
"""

import math
from dataclasses import dataclass

import numpy as np

from .intervals import Jackknife, clustered, t_quantile
from .metrics import Metric
from .paired import fewest_groups
from .units import Floats, Ints, Units

POWER = 0.8
_CHANGED = 2.0  # units that differ, for each that is gained: of four, three are corrected and one is broken
_TOGETHER = 0.15  # the correlation of what two units of a group gain: moderate, and not known before


@dataclass(frozen=True, kw_only=True)
class Smallest:
    """What a paired comparison of this size can show; a size is ``None`` where judges that never differ say nothing."""

    alpha: float
    power: float
    units: int
    discordant: int
    correct: float | None
    metric: float | None


def smallest_of(units: Units, metric: Metric, gap: Jackknife, alpha: float) -> Smallest:
    """Return what a comparison can show."""
    half, filled, right = len(units.predicted) // 2, metric.worst(units), units.right
    # where nothing is right or wrong, units differ if the answers do
    shares = None if right is None else right[:half].mean(axis=0) - right[half:].mean(axis=0)
    apart = (
        (filled.predicted[:half] != filled.predicted[half:]).any(axis=0) if shares is None else shares != 0.0
    )
    error = 0.0 if shares is None else clustered_error(shares, units.group)
    correct, own = (one * noncentrality(gap, alpha) for one in (error, gap.error))
    return Smallest(
        alpha=alpha,
        power=POWER,
        units=len(units.gold),
        discordant=int(apart.sum()),
        correct=correct if 0.0 < correct < math.inf else None,
        metric=own if 0.0 < own < math.inf else None,
    )


@dataclass(frozen=True, kw_only=True)
class Gains:
    """Which gains, in the share of correct units, a paired test of this size can show, whatever the two systems are."""

    units: int
    groups: int
    alpha: float
    least: float
    likely: float | None

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


def noncentrality(gap: Jackknife, alpha: float) -> float:
    """Return how many standard errors a true difference must be for a two-sided t-test of groups to have ``POWER``."""
    # Infinite where so few groups have no p below ``alpha`` in the permutation test.
    if gap.groups < fewest_groups(alpha / 2.0):
        return math.inf
    return t_quantile(1.0 - alpha / 2.0, gap.degrees) + t_quantile(POWER, gap.degrees)


def clustered_error(values: Floats, group: Ints) -> float:
    """Return the standard error of the mean of ``values`` (N,): that of a regression with cluster-robust covariance."""
    _, place = np.unique(group, return_inverse=True)
    sums: Floats = np.bincount(place, weights=values - values.mean()).astype(np.float64)
    return math.sqrt(clustered(sums, sums)) / len(values)
