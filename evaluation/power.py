"""The power of a proof: how probably a sealed test of some size shows a gain in the judge's own metric.

Sealed tests are drawn from answers of two systems to labelled units: whole groups at random, with replacement. In each
of them the second system is given the gain that is asked about, and the test of the proof (:mod:`.paired`) says whether
it is shown. A gain below that of the answers comes from exchanging the two systems' answers in some groups at random;
a larger one from giving the second system the right answer to some of the units on which it is wrong.

Where only labels are known, :func:`assume_answers` makes up the answers of two systems that are equally good.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import ndtri

from ..cases import Value
from .metrics import Metric
from .paired import POWER, run_test
from .units import Bools, Floats, Ints, Units

ASSUMED_RIGHT: Final = 0.7
"""The share of units of each kind of label on which both systems are supposed to be right, where none was asked."""
_SHARED_LUCK = 0.5  # of the luck of a unit: the part that both systems have alike
_GROUP_LUCK = 0.1  # and the part that the units of a group have alike, for one system
_TOGETHER = 0.15  # the correlation of the improvements of two units of a group
_ASSUMED_UNITS = 1000
_MEASURED_UNITS = 10_000  # units on which the gain of improved answers is measured
_SHARES = np.linspace(0.0, 1.0, 9)  # shares of wrong answers that are improved, at which the gain is measured
_STEPS = 6  # halvings of the range in which the smallest gain lies
_FEWEST_SWAPS = 200
_SWAPS_BELOW_LEVEL = 5  # swaps that lie below the level on average, so that p can be told from it
_LARGE_RANGE = 2.0  # a metric with a wider range is no share and no correlation


@dataclass(frozen=True, kw_only=True, eq=False)
class AnswerPool:
    """Answers of two systems to labelled units, from whose groups sealed tests are drawn."""

    units: Units  # of two answer sets, without missing answers
    metric: Metric
    measured_gain: float  # of the second system over the first, turned so that more is better
    level: float  # of the one-sided test
    seed: int = 0

    @classmethod
    def of(cls, units: Units, metric: Metric, level: float, *, seed: int = 0) -> "AnswerPool":
        """Return the pool of two systems' answers; where the second gains nothing, either counts as the second."""
        swaps = max(_FEWEST_SWAPS, math.ceil(_SWAPS_BELOW_LEVEL / level))
        metric = replace(metric, draws=min(metric.draws, swaps))
        filled = units.worst
        gain = _gain(filled, metric)
        if gain <= 0.0:
            filled = _with_both_orders(filled)
        return cls(units=filled, metric=metric, measured_gain=gain, level=level, seed=seed)

    @property
    def gain(self) -> float:
        """The gain of the second system in the pool: 0 where it had none, as either counts as the second then."""
        return max(0.0, self.measured_gain)

    @property
    def units_per_group(self) -> float:
        """The mean number of labelled units of a group."""
        return len(self.units.gold) / self.units.groups

    def groups_for(self, labels: float) -> int:
        """Return the number of groups that hold about so many labelled units."""
        return max(1, round(labels / self.units_per_group))

    def power(self, gain: float, groups: int, *, runs: int = 100) -> float:
        """Return the share of drawn tests of so many groups that show a gain, from 0 to 1."""
        count = 0
        for run in range(runs):
            count += self._shows(gain, groups, run)
        return count / runs

    def is_mostly_shown(self, gain: float, groups: int, *, runs: int = 60) -> bool:
        """Say whether at least four fifths of drawn tests of so many groups show a gain."""
        needed = math.ceil(POWER * runs)
        count = 0
        for run in range(runs):
            count += self._shows(gain, groups, run)
            missed = run + 1 - count
            if count >= needed or missed > runs - needed:
                break
        return count >= needed

    def smallest_gain(self, groups: int, *, runs: int = 60) -> float | None:
        """Return the smallest gain that is mostly shown; ``None`` where even the largest one may be missed."""
        low, high = 0.0, self.largest_gain
        if not self.is_mostly_shown(high, groups, runs=runs):
            return None
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            if self.is_mostly_shown(middle, groups, runs=runs):
                high = middle
            else:
                low = middle
        return high

    @property
    def largest_gain(self) -> float:
        """The gain of a second system that is always right."""
        return float(self._improved_gains[-1])

    @property
    def typical_gains(self) -> tuple[float, float]:
        """A small and a large gain: 0.05 and 0.1, or a tenth and a fifth of an error that is no share."""
        if self.metric.high - self.metric.low <= _LARGE_RANGE:
            return 0.05, 0.1
        error = abs(self.metric.of(self.units.sets(slice(1))))
        return 0.1 * error, 0.2 * error

    def _shows(self, gain: float, groups: int, run: int) -> bool:
        """Say whether one drawn test shows a gain; a run draws alike whatever the gain is."""
        units = self.draw_test(gain, groups, np.random.default_rng([self.seed, run]))
        test = run_test(units, self.metric, seed=run, level=self.level)
        return test.better < self.level

    def draw_test(self, gain: float, groups: int, rng: np.random.Generator) -> Units:
        """Return a sealed test of so many groups, in which the second system has a gain on average."""
        chosen = rng.integers(self.units.groups, size=groups)
        sizes = self.units.sizes[chosen]
        group = np.repeat(np.arange(groups), sizes)
        first_place = np.concatenate([[0], np.cumsum(self.units.sizes)])[chosen]
        place_in_group = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = np.repeat(first_place, sizes) + place_in_group
        swap_luck = rng.random(groups)
        improvement_luck = _luck_in_groups(group, groups, rng)
        first, second = self.units.predicted[:, places]
        gold = self.units.gold[places]
        if gain < self.gain:
            swapped = (swap_luck < (1.0 - gain / self.gain) / 2.0)[group]
            first, second = np.where(swapped, second, first), np.where(swapped, first, second)
        else:
            second = np.where(improvement_luck < self._share_improved(gain), gold, second)
        return replace(self.units, gold=gold, predicted=np.stack([first, second]), group=group, groups=groups)

    def _share_improved(self, gain: float) -> float:
        """Return the share of the second system's wrong answers that are made right for a gain."""
        return float(np.interp(gain, self._improved_gains, _SHARES))

    @cached_property
    def _improved_gains(self) -> Floats:
        """The gain after each share of :data:`_SHARES` of the second system's wrong answers was made right."""
        many = _repeated(self.units, _MEASURED_UNITS)
        count = len(many.gold)
        rng = np.random.default_rng(self.seed)
        luck = rng.permutation(count) / count
        first, second = many.predicted
        gains = []
        for share in _SHARES:
            improved = np.where(luck < share, many.gold, second)
            gains.append(_gain(many.answering(np.stack([first, improved])), self.metric))
        return np.maximum.accumulate(np.array(gains))


