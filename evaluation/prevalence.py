"""The true share of a label among rows that a judge labelled, corrected by the judge's known errors.

A judge with sensitivity Se and specificity Sp finds, among units of which a share p is positive, the share q = p Se +
(1 - p)(1 - Sp). Rogan and Gladen (1978) solve that for p. All three inputs are estimates here, and all three are
clustered (sentences of one dialogue are not independent), so the interval inverts a test, as Fieller's does: it holds
every p for which q differs from p Se + (1 - p)(1 - Sp) by no more than its standard error allows, the uncertainty of Se
and Sp included. Unlike a delta-method interval it grows without bound as the judge approaches a coin. Counts are
adjusted as by Agresti and Coull (q) and by one success in two (Se, Sp), at their effective sample sizes, so that a
judge without an error in 20 cases does not pass for a perfect one. The quantile is Student's t, with one degree of
freedom less than the smaller number of groups.

What it takes for granted: the judge errs on the units at hand as often as on those it was measured on. Where no share
from 0 to 1 is within the error, this assumption is refuted, and there is no correction. Of several labels each is held
against the rest, so the shares of the other labels among themselves must be those of the calibration, too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from .intervals import LEVEL, Ranged, over_groups, t_quantile
from .metrics import mean

Tallies: TypeAlias = Mapping[str, tuple[int, int]]
"""Group -> (hits, units): the units with the property counted, and all units."""
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
    for group, is_hit in items:
        hits, units = counts.get(group, (0, 0))
        counts[group] = hits + int(is_hit), units + 1
    return counts


def prevalence(apparent: Tallies, sensitivity: Tallies, specificity: Tallies) -> Prevalence:
    """Return the share of positive units, corrected for the known errors of the judge that counted them.

    Args:
        apparent: the units at hand; a hit is a unit that the judge finds positive.
        sensitivity: the positive units of the calibration; a hit is one that the judge finds.
        specificity: the negative units of the calibration; a hit is one that the judge does not find.
    """
    apparent_rate = _Rate(apparent)  # of all units, the share that the judge finds
    true_positive_rate = _Rate(sensitivity)  # of positive units
    true_negative_rate = _Rate(specificity)  # of negative units, the share that it does not find
    q = apparent_rate.value
    se = true_positive_rate.value
    sp = true_negative_rate.value
    uncorrected = Prevalence(
        raw=q,
        sensitivity=se,
        specificity=sp,
        positives=true_positive_rate.size,
        negatives=true_negative_rate.size,
        units=apparent_rate.size,
    )
    if q is None:
        return replace(uncorrected, problem="there is no unit")
    if se is None:
        return replace(uncorrected, problem="the calibration has no positive unit")
    if sp is None:
        return replace(uncorrected, problem="the calibration has no negative unit")
    if se + sp <= 1:
        chance = f"sensitivity {se:.3f} and specificity {sp:.3f} are no better than chance"
        return replace(uncorrected, problem=chance)
    estimate = (q + sp - 1) / (se + sp - 1)
    interval = _interval(apparent_rate, true_positive_rate, true_negative_rate)
    if interval is None:
        side = "above"
        if estimate < 0:
            side = "below"
        return replace(
            uncorrected,
            problem=f"the judge finds {q:.3f} here, {side} what its errors on the calibration allow "
            f"({1 - sp:.3f} if no unit is positive, {se:.3f} if all are): "
            "these units differ from those of the calibration",
        )
    share = min(1.0, max(0.0, estimate))
    low, high = interval
    return replace(
        uncorrected, value=share, low=min(low, share), high=max(high, share), clipped=share != estimate
    )


class _Rate:
    """A clustered share: its value, size, groups, and its effective size (below the size where groups differ)."""

    def __init__(self, counts: Tallies) -> None:
        group_counts = []
        for group in sorted(counts):
            _, units = counts[group]
            if units:
                group_counts.append(counts[group])
        table = np.array(group_counts, dtype=np.float64).reshape(-1, 2)  # (groups, 2): hits, and of how many
        hits, size = table.sum(axis=0).tolist()
        self.size = int(size)
        self.groups = len(table)
        self.value: float | None = None
        self.effective = size
        if not size:
            return
        self.value = hits / size
        if self.groups > 1:
            independent_variance = self.value * (1 - self.value) / size
            clustered_variance = over_groups(table, mean).error ** 2
            if clustered_variance > independent_variance:
                self.effective = size * independent_variance / clustered_variance

    def adjusted(self, successes: float, trials: float) -> tuple[float, float]:
        """Return (share, variance) after ``successes`` of ``trials`` more."""
        size = self.effective + trials
        share = ((self.value or 0.0) * self.effective + successes) / size
        return share, share * (1 - share) / size


def _interval(apparent: _Rate, true_positive: _Rate, true_negative: _Rate) -> tuple[float, float] | None:
    """Return the ends of the shares p in [0, 1] that the data do not reject, ``None`` where they reject every one."""
    # A group of the calibration may have units of both sides, so it has at least as many groups as the larger side.
    fewest_groups = min(apparent.groups, max(true_positive.groups, true_negative.groups))
    if fewest_groups < 2:
        return 0.0, 1.0
    t_squared = t_quantile(0.5 + LEVEL / 2, fewest_groups - 1) ** 2
    q, q_variance = apparent.adjusted(_Z2 / 2, _Z2)
    se, se_variance = true_positive.adjusted(1, 2)
    sp, sp_variance = true_negative.adjusted(1, 2)
    shares = np.linspace(0.0, 1.0, 10_001)
    squared_distance = (q - shares * se - (1 - shares) * (1 - sp)) ** 2
    variance = q_variance + shares**2 * se_variance + (1 - shares) ** 2 * sp_variance
    accepted = shares[squared_distance <= t_squared * variance]
    if not len(accepted):
        return None
    return float(accepted[0]), float(accepted[-1])
