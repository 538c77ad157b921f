"""The t-test of two systems on the same rows: over groups, with an allowance for errors that were not seen.

The difference in a metric is held against its standard error over groups (the jackknife). Where few units differ, that
error is too small: errors of a rare kind were hardly seen. So units are added to those that were seen:

- closed labels: in each class of gold two units, on which the systems differ once each way. They leave the difference
  as it is, and add the variance of two independent units to it.
- scores and sets: one unit, on which the system that is to be shown better errs as far as an unseen error may
  (:func:`.moves.unseen_error`). It adds to the variance and to the skewness.

Scores and sets can be wrong by far more than they mostly are. A mean over few groups then mostly looks too good. So the
quantile of Student's t is corrected for skewness (Cornish and Fisher 1938; Johnson 1978) where the difference is skewed
towards losses. The degrees of freedom are the groups of equal weight that say as much (Kish 1965, section 11.7), less
one.

Swaps of whole groups take a prompt that moves errors from one class to the other for noise, and swap the answers of a
constant whose value is known. The t-test does neither, so it shows more of the true gains.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, Self

import scipy

from .intervals import difference_error, difference_parts, t_quantile
from .metrics import DRAWS, Metric
from .moves import largest_moves, unseen_error
from .units import Floats, Units

LEAST_P = 1.0 / (DRAWS + 1)
"""The smallest p that is given, that of random swaps: nobody has looked further into the tail."""
_UNSEEN_SKEW = 0.5
"""The share of its third moment by which an unseen error counts. More costs power, and less lets judges that rarely err
far pass for better too often (benchmarks/interval_coverage.py)."""
PAIRS_WORDS: Final = "t-test over groups, with a pair of units added in each class"
SKEWED_WORDS: Final = "t-test over groups, corrected for skewness, with an unseen error added"


@dataclass(frozen=True, kw_only=True)
class OneSidedT:
    """The test that the second system is better by more than some true difference, for every such difference."""

    difference: float  # of the second system to the first, turned so that more is better
    error: float  # its standard error, above 0
    degrees: float  # of freedom of the error, at least 1
    skewness: float = 0.0  # towards losses of the second system, at least 0

    @property
    def p(self) -> float:
        """The probability of a difference as large as this one, if there is no true difference."""
        quantile = _uncorrected(self.difference / self.error, self.skewness)
        return max(LEAST_P, float(scipy.special.stdtr(self.degrees, -quantile)))

    def bound(self, level: float) -> float:
        """Return the smallest true difference that is not rejected at a level: above 0 exactly where p is below it."""
        if level <= LEAST_P:
            return -math.inf
        quantile = _corrected(t_quantile(1.0 - level, self.degrees), self.skewness)
        return self.difference - quantile * self.error


def _corrected(quantile: float, skewness: float) -> float:
    """Return a quantile of t for a mean whose parts are skewed towards losses: the first term of Cornish and Fisher."""
    return quantile + skewness * (1.0 + 2.0 * quantile**2) / 6.0


def _uncorrected(statistic: float, skewness: float) -> float:
    """Return the quantile of t that, corrected for skewness, is the statistic."""
    # The larger root q of skewness / 3 q^2 + q = excess, in the form that holds for a skewness of 0, too. Far below 0,
    # where there is no root, q is twice the excess.
    excess = statistic - skewness / 6.0
    discriminant = 1.0 + 4.0 * skewness / 3.0 * excess
    return 2.0 * excess / (1.0 + math.sqrt(max(0.0, discriminant)))


@dataclass(frozen=True, kw_only=True)
class ClusteredT:
    """A paired t-test over groups, of a metric whose :attr:`~jurist.evaluation.metrics.Metric.test` is one."""

    least_p: ClassVar[float] = LEAST_P

    words: str  # the name of the test
    difference: float  # in the metric, second minus first
    groups: int
    gains: OneSidedT  # that the second system is better
    losses: OneSidedT  # that it is worse

    @classmethod
    def of(cls, units: Units, metric: Metric) -> Self:
        """Test two systems, the first and the second half of the answer sets; missing answers are wrong."""
        filled = units.worst
        first, second = filled.halves
        difference = metric.of(second) - metric.of(first)
        effective_groups = min(metric.group_weights(first).effective, metric.group_weights(second).effective)
        degrees = max(1.0, effective_groups - 1.0)
        gain = metric.oriented(difference)
        if metric.test == "t with pairs":
            words = PAIRS_WORDS
            added_variance = 2.0 * float((largest_moves(filled, metric) ** 2).sum())
            error = math.sqrt(difference_error(filled, metric) ** 2 + added_variance)
            gains = OneSidedT(difference=gain, error=error, degrees=degrees)
            losses = OneSidedT(difference=-gain, error=error, degrees=degrees)
        else:
            words = SKEWED_WORDS
            parts = metric.oriented(1.0) * difference_parts(filled, metric)
            gains = _with_unseen_error(gain, parts, unseen_error(second, metric), degrees)
            losses = _with_unseen_error(-gain, -parts, unseen_error(first, metric), degrees)
        return cls(words=words, difference=difference, groups=filled.groups, gains=gains, losses=losses)

    @property
    def error(self) -> float:
        """The standard error of the difference: the larger one of the two sides of the test."""
        return max(self.gains.error, self.losses.error)

    @property
    def degrees(self) -> float:
        """The degrees of freedom of the standard error."""
        return self.gains.degrees

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


def _with_unseen_error(gain: float, parts: Floats, unseen: float, degrees: float) -> OneSidedT:
    """Return one side of the test of a gain whose parts (B,) vary, with one unseen error of the system that gains."""
    variance = float((parts**2).sum()) + unseen**2
    third_moment = float((parts**3).sum()) - _UNSEEN_SKEW * unseen**3
    skewness = 0.0
    if variance > 0.0:
        skewness = max(0.0, -third_moment / variance**1.5)
    return OneSidedT(difference=gain, error=math.sqrt(variance), degrees=degrees, skewness=skewness)
