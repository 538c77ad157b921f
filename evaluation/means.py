"""Metrics that are a mean over cases or units and do not follow from a confusion matrix of labels alone.

- ``validation_rate``: the share of cases that pass as a whole: every labelled unit has the exact label. So
  HaluAgent counts an item as valid when all its checks pass (section 3.2, Table 3, "Overall").
- ``neg_mse``: minus the mean squared error of labels that are numbers, such as a score from 1 to 5; 0 is
  perfect, and the lowest value is minus the squared range of the labels.

A missing answer counts as wrong in the first, and as the label farthest from gold in the second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from ..errors import UsageError
from .completions import wrong_label
from .confusion import Bools, Floats, Ints, Units
from .measures import Measure, with_predicted

__all__ = ["MEANS", "MeanError", "MeanName", "ValidationRate"]

MeanName = Literal["validation_rate", "neg_mse"]


@dataclass(frozen=True, kw_only=True)
class ValidationRate:
    """The share of cases whose labelled units are all right, in [0, 1]."""

    name: str = "validation_rate"
    low: float = 0.0
    high: float = 1.0

    def of(self, units: Units) -> float:
        """Its value over the cases all of whose units are answered; 0.0 without any."""
        whole = _all(units, units.answered)
        return _mean(_all(units, units.gold == units.predicted)[whole])

    def bounds(self, units: Units) -> tuple[float, float]:
        """With every missing unit wrong, and with every one right."""
        right = units.gold == units.predicted
        return _mean(_all(units, right)), _mean(_all(units, right | ~units.answered))

    def filled(self, units: Units) -> Units:
        """The units with a wrong label for each missing answer."""
        wrong = np.array([wrong_label(gold, units.positive) for gold in range(len(units.labels))])
        return with_predicted(units, np.where(units.answered, units.predicted, wrong[units.gold]))

    def resampled(self, units: Units, weights: Ints) -> Floats:
        """Values over weighted groups; a case with an unanswered unit counts as failed."""
        return _weighted(*self._sums(units), weights)

    def swapped(self, first: Units, second: Units, swaps: Bools) -> Floats:
        """Differences after swaps."""
        (one, size), (two, _) = self._sums(first), self._sums(second)
        return _exchanged(one, two, size, swaps)

    def _sums(self, units: Units) -> tuple[Floats, Floats]:
        passed, group = _all(units, units.gold == units.predicted), units.group[_starts(units)]
        return _per_group(passed, group, units.groups), _per_group(np.ones(len(group)), group, units.groups)


@dataclass(frozen=True, kw_only=True)
class MeanError:
    """Minus the mean squared error of numeric labels.

    Args:
        values: shape (K,), the number that each label is.
        name: how it is called.
    """

    values: tuple[float, ...]
    name: str = "neg_mse"

    @classmethod
    def over(cls, units: Units) -> MeanError:
        """Return it for a label set.

        Raises:
            UsageError: a label is not a number.
        """
        values = [_number(label) for label in units.labels]
        bad = [label for label, value in zip(units.labels, values, strict=True) if not math.isfinite(value)]
        if bad:
            raise UsageError(
                f"the metric 'neg_mse' needs labels that are numbers; {bad[0]!r} is not one",
                hint="use a judge with labels such as 1, 2, 3, or another metric",
            )
        return cls(values=tuple(values))

    @property
    def low(self) -> float:
        """Minus the squared range of the labels."""
        return -((max(self.values) - min(self.values)) ** 2)

    @property
    def high(self) -> float:
        """No error."""
        return 0.0

    def of(self, units: Units) -> float:
        """Its value over the answered units; the lowest one when none is answered."""
        seen = units.answered
        return float(-self._squares(units)[seen].mean()) if seen.any() else self.low

    def bounds(self, units: Units) -> tuple[float, float]:
        """With every missing unit as far off as a label can be, and with every one right."""
        squares = self._squares(units)
        best = np.where(units.answered, squares, 0.0)
        return self.of(self.filled(units)), float(-best.mean())

    def filled(self, units: Units) -> Units:
        """The units with the farthest label for each missing answer."""
        values = np.array(self.values)
        farthest = ((values[:, None] - values[None, :]) ** 2).argmax(axis=1)
        return with_predicted(units, np.where(units.answered, units.predicted, farthest[units.gold]))

    def resampled(self, units: Units, weights: Ints) -> Floats:
        """Values over weighted groups, of the answered units."""
        return _weighted(*self._sums(units), weights)

    def swapped(self, first: Units, second: Units, swaps: Bools) -> Floats:
        """Differences after swaps; both must be answered or filled."""
        (one, size), (two, _) = self._sums(first), self._sums(second)
        return _exchanged(one, two, size, swaps)

    def _squares(self, units: Units) -> Floats:
        values = np.array(self.values)
        return np.asarray((values[units.gold] - values[units.predicted]) ** 2)

    def _sums(self, units: Units) -> tuple[Floats, Floats]:
        seen, group = units.answered, units.group[units.answered]
        errors = _per_group(-self._squares(units)[seen], group, units.groups)
        return errors, _per_group(np.ones(len(group)), group, units.groups)


MEANS: Mapping[str, Callable[[Units], Measure]] = MappingProxyType(
    {"validation_rate": lambda units: ValidationRate(), "neg_mse": MeanError.over}
)
"""What makes each of these metrics for some units, by name."""


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return math.nan


def _starts(units: Units) -> Ints:
    """Return where each case's units begin; they stand side by side."""
    changes = np.flatnonzero(np.diff(units.case)) + 1
    return np.concatenate([[0], changes]).astype(np.int64)


def _all(units: Units, flags: Bools) -> Bools:
    """Return for each case whether all its units have the flag."""
    return np.asarray(np.logical_and.reduceat(flags, _starts(units)))


def _mean(flags: Bools) -> float:
    return float(flags.mean()) if len(flags) else 0.0


def _per_group(values: Floats | Bools, group: Ints, groups: int) -> Floats:
    sums: Floats = np.bincount(group, weights=values.astype(np.float64), minlength=groups).astype(np.float64)
    return sums


def _weighted(sums: Floats, sizes: Floats, weights: Ints) -> Floats:
    above, below = weights @ sums, weights @ sizes
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _exchanged(one: Floats, two: Floats, size: Floats, swaps: Bools) -> Floats:
    """Return second minus first after exchanging the chosen groups."""
    signs = np.where(swaps, -1.0, 1.0)
    return np.asarray(signs @ (two - one) / max(1.0, float(size.sum())))
