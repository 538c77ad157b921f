"""Bootstrap intervals that respect clusters: whole groups are drawn with replacement, never single units.

Sentences of one document share its difficulty, so treating them as independent makes intervals too narrow.
An interval is the percentile one over 2 000 resamples. It nearly always holds the point estimate; it need
not when the metric is biased under resampling (kappa and macro F1 over a handful of groups). With fewer than
about ten groups it is too narrow to trust, and with one group the resamples are all alike and say nothing
about other groups: then the interval is the metric's whole range, and ``resamples`` is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from .confusion import Floats, Ints, Units, encode
from .measures import Measure
from .metrics import MetricLike, resolve
from .rows import Row, matched

__all__ = ["LEVEL", "RESAMPLES", "Interval", "difference_interval", "group_weights", "interval"]

LEVEL = 0.95
RESAMPLES = 2000


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A 95 % interval.

    Args:
        low: lower end.
        high: upper end, at least ``low``.
        groups: how many groups were drawn from.
        resamples: how many times; 0 if there was one group only and the interval is the whole range.
    """

    low: float
    high: float
    groups: int
    resamples: int


def group_weights(groups: int, *, seed: int, resamples: int = RESAMPLES) -> Ints:
    """How often each group was drawn, shape (resamples, groups); every row sums to ``groups``."""
    rng = np.random.default_rng(seed)
    weights = np.empty((resamples, groups), dtype=np.int64)
    for start in range(0, resamples, 256):
        count = min(256, resamples - start)
        drawn = rng.integers(0, groups, size=(count, groups)) + groups * np.arange(count)[:, np.newaxis]
        weights[start : start + count] = np.bincount(drawn.ravel(), minlength=count * groups).reshape(
            count, groups
        )
    return weights


def _percentiles(values: Floats, groups: int) -> Interval:
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return Interval(low=float(low), high=float(high), groups=groups, resamples=len(values))


def measure_interval(units: Units, measure: Measure, weights: Ints) -> Interval:
    """The interval of a measure over answered units, from weights of ``group_weights``."""
    if units.groups == 1:
        return Interval(low=measure.low, high=measure.high, groups=1, resamples=0)
    return _percentiles(measure.resampled(units, weights), units.groups)


def measure_difference(first: Units, second: Units, measure: Measure, weights: Ints) -> Interval:
    """The interval of second minus first, both on the same resamples, missing answers counted as wrong."""
    if first.groups == 1:
        span = measure.high - measure.low
        return Interval(low=-span, high=span, groups=1, resamples=0)
    left = measure.resampled(measure.filled(first), weights)
    right = measure.resampled(measure.filled(second), weights)
    return _percentiles(right - left, first.groups)


def interval(
    rows: Sequence[Row],
    metric: MetricLike,
    *,
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """The clustered 95 % interval of a metric over the answered, labelled units.

    Groups whose units are all unanswered are drawn too and add nothing; a resample without any answered unit
    scores 0.0.

    Raises:
        UsageError, JuristError: as ``scores``.
    """
    units = encode(rows, labels, positive)
    weights = group_weights(units.groups, seed=seed, resamples=resamples)
    return measure_interval(units, resolve(metric, units), weights)


def difference_interval(
    first: Sequence[Row],
    second: Sequence[Row],
    metric: MetricLike,
    *,
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """The clustered 95 % interval of the paired difference ``second`` minus ``first``.

    Both are computed on the same resampled groups, with missing answers counted as wrong as
    ``objective_score`` does, so that no system gains by leaving out what it finds hard.

    Raises:
        JuristError: the two hold different cases, gold or groups; else as ``scores``.
        UsageError: as ``scores``.
    """
    pairs = matched(first, second)
    one = encode([left for left, _ in pairs], labels, positive)
    two = encode([right for _, right in pairs], labels, positive)
    weights = group_weights(one.groups, seed=seed, resamples=resamples)
    return measure_difference(one, two, resolve(metric, one), weights)