def _gain(filled: Units, metric: Metric) -> float:
    """Return the gain of the second of two systems, turned so that more is better."""
    first, second = filled.halves
    return metric.oriented(metric.of(second)) - metric.oriented(metric.of(first))


def _luck_in_groups(group: Ints, groups: int, rng: np.random.Generator) -> Floats:
    """Return a number from 0 to 1 for each unit, which some units of a group have in common."""
    of_group = rng.random(groups)[group]
    of_unit = rng.random(len(group))
    follows_group: Bools = rng.random(len(group)) < math.sqrt(_TOGETHER)
    return np.where(follows_group, of_group, of_unit)


def _with_both_orders(units: Units) -> Units:
    """Return the units twice, the second time with the answers of the two systems exchanged."""
    return replace(
        units,
        gold=np.tile(units.gold, 2),
        predicted=np.concatenate([units.predicted, units.predicted[::-1]], axis=1),
        group=np.concatenate([units.group, units.group + units.groups]),
        groups=2 * units.groups,
    )


def _repeated(units: Units, fewest: int) -> Units:
    """Return the units so often that there are at least so many, each time in groups of their own."""
    times = math.ceil(fewest / len(units.gold))
    shift = np.repeat(np.arange(times) * units.groups, len(units.gold))
    return replace(
        units,
        gold=np.tile(units.gold, times),
        predicted=np.tile(units.predicted, times),
        group=np.tile(units.group, times) + shift,
        groups=times * units.groups,
    )


def assume_answers(labelled: Units, *, seed: int = 0) -> Units:
    """Return made-up answers of two equally good systems to labelled units, which are repeated where they are few.

    Each is right on :data:`ASSUMED_RIGHT` of the units of each kind. Half of the luck of a unit is the same for both. A
    wrong answer is another label of the gold.
    """
    units = _repeated(labelled, _ASSUMED_UNITS)
    count = len(units.gold)
    rng = np.random.default_rng(seed)
    wrong_answers = _wrong_answers(units, rng)
    shared = rng.normal(size=count)
    predicted = []
    for wrong in wrong_answers:
        of_group = rng.normal(size=units.groups)[units.group]
        of_unit = rng.normal(size=count)
        luck = math.sqrt(_SHARED_LUCK) * shared + math.sqrt(_GROUP_LUCK) * of_group
        luck += math.sqrt(1.0 - _SHARED_LUCK - _GROUP_LUCK) * of_unit
        predicted.append(np.where(luck < ndtri(ASSUMED_RIGHT), units.gold, wrong))
    return units.answering(np.stack(predicted))


def _wrong_answers(units: Units, rng: np.random.Generator) -> Ints:
    """Return two wrong answers to each unit, (2, N): other labels of the gold, by how frequent they are."""
    counts = np.bincount(units.gold, minlength=len(units.values)).astype(np.float64)
    wrong = np.tile(units.wrong, (2, 1))
    for code in np.flatnonzero(counts):
        weights = counts.copy()
        weights[code] = 0.0
        total = weights.sum()
        if total > 0.0:
            is_unit = units.gold == code
            size = (2, int(is_unit.sum()))
            wrong[:, is_unit] = rng.choice(len(weights), size=size, p=weights / total)
    return wrong


def share_of_value(units: Units) -> dict[Value, float]:
    """Return the share of the labelled units that each value of gold has, the rarest first."""
    codes, counts = np.unique(units.gold, return_counts=True)
    shares: dict[Value, float] = {}
    for place in np.argsort(counts, kind="stable"):
        shares[units.values[codes[place]]] = float(counts[place]) / len(units.gold)
    return shares
