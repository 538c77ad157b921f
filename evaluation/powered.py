"""How often something is so, when a judge said of every unit and people of some: prediction-powered inference.

The labels of people correct what the judge found elsewhere (PPI, Angelopoulos et al. 2023, Science 382), as far as it
is worth something (PPI++, Angelopoulos, Duchi and Zrnic 2023, example 6.1: a weight from 0, the labels alone, to 1).
Nothing is taken for granted of the judge, but that the labelled units were drawn at random from those that it judged.

Units of one group are not independent, so standard errors sum over groups; with a group for each unit they are those
of the papers. The quantile is Student's t. A judge without an error in 20 labelled units must not pass for a perfect
one: an interval has one more miss either way, spread over two more units, where that is wider.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .intervals import LEVEL, Ranged, t_quantile
from .prevalence import Tallies
from .units import Floats

Labelled: TypeAlias = Iterable[tuple[str, bool, bool]]
"""(group, said by people, said by the judge) of each unit with a label."""
_UNLIKE = 0.999
"""How sure it must be that labelled units are no random draw before that is said."""


@dataclass(frozen=True, kw_only=True)
class Powered(Ranged):
    """A share, by labels and a judge."""

    # the standard error of the papers, by groups, without the two more units of the interval
    error: float | None = None
    weight: float = 0.0  # how much the judge counts, 0 to 1
    labelled: int = 0  # units with a label
    units: int = 0  # all units
    # the shares that the judge found among units with a label and among the others, where these differ by
    # more than a random draw would; else ``None``
    unlike: tuple[float, float] | None = None


def powered(labelled: Labelled, others: Tallies, weight: float | None = None) -> Powered:
    """Return the share of all units that are so."""
    sums = _by_group(labelled, others)
    labels, truly, found, both, judged, unlabelled = sums.T
    n, more = float(labels.sum()), float(unlabelled.sum())
    if not n:
        return Powered(units=int(more))
    people, ours = truly.sum() / n, found.sum() / n
    theirs = judged.sum() / more if more else ours
    weight = _weight(sums, n, more) if weight is None else weight * bool(more)
    value = float(people + weight * (theirs - ours))
    rectified = (truly - weight * found - labels * (people - weight * ours)) / n
    elsewhere = (judged - unlabelled * theirs) / max(more, 1.0)
    error = math.sqrt(float(((rectified + weight * elsewhere) ** 2).sum()))
    gap = (found - labels * ours) / n - elsewhere
    share = (found.sum() + judged.sum()) / (n + more)
    chance = max(float(gap @ gap), share * (1 - share) * (1 / n + 1 / max(more, 1.0)))
    squares = truly.sum() - 2 * weight * both.sum() + weight**2 * found.sum()
    squares += 1 + weight**2 - n * (people - weight * ours) ** 2
    floor = squares / (n + 2) ** 2 + (weight**2 * theirs * (1 - theirs) / more if more else 0.0)
    degrees = max(1, int((labels > 0).sum()) - 1)
    reach = t_quantile(0.5 + LEVEL / 2, degrees) * math.sqrt(max(error**2 * (degrees + 1) / degrees, floor))
    unlike = bool(more) and abs(theirs - ours) > t_quantile(_UNLIKE, degrees) * math.sqrt(chance)
    return Powered(
        value=min(1.0, max(0.0, value)),
        low=max(0.0, min(1.0, value - reach)),
        high=min(1.0, max(0.0, value + reach)),
        error=error,
        weight=weight,
        labelled=int(n),
        units=int(n + more),
        unlike=(float(ours), float(theirs)) if unlike else None,
    )


def _by_group(labelled: Labelled, others: Tallies) -> Floats:
    """Return what each group holds, shape (G, 6): labels, truly so, judged so, both; others judged so, others."""
    sums: dict[str, list[float]] = {group: [0, 0, 0, 0, *counts] for group, counts in others.items()}
    for group, truth, said in labelled:
        row = sums.setdefault(group, [0] * 6)
        for place, one in enumerate((True, truth, said, truth and said)):
            row[place] += one
    return np.array([sums[name] for name in sorted(sums)], dtype=np.float64).reshape(-1, 6)


def _weight(sums: Floats, n: float, more: float) -> float:
    """Return the weight that makes the standard error smallest, as PPI++ estimates it, between 0 and 1."""
    _, truly, found, both, judged, _ = sums.sum(axis=0)
    covariance = both / n - truly / n * found / n
    share = (found + judged) / (n + more)
    variance = share * (1 - share) * (n + more) / max(n + more - 1, 1)
    if not more or not variance:
        return 0.0
    return float(min(1.0, max(0.0, covariance / ((1 + n / more) * variance))))
