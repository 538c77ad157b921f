"""Two systems on the same rows: one permutation of whole groups, which gives the decision and the interval.

One test for every metric: the judge's own, recomputed under swaps of whole groups of answers between the two systems.
It is exact, however errors cluster, where the two are equally good in every row. Where they only have the same score
(one misses more, the other alarms more; one errs rarely and far, the other often and a little), few units of a rare
kind would make it too sure: their errors were hardly seen. So two more units are swapped along, once each way, each
as large as an error that was not seen may be. And where one group holds more than half of the units, its errors are
one draw for most of the score: the other groups must show the difference without it, too.

The same swaps test every other true difference, too: each group's difference less its share of the supposed one is
swapped. The interval holds the differences that are not rejected, so it excludes 0 exactly where a difference is shown
(the confidence set of Hartigan 1969, with groups in the place of units). Units corrected and broken (McNemar 1947)
describe, and decide nothing.
"""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy

from ..errors import UsageError
from .intervals import Interval, difference_error, t_quantile
from .metrics import DRAWS, Metric, dense
from .units import Bools, Floats, Ints, Units

EXACT_GROUPS = 14
FEW_GROUPS = 20
SLICE = 1024  # swaps held in memory at once
POWER = 0.8
_CHANGED = 2.0  # units that differ, for each that is gained: of four, three are corrected and one is broken
_TOGETHER = 0.15  # the correlation of what two units of a group gain: moderate, and not known before
_ROUNDING = 1e-12
WELL_SEEN = 5
"""Groups that hold a kind of gold, up to which nothing is concluded from the errors that were not seen in it."""
MOST_PAIRS = 500
"""Pairs of gold and answer of which a unit is tried for how far it moves a metric."""
MOVES = 64  # units that are moved at once


def sign_test(wins: int, losses: int) -> float:
    """Return the exact probability of so many wins or more, if each unit were won or lost by the toss of a coin."""
    if not wins:
        return 1.0
    # A probability too small for a float is given as the smallest normal one, so that it is never 0.
    return max(float(scipy.special.betainc(wins, losses + 1, 0.5)), sys.float_info.min)


@dataclass(frozen=True, kw_only=True)
class McNemar:
    """The exact two-sided test on discordant units. It takes units as independent."""

    b: int
    c: int
    p: float

    @classmethod
    def of(cls, b: int, c: int) -> "McNemar":
        """Test b against c at 1/2."""
        return cls(b=b, c=c, p=min(1.0, 2.0 * sign_test(max(b, c), min(b, c))))


Direction: TypeAlias = Literal["better", "worse"]
Verdict: TypeAlias = Literal["better", "worse", "not shown to be better"]


@dataclass(frozen=True, eq=False)
class OneSidedTest:
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

    def joined(self, test: "OneSidedTest") -> "OneSidedTest":
        """Return the test in which the conditions of both must hold."""
        return OneSidedTest(self.thresholds + test.thresholds)


@dataclass(frozen=True, kw_only=True)
class Permutation:
    """A paired permutation test that swaps the two systems' answers in whole groups.

    All 2^g swaps are enumerated when at most 14 groups differ, so both p are exact; otherwise random ones are evaluated
    and p is (k + 1) / (draws + 1). With g differing groups p cannot go below 2^-g.
    """

    difference: float
    better: float
    worse: float
    swaps: int
    exact: bool
    groups: int
    gains: OneSidedTest = field(repr=False, compare=False)  # that the second is better, by any difference
    losses: OneSidedTest = field(repr=False, compare=False)  # that it is worse, by any difference

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

    def test(self, *, side: float) -> OneSidedTest:
        """Return one side of the test: 1 that the second system is better, -1 that it is worse."""
        return OneSidedTest((np.sort(self._thresholds(side * (self.observed - self.values))),))

    def test_with_a_pair(self, shift: float, *, side: float) -> OneSidedTest:
        """Return one side of the test with two more units swapped along, once each way; both move it by ``shift``."""
        behind = side * (self.observed - self.values)
        thresholds = self._thresholds(behind)
        # Swapping both of the two, or none, changes nothing; swapping either one moves the difference by the shift.
        first_swapped = self._thresholds(behind - shift)
        second_swapped = self._thresholds(behind + shift)
        with_a_pair = np.concatenate([first_swapped, thresholds, thresholds, second_swapped])
        return OneSidedTest((np.sort(thresholds), np.sort(with_a_pair)))

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
    for start in range(0, count, SLICE):
        codes = np.arange(start, min(start + SLICE, count))
        if exact:
            # Swap number n swaps the groups whose bits are set in n.
            chosen = codes[:, np.newaxis] >> np.arange(len(differing)) & 1
        else:
            chosen = differing_draws.integers(0, 2, size=(len(codes), len(differing)))
        swaps = np.zeros((len(codes), len(differ)), dtype=np.bool_)
        swaps[:, differing] = chosen.astype(np.bool_)
        alike = alike_draws.integers(0, 2, size=(len(codes) * repeats, len(alike_weights)))
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


