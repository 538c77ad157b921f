"""A metric is a vector of statistics per unit and a function of their weighted sum.

So the value over all units, over resampled groups, over two judges whose answers are exchanged, over repeats and
over raters is the same function of another sum, and every statistical method is written once. Three kinds of
vector are enough:

- :func:`pair_sums`: numbers that follow from gold and answer (their error and 1; hits, gold and found labels);
- :func:`pair_counts`: how often each distinct pair of gold and answer occurs, for what is no function of a small
  sum: rank correlations, and a user's own function;
- :func:`case_means`: one number per case.
"""

import statistics
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from ..errors import JuristError
from .ratios import Counted, Ratio, SumFunction, mean
from .units import MISSING, Bools, Floats, Ints, Units

DRAWS = 10_000
"""Swaps that a permutation test draws."""
SLOW_DRAWS = 1000
"""Swaps drawn for a metric whose value takes long, such as a function of a user's."""
SLICE = 512  # weighted sums held in memory at once; small products are also not spread over busy cores

DENSE = 1_000_000  # cells of a table up to which an array is faster than a sparse one, and small enough

Sums: TypeAlias = Any
"""Shape (G, d): an array, or a sparse one for counts of many distinct pairs."""
ValueFunction: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], float]
"""(gold, predicted), one entry per unit -> a number."""


@dataclass(frozen=True)
class Statistics:
    """Vectors summed by group, one (G, d) table per answer set, and the function of a weighted sum of their rows."""

    sums: Sequence[Sums]
    of: SumFunction


def fill_wrong(units: Units) -> Units:
    """Every missing answer counts as wrong."""
    return units.filled(units.wrong)


