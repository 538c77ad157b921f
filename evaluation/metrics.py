"""A metric is a vector of statistics per unit and a function of their weighted sum.

Each statistical method weighs the units in its own way (all alike, resampled groups, the exchanged answers of two
judges, repeats, raters) and applies the same function to the weighted sum, so each method is written once for all
metrics. The vector of a unit is made in one of two ways:

- :func:`pair_sums`: a few numbers that follow from gold and answer (their error and 1; hits, gold and found labels);
- :func:`pair_counts`: a count for each distinct pair of gold and answer, for metrics that no small sum determines: rank
  correlations, and a user's own function.

The function is mostly a :class:`Ratio`: a quotient, or the sum of several, which also says how much each group counts
in it. A quotient 0/0 is 0.0 unless a metric says otherwise.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
import scipy

from ..cases import Value
from ..errors import JuristError
from .units import MISSING, Bools, Floats, Ints, Units

DRAWS = 10_000
"""Swaps that a permutation test draws."""
SLOW_DRAWS = 1000
"""Swaps drawn for a metric whose value takes long, such as a function of a user's."""
_SLICE = 512  # weighted sums held in memory at once; small products are also not spread over busy cores
# cells of a table up to which an array is faster than a sparse one, and small enough
_LARGEST_DENSE_TABLE = 1_000_000

Sums: TypeAlias = Any
"""The summed vectors of each group, shape (G, d): an array, or a sparse one for counts of many distinct pairs."""
ValueFunction: TypeAlias = Callable[[Sequence[Value], Sequence[Value]], float]
"""(gold, predicted), one entry per unit -> a number in [0, 1]."""
Test: TypeAlias = Literal["swaps", "t with pairs", "t with an unseen error"]
"""The test of two systems: swaps of whole groups, or a t-test over groups with one of two allowances for errors."""
SumFunction: TypeAlias = Callable[[Floats], Floats]
"""(..., d) sums -> (...) values; a :class:`Ratio` also says how much each group counts."""

_ROUNDING = 1e-12  # equal values may be computed along different roundings


def quotient(above: Floats, below: Floats, empty: float = 0.0) -> Floats:
    """Divide, with ``empty`` where the divisor is 0."""
    above, below = np.broadcast_arrays(np.asarray(above, dtype=np.float64), below)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, float(empty)), where=below != 0))


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupWeights:
    """The weight of each of G groups in each of the M quotients that a metric's value is the sum of."""

    weights: Floats  # (G, M)
    top: Bools  # (M,): the quotients that are 1, where there are several
    bottom: Bools  # (M,): the quotients that are 0, where there are several

    @classmethod
    def in_mean(cls, parts: Sequence["GroupWeights"]) -> Self:
        """Return the weights of the groups in the mean of several values, each with the same groups and quotients."""
        return cls(
            weights=np.sum([part.weights for part in parts], axis=0),
            top=np.all([part.top for part in parts], axis=0),
            bottom=np.all([part.bottom for part in parts], axis=0),
        )

    @property
    def effective(self) -> float:
        """The number of groups of equal weight that say as much, up to G (Kish 1965, section 11.7)."""
        return float(_effective_groups(self.weights.sum(axis=1)))

    def effective_by_quotient(self, selected: Bools) -> tuple[float, ...]:
        """Return of each selected quotient the number of groups of equal weight that say as much; selected: (M,)."""
        return tuple(_effective_groups(self.weights[:, selected]).tolist())


def _effective_groups(weights: Floats) -> Floats:
    """Return the number of groups of equal weight that say as much as weights (G, ...) do."""
    return quotient(weights.sum(axis=0) ** 2, (weights**2).sum(axis=0))


@dataclass(frozen=True)
class Ratio:
    """A function of sums that is one quotient, or the sum of M quotients."""

    # sums -> dividends and divisors, (...) or of several (..., M)
    parts: Callable[..., tuple[Floats, Floats]]
    empty: float = 0.0  # the value of 0/0
    several: bool = False  # True for the sum of M quotients

    def __call__(self, sums: Floats, *arguments: object) -> Floats:
        """Return the values (...) of the ratio."""
        above, below = self.parts(sums, *arguments)
        values = quotient(above, below, self.empty)
        if self.several:
            return np.asarray(values.sum(axis=-1))
        return values

    def with_arguments(self, *arguments: object) -> Self:
        """Return the ratio of sums alone, with the further arguments of its parts fixed."""
        return replace(self, parts=lambda sums: self.parts(sums, *arguments))

    def group_weights(self, sums_by_group: Floats) -> GroupWeights:
        """Return the weight of each group, from its sums (G, d): the share of the divisor that comes from it."""
        # So a recall counts only groups with gold labels to find: groups without any make it no surer.
        total = sums_by_group.sum(axis=0)
        above, below = self.parts(total)
        _, below_without_group = self.parts(total - sums_by_group)
        share_of_group = quotient(below - below_without_group, below)
        # Several quotients add up to a mean (see ``mean_parts``): times their number, each is a value from 0 to 1.
        values = np.atleast_1d(quotient(above, below) * np.count_nonzero(below))
        has_divisor = np.atleast_1d(below) > 0
        return GroupWeights(
            weights=np.maximum(share_of_group, 0.0).reshape(len(sums_by_group), -1),
            top=(values > 1.0 - _ROUNDING) & self.several,
            bottom=has_divisor & (values < _ROUNDING) & self.several,
        )