def _group_weights(filled: Units, metric: Metric) -> Floats:
    """Return the weight of each group in a metric (G,); the weights add up to 1."""
    weights = metric.counted(filled).weights.sum(axis=1)
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


def unseen_weight(filled: Units, metric: Metric) -> float:
    """Return the largest move of a metric by a unit that was not seen, over all kinds of gold."""
    # An error of a kind of gold that many groups hold would have been seen: there a unit counts as the largest error
    # that was made. Of a kind that few groups hold it counts as the largest error that there is, and nowhere as less
    # than half of that.
    golds, places = np.unique(filled.gold, return_inverse=True)
    strata = np.array([filled.kind.stratum(filled.values[gold]) for gold in golds])
    names, stratum = np.unique(strata[places], return_inverse=True)
    possible = np.zeros(len(names))  # of each stratum the largest move, as is the next one
    occurred = np.zeros(len(names))
    first, second = filled.halves
    for answers in (first.predicted[0], second.predicted[0]):
        units = _different_units(filled.gold, answers)
        moves = _measure_moves(filled.apart, metric, answers, units)
        np.maximum.at(possible, stratum[units], moves.possible)
        np.maximum.at(occurred, stratum[units], moves.occurred)
    pairs = np.unique(np.stack([stratum, filled.group]), axis=1)
    groups = np.bincount(pairs[0], minlength=len(names))
    unknown = np.minimum(1.0, WELL_SEEN / groups)
    largest = float((occurred + np.maximum(0.0, possible - occurred) * unknown).max())
    return max(largest, float(possible.max()) / 2.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Moves:
    """The moves of a metric by some units."""

    possible: Floats  # from the right answer to one as wrong as can be
    occurred: Floats  # from the right answer to the answer of the system


def _measure_moves(single_units: Units, metric: Metric, answers: Ints, selected: Ints) -> _Moves:
    """Return the moves of a metric of one system's answers by selected units; each unit is a group of its own."""
    answer_sets = np.stack([answers, single_units.gold, single_units.wrong])
    by_unit = metric.statistics(single_units.answering(answer_sets))
    answered, right, wrong = by_unit.sums
    total = np.asarray(answered.sum(axis=0), dtype=np.float64)
    possible: list[Floats] = []
    occurred: list[Floats] = []
    for start in range(0, len(selected), MOVES):
        units = selected[start : start + MOVES]
        value_if_right = by_unit.of(total + dense(right[units] - answered[units]))
        value_if_wrong = by_unit.of(total + dense(wrong[units] - answered[units]))
        possible.append(np.abs(value_if_right - value_if_wrong))
        occurred.append(np.abs(value_if_right - by_unit.of(total)))
    return _Moves(possible=np.concatenate(possible), occurred=np.concatenate(occurred))


def _different_units(gold: Ints, answers: Ints) -> Ints:
    """Return one unit of each pair of gold and answer, evenly chosen where there are very many."""
    _, units = np.unique(np.stack([gold, answers]), axis=1, return_index=True)
    if len(units) > MOST_PAIRS:
        units = units[np.linspace(0, len(units) - 1, MOST_PAIRS).astype(np.int64)]
    return np.asarray(units)


@dataclass(frozen=True, kw_only=True)
class Paired:
    """The comparison of two systems' answers to the same cases."""

    metric: str
    higher_is_better: bool
    value_before: float  # the metric of the first system, missing answers counted as wrong
    value_after: float  # and that of the second
    groups: int  # groups with a labelled unit
    limit: float  # how large a difference can be
    mcnemar: McNemar | None
    permutation: Permutation
    tested: float  # the one-sided level

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.value_after - self.value_before

    @property
    def level(self) -> float:
        """The level of the interval: 0.95 at a one-sided level of 0.025."""
        return 1.0 - 2.0 * self.tested

    @property
    def interval(self) -> Interval:
        """The true differences that the test does not reject: without 0 exactly where a difference is shown."""
        return self.interval_at(self.tested, self.tested)

    def interval_at(self, better: float, worse: float) -> Interval:
        """Return the differences that are not rejected at the levels at which better, and worse, are tested."""
        smallest_gain = max(-self.limit, self.permutation.gains.bound(better))
        largest_gain = min(self.limit, -self.permutation.losses.bound(worse))
        if self.higher_is_better:
            return Interval(low=smallest_gain, high=largest_gain, groups=self.groups)
        return Interval(low=-largest_gain, high=-smallest_gain, groups=self.groups)

    @property
    def interval_words(self) -> str:
        """The interval with its level."""
        ends = self.interval
        return f"{100.0 * self.level:.4g} % interval {ends.low:+.3f} to {ends.high:+.3f}"

    @property
    def p(self) -> float:
        """Two-sided, not corrected for how many tests there are."""
        return self.permutation.p

    @property
    def direction(self) -> Direction | None:
        """The direction that is shown of the second system, if any: one side of the test is below the level."""
        if self.permutation.better < self.tested:
            return "better"
        if self.permutation.worse < self.tested:
            return "worse"
        return None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The limits of the decision, in words; empty if none are known."""
        warning = limits(self.groups, self.tested)
        if not warning:
            return ()
        return (warning,)


def fewest_groups(alpha: float) -> int:
    """Return the fewest groups that can show a difference at a one-sided level: else no permutation is below it."""
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha is {alpha!r}", hint="give a level between 0 and 1, usually 0.05")
    return math.floor(-math.log2(alpha)) + 1


def wide(groups: int) -> str:
    """Return a warning of intervals from so few groups; empty from ``FEW_GROUPS`` groups on."""
    if groups == 1:
        return "all rows belong to one group: no interval can be given"
    if groups < FEW_GROUPS:
        return f"only {groups} groups: intervals are wide"
    return ""


def limits(groups: int, alpha: float) -> str:
    """Return a warning of what so few groups cannot show at a level; empty from ``FEW_GROUPS`` groups on."""
    if groups == 1:
        return f"{wide(groups)}, so nothing can be shown"
    needed = fewest_groups(alpha)
    if groups < needed:
        return (
            f"only {groups} groups: nothing can be shown at the level {alpha:.3g}, as the permutation of whole groups "
            f"has no p below {2.0**-groups:.3g}; it takes {needed} groups or more"
        )
    words = wide(groups)
    if not words:
        return ""
    return f"{words}, and about {_improving_groups(groups, alpha)} of them must improve"


def _improving_groups(groups: int, alpha: float) -> int:
    """Return the fewest improving groups that chance reaches with a probability of ``alpha`` at most."""
    ways = [math.comb(groups, improving) for improving in range(groups + 1)]
    for improving in range(groups):
        if sum(ways[improving:]) <= alpha * 2**groups:
            return improving
    return groups


def compare_pair(units: Units, metric: Metric, *, seed: int, tested: float) -> Paired:
    """Compare two systems, the first and the second half of the answer sets, at a one-sided level, ``tested``."""
    first, second = units.worst.halves
    return Paired(
        metric=metric.name,
        higher_is_better=bool(metric.higher_is_better),
        value_before=metric.of(first),
        value_after=metric.of(second),
        groups=units.groups,
        limit=metric.high - metric.low,
        mcnemar=_mcnemar(units),
        permutation=permute(units, metric, seed=seed),
        tested=tested,
    )


def _mcnemar(units: Units) -> McNemar | None:
    """Return the test on discordant units; ``None`` with several repeats, and where nothing is right or wrong."""
    if len(units.predicted) != 2:
        return None
    right = units.right
    if right is None:
        return None
    first, second = right
    return McNemar.of(b=int((first & ~second).sum()), c=int((second & ~first).sum()))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values, by the same names: each at least its own p and at most 1."""
    adjusted: dict[str, float] = {}
    floor = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p))
        adjusted[name] = floor
    return {name: adjusted[name] for name in p_values}


