"""The permutation test of two systems on the same rows: their answers are swapped in whole groups.

The judge's own metric is recomputed under swaps of whole groups of answers between the two systems. The test is exact,
however errors cluster, where the two are equally good in every row. Where they only have the same score (one misses
more, the other alarms more; one errs rarely and far, the other often and a little), few units of a rare kind would make
it too sure: their errors were hardly seen. So two more units are swapped along, once each way, each as large as an
error that was not seen may be. And where one group holds more than half of the units, its errors are one draw for most
of the score: the other groups must show the difference without it, too.

The same swaps test every other true difference, too: each group's difference less its share of the supposed one is
swapped. The interval holds the differences that are not rejected, so it excludes 0 exactly where a difference is shown
(the confidence set of Hartigan 1969, with groups in the place of units).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from .intervals import difference_error
from .metrics import DRAWS, Metric
from .moves import unseen_weight
from .units import Bools, Floats, Units

EXACT_GROUPS = 14
SLICE = 1024  # swaps held in memory at once
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SwapThresholds:
    """The test that the second system is better by more than some true difference, for every such difference.

    Each array holds, sorted, the supposed difference from which on each swap reaches what was seen. There are several
    arrays where several conditions must hold together: the largest p of them counts.
    """

    thresholds: tuple[Floats, ...]

    @property
    def p(self) -> float:
        """The share of swaps that reach the observed difference: luck alone, if there is no true difference."""
        shares = []
        for thresholds in self.thresholds:
            reaching = float(np.searchsorted(thresholds, 0.0, side="right"))
            shares.append(reaching / len(thresholds))
        return max(shares)

    def bound(self, level: float) -> float:
        """Return the smallest true difference that is not rejected at a level: above 0 exactly where p is below it."""
        bounds = []
        for thresholds in self.thresholds:
            shares_reaching = np.arange(1, len(thresholds) + 1) / len(thresholds)
            bounds.append(float(thresholds[np.searchsorted(shares_reaching, level)]))
        return min(bounds)

    def joined(self, test: "SwapThresholds") -> "SwapThresholds":
        """Return the test in which the conditions of both must hold."""
        return SwapThresholds(self.thresholds + test.thresholds)


@dataclass(frozen=True, kw_only=True)
class Permutation:
    """A paired permutation test that swaps the two systems' answers in whole groups.

    All 2^g swaps are enumerated when at most 14 groups differ, so both p are exact; otherwise random ones are evaluated
    and p is (k + 1) / (draws + 1). With g differing groups p cannot go below 2^-g.
    """

    words: ClassVar[str] = "permutation of whole groups"

    difference: float
    better: float
    worse: float
    swaps: int
    exact: bool
    groups: int
    gains: SwapThresholds = field(repr=False, compare=False)  # that the second is better, by any difference
    losses: SwapThresholds = field(repr=False, compare=False)  # that it is worse, by any difference

    @property
    def least_p(self) -> float:
        """The p at which none of the random swaps reached the difference; 0 where all swaps were tried."""
        if self.exact:
            return 0.0
        return 1.0 / (self.swaps + 1)

    @property
    def p(self) -> float:
        """Two-sided, in (0, 1]."""
        return min(1.0, 2.0 * min(self.better, self.worse))


@dataclass(frozen=True, kw_only=True, eq=False)
class Swaps:
    """The differences in a metric after swaps of whole groups between two systems, turned so that more is better."""

    observed: float  # the difference without a swap
    values: Floats  # (S,): the difference after each swap
    shares: Floats  # (S,): how much of what the metric is over each swap exchanges, 0 to 1
    count: int  # different swaps of the groups in which answers differ
    exact: bool  # True where these are all that there are
    differing: int  # groups in which answers differ

    def widened(self, error: float) -> "Swaps":
        """Return swaps that vary as much as the difference does by its standard error, where they vary less."""
        # Of a quotient, units on which both agree move the score of each system otherwise, which no swap shows.
        spread = math.sqrt(float((self.values**2).mean()))
        if not (0.0 < spread < error < math.inf):
            return self
        return replace(self, values=self.values * (error / spread))

    def test(self, *, side: float) -> SwapThresholds:
        """Return one side of the test: 1 that the second system is better, -1 that it is worse."""
        return SwapThresholds((np.sort(self._thresholds(side * (self.observed - self.values))),))

    def test_with_a_pair(self, shift: float, *, side: float) -> SwapThresholds:
        """Return one side of the test with two more units swapped along, once each way; both move it by ``shift``."""
        behind = side * (self.observed - self.values)
        thresholds = self._thresholds(behind)
        # Swapping both of the two, or none, changes nothing; swapping either one moves the difference by the shift.
        first_swapped = self._thresholds(behind - shift)
        second_swapped = self._thresholds(behind + shift)
        with_a_pair = np.concatenate([first_swapped, thresholds, thresholds, second_swapped])
        return SwapThresholds((np.sort(thresholds), np.sort(with_a_pair)))

    def _thresholds(self, behind: Floats) -> Floats:
        """Return the supposed difference from which on each swap reaches the observed one."""
        # Equal differences may be computed along different roundings; ties must count as reached.
        behind = np.where(np.abs(behind) <= _ROUNDING, 0.0, behind)
        never_or_always = np.where(behind > 0.0, np.inf, -np.inf)
        moved = self.shares > 0.0
        thresholds = np.divide(behind, 2.0 * self.shares, out=never_or_always, where=moved)
        if self.exact:
            return thresholds
        return np.append(thresholds, -np.inf)  # to swap nothing is one of the swaps, and reaches itself


def swap_groups(filled: Units, metric: Metric, *, seed: int) -> Swaps:
    """Swap whole groups of answers between two systems: all swaps where few groups differ, else random ones."""
    first, second = filled.halves
    sign = 1.0
    if not metric.higher_is_better:
        sign = -1.0
    differ = np.zeros(filled.groups, dtype=np.bool_)
    differ[filled.group[(first.predicted != second.predicted).any(axis=0)]] = True
    return _swap(
        differ,
        _group_weights(filled, metric),
        sign * (metric.of(second) - metric.of(first)),
        lambda swaps: sign * metric.swapped(filled, swaps),
        draws=metric.draws,
        seed=seed,
    )


def swap_gains(gains: Floats, *, seed: int) -> Swaps:
    """Swap which of two systems each unit speaks for; ``gains`` are those of the second by each unit, 0 by a tie."""
    units = len(gains)
    return _swap(
        gains != 0.0,
        np.full(units, 1.0 / units),
        float(gains.mean()),
        lambda swaps: np.asarray((1.0 - 2.0 * swaps) @ gains / units),
        draws=DRAWS,
        seed=seed,
    )


def _swap(
    differ: Bools,
    weights: Floats,
    observed: float,
    difference_after: Callable[[Bools], Floats],
    *,
    draws: int,
    seed: int,
) -> Swaps:
    """Return the differences after swaps of groups: which of them differ, and the share that each holds."""
    differing = np.flatnonzero(differ)
    exact = len(differing) <= EXACT_GROUPS
    count = draws
    if exact:
        count = 2 ** len(differing)
    # Groups in which nothing differs change no value, and still hold a share of any supposed difference.
    alike_weights = weights[~differ]
    repeats = 1
    if exact and len(alike_weights):
        repeats = max(1, draws // count)
    values: list[Floats] = []
    shares: list[Floats] = []
    differing_draws = np.random.default_rng(seed)
    alike_draws = np.random.default_rng((seed, 1))
    for chosen in choose_in_parts(len(differing), count, differing_draws, exact=exact):
        swaps = np.zeros((len(chosen), len(differ)), dtype=np.bool_)
        swaps[:, differing] = chosen
        alike = alike_draws.integers(0, 2, size=(len(chosen) * repeats, len(alike_weights)))
        values.append(np.repeat(difference_after(swaps), repeats))
        shares.append(np.repeat(swaps @ weights, repeats) + alike @ alike_weights)
    return Swaps(
        observed=observed,
        values=np.concatenate(values),
        shares=np.concatenate(shares),
        count=count,
        exact=exact,
        differing=len(differing),
    )


def choose_in_parts(width: int, count: int, draws: np.random.Generator, *, exact: bool) -> Iterator[Bools]:
    """Yield choices among things, as parts of shape (choices, ``width``) with at most :data:`SLICE` rows.

    Args:
        width: the number of things of which each choice takes some.
        count: the number of choices; all that there are, if ``exact``.
        draws: draws random choices.
        exact: whether each possible choice comes once, in place of random ones.
    """
    for start in range(0, count, SLICE):
        numbers = np.arange(start, min(start + SLICE, count))
        if exact:
            # Choice number n takes the things whose bits are set in n.
            chosen = numbers[:, np.newaxis] >> np.arange(width) & 1
        else:
            chosen = draws.integers(0, 2, size=(len(numbers), width))
        yield chosen.astype(np.bool_)


def _group_weights(filled: Units, metric: Metric) -> Floats:
    """Return the weight of each group in a metric (G,); the weights add up to 1."""
    weights = metric.group_weights(filled).weights.sum(axis=1)
    if not weights.any():
        weights = filled.sizes.astype(np.float64)
    return np.asarray(weights / weights.sum())


def permute(units: Units, metric: Metric, *, seed: int, cautious: bool = True) -> Permutation:
    """Test whether two systems differ in a metric, with the group as the unit of exchange."""
    filled = units.worst
    swaps = swap_groups(filled, metric, seed=seed)
    gains = swaps.test(side=1.0)
    losses = swaps.test(side=-1.0)
    if cautious:
        wider = swaps.widened(difference_error(filled, metric))
        shift = 2.0 * unseen_weight(filled, metric)
        gains = gains.joined(wider.test_with_a_pair(shift, side=1.0))
        losses = losses.joined(wider.test_with_a_pair(shift, side=-1.0))
    outside_largest = units.group != int(units.sizes.argmax())
    largest_dominates = 2 * int(outside_largest.sum()) < len(outside_largest)
    if cautious and units.groups > 1 and largest_dominates:
        without_largest = permute(units.only(outside_largest), metric, seed=seed)
        gains = gains.joined(without_largest.gains)
        losses = losses.joined(without_largest.losses)
    return Permutation(
        difference=metric.oriented(swaps.observed),
        better=gains.p,
        worse=losses.p,
        swaps=swaps.count,
        exact=swaps.exact,
        groups=swaps.differing,
        gains=gains,
        losses=losses,
    )
