"""Runs of one experiment: mean, sample standard deviation and t-interval over repeats, and repeats as one set of rows.

Two kinds of uncertainty are kept apart. The t-interval over repeats (FECT section 3.2: ten runs) says how far the
mean would move if the same rows were asked again. The clustered bootstrap over cases says how far it would move
with other rows; for it, and for paired tests, all repeats of a unit are stacked, so that they are always drawn and
exchanged together, and a metric is the mean of its values on the repeats.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import UsageError
from .confusion import Bools, Floats, Ints, Units
from .intervals import LEVEL
from .measures import Measure, with_predicted

__all__ = ["MeanMeasure", "Spread", "spread", "stack", "t_quantile"]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A metric over the repeats of one experiment.

    Args:
        values: one value a repeat.
        mean: their mean.
        sd: the sample standard deviation (n - 1); ``None`` for one repeat.
        low, high: the 95 % t-interval of the mean; ``None`` for one repeat. Not cut to the metric's range.
    """

    values: tuple[float, ...]
    mean: float
    sd: float | None
    low: float | None
    high: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        return {**self.__dict__, "values": list(self.values)}


def spread(values: Sequence[float]) -> Spread:
    """Return mean, sd and t-interval (mean +- t sd / sqrt(n), n - 1 degrees of freedom) of one value a repeat.

    Raises:
        UsageError: there is no value.
    """
    if not values:
        raise UsageError("no repeat, no mean", hint="give one value or more")
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Spread(values=tuple(values), mean=mean, sd=None, low=None, high=None)
    sd = statistics.stdev(values)
    half = t_quantile(0.5 + LEVEL / 2, len(values) - 1) * sd / math.sqrt(len(values))
    return Spread(values=tuple(values), mean=mean, sd=sd, low=mean - half, high=mean + half)


def t_quantile(p: float, degrees: int) -> float:
    """Return the quantile of Student's t with whole degrees of freedom.

    The distribution function is a finite sum then (Abramowitz and Stegun 26.7.3 and 26.7.4); it is inverted by
    bisection on the angle.

    Args:
        p: in (0, 1).
        degrees: at least 1.

    Raises:
        UsageError: out of range.
    """
    if degrees < 1 or not 0.0 < p < 1.0:
        raise UsageError(f"no quantile {p!r} of t with {degrees} degrees of freedom", hint="give 0 < p < 1")
    if p < 0.5:
        return -t_quantile(1.0 - p, degrees)
    low, high = 0.0, math.pi / 2
    for _ in range(200):
        middle = (low + high) / 2
        if 0.5 + _within(middle, degrees) / 2 < p:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _within(angle: float, degrees: int) -> float:
    """The probability that \\|t\\| is at most sqrt(degrees) tan(angle)."""
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for power in range(2 + odd, degrees - 1, 2):
        term *= (power - 1) / power * math.cos(angle) ** 2
        total += term
    total *= math.sin(angle)
    return (angle + total) * 2 / math.pi if odd else total


def stack(repeats: Sequence[Units]) -> Units:
    """Return the units of all repeats as one set: unit by unit, its R repeats side by side.

    Raises:
        UsageError: there is no repeat, or the repeats are of different rows.
    """
    if not repeats:
        raise UsageError("there is no repeat to stack", hint="give one or more")
    first = repeats[0]
    for other in repeats[1:]:
        if not (np.array_equal(other.gold, first.gold) and np.array_equal(other.group, first.group)):
            raise UsageError("the repeats are of different rows", hint="ask the same rows in each")
    return _joined(first, repeats)


def _joined(one: Units, parts: Sequence[Units]) -> Units:
    return Units(
        labels=one.labels,
        positive=one.positive,
        gold=np.stack([part.gold for part in parts], axis=1).ravel(),
        predicted=np.stack([part.predicted for part in parts], axis=1).ravel(),
        group=np.stack([part.group for part in parts], axis=1).ravel(),
        groups=one.groups,
        case=np.stack([part.case for part in parts], axis=1).ravel(),
    )


@dataclass(frozen=True, kw_only=True)
class MeanMeasure:
    """The mean of a measure over stacked repeats; itself a :class:`~jurist.evaluation.measures.Measure`.

    Args:
        measure: of one repeat.
        repeats: R, as the units were stacked.
    """

    measure: Measure
    repeats: int

    @property
    def name(self) -> str:
        """The name of the measure."""
        return self.measure.name

    @property
    def low(self) -> float:
        """The lowest value it can take."""
        return self.measure.low

    @property
    def high(self) -> float:
        """The highest value it can take."""
        return self.measure.high

    def parts(self, units: Units) -> list[Units]:
        """Return the units of each repeat."""
        return [
            Units(
                labels=units.labels,
                positive=units.positive,
                gold=units.gold[start :: self.repeats],
                predicted=units.predicted[start :: self.repeats],
                group=units.group[start :: self.repeats],
                groups=units.groups,
                case=units.case[start :: self.repeats],
            )
            for start in range(self.repeats)
        ]

    def of(self, units: Units) -> float:
        """The mean value over the repeats."""
        return statistics.fmean(self.measure.of(part) for part in self.parts(units))

    def bounds(self, units: Units) -> tuple[float, float]:
        """The means of the lowest and highest values over all ways to fill the units without an answer."""
        worst, best = zip(*(self.measure.bounds(part) for part in self.parts(units)), strict=True)
        return statistics.fmean(worst), statistics.fmean(best)

    def filled(self, units: Units) -> Units:
        """The units with every missing answer counted as wrong."""
        filled = [self.measure.filled(part).predicted for part in self.parts(units)]
        return with_predicted(units, np.stack(filled, axis=1).ravel())

    def resampled(self, units: Units, weights: Ints) -> Floats:
        """Mean values, shape (B,), on resampled groups."""
        values = [self.measure.resampled(part, weights) for part in self.parts(units)]
        return np.asarray(np.mean(values, axis=0))

    def swapped(self, first: Units, second: Units, swaps: Bools) -> Floats:
        """Second minus first, shape (S,), after exchanging all repeats of the chosen groups."""
        pairs = zip(self.parts(first), self.parts(second), strict=True)
        values = [self.measure.swapped(one, two, swaps) for one, two in pairs]
        return np.asarray(np.mean(values, axis=0))