Ratios = partial(Ratio, several=True)
"""Makes a ratio that is the sum of several quotients."""


def mean_parts(above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """Return the dividends and divisors (..., M) of quotients whose sum is the mean of M, leaving out those of 0/0."""
    return quotient(above, (below > 0).sum(axis=-1, keepdims=True)), below


@Ratio
def mean(sums: Floats) -> tuple[Floats, Floats]:
    """The first of two sums over the second, (..., 2) -> (...)."""
    return sums[..., 0], sums[..., 1]


@Ratio
def precision(sums: Floats) -> tuple[Floats, Floats]:
    """Hits over found, from sums (..., 3) of hits, gold and found; recall, hits over gold, is their :func:`mean`."""
    return sums[..., 0], sums[..., 2]


@Ratio
def f1(sums: Floats) -> tuple[Floats, Floats]:
    """The harmonic mean of precision and recall, from sums (..., 3) of hits, gold and found."""
    return 2.0 * sums[..., 0], sums[..., 1] + sums[..., 2]


SIDES: Final[Mapping[str, Ratio]] = {"precision": precision, "recall": mean, "f1": f1}
"""Name -> ratio of sums (..., 3) of hits, gold and found."""


@dataclass(frozen=True)
class Statistics:
    """The statistics of some units under one metric."""

    sums: Sequence[Sums]  # the vectors summed by group: one (G, d) table for each answer set
    of: SumFunction  # the metric's value of a weighted sum of the rows of a table


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric of any kind of answer."""

    name: str
    statistics: Callable[[Units], Statistics]
    low: float = 0.0  # the least value there can be
    high: float = 1.0  # the largest value there can be
    higher_is_better: bool | None = True  # ``None`` for a metric without a better side
    draws: int = DRAWS  # swaps that a permutation test draws
    divisible: bool = True  # True where a unit may count by a fraction
    test: Test = (
        "swaps"  # of two systems; a t-test where it keeps its level (benchmarks/interval_coverage.py)
    )

    def oriented(self, value: float) -> float:
        """Return a value of the metric turned so that more is better: itself, or its negative for an error."""
        if self.higher_is_better:
            return value
        return -value

    def values(self, units: Units) -> list[float]:
        """Return the metric's value of each answer set, over the units that it answers."""
        by_group = self.statistics(units)
        values = []
        for sums in by_group.sums:
            values.append(float(by_group.of(_total(sums))))
        return values

    def of(self, units: Units) -> float:
        """Return the mean over the answer sets of the metric's values."""
        return statistics.fmean(self.values(units))

    def bounds(self, units: Units) -> tuple[float, float]:
        """Return the value with every missing answer as wrong as it can be, and the value with every one right."""
        return self.of(units.worst), self.of(units.best)

    def group_weights(self, units: Units) -> GroupWeights:
        """Return the weight of each group: its share of a ratio's divisor, for other metrics its answered units."""
        by_group = self.statistics(units)
        if isinstance(by_group.of, Ratio):
            weights_by_set = []
            for sums in by_group.sums:
                weights_by_set.append(by_group.of.group_weights(sums))
            return GroupWeights.in_mean(weights_by_set)
        answered = units.answered.mean(axis=0)
        answered_by_group = np.bincount(units.group, weights=answered, minlength=units.groups)
        at_neither_end = np.zeros(1, dtype=np.bool_)
        return GroupWeights(
            weights=answered_by_group.astype(np.float64)[:, np.newaxis],
            top=at_neither_end,
            bottom=at_neither_end,
        )

    def resampled(self, units: Units, weights: Ints) -> Floats:
        """Return the value of each of B resamples, a mean over the answer sets; group g counts weights[b, g] times."""
        by_group = self.statistics(units)
        values_by_set = []
        for sums in by_group.sums:
            values = []
            for weighted_sums in _slices(weights, sums):
                values.append(by_group.of(weighted_sums))
            values_by_set.append(np.concatenate(values))
        return np.asarray(np.mean(values_by_set, axis=0))

    def swapped(self, units: Units, swaps: Bools) -> Floats:
        """Return the difference of two systems after each of S exchanges of their answers, a mean over repeats.

        It is the second system's value minus that of the first; swaps, shape (S, G), says in which groups the answers
        are exchanged. The first half of the answer sets is the first system's.
        """
        by_group = self.statistics(units)
        repeats = len(by_group.sums) // 2
        value_of = by_group.of
        differences_by_repeat = []
        for first, second in zip(by_group.sums[:repeats], by_group.sums[repeats:], strict=True):
            first_total = _total(first)
            second_total = _total(second)
            differences = []
            # Of each swap: the sums by which the first grows and the second shrinks.
            for exchanged in _slices(swaps, second - first):
                differences.append(value_of(second_total - exchanged) - value_of(first_total + exchanged))
            differences_by_repeat.append(np.concatenate(differences))
        return np.asarray(np.mean(differences_by_repeat, axis=0))


def _slices(weights: Ints | Bools, sums: Sums) -> Iterator[Floats]:
    """Yield the weighted sums weights @ sums, some rows at a time."""
    for start in range(0, len(weights), _SLICE):
        yield weights[start : start + _SLICE].astype(np.float64) @ sums


def dense(sums: Sums) -> Floats:
    """Return sums as an array, also where they are sparse."""
    if scipy.sparse.issparse(sums):
        return np.asarray(sums.toarray(), dtype=np.float64)
    return np.asarray(sums, dtype=np.float64)


def _total(sums: Sums) -> Floats:
    """Return the sum (d,) over all groups."""
    return np.asarray(sums.sum(axis=0), dtype=np.float64)


def _pair_tables(units: Units) -> list[Sums]:
    """Return the counts of each distinct pair of gold and answer in each group: (G, P) per answer set."""
    cells, pairs = units.pairs
    shape = units.groups, len(pairs)
    tables = []
    for cells_of_set in cells:
        tables.append(_count_cells(units.group, cells_of_set, shape))
    return tables


def _count_cells(group: Ints, cells: Ints, shape: tuple[int, int]) -> Sums:
    """Return the counts of each cell in each group: (groups, cells), sparse where that is large."""
    answered = cells != MISSING
    groups, pairs = shape
    if groups * pairs > _LARGEST_DENSE_TABLE:
        ones = np.ones(answered.sum())
        return scipy.sparse.csr_array((ones, (group[answered], cells[answered])), shape=shape)
    places = group[answered] * pairs + cells[answered]
    return np.bincount(places, minlength=groups * pairs).reshape(shape).astype(np.float64)


def pair_sums(
    vector: Callable[[Value, Value], Sequence[float]], of: SumFunction, size: int
) -> Callable[[Units], Statistics]:
    """Make the statistics of a metric: ``of`` the sum of ``vector(gold, answer)``, which has ``size`` numbers."""

    def statistics_of(units: Units) -> Statistics:
        _, pairs = units.pairs
        vectors = [vector(gold, answer) for gold, answer in pairs]
        table = np.array(vectors, dtype=np.float64).reshape(len(pairs), size)
        sums = []
        for counts in _pair_tables(units):
            sums.append(np.asarray(counts @ table))
        return Statistics(sums, of)

    return statistics_of


def pair_means(number: Callable[[Value, Value], float], of: Ratio = mean) -> Callable[[Units], Statistics]:
    """Make the statistics of the mean of ``number(gold, answer)``; ``of`` takes sums (..., 2) of the number and 1."""
    return pair_sums(lambda gold, value: (number(gold, value), 1.0), of, 2)


def pair_counts(of: Callable[[Floats, list[Value], list[Value]], Floats]) -> Callable[[Units], Statistics]:
    """Make the statistics of a metric of pairs; ``of`` takes counts (B, P) of the P pairs, their golds and answers."""

    def statistics_of(units: Units) -> Statistics:
        _, pairs = units.pairs
        golds: list[Value] = []
        answers: list[Value] = []
        for gold, answer in pairs:
            golds.append(gold)
            answers.append(answer)

        def value(sums: Floats) -> Floats:
            return of(np.atleast_2d(sums), golds, answers).reshape(sums.shape[:-1])

        return Statistics(_pair_tables(units), value)

    return statistics_of


def own_metric(function: ValueFunction, metrics: Mapping[str, Metric]) -> Metric:
    """Return the metric of a user's function, which must not depend on the order of the units.

    It has the function's name, or ``custom_NAME`` where ``metrics`` has a metric of that name.
    """
    name = getattr(function, "__name__", type(function).__name__)

    def value_of(gold: list[Value], answered: list[Value]) -> float:
        try:
            value = function(gold, answered)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as bug:
            raise JuristError(
                f"the metric {name!r} raised {type(bug).__name__}: {bug}", hint="correct the function"
            ) from bug
        if not isinstance(value, int | float | np.number) or not 0.0 <= value <= 1.0:
            hint = "a metric returns one number from 0 to 1, also where a quotient would be 0/0"
            raise JuristError(f"the metric {name!r} returned {value!r} for {len(gold)} units", hint=hint)
        return float(value)

    def values(counts: Floats, gold: list[Value], answered: list[Value]) -> Floats:
        values_by_row = []
        for counts_of_row in counts:
            times = np.rint(counts_of_row).astype(np.int64)
            pairs = np.repeat(np.arange(len(gold)), times).tolist()
            value = 0.0
            if pairs:
                unit_golds = [gold[pair] for pair in pairs]
                unit_answers = [answered[pair] for pair in pairs]
                value = value_of(unit_golds, unit_answers)
            values_by_row.append(value)
        return np.array(values_by_row)

    metric_name = name
    if name in metrics:
        metric_name = f"custom_{name}"
    return Metric(
        name=metric_name,
        statistics=pair_counts(values),
        draws=SLOW_DRAWS,
        divisible=False,
    )
