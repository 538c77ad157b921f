"""What several raters said of the same units, as arrays, with sums that can be resampled by group.

Below, N is the number of units, R of raters, K of labels, G of groups, B of resamples. Every coefficient of
agreement follows from a table that is a sum over units, so a resample is one matrix product. This module knows
no coefficient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import JuristError, UsageError
from .confusion import Bools, Floats, Ints
from .intervals import LEVEL, Interval, group_weights
from .measures import weighted_sums

__all__ = ["Estimate", "Ratings", "Sums", "encode_ratings", "estimated", "percentiles", "summed"]

MISSING = -1


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value, with its 95 % interval clustered by group."""

    value: float
    interval: Interval


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """The labels of several raters.

    Args:
        raters: R names.
        labels: the closed label set, K names.
        codes: shape (N, R), indices into ``labels``, -1 where a rater gave none.
        group: shape (N,), the number of each unit's group, by the order of the groups' names.
    """

    raters: tuple[str, ...]
    labels: tuple[str, ...]
    codes: Ints
    group: Ints

    @cached_property
    def counts(self) -> Ints:
        """Shape (N, K): how many raters gave each label to each unit."""
        return np.asarray((self.codes[:, :, np.newaxis] == np.arange(len(self.labels))).sum(axis=1))

    @cached_property
    def compared(self) -> Bools:
        """Shape (N,): which units have two ratings or more."""
        return np.asarray(self.counts.sum(axis=1) >= 2)


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


def encode_ratings(
    ratings: Mapping[str, Sequence[str | None]],
    *,
    groups: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> Ratings:
    """Turn labels by rater into arrays.

    Args:
        ratings: rater -> one label per unit, ``None`` where the rater gave none.
        groups: the cluster of each unit; ``None`` takes every unit as its own.
        labels: the closed label set, in its order; ``None`` takes the labels that occur, sorted.

    Raises:
        UsageError: fewer than two raters, unequal lengths, or a label set that repeats a label.
        JuristError: no unit has two labels, or a label is outside ``labels``.
    """
    lengths = sorted({len(given) for given in ratings.values()})
    if len(ratings) < 2:
        raise UsageError(f"there are the labels of {len(ratings)} raters", hint="give those of two or more")
    units = lengths[0]
    places = [f"{place:09d}" for place in range(units)] if groups is None else list(groups)
    if lengths != [len(places)]:
        counts = ", ".join(str(len(given)) for given in ratings.values())
        raise UsageError(
            f"the raters gave {counts} labels for units of {len(places)} groups",
            hint="give one label, or None, per unit and rater, in the same order",
        )
    known = _label_set(ratings, labels)
    codes = np.full((units, len(ratings)), MISSING, dtype=np.int64)
    for place, (rater, given) in enumerate(ratings.items()):
        codes[:, place] = _coded(rater, given, known)
    names = {name: code for code, name in enumerate(sorted(set(places)))}
    found = Ratings(
        raters=tuple(ratings),
        labels=known,
        codes=codes,
        group=np.array([names[name] for name in places], dtype=np.int64),
    )
    if not found.compared.any():
        raise JuristError(
            f"none of the {units} units is labelled by two raters",
            hint="let two raters label the same units",
        )
    return found


def summed(per_unit: Floats | Ints, group: Ints, *, seed: int) -> Sums:
    """Sum tables (N, ...) of some units over all of them, and over resamples of the groups they are in."""
    names, place = np.unique(group, return_inverse=True)
    sums = np.zeros((len(names), *per_unit.shape[1:]))
    np.add.at(sums, place, per_unit)
    drawn = weighted_sums(group_weights(len(names), seed=seed), sums)
    return Sums(total=sums.sum(axis=0), drawn=drawn, groups=len(names))


def estimated(sums: Sums, of: Callable[[Floats], Floats], *, low: float = 0.0) -> Estimate:
    """The value of a function (..., table) -> (...) with its interval; it lies in [``low``, 1].

    With one group the interval is that whole range, and ``resamples`` is 0.
    """
    values = of(sums.drawn) if sums.groups > 1 else None
    return Estimate(
        value=float(of(sums.total)), interval=percentiles(values, groups=sums.groups, low=low, high=1.0)
    )


def percentiles(values: Floats | None, *, groups: int, low: float, high: float) -> Interval:
    """The percentile interval of resampled values; the range from ``low`` to ``high`` where there are none."""
    if values is None:
        return Interval(low=low, high=high, groups=groups, resamples=0)
    tail = (1.0 - LEVEL) / 2.0
    ends = np.quantile(values, [tail, 1.0 - tail])
    return Interval(low=float(ends[0]), high=float(ends[1]), groups=groups, resamples=len(values))


def _label_set(ratings: Mapping[str, Sequence[str | None]], labels: Sequence[str] | None) -> tuple[str, ...]:
    if labels is None:
        return tuple(sorted({label for given in ratings.values() for label in given if label is not None}))
    if not labels or len(set(labels)) != len(labels):
        raise UsageError(f"the label set {list(labels)} is empty or names a label twice")
    return tuple(labels)


def _coded(rater: str, given: Sequence[str | None], labels: Sequence[str]) -> list[int]:
    codes = {label: code for code, label in enumerate(labels)}
    for place, label in enumerate(given):
        if label is not None and label not in codes:
            raise JuristError(
                f"unit {place} by rater {rater!r}: the label {label!r} is not one of {list(labels)}",
                hint="correct the label, or use None where the rater gave none",
            )
    return [MISSING if label is None else codes[label] for label in given]
