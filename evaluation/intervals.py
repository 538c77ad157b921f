"""Bootstrap intervals that respect clusters: whole groups are drawn with replacement, never single units.

Sentences of one document share its difficulty, so treating them as independent makes intervals too narrow.
An interval is the percentile one over 2 000 resamples. It nearly always holds the point estimate; it need
not when the metric is biased under resampling (kappa and macro F1 over a handful of groups). With fewer than
about ten groups it is too narrow to trust, and with one group the resamples are all alike and say nothing
about other groups: then the interval is the metric's whole range, and ``resamples`` is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .metrics import Metric, weighted_sums
from .units import Floats, Ints, Units

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Estimate",
    "Interval",
    "Sums",
    "difference_interval",
    "estimated",
    "group_weights",
    "metric_interval",
    "percentiles",
    "summed",
]

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


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value, with its 95 % interval clustered by group."""

    value: float
    interval: Interval


@dataclass(frozen=True, kw_only=True, eq=False)
class Sums:
    """A table summed over all units, and over resampled groups.

    Args:
        total: shape (...).
        drawn: shape (B, ...).
        groups: how many groups were drawn from.
    """

    total: Floats
    drawn: Floats
    groups: int


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


def percentiles(values: Floats, *, groups: int, low: float, high: float) -> Interval:
    """The percentile interval of resampled values; the range from ``low`` to ``high`` for a single group."""
    if groups == 1:
        return Interval(low=low, high=high, groups=1, resamples=0)
    tail = (1.0 - LEVEL) / 2.0
    ends = np.quantile(values, [tail, 1.0 - tail])
    return Interval(low=float(ends[0]), high=float(ends[1]), groups=groups, resamples=len(values))


def metric_interval(units: Units, metric: Metric, weights: Ints) -> Interval:
    """The interval of a metric over answered units, from weights of :func:`group_weights`.

    Groups whose units are all unanswered are drawn too and add nothing.
    """
    drawn = metric.resampled(units, weights)
    return percentiles(drawn, groups=units.groups, low=metric.low, high=metric.high)


def difference_interval(units: Units, metric: Metric, weights: Ints) -> Interval:
    """The interval of second minus first, both on the same resamples, missing answers counted as wrong.

    Args:
        units: 2R answer sets, those of the first system before those of the second.
        metric: what is compared.
        weights: of :func:`group_weights`.
    """
    filled, half = metric.worst(units), len(units.predicted) // 2
    left, right = (metric.resampled(filled.sets(part), weights) for part in (slice(half), slice(half, None)))
    span = metric.high - metric.low
    return percentiles(right - left, groups=units.groups, low=-span, high=span)


def summed(per_unit: Floats | Ints, group: Ints, *, seed: int) -> Sums:
    """Sum tables (N, ...) of some units over all of them, and over resamples of the groups they are in."""
    names, place = np.unique(group, return_inverse=True)
    sums = np.zeros((len(names), *per_unit.shape[1:]))
    np.add.at(sums, place, per_unit)
    drawn = weighted_sums(group_weights(len(names), seed=seed), sums)
    return Sums(total=sums.sum(axis=0), drawn=drawn, groups=len(names))


def estimated(sums: Sums, of: Callable[[Floats], Floats], *, low: float = 0.0) -> Estimate:
    """The value of a function (..., table) -> (...) with its interval; it lies in [``low``, 1]."""
    interval = percentiles(of(sums.drawn), groups=sums.groups, low=low, high=1.0)
    return Estimate(value=float(of(sums.total)), interval=interval)
