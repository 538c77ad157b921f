"""Two prompts held against labels that were given only where their answers differ.

Where both say the same, a label cannot tell which one is better. So units are drawn at random from those on which the
answers differ, one a group, and people label them: a *win* is a unit on which the second prompt is nearer to people, a
*loss* one on which the first is, and a tie neither. The exact one-sided sign test decides on wins and losses. The gain
is the share of units that differ, times what a differing unit gains on average; for right and wrong answers that is
rate x decided x (2 x win share - 1), where ``decided`` is the share of labelled units that are no ties.

The interval combines those of its factors (Clopper and Pearson for the win share, Wilson for the decided share, the
jackknife over groups for the rate) by the method of variance estimates recovery (Zou and Donner 2008). It excludes 0
only where that of the wins does. Where answers are near or far instead, the mean gain of a differing unit has
Student's t.
"""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
from scipy.special import betaincinv, ndtri

from ..cases import Value
from ..errors import JuristError
from .intervals import Estimate, Ranged, estimated, t_quantile
from .metrics import mean
from .paired import POWER, Verdict, fewest_groups, sign_test
from .plain import plain_fields
from .rows import Row, tally
from .scale import Scale

Ends: TypeAlias = tuple[float, float, float]  # a value, and the ends of its interval


@dataclass(frozen=True, kw_only=True)
class Signs:
    """Labelled units on which two prompts differ: how many the second won and lost, and how many neither."""

    wins: int
    losses: int
    ties: int = 0

    @property
    def p(self) -> float:
        """Of the one-sided test that the second prompt wins no more than it loses."""
        return sign_test(self.wins, self.losses)

    def verdict(self, gain: float, level: float) -> Verdict:
        """Return what is decided: the sign test at the level, and a gain that is not of the other sign."""
        # Where answers are near or far, many small wins may stand against a few large losses.
        if self.p < level and gain > 0:
            return "better"
        worse = sign_test(self.losses, self.wins) < level and gain < 0
        return "worse" if worse else "not shown to be better"


def win_share_shown(labels: int, level: float) -> float | None:
    """Return the true share of wins that so many labels show with a power of .8; ``None`` where they show none."""
    if labels < fewest_groups(level):
        return None
    needed = next(wins for wins in range(labels + 1) if sign_test(wins, labels - wins) < level)
    return float(betaincinv(needed, labels - needed + 1, POWER))


def credit(comparison: Scale, gold: Value, value: Value | None) -> float:
    """Return how right an answer is, 0 to 1: 0 or 1 where answers are right or wrong, 0 without one."""
    if value is None:
        return 0.0
    right = comparison.right(gold, value)
    return comparison.similarity(gold, value) if right is None else float(right)


def apart(comparison: Scale, first: Value | None, second: Value | None) -> bool:
    """Say whether some label of people could make one of two answers better than the other."""
    if first == second:
        return False
    golds = comparison.domain or [value for value in (first, second) if value is not None]
    return any(credit(comparison, gold, first) != credit(comparison, gold, second) for gold in golds)


def gain_of(rate: Ends, gains: Sequence[float], level: float) -> Ranged:
    """Return the gain over all units, with its interval of ``1 - 2 * level``, from the rate of units that differ."""
    if all(gain in (-1.0, 0.0, 1.0) for gain in gains):
        wins, labels = gains.count(1.0), len(gains)
        decided = wins + gains.count(-1.0)
        balance = (0.0, -1.0, 1.0)
        if decided:
            share = _exact(wins, decided, level)
            balance = (2.0 * share[0] - 1.0, 2.0 * share[1] - 1.0, 2.0 * share[2] - 1.0)
        if 0 < decided < labels:  # two labels leave no tie
            balance = _product(_wilson(decided, labels, level), balance)
    else:
        mean, reach = statistics.fmean(gains), 2.0
        if len(gains) > 1:
            error = statistics.stdev(gains) / math.sqrt(len(gains))
            reach = t_quantile(1.0 - level, len(gains) - 1) * error
        balance = (mean, max(-1.0, mean - reach), min(1.0, mean + reach))
    value, low, high = _product(rate, balance)
    return Ranged(value=value, low=low, high=high)


