"""How often something is so, when a judge that errs said how often: corrected by its known errors.

A judge with sensitivity Se and specificity Sp finds, among units of which a share p is positive, the share q = p Se +
(1 - p)(1 - Sp). Rogan and Gladen (1978) solve that for p. All three inputs are estimates here, and all three are
clustered (sentences of one dialogue are not independent), so the interval inverts a test, as Fieller's does: it holds
every p for which q differs from p Se + (1 - p)(1 - Sp) by no more than its standard error allows, the uncertainty of Se
and Sp included. Unlike a delta-method interval it grows without bound as the judge approaches a coin. Counts are
adjusted as by Agresti and Coull (q) and by one success in two (Se, Sp), at their effective sample sizes, so that a
judge without an error in 20 cases does not pass for a perfect one. The quantile is Student's t, with one degree of
freedom less than the smaller number of groups.

What it takes for granted: the judge errs on the units at hand as often as on those it was measured on. Where no share
from 0 to 1 is within the error, that is refuted, and there is no correction. Of several labels each is held against
the rest, so the others must also be mixed as they were.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from .intervals import LEVEL, Ranged, over_groups, t_quantile
from .metrics import mean

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
    clipped: bool = False  # the estimate lay outside 0 to 1 and was put to the nearer end
    problem: str = ""  # why there is no correction; empty if there is one


def tallies(items: Iterable[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    """Count (group, hit) pairs by group."""
    counts: dict[str, tuple[int, int]] = {}
    for group, hit in items:
        hits, of = counts.get(group, (0, 0))
        counts[group] = hits + int(hit), of + 1
    return counts


def prevalence(apparent: Tallies, sensitivity: Tallies, specificity: Tallies) -> Prevalence:
    """Correct the share that a judge found."""
    # the shares found: of all units, of positive ones, and what was left out of others
    seen, right, spared = _Rate(apparent), _Rate(sensitivity), _Rate(specificity)
    measured = Prevalence(
        raw=seen.value,
        sensitivity=right.value,
        specificity=spared.value,
        positives=right.size,
        negatives=spared.size,
        units=seen.size,
    )
    if seen.value is None:
        return replace(measured, problem="there is no unit")
    if right.value is None or spared.value is None:
        which = "positive" if right.value is None else "negative"
        return replace(measured, problem=f"the calibration has no {which} unit")
    if right.value + spared.value <= 1:
        chance = f"sensitivity {right.value:.3f} and specificity {spared.value:.3f} are no better than chance"
        return replace(measured, problem=chance)
    value = (seen.value + spared.value - 1) / (right.value + spared.value - 1)
    held = _interval(seen, right, spared)
    if held is None:
        side = "fewer" if value < 0 else "more"
        return replace(
            measured,
            problem=f"the judge finds {side} here than its errors on the calibration allow ({seen.value:.3f}, where "
            f"it would find {1 - spared.value:.3f} without a positive unit and {right.value:.3f} with nothing else): "
            "the calibration is of another kind",
        )
    inside = min(1.0, max(0.0, value))
    ends = {"low": min(held[0], inside), "high": max(held[1], inside)}
    return replace(measured, value=inside, **ends, clipped=inside != value)


class _Rate:
    """A clustered share: its value, size, groups, and its effective size (below the size where groups differ)."""

    def __init__(self, counts: Tallies) -> None:
        table = np.array([pair for _, pair in sorted(counts.items()) if pair[1]], dtype=np.float64)
        hits, size = table.reshape(-1, 2).sum(axis=0).tolist()
        self.size, self.groups = int(size), len(table)
        self.value = hits / size if size else None
        self.effective = size
        if self.value is not None and self.groups > 1:
            plain, spread = self.value * (1 - self.value) / size, over_groups(table, mean).error ** 2
            self.effective = size if spread <= plain else size * plain / spread

    def adjusted(self, successes: float, trials: float) -> tuple[float, float]:
        """Return (share, variance) after ``successes`` of ``trials`` more."""
        size = self.effective + trials
        share = ((self.value or 0.0) * self.effective + successes) / size
        return share, share * (1 - share) / size


def _interval(seen: _Rate, right: _Rate, spared: _Rate) -> tuple[float, float] | None:
    """Return the hull of all p in [0, 1] that the data do not reject, ``None`` where they reject every one."""
    least = min(seen.groups, max(right.groups, spared.groups))
    if least < 2:
        return 0.0, 1.0
    t2 = t_quantile(0.5 + LEVEL / 2, least - 1) ** 2
    q, var_q = seen.adjusted(_Z2 / 2, _Z2)
    se, var_se = right.adjusted(1, 2)
    sp, var_sp = spared.adjusted(1, 2)
    shares = np.linspace(0.0, 1.0, 10_001)
    far = (q - shares * se - (1 - shares) * (1 - sp)) ** 2
    held = shares[far <= t2 * (var_q + shares**2 * var_se + (1 - shares) ** 2 * var_sp)]
    return (float(held[0]), float(held[-1])) if len(held) else None
