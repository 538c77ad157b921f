"""Looks at labels before all are in: when they are taken, and which level each is tested at.

Labels of planned units arrive in a fixed order that was drawn at random. A look tests the first so many of them, and
labelling ends where a look shows a difference. Each look may spend a part of the level, which is fixed with the plan:
up to the look at a share t of the labels it is t³ of the level (Lan and DeMets 1983; Kim and DeMets 1987). What that
means as a level of the look follows from flips of the labels that are in (:mod:`.disagreements`): so many of all flips
of the units end at this look or at one before, as the plan allows. No normal distribution is supposed, and what a look
cannot spend, as few labels have few flips or a rare class counts much, is left for the next one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .disagreements import LabelGains, alike_test
from .permutation import EXACT_GROUPS, choose_in_parts
from .units import Bools, Floats

SHARES = (0.5, 0.75, 1.0)
"""The shares of the planned labels at which looks are taken."""
POWER_OF_SPENDING = 3.0
"""The level that is spent up to a share t of the labels is t to this power."""
_DRAWS = 40_000  # flips from which the level of a look is computed, where not all are tried
_DECIMALS = 9  # sums of equal gains differ by less than this


@dataclass(frozen=True, kw_only=True)
class LabelLook:
    """A look at the first labels of a plan."""

    labels: int  # how many labels it takes, counted from the first of the plan
    spent: float  # the most that this look and those before it may spend of the level


def plan_looks(labels: int, level: float, *, power: float = POWER_OF_SPENDING) -> tuple[LabelLook, ...]:
    """Return the looks at so many labels, the last of which takes all; without those that can show nothing.

    Args:
        labels: the number of planned units.
        level: of the one-sided test, over all looks together.
        power: the shape of the spending: the larger, the less the first looks may spend.
    """
    looks: list[LabelLook] = []
    for share in SHARES:
        look = LabelLook(labels=math.ceil(share * labels), spent=level * share**power)
        if share == 1.0 or alike_test(look.labels, 0) < look.spent:
            looks.append(look)
    return tuple(looks)


def level_of_look(gains: LabelGains, looks: Sequence[LabelLook], *, seed: int = 0) -> float:
    """Return the one-sided level at which the last of some looks is tested.

    Args:
        gains: the gains by the units that this look takes, in the order of the plan.
        looks: this look, and all that the plan has before it, whether they were taken or not.
        seed: of the random flips.
    """
    by_unit = gains.by_unit / (gains.largest or 1.0)
    sums = np.round(np.concatenate(list(_flipped_sums(by_unit, looks, seed))), _DECIMALS)  # (flips, looks)
    ended = np.zeros(len(sums), dtype=np.bool_)  # whether each flip reaches the level of a look before
    level = looks[-1].spent
    for place, look in enumerate(looks):
        ordered = np.sort(sums[:, place])
        p = _p_of_sums(ordered, sums[:, place])
        level = _highest_level(p, look.spent, ended)
        ended |= (p < level) & (_p_with_a_pair(ordered, sums[:, place]) < level)
    return level


def _flipped_sums(gains: Floats, looks: Sequence[LabelLook], seed: int) -> Iterator[Floats]:
    """Yield the sums of gains up to each look after flips of the units, as parts of shape (flips, looks)."""
    differing = np.flatnonzero(gains)
    exact = len(differing) <= EXACT_GROUPS
    count = _DRAWS
    if exact:
        count = 2 ** len(differing)
    ends = np.searchsorted(differing, [look.labels for look in looks])  # the differing units of each look
    draws = np.random.default_rng((seed, 2))
    for flipped in choose_in_parts(len(differing), count, draws, exact=exact):
        totals = np.zeros((len(flipped), len(differing) + 1))
        np.cumsum((1.0 - 2.0 * flipped) * gains[differing], axis=1, out=totals[:, 1:])
        yield totals[:, ends]


def _p_of_sums(ordered: Floats, sums: Floats) -> Floats:
    """Return the share of sorted sums that are at least as large as each of some sums."""
    return 1.0 - np.searchsorted(ordered, sums, side="left") / len(ordered)


def _p_with_a_pair(ordered: Floats, sums: Floats) -> Floats:
    """Return the p of each sum with two more units of gain 1 flipped along, once each way."""
    below = _p_of_sums(ordered, sums - 2.0)  # either one flipped moves a sum by twice its gain
    above = _p_of_sums(ordered, sums + 2.0)
    return np.asarray((below + 2.0 * _p_of_sums(ordered, sums) + above) / 4.0)


def _highest_level(p: Floats, spent: float, ended: Bools) -> float:
    """Return the highest level that so few flips reach that with those which have ended no more is spent."""
    p_of_open = np.sort(p[~ended])
    number = math.floor(spent * len(p) + 1e-9) - int(ended.sum())  # of flips that may end here
    if number >= len(p_of_open):
        return spent
    p_of_next = float(p_of_open[number])  # flips of this p would be one too many
    p_reached = 0.0
    reaching = p[p < p_of_next]
    if len(reaching):
        p_reached = float(reaching.max())
    # Halfway to the next p, so that a p computed from other flips is on the same side.
    return min(spent, (p_reached + p_of_next) / 2.0)
