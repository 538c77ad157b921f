"""The t-test of two systems' closed labels on the same rows: over groups, with one more pair of units in each class.

The difference in a metric is held against its standard error over groups (the jackknife). Where few units differ, that
error is too small: errors of a rare class were hardly seen. So each class of gold has two more units, on which the
systems differ once each way. They leave the difference as it is, and add the variance of two independent units to it.
The degrees of freedom are the groups of equal weight that say as much (Kish 1965, section 11.7), less one.

Swaps of whole groups take a prompt that moves errors from one class to the other for noise, and swap the answers of a
constant whose value is known. The t-test does neither, so it shows more of the true gains.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import scipy

from .intervals import difference_error, t_quantile
from .metrics import DRAWS, Metric
from .moves import largest_moves
from .units import Units

LEAST_P = 1.0 / (DRAWS + 1)
"""The smallest p that is given, that of random swaps: nobody has looked further into the tail."""


@dataclass(frozen=True, kw_only=True)
class OneSidedT:
    """The test that the second system is better by more than some true difference, for every such difference."""

    difference: float  # of the second system to the first, turned so that more is better
    error: float  # its standard error, above 0
    degrees: float  # of freedom of the error, at least 1

    @property
    def p(self) -> float:
        """The probability of a difference as large as this one, if there is no true difference."""
        return max(LEAST_P, float(scipy.special.stdtr(self.degrees, -self.difference / self.error)))

    def bound(self, level: float) -> float:
        """Return the smallest true difference that is not rejected at a level: above 0 exactly where p is below it."""
        if level <= LEAST_P:
            return -math.inf
        return self.difference - t_quantile(1.0 - level, self.degrees) * self.error


@dataclass(frozen=True, kw_only=True)
class ClusteredT:
    """A paired t-test over groups, of a metric that :attr:`~jurist.evaluation.metrics.Metric.by_t` says it fits."""

    words: ClassVar[str] = "t-test over groups, with a pair of units added in each class"

    difference: float  # in the metric, second minus first
    gain: float  # the same, turned so that more is better
    error: float
    degrees: float
    groups: int

    @classmethod
    def of(cls, units: Units, metric: Metric) -> Self:
        """Test two systems, the first and the second half of the answer sets; missing answers are wrong."""
        filled = units.worst
        first, second = filled.halves
        difference = metric.of(second) - metric.of(first)
        added_variance = 2.0 * float((largest_moves(filled, metric) ** 2).sum())
        effective_groups = min(metric.group_weights(first).effective, metric.group_weights(second).effective)
        return cls(
            difference=difference,
            gain=metric.oriented(difference),
            error=math.sqrt(difference_error(filled, metric) ** 2 + added_variance),
            degrees=max(1.0, effective_groups - 1.0),
            groups=filled.groups,
        )

    @property
    def gains(self) -> OneSidedT:
        """The test that the second system is better."""
        return OneSidedT(difference=self.gain, error=self.error, degrees=self.degrees)

    @property
    def losses(self) -> OneSidedT:
        """The test that the second system is worse."""
        return OneSidedT(difference=-self.gain, error=self.error, degrees=self.degrees)

    @property
    def better(self) -> float:
        """The one-sided p that the second system is better."""
        return self.gains.p

    @property
    def worse(self) -> float:
        """The one-sided p that the second system is worse."""
        return self.losses.p

    @property
    def p(self) -> float:
        """Two-sided, in (0, 1]."""
        return min(1.0, 2.0 * min(self.better, self.worse))
