"""Two systems on the same rows: one test, which gives the decision and the interval beside it.

Most metrics have a t-test over groups (:mod:`.clustered_t`) where there are groups enough for the level and none holds
more than half of the units. Everything else has the permutation of whole groups (:mod:`.permutation`).
The interval holds the true differences that the same test does not reject, so it excludes 0 exactly where a difference
is shown. Units corrected and broken (McNemar 1947) describe, and decide nothing.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import scipy

from ..errors import UsageError
from .clustered_t import ClusteredT
from .intervals import Interval
from .metrics import Metric
from .permutation import Permutation, permute
from .units import Units

FEW_GROUPS = 20
POWER = 0.8
_ROUNDING = 1e-9  # a quotient of floats may lie so far below the whole number that it stands for


def _two_digits_down(number: float) -> int:
    """Return the largest number with two digits before its zeros that is at most a number: 3,900 for 3,980."""
    whole = math.floor(number + _ROUNDING)
    unit = int(10 ** max(0, len(str(whole)) - 2))
    return whole - whole % unit


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
ProofOutcome: TypeAlias = Literal["better", "worse", "not shown to be better"]
PairedTest: TypeAlias = ClusteredT | Permutation


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
    test: PairedTest
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
        smallest_gain = max(-self.limit, self.test.gains.bound(better))
        largest_gain = min(self.limit, -self.test.losses.bound(worse))
        if self.higher_is_better:
            return Interval(low=smallest_gain, high=largest_gain, groups=self.groups)
        return Interval(low=-largest_gain, high=-smallest_gain, groups=self.groups)

    @property
    def interval_words(self) -> str:
        """The interval with its level."""
        ends = self.interval
        return f"{100.0 * self.level:.4g} % interval {ends.low:+.3f} to {ends.high:+.3f}"

    def luck_words(self, p: float) -> str:
        """Return a one-sided p of the test in words, as the upper bound that it is: ``at most 1 time in 120``."""
        if p > 0.5:
            return f"at most {math.ceil(100.0 * p - _ROUNDING)}% of the time"
        times = _two_digits_down(1.0 / p)
        if p < self.tested:  # two digits may say less than the limit, which p is below
            times = max(times, math.floor(1.0 / self.tested + _ROUNDING))
        bound = "at most"
        if p <= self.test.least_p:
            bound = "less than"
        return f"{bound} 1 time in {times:,}"

    @property
    def p(self) -> float:
        """Two-sided, not corrected for how many tests there are."""
        return self.test.p

    @property
    def direction(self) -> Direction | None:
        """The direction that is shown of the second system, if any: one side of the test is below the level."""
        if self.test.better < self.tested:
            return "better"
        if self.test.worse < self.tested:
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


def run_test(units: Units, metric: Metric, *, seed: int, level: float) -> PairedTest:
    """Test two systems, the first and the second half of the answer sets, for a decision at a one-sided level."""
    enough_groups = units.groups >= fewest_groups(level)
    one_giant = 2 * int(units.sizes.max(initial=0)) > len(units.gold)
    if metric.test != "swaps" and enough_groups and not one_giant:
        test = ClusteredT.of(units, metric)
        if min(test.gains.error, test.losses.error) > 0.0:
            return test
    return permute(units, metric, seed=seed)


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
        test=run_test(units, metric, seed=seed, level=tested),
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
