"""What the statistics need of a metric, and a user's own function made to offer it.

The named metrics, which follow from a confusion matrix, are in ``metrics``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from ..errors import JuristError
from .completions import wrong_label
from .confusion import Bools, Floats, Ints, Units

__all__ = ["CustomMetric", "LabelFunction", "Measure", "weighted_sums", "with_predicted"]

LabelFunction: TypeAlias = Callable[[Sequence[str], Sequence[str]], float]
"""(gold labels, predicted labels), one entry per unit, -> float in [0, 1]."""


class Measure(Protocol):
    """What the statistics need of a metric. B is the number of resamples, S of swaps, G of groups."""

    @property
    def name(self) -> str:
        """How it is called in cards."""

    @property
    def low(self) -> float:
        """The lowest value it can take."""

    @property
    def high(self) -> float:
        """The highest value it can take."""

    def of(self, units: Units) -> float:
        """Its value over the answered units."""

    def bounds(self, units: Units) -> tuple[float, float]:
        """Lowest and highest value over all ways to fill the units without an answer."""

    def filled(self, units: Units) -> Units:
        """The units with every missing answer counted as wrong, so that abstaining never pays."""

    def resampled(self, units: Units, weights: Ints) -> Floats:
        """Values, shape (B,), when group g counts weights[b, g] times; weights has shape (B, G)."""

    def swapped(self, first: Units, second: Units, swaps: Bools) -> Floats:
        """Second minus first, shape (S,), after exchanging their answers in the groups of swaps (S, G)."""


def with_predicted(units: Units, predicted: Ints) -> Units:
    """The same units with other answers, shape (N,)."""
    return Units(
        labels=units.labels,
        positive=units.positive,
        gold=units.gold,
        predicted=predicted,
        group=units.group,
        groups=units.groups,
        case=units.case,
    )


def weighted_sums(weights: Ints | Bools, per_group: Floats) -> Floats:
    """Sum (G, K, K) tables with (B, G) weights into (B, K, K), in slices that bound the memory used."""
    flat = per_group.reshape(len(per_group), math.prod(per_group.shape[1:]))
    sums = np.empty((len(weights), flat.shape[1]))
    for start in range(0, len(weights), 512):
        sums[start : start + 512] = weights[start : start + 512].astype(np.float64) @ flat
    return sums.reshape(len(weights), *per_group.shape[1:])


@dataclass(frozen=True, kw_only=True)
class CustomMetric:
    """A user's function over labels, in [0, 1]. It must not depend on the order of the units.

    Its bounds are the trivial 0 and 1 as soon as a unit has no answer; a missing answer counts as a label on
    the other side of ``positive`` (or, without a positive side, the label after the gold one).
    """

    name: str
    function: LabelFunction
    low: float = 0.0
    high: float = 1.0

    def of(self, units: Units) -> float:
        """Its value over the answered units; 0.0, without a call, when none is answered."""
        return self._value(units, np.flatnonzero(units.answered))

    def bounds(self, units: Units) -> tuple[float, float]:
        """The value twice when all is answered, else (0, 1): nothing is known about the function."""
        if units.answered.all():
            value = self.of(units)
            return value, value
        return self.low, self.high

    def filled(self, units: Units) -> Units:
        """The units with a wrong label for each missing answer."""
        wrong = np.array([wrong_label(gold, units.positive) for gold in range(len(units.labels))])
        return with_predicted(units, np.where(units.answered, units.predicted, wrong[units.gold]))

    def resampled(self, units: Units, weights: Ints) -> Floats:
        """Values over weighted groups, one call each."""
        places = np.arange(len(units.gold))
        return np.array([self._value(units, self._repeat(units, places, row)) for row in weights])

    def swapped(self, first: Units, second: Units, swaps: Bools) -> Floats:
        """Differences after swaps, two calls each."""
        differences = []
        for swap in swaps:
            chosen = swap[first.group]
            left = with_predicted(first, np.where(chosen, second.predicted, first.predicted))
            right = with_predicted(first, np.where(chosen, first.predicted, second.predicted))
            differences.append(self.of(right) - self.of(left))
        return np.array(differences)

    @staticmethod
    def _repeat(units: Units, places: Ints, weights: Ints) -> Ints:
        repeated = np.repeat(places, weights[units.group])
        return np.asarray(repeated[units.answered[repeated]])

    def _value(self, units: Units, places: Ints) -> float:
        if not len(places):
            return self.low
        gold = [units.labels[code] for code in units.gold[places]]
        predicted = [units.labels[code] for code in units.predicted[places]]
        try:
            value = self.function(gold, predicted)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as bug:
            raise JuristError(
                f"the metric {self.name!r} raised {type(bug).__name__}: {bug}", hint="correct the function"
            ) from bug
        if not isinstance(value, int | float | np.number) or not self.low <= value <= self.high:
            raise JuristError(
                f"the metric {self.name!r} returned {value!r} for {len(gold)} units",
                hint="a metric returns one number from 0 to 1, also where a quotient would be 0/0",
            )
        return float(value)