def holm_levels(p_values: Mapping[str, float], alpha: float) -> dict[str, float]:
    """Return the level of each test by Holm's steps, by the same names: its p is below it where it is rejected."""
    levels: dict[str, float] = {}
    level = alpha
    rejected = True
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        if rejected:  # all that follow the first one that is not rejected are held to its level
            level = alpha / (len(p_values) - rank)
            rejected = p < level
        levels[name] = level
    return {name: levels[name] for name in p_values}


@dataclass(frozen=True, kw_only=True)
class Gains:
    """The gains in the share of correct units that a paired test of this size can show, of any two systems."""

    units: int
    groups: int
    alpha: float  # the one-sided level
    smallest: float  # no smaller gain can be shown
    likely: float | None  # one that is shown with a power of .8; ``None`` if even the largest may be missed

    def __str__(self) -> str:
        """One line for people."""
        size = f"({self.units} labelled units in {self.groups} groups, level {self.alpha:.3g})"
        low = f"below {math.ceil(100 * self.smallest - 1e-9)} points"
        if self.likely is None:
            return f"a gain in correct answers {low} cannot be confirmed, and any larger one may be missed {size}"
        points = math.ceil(100 * self.likely - 1e-9)
        return f"gains of about {points} points in correct answers can be confirmed, {low} none can {size}"


def gains(sizes: Ints, alpha: float) -> Gains:
    """Return the gains that can be shown, by the one-sided t-test of the groups' means."""
    units = int(sizes.sum())
    fewest_units = fewest_groups(alpha)
    uneven = float((sizes**2).sum()) / units  # units of the group that a unit is in, on average
    degrees = max(1.0, units / uneven - 1.0)
    errors = t_quantile(1.0 - alpha, degrees) + t_quantile(POWER, degrees)
    # The difference of a unit has the variance k d - d^2 at a gain of d, if k d of the units differ; solved for d.
    square = errors**2 * (1.0 + _TOGETHER * (uneven - 1.0)) / units
    likely = max(fewest_units / units, _CHANGED * square / (1.0 + square))
    may_be_missed = _CHANGED * likely > 1.0
    return Gains(
        units=units,
        groups=len(sizes),
        alpha=alpha,
        smallest=min(1.0, fewest_units / units),
        likely=None if may_be_missed else likely,
    )