def fill_right(units: Units) -> Units:
    """Every missing answer counts as right."""
    return units.filled(units.gold)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric of any kind of answer."""

    name: str
    statistics: Callable[[Units], Statistics]
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool | None = True
    worst: Callable[[Units], Units] = fill_wrong
    best: Callable[[Units], Units] = fill_right
    exact: bool = True
    draws: int = DRAWS
    divisible: bool = True

    def oriented(self, value: float) -> float:
        """The value turned so that more is better: itself, or its negative for an error."""
        return value if self.higher_is_better else -value

    def each(self, units: Units) -> list[float]:
        """Its value over the answered units of each answer set."""
        found = self.statistics(units)
        return [float(found.of(_total(sums))) for sums in found.sums]

    def of(self, units: Units) -> float:
        """The mean of :meth:`each`."""
        return statistics.fmean(self.each(units))

    def bounds(self, units: Units) -> tuple[float, float]:
        """Its worst and best value over all ways to fill the units without an answer."""
        if self.exact or units.answered.all():
            return self.of(self.worst(units)), self.of(self.best(units))
        return (self.low, self.high) if self.higher_is_better else (self.high, self.low)

    def counted(self, units: Units) -> Counted:
        """How much each group counts: see :meth:`Ratio.counted`; else by its answered units."""
        found = self.statistics(units)
        if isinstance(found.of, Ratio):
            return Counted.added([found.of.counted(sums) for sums in found.sums])
        answered = units.answered.mean(axis=0)
        each = np.bincount(units.group, weights=answered, minlength=units.groups).astype(np.float64)
        return Counted(each=each[:, np.newaxis])

    def resampled(self, units: Units, weights: Ints) -> Floats:
        """Values, shape (B,), when group g counts weights[b, g] times; means over the answer sets."""
        found = self.statistics(units)
        return np.asarray(np.mean([_weighted(found.of, weights, sums) for sums in found.sums], axis=0))

    def swapped(self, units: Units, swaps: Bools) -> Floats:
        """Second minus first, shape (S,), after exchanging their answers in the groups of swaps (S, G)."""
        found = self.statistics(units)
        half = len(found.sums) // 2
        differences = []
        for one, two in zip(found.sums[:half], found.sums[half:], strict=True):
            left, right = _total(one), _total(two)
            moved = _slices(swaps, two - one)
            differences.append(
                np.concatenate([found.of(right - some) - found.of(left + some) for some in moved])
            )
        return np.asarray(np.mean(differences, axis=0))


def _weighted(of: SumFunction, weights: Ints, sums: Sums) -> Floats:
    return np.concatenate([of(some) for some in _slices(weights, sums)])


def _slices(weights: Ints | Bools, sums: Sums) -> Iterator[Floats]:
    """The rows of weights @ sums, some at a time."""
    for start in range(0, len(weights), SLICE):
        yield weights[start : start + SLICE].astype(np.float64) @ sums


def _total(sums: Sums) -> Floats:
    return np.asarray(sums.sum(axis=0), dtype=np.float64)


def _counted(units: Units) -> tuple[list[Sums], list[tuple[Hashable, Hashable]]]:
    """How often each distinct pair occurs, (G, P) per answer set, and the P pairs."""
    cells, pairs = units.pairs
    return [_table(units.group, row, (units.groups, len(pairs))) for row in cells], pairs


def _table(group: Ints, cells: Ints, shape: tuple[int, int]) -> Sums:
    seen = cells != MISSING
    if shape[0] * shape[1] > DENSE:
        return csr_array((np.ones(seen.sum()), (group[seen], cells[seen])), shape=shape)
    places = group[seen] * shape[1] + cells[seen]
    return np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def pair_sums(
    vector: Callable[[Any, Any], Sequence[float]], of: SumFunction, size: int
) -> Callable[[Units], Statistics]:
    """Make statistics of numbers that follow from gold and answer."""

    def statistics_of(units: Units) -> Statistics:
        counts, pairs = _counted(units)
        table = np.array([vector(*pair) for pair in pairs], dtype=np.float64).reshape(len(pairs), size)
        return Statistics([np.asarray(one @ table) for one in counts], of)

    return statistics_of


def pair_counts(of: Callable[[Floats, list[Any], list[Any]], Floats]) -> Callable[[Units], Statistics]:
    """Make statistics of counts of the P distinct pairs."""

    def statistics_of(units: Units) -> Statistics:
        counts, pairs = _counted(units)
        gold, said = [pair[0] for pair in pairs], [pair[1] for pair in pairs]

        def value(sums: Floats) -> Floats:
            return of(np.atleast_2d(sums), gold, said).reshape(sums.shape[:-1])

        return Statistics(counts, value)

    return statistics_of


def case_means(passed: Callable[[Units], Bools]) -> Callable[[Units], Statistics]:
    """Make statistics of the mean over cases all of whose units are answered."""

    def statistics_of(units: Units) -> Statistics:
        starts = np.flatnonzero(np.diff(units.case, prepend=MISSING))
        whole = np.logical_and.reduceat(units.answered, starts, axis=1)
        right = np.logical_and.reduceat(passed(units), starts, axis=1)
        columns = np.stack([right & whole, whole], axis=-1).astype(np.float64)
        sums = [np.zeros((units.groups, 2)) for _ in columns]
        for table, flags in zip(sums, columns, strict=True):
            np.add.at(table, units.group[starts], flags)
        return Statistics(sums, mean)

    return statistics_of


@dataclass(frozen=True, kw_only=True)
class CustomMetric:
    """A user's own function of gold and answers; it must not depend on the order of the units.

    A plain function does where its value is in [0, 1] and more is better.
    """

    function: ValueFunction
    name: str = ""
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True

    def __call__(self, gold: Sequence[Any], predicted: Sequence[Any]) -> float:
        """Its value."""
        name = self.metric.name
        try:
            value = self.function(gold, predicted)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as bug:
            raise JuristError(
                f"the metric {name!r} raised {type(bug).__name__}: {bug}", hint="correct the function"
            ) from bug
        if not isinstance(value, int | float | np.number) or not self.low <= value <= self.high:
            raise JuristError(
                f"the metric {name!r} returned {value!r} for {len(gold)} units",
                hint=f"a metric returns one number from {self.low:g} to {self.high:g}, "
                "also where a quotient would be 0/0",
            )
        return float(value)

    @property
    def metric(self) -> Metric:
        """The metric that it is."""
        return Metric(
            name=self.name or getattr(self.function, "__name__", type(self.function).__name__),
            statistics=pair_counts(self._values),
            low=self.low,
            high=self.high,
            higher_is_better=self.higher_is_better,
            exact=False,
            draws=SLOW_DRAWS,
            divisible=False,
        )

    def _values(self, counts: Floats, gold: list[Any], said: list[Any]) -> Floats:
        places = np.arange(len(gold))
        values = []
        for row in counts:
            chosen = np.repeat(places, np.rint(row).astype(np.int64)).tolist()
            empty = self.low if self.higher_is_better else self.high
            values.append(self([gold[i] for i in chosen], [said[i] for i in chosen]) if chosen else empty)
        return np.array(values)
