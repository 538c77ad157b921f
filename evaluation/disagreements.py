"""Two prompts held against labels that were given only where their answers differ.

Where both say the same, a label cannot tell which one is better. So units are drawn at random from those on which the
answers differ, one a group, and people label them: a *win* is a unit by which the second prompt gains in the judge's
metric, a *loss* one by which it loses, and a tie neither. What a unit counts in the metric follows from the sealed
test, where the labels of all units are known: in balanced accuracy a unit of a class that a tenth of them are of counts
five times as much as an average one. The test flips which prompt each unit speaks for, with two more units of the
largest weight flipped along, once each way, as in the proof (:mod:`.paired`); of units that count alike it is hardly
other than the sign test. The gain is the share of units that differ, times the mean gain of a differing unit.

The interval combines that of the rate (the jackknife over groups) and that of the mean gain, which is made from the
test, by the method of variance estimates recovery (Zou and Donner 2008). It excludes 0 exactly where the test shows a
difference.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
import scipy

from ..cases import Value
from ..errors import JuristError
from .intervals import Estimate, Ranged, estimated
from .metrics import Metric, mean
from .paired import POWER, Verdict, fewest_groups, sign_test, swap_gains
from .plain import plain_fields
from .rows import Row, tally
from .scale import Scale
from .units import encode

_ROUNDING = 1e-9  # gains are differences of values near 1
Ends: TypeAlias = tuple[float, float, float]  # a value, and the ends of its interval


@dataclass(frozen=True, kw_only=True)
class UnitGains:
    """What an answer to one unit is worth in a metric, near what two prompts reach on rows whose labels are known."""

    metric: Metric
    comparison: Scale
    rows: tuple[Row, ...]  # what both prompts said of these rows

    @classmethod
    def of(
        cls, first: Sequence[Row], second: Sequence[Row], metric: Metric, comparison: Scale
    ) -> "UnitGains":
        """Return that of the metric between two prompts, by their answers to the same labelled rows."""
        rows = [
            replace(row, id=f"{name} {row.id}") for name, side in ((1, first), (2, second)) for row in side
        ]
        return cls(metric=metric, comparison=comparison, rows=tuple(rows))

    def gain(self, gold: Value, first: Value | None, second: Value | None) -> float:
        """Return how much is gained by the second answer over the first, as a share of one unit."""
        return self._worth(gold, second) - self._worth(gold, first)

    def largest(self, golds: Iterable[Value]) -> float:
        """Return how much at most one unit with some gold counts: from as wrong as can be to right."""
        return max(abs(self.gain(gold, None, gold)) for gold in golds)

    def _worth(self, gold: Value, answer: Value | None) -> float:
        """Return the metric with one more unit, times all units: only differences of it mean something."""
        one_more = Row(id="one more", group="one more", gold=(gold,), predicted=(answer,))
        units = encode(self.comparison, [*self.rows, one_more])
        return self.metric.oriented(self.metric.of(units.worst)) * len(units.gold)


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """What labelled units on which two prompts differ show of a metric."""

    wins: int  # units by which the second gains
    losses: int  # units by which it loses
    ties: int
    better: float  # one-sided p that the second is better
    worse: float  # and that it is worse
    verdict: Verdict
    gain: Ranged  # over all units, with its interval


def weigh(gains: Sequence[float], largest: float, rate: Ends, level: float, *, seed: int = 0) -> Weighed:
    """Return what is shown by the gains of labelled units, of which one counts ``largest`` at most."""
    each = np.array(gains, dtype=np.float64)
    each[np.abs(each) < _ROUNDING] = 0.0
    swaps = swap_gains(each, seed=seed)
    test = swaps.test_with_a_pair(2.0 * largest / len(each), side=1.0)
    other_side = swaps.test_with_a_pair(2.0 * largest / len(each), side=-1.0)
    low, high = max(-largest, test.bound(level)), min(largest, -other_side.bound(level))
    verdict: Verdict = "not shown to be better"
    if low > 0.0:
        verdict = "better"
    elif high < 0.0:
        verdict = "worse"
    value, low, high = _product(rate, (float(each.mean()), low, high))
    return Weighed(
        wins=int((each > 0.0).sum()),
        losses=int((each < 0.0).sum()),
        ties=int((each == 0.0).sum()),
        better=test.p,
        worse=other_side.p,
        verdict=verdict,
        gain=Ranged(value=value, low=low, high=high),
    )


def alike_test(wins: int, losses: int) -> float:
    """Return the p of :func:`weigh` for units that count alike: the sign test, with a pair of units flipped along."""
    alone = sign_test(wins, losses)
    one_less = sign_test(wins - 1, losses + 1) if wins else 1.0
    one_more = sign_test(wins + 1, losses - 1) if losses else 0.0
    return max(alone, (one_less + 2.0 * alone + one_more) / 4.0)


def fewest_labels(level: float) -> int:
    """Return the fewest labels that can show a difference at a level, if all are won."""
    labels = fewest_groups(level)
    while alike_test(labels, 0) >= level:
        labels += 1
    return labels


def win_share_shown(labels: int, level: float) -> float | None:
    """Return the true share of wins that so many labels show with a power of .8; ``None`` where they show none."""
    if labels < fewest_labels(level):
        return None
    needed = next(wins for wins in range(labels + 1) if alike_test(wins, labels - wins) < level)
    return float(scipy.special.betaincinv(needed, labels - needed + 1, POWER))


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


def _product(share: Ends, signed: Ends) -> Ends:
    """Return the product of a share and a signed number, whose sign the interval keeps where it has one."""
    value = share[0] * signed[0]

    def reach(end: int) -> float:
        # where the product is negative, a larger share makes it smaller
        other = end if signed[0] >= 0 else 3 - end
        return math.hypot(signed[0] * (share[other] - share[0]), share[0] * (signed[end] - signed[0]))

    low, high = value - reach(1), value + reach(2)
    if signed[1] > 0.0:
        low = max(low, share[1] * signed[1])
    if signed[2] < 0.0:
        high = min(high, share[1] * signed[2])
    return value, low, high


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
