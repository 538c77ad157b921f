"""The smallest gain that this many rows can show, approximately: said before anything is asked."""

import math
from dataclasses import dataclass

from .intervals import t_quantile
from .paired import fewest_groups
from .units import Ints

POWER = 0.8
_CHANGED = 2.0  # units that differ, for each that is gained: of four, three are corrected and one is broken
_TOGETHER = 0.15  # the correlation of what two units of a group gain: moderate, and not known before


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
