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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scipy.special import betaincinv

from ..cases import Value
from ..errors import UsageError
from .comparisons import Comparison, MetricLike, resolve
from .intervals import Ranged, t_quantile
from .power import POWER
from .rows import Row
from .units import encode

_UNITS = 1000
"""Units of the made-up set on which the judge's own metric is estimated."""


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

    @property
    def p_worse(self) -> float:
        """Of the test in the other direction."""
        return sign_test(self.losses, self.wins)


def sign_test(wins: int, losses: int) -> float:
    """Return the exact probability of so many wins or more, if each unit were won or lost by the toss of a coin."""
    if wins < 0 or losses < 0:
        raise UsageError(f"{wins} wins and {losses} losses", hint="give counts of 0 or more")
    units = wins + losses
    return sum(math.comb(units, won) for won in range(wins, units + 1)) / (1 << units)


def fewest(level: float) -> int:
    """Return the least number of labels of which all, if they are wins, are significant."""
    units = 1
    while sign_test(units, 0) >= level:
        units += 1
    return units


def win_share_shown(labels: int, level: float) -> float | None:
    """Return the true share of wins that so many labels show with a power of .8; ``None`` where they show none."""
    if labels < fewest(level):
        return None
    needed = next(wins for wins in range(labels + 1) if sign_test(wins, labels - wins) < level)
    return float(betaincinv(needed, labels - needed + 1, POWER))


def credit(comparison: Comparison, gold: Value, value: Value | None) -> float:
    """Return how right an answer is, 0 to 1: 0 or 1 where answers are right or wrong, 0 without one."""
    if value is None:
        return 0.0
    right = comparison.right(gold, value)
    return comparison.similarity(gold, value) if right is None else float(right)


def apart(comparison: Comparison, first: Value | None, second: Value | None) -> bool:
    """Say whether some label of people could make one of two answers better than the other."""
    if first == second:
        return False
    golds = comparison.domain or [value for value in (first, second) if value is not None]
    return any(credit(comparison, gold, first) != credit(comparison, gold, second) for gold in golds)


def gain_of(rate: Ranged, gains: Sequence[float], level: float) -> Ranged:
    """Return the gain over all units, with its interval of ``1 - 2 * level``."""
    whole = all(one in (-1.0, 0.0, 1.0) for one in gains)
    return _product(rate, _decided_gain(gains, level) if whole else _mean_gain(gains, level))


def _decided_gain(gains: Sequence[float], level: float) -> Ranged:
    wins, losses = gains.count(1.0), gains.count(-1.0)
    decided, labels = wins + losses, len(gains)
    if not decided:
        return Ranged(value=0.0, low=-1.0, high=1.0)
    low = float(betaincinv(wins, losses + 1, level)) if wins else 0.0
    high = float(betaincinv(wins + 1, losses, 1.0 - level)) if losses else 1.0
    balance = Ranged(value=2.0 * wins / decided - 1.0, low=2.0 * low - 1.0, high=2.0 * high - 1.0)
    if decided == labels:  # two labels leave no tie
        return balance
    return _product(_wilson(decided, labels, level), balance)


def _wilson(count: int, of: int, level: float) -> Ranged:
    square = statistics.NormalDist().inv_cdf(1.0 - level) ** 2
    share = count / of
    middle = (count + square / 2.0) / (of + square)
    reach = math.sqrt(square * (share * (1.0 - share) * of + square / 4.0)) / (of + square)
    return Ranged(value=share, low=min(share, middle - reach), high=max(share, middle + reach))


def _mean_gain(gains: Sequence[float], level: float) -> Ranged:
    mean = statistics.fmean(gains)
    if len(gains) < 2:
        return Ranged(value=mean, low=-1.0, high=1.0)
    reach = t_quantile(1.0 - level, len(gains) - 1) * statistics.stdev(gains) / math.sqrt(len(gains))
    return Ranged(value=mean, low=max(-1.0, mean - reach), high=min(1.0, mean + reach))


def _product(share: Ranged, signed: Ranged) -> Ranged:
    """Return the product of a share, 0 to 1, and a number from -1 to 1, whose sign the interval keeps."""
    a, b = _known(share), _known(signed)
    value = a[0] * b[0]

    def reach(end: int) -> float:
        # where the product is negative, a larger share makes it smaller
        other = end if b[0] >= 0 else 3 - end
        return math.hypot(b[0] * (a[other] - a[0]), a[0] * (b[end] - b[0]))

    low, high = max(-a[2], value - reach(1)), min(a[2], value + reach(2))
    if b[1] >= 0.0:
        low = max(low, 0.0)
    if b[2] <= 0.0:
        high = min(high, 0.0)
    return Ranged(value=value, low=low, high=high)


def _known(range_: Ranged) -> tuple[float, float, float]:
    if range_.value is None or range_.low is None or range_.high is None:
        raise UsageError("a factor of the gain is not known", hint="give rows of two groups or more")
    return range_.value, range_.low, range_.high


def in_metric(
    agreeing: Sequence[tuple[Value, Value | None]],
    differing: Sequence[tuple[Value, Value | None, Value | None]],
    rate: float,
    metric: MetricLike,
    comparison: Comparison,
) -> tuple[float, float] | None:
    """Return an estimate of both prompts in the judge's own metric: a description without an interval.

    Labelled units stand for those that differ, units of the sealed test for those on which both say the same.
    """
    if not (agreeing and differing):
        return None
    apart_units = round(rate * _UNITS)
    chosen = [*_spread([(gold, said, said) for gold, said in agreeing], _UNITS - apart_units)]
    chosen += _spread(differing, apart_units)
    found = resolve(metric, comparison)
    first, second = (
        [
            Row(id=str(place), group="", gold=(unit[0],), predicted=(unit[side],))
            for place, unit in enumerate(chosen)
        ]
        for side in (1, 2)
    )
    filled = found.worst(encode(comparison, first, second))
    return found.of(filled.sets(slice(1))), found.of(filled.sets(slice(1, 2)))


def _spread(units: Sequence[Any], size: int) -> list[Any]:
    """Return ``size`` units, each as often as the others, give or take one."""
    return [units[place * len(units) // size] for place in range(size)]


Verdict = Literal["better", "worse", "not shown to be better"]


def verdict_of(signs: Signs, gain: float, level: float) -> Verdict:
    """Return what is decided: the sign test at the level, and a gain that is not of the other sign.

    Where answers are near or far, many small wins may stand against a few large losses.
    """
    if signs.p < level and gain > 0:
        return "better"
    return "worse" if signs.p_worse < level and gain < 0 else "not shown to be better"
