"""How often something is so, when a judge that errs said how often: corrected by its known errors.

A judge with sensitivity Se and specificity Sp finds, among units of which a
share p is positive, the share q = p Se + (1 - p)(1 - Sp). Rogan and Gladen (1978) solve that for p. All three inputs
are estimates here, and all three are clustered (sentences of one dialogue are not independent), so the interval
inverts a test, as Fieller's does: it holds every p for which q differs from p Se + (1 - p)(1 - Sp) by no more than its
standard error allows, the uncertainty of Se and Sp and their covariance included. Unlike a delta-method interval it
grows without bound as the judge approaches a coin. Counts are adjusted as by Agresti and Coull (q) and by one success
in two (Se, Sp), at their effective sample sizes, so that a judge without an error in 20 cases does not pass for a
perfect one. The quantile is Student's t, with one degree of freedom less than the smaller number of groups.

What it takes for granted: the judge errs on the units at hand as often as on those it was measured on. Where no share
from 0 to 1 is within the error, that is refuted, and there is no correction. Of several labels each is held against
the rest, so the others must also be mixed as they were.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from .intervals import LEVEL, Ranged, clustered, t_quantile

Tallies: TypeAlias = Mapping[str, tuple[int, int]]
"""Group -> (hits, of)."""
_Z2 = 3.8415  # the square of the normal 97.5 % quantile


@dataclass(frozen=True, kw_only=True)
class Prevalence(Ranged):
    """A corrected share."""

    raw: float | None  # the share that the judge found; ``None`` over no units
    sensitivity: float | None = None
    specificity: float | None = None
    positives: int = 0
    negatives: int = 0
    units: int = 0  # units at hand
    clipped: bool = False  # the estimate, or an end, lay outside 0 to 1 and was put to the nearer end
    problem: str = ""  # why there is no correction; empty if there is one


def tallies(items: Iterable[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    """Count (group, hit) pairs by group."""
    found: dict[str, tuple[int, int]] = {}
    for group, hit in items:
        hits, of = found.get(group, (0, 0))
        found[group] = hits + int(hit), of + 1
    return found


def prevalence(apparent: Tallies, sensitivity: Tallies, specificity: Tallies) -> Prevalence:
    """Correct the share that a judge found."""
    found, right, spared = _Rate(apparent), _Rate(sensitivity), _Rate(specificity)
    measured = Prevalence(
        raw=found.value,
        sensitivity=right.value,
        specificity=spared.value,
        positives=right.size,
        negatives=spared.size,
        units=found.size,
    )
    if found.value is None:
        return replace(measured, problem="there is no unit")
    if right.value is None or spared.value is None:
        which = "positive" if right.value is None else "negative"
        return replace(measured, problem=f"the calibration has no {which} unit")
    if right.value + spared.value <= 1:
        chance = f"sensitivity {right.value:.3f} and specificity {spared.value:.3f} are no better than chance"
        return replace(measured, problem=chance)
    value = (found.value + spared.value - 1) / (right.value + spared.value - 1)
    low, high = _interval(found, right, spared)
    if high < 0 or low > 1:
        # Not a share of nothing: no share at all explains what the judge found here.
        side = "fewer" if high < 0 else "more"
        return replace(
            measured,
            problem=f"the judge finds {side} here than its errors on the calibration allow ({found.value:.3f}, where "
            f"it would find {1 - spared.value:.3f} without a positive unit and {right.value:.3f} with nothing else): "
            "the calibration is of another kind",
        )
    ends = value, min(low, value), max(high, value)
    inside = [min(1.0, max(0.0, end)) for end in ends]
    return replace(measured, value=inside[0], low=inside[1], high=inside[2], clipped=[*ends] != inside)


class _Rate:
    """A clustered share: its value, size, groups, and its effective size (below the size where groups differ)."""

    def __init__(self, counts: Tallies) -> None:
        hits, size = (sum(column) for column in zip(*counts.values(), (0, 0), strict=True))
        self.size, self.groups = size, sum(of > 0 for _, of in counts.values())
        self.value = hits / size if size else None
        if self.value is not None:
            share, plain = self.value, self.value * (1 - self.value) / size
            self.residuals = {group: (hit - share * of) / size for group, (hit, of) in counts.items() if of}
            spread = self.covariance(self)
            self.effective = size if plain == 0 or spread <= plain else size * plain / spread

    def covariance(self, other: "_Rate") -> float:
        """Return the clustered covariance with another share; with itself it is the variance."""
        groups = self.residuals.keys() | other.residuals.keys()
        first, second = (np.array([one.residuals.get(name, 0.0) for name in groups]) for one in (self, other))
        return clustered(first, second)

    def adjusted(self, successes: float, trials: float) -> tuple[float, float]:
        """Return (share, variance) after ``successes`` of ``trials`` more."""
        size = self.effective + trials
        share = ((self.value or 0.0) * self.effective + successes) / size
        return share, share * (1 - share) / size


def _interval(found: _Rate, right: _Rate, spared: _Rate) -> tuple[float, float]:
    """Return the hull of all p in [0, 1] that the data do not reject; beyond it where the estimate lies outside."""
    least = min(found.groups, max(right.groups, spared.groups))
    if least < 2:
        return 0.0, 1.0
    t2 = t_quantile(0.5 + LEVEL / 2, least - 1) ** 2
    q, var_q = found.adjusted(_Z2 / 2, _Z2)
    se, var_se = right.adjusted(1, 2)
    sp, var_sp = spared.adjusted(1, 2)
    most = math.sqrt(var_se * var_sp)
    both = max(-most, min(most, right.covariance(spared)))
    gap, slope = q + sp - 1, se + sp - 1
    # (gap - p slope)^2 <= t2 (var_q + p^2 var_se + (1-p)^2 var_sp - 2 p (1-p) both), as a p^2 + b p + c <= 0
    a = slope**2 - t2 * (var_se + var_sp + 2 * both)
    b = -2 * gap * slope + 2 * t2 * (var_sp + both)
    c = gap**2 - t2 * (var_q + var_sp)
    root = b * b - 4 * a * c
    if a <= 0 or root < 0:  # the judge is not shown to be better than a coin: nothing is ruled out in between
        held = [p / 1000 for p in range(1001) if a * (p / 1000) ** 2 + b * p / 1000 + c <= 0]
        return (held[0], held[-1]) if held else (0.0, 1.0)
    return (-b - math.sqrt(root)) / (2 * a), (-b + math.sqrt(root)) / (2 * a)