def _exact(count: int, of: int, level: float) -> Ends:
    low = betaincinv(count, of - count + 1, level) if count else 0.0
    high = betaincinv(count + 1, of - count, 1.0 - level) if count < of else 1.0
    return count / of, float(low), float(high)


def _wilson(count: int, of: int, level: float) -> Ends:
    share, square = count / of, float(ndtri(level)) ** 2
    reach = math.sqrt(square * (square + 4.0 * count * (1.0 - share)))
    low, high = ((2.0 * count + square + sign * reach) / (2.0 * (of + square)) for sign in (-1, 1))
    return share, low, high


def _product(share: Ends, signed: Ends) -> Ends:
    """Return the product of a share, 0 to 1, and a number from -1 to 1, whose sign the interval keeps."""
    value = share[0] * signed[0]

    def reach(end: int) -> float:
        # where the product is negative, a larger share makes it smaller
        other = end if signed[0] >= 0 else 3 - end
        return math.hypot(signed[0] * (share[other] - share[0]), share[0] * (signed[end] - signed[0]))

    low, high = max(-share[2], value - reach(1)), min(share[2], value + reach(2))
    return value, max(low, 0.0) if signed[1] >= 0.0 else low, min(high, 0.0) if signed[2] <= 0.0 else high


@dataclass(frozen=True, kw_only=True)
class Flips:
    """The answers that one change of the text has changed; gold is what the judge said of the text as it is."""

    cases: int  # that were answered as they are, and on which the machinery did not fail afterwards
    flipped: int  # of these, in how many some unit has another answer, or none
    silenced: int  # of these, in how many some unit has none
    failed: int  # cases that do not count, as the machinery failed
    rate: Estimate  # ``flipped`` as a share of ``cases``, with its 95 % interval clustered by group
    shift: float  # how far answers moved on average, 0 (the same) to 1
    # what was said before -> how many units of it flipped, and how many there are: a judge that nearly
    # always says the same hides behind ``rate``
    answers: Mapping[str, tuple[int, int]]

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and the rate with its interval."""
        ends = self.rate.interval
        return {**plain_fields(self), "rate": self.rate.value, "low": ends.low, "high": ends.high}


def flips(rows: Sequence[Row], comparison: Scale, named: Callable[[Any], str] = str) -> Flips:
    """Count the answers that differ from gold, which is what the judge said of the text as it is."""
    counted = [row for row in rows if row.labelled and not row.failed]
    if not counted:
        hint = "see with jurist evaluate why there are none"
        raise JuristError(f"none of {len(rows)} cases was answered, so that no answer can change", hint=hint)
    changed_cases, shifts = list[bool](), list[float]()
    every, flipped = Counter[str](), Counter[str]()
    for row in counted:
        pairs = [pair for pair in zip(row.gold, row.predicted, strict=True) if pair[0] is not None]
        changed = [credit(comparison, before, after) < 1.0 for before, after in pairs]
        names = [named(before) for before, _ in pairs]
        every.update(names)
        flipped.update(compress(names, changed))
        changed_cases.append(any(changed))
        shifts.append(fmean(1.0 - comparison.credit(before, after) for before, after in pairs))
    table = np.column_stack([changed_cases, np.ones(len(counted))])
    return Flips(
        cases=len(counted),
        flipped=sum(changed_cases),
        silenced=tally(counted).cases.abstained,
        failed=sum(row.failed for row in rows),
        rate=estimated(table, np.array([row.group for row in counted]), mean),
        shift=fmean(shifts),
        answers={name: (flipped[name], every[name]) for name in sorted(every)},
    )
