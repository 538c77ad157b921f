"""Several criteria of one row, each on a scale of its own: every unit of a case is one criterion.

A value says which criterion it is of, so that pooled values of all criteria are told apart. Each keeps its own metrics
(``grounded.f1``); ``mean`` is the mean of their default ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import scipy

from ..cases import Case, Value, Values
from .intervals import Interval
from .metrics import Metric, Statistics
from .paired import Direction, Paired, compare_pair, holm, holm_levels
from .rows import Row
from .scale import Lack, Scale
from .units import MISSING, Floats, Units, encode
from .votes import Sampling

MEAN: Final = "mean"
"""The metric over all criteria."""


@dataclass(frozen=True, order=True)
class Rated:
    """What is said of one criterion."""

    criterion: str
    value: Value

    def __str__(self) -> str:
        return f"{self.criterion}: {self.value}"


@dataclass(frozen=True)
class CriteriaScale(Scale):
    """Criteria by name, each with its scale."""

    scales: Mapping[str, Scale]

    default = MEAN
    noun = "answer"
    row_type = dict[str, Any]

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """``mean``, and those of each criterion as ``criterion.metric``."""
        parts: dict[str, dict[str, Metric]] = {
            MEAN: {name: scale.metrics[scale.default] for name, scale in self.scales.items()}
        }
        for name, scale in self.scales.items():
            parts |= {f"{name}.{key}": {name: metric} for key, metric in scale.metrics.items()}
        return MappingProxyType({name: joint_metric(name, self, each) for name, each in parts.items()})

    @property
    def compared(self) -> tuple[str, ...]:
        return tuple(f"{name}.{scale.default}" for name, scale in self.scales.items())

    @property
    def shown(self) -> tuple[str, ...]:
        each = (f"{name}.{key}" for name, scale in self.scales.items() for key in scale.shown)
        return (MEAN, *each)

    @property
    def domain(self) -> tuple[Any, ...]:
        if not all(scale.domain for scale in self.scales.values()):
            return ()
        return tuple(Rated(name, value) for name, scale in self.scales.items() for value in scale.domain)

    @property
    def right_means(self) -> str:
        every = all(scale.right_means for scale in self.scales.values())
        return "right by its own criterion" if every else ""

    def right(self, gold: Rated, value: Rated) -> bool | None:
        return self.scales[gold.criterion].right(gold.value, value.value)

    def wrong(self, gold: Rated) -> Rated:
        return replace(gold, value=self.scales[gold.criterion].wrong(gold.value))

    def similarity(self, gold: Rated, value: Rated) -> float:
        if gold.criterion != value.criterion:
            return 0.0
        return self.scales[gold.criterion].similarity(gold.value, value.value)

    def consensus(self, values: Sequence[Rated]) -> Rated | None:
        if not values:
            return None
        name = values[0].criterion
        agreed = self.scales[name].consensus([value.value for value in values])
        return None if agreed is None else Rated(name, agreed)

    @property
    def expects(self) -> str:
        return "; ".join(f"{name}: {scale.expects}" for name, scale in self.scales.items())

    def cell(self, written: str) -> Any:
        """What a text such as ``grounded: true`` says, as a row has it."""
        name, _, text = written.partition(":")
        value = self.scales[name].cell(text.strip()) if name in self.scales else None
        return None if value is None else {name: value}

    def of_json(self, data: Any) -> Rated:
        if not isinstance(data, Mapping) or len(data) != 1 or not (data.keys() <= self.scales.keys()):
            raise ValueError(f"no criterion of {', '.join(self.scales)} with its value: {data!r}")
        ((name, value),) = data.items()
        return Rated(name, self.scales[name].of_json(value))

    def to_json(self, value: Rated | None) -> Any:
        return value and {value.criterion: self.scales[value.criterion].to_json(value.value)}

    def stratum(self, gold: Rated) -> str:
        return f"{gold.criterion}: {self.scales[gold.criterion].stratum(gold.value)}"

    def text(self, value: Rated) -> str:
        return f"{value.criterion}: {self.scales[value.criterion].text(value.value)}"

    def task_words(self) -> str:
        return "\n".join(
            f"{name}: " + scale.task_words().replace("\n", "; ") for name, scale in self.scales.items()
        )

    def identity(self) -> dict[str, Any]:
        return {"criteria": {name: scale.identity() for name, scale in self.scales.items()}}

    def listing(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, scale.expects) for name, scale in self.scales.items())

    def combine(self, votes: Mapping[Any, Any], sampling: Sampling) -> Rated | None:
        for name, own in self._by_criterion(votes).items():
            value = self.scales[name].combine(own, _own_weights(name, sampling))
            return None if value is None else Rated(name, value)
        return None

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Whether that holds of the criterion that votes are of; before any vote, only with no sample left."""
        cast = self._by_criterion(votes).items()
        return left == 0 or any(self.scales[name].is_decided(own, left, sampling) for name, own in cast)

    def _by_criterion(self, votes: Mapping[Any, Any]) -> dict[str, dict[Any, Any]]:
        by_name: dict[str, dict[Any, Any]] = {}
        for value, count in votes.items():
            by_name.setdefault(value.criterion, {})[value.value] = count
        return by_name

    @property
    def has_probabilities(self) -> bool:
        return any(scale.has_probabilities for scale in self.scales.values())

    @property
    def weighted(self) -> tuple[tuple[Rated, ...], ...]:
        return tuple(
            tuple(Rated(name, label) for label in scale.domain)
            for name, scale in self.scales.items()
            if scale.has_probabilities
        )

    def probability(self, shares: Mapping[Any, float]) -> float | None:
        each = [self.scales[name].probability(own) for name, own in self._by_criterion(shares).items()]
        return each[0] if each else None

    def describe(self, values: Sequence[Rated]) -> dict[str, Any]:
        return {name: scale.describe(_own(name, values)) for name, scale in self.scales.items()}

    def strata(self, cases: Sequence[Case]) -> list[str]:
        each = [scale.strata(self.cases(name, cases)) for name, scale in self.scales.items()]
        return [", ".join(parts) for parts in zip(*each, strict=True)]

    def cases(self, name: str, cases: Sequence[Case]) -> list[Case]:
        """Cases with the gold of one criterion alone."""
        place = list(self.scales).index(name)

        def own(values: Values | None) -> Values | None:
            value = values[place] if values else None
            return None if value is None else (value.value,)

        return [replace(case, gold=own(case.gold), ratings={}, spans=()) for case in cases]

    def rows(self, name: str, rows: Sequence[Row]) -> list[Row]:
        """Rows with what people and the judge said of one criterion alone."""
        place = list(self.scales).index(name)

        def own(values: Values) -> Values:
            value = values[place]
            return (None if value is None else value.value,)

        return [replace(row, gold=own(row.gold), predicted=own(row.predicted)) for row in rows]

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        for name, scale in self.scales.items():
            own = [case for case in self.cases(name, cases) if case.known]
            if own and (lack := scale.check_part(own)):
                return replace(lack, said=f"{name}: {lack.said}")
        return None

    def usual(self, known: Sequence[Rated]) -> Sequence[Rated]:
        each = {name: scale.usual(_own(name, known)) for name, scale in self.scales.items()}
        return [Rated(name, value) for name, values in each.items() for value in values]

    def feedback(self, text: str, gold: Rated, value: Rated | None) -> str:
        name, judged = f"{gold.criterion}: ", None if value is None else value.value
        return name + self.scales[gold.criterion].feedback(text.removeprefix(name), gold.value, judged)

    def truth(self, text: str, gold: Rated) -> str:
        name = f"{gold.criterion}: "
        return name + self.scales[gold.criterion].truth(text.removeprefix(name), gold.value)


def _own_weights(name: str, sampling: Sampling) -> Sampling:
    """Return a sampling with the weights of one criterion's labels alone; they are kept under ``criterion: label``."""
    if sampling.weights is None:
        return sampling
    prefix = f"{name}: "
    own = {key.removeprefix(prefix): w for key, w in sampling.weights.items() if key.startswith(prefix)}
    return replace(sampling, weights=own)


def _own(name: str, values: Sequence[Rated]) -> list[Value]:
    return [value.value for value in values if value.criterion == name]


@dataclass(frozen=True, kw_only=True)
class Criterion(Paired):
    """One criterion of two systems; what it shows is held to Holm's correction over all criteria."""

    units: int
    corrected: tuple[float, float]  # one-sided p that the second is better, and worse, by Holm
    levels: tuple[float, float]  # of the tests that the second is better, and worse, by Holm's steps

    @property
    def direction(self) -> Direction | None:
        better, worse = self.levels
        if self.permutation.better < better:
            return "better"
        return "worse" if self.permutation.worse < worse else None

    @property
    def interval(self) -> Interval:
        return self.interval_at(*self.levels)

    def to_card(self) -> dict[str, Any]:
        """Plain types, ready for JSON."""
        return {
            "metric": self.metric,
            "basic": self.before,
            "compiled": self.after,
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "p": self.corrected[0],
            "shown": self.direction or "",
            "units": self.units,
            "groups": self.groups,
        }


def labelled_criteria(scale: Scale, *sets: Sequence[Row]) -> Iterator[tuple[str, Scale, list[Sequence[Row]]]]:
    """Yield each criterion that people labelled, its scale, and the rows cut to it; nothing without criteria."""
    if not isinstance(scale, CriteriaScale):
        return
    for name, own in scale.scales.items():
        cut: list[Sequence[Row]] = [scale.rows(name, rows) for rows in sets]
        if any(row.labelled for row in cut[0]):
            yield name, own, cut


def by_criterion(
    scale: Scale, first: Sequence[Row], second: Sequence[Row], *, seed: int, tested: float
) -> dict[str, Criterion]:
    """Compare two systems by the default metric of each criterion that people labelled; none without criteria."""
    pairs: dict[str, tuple[Paired, int]] = {}
    for name, own, cut in labelled_criteria(scale, first, second):
        units = encode(own, *cut)
        pair = compare_pair(units, own.metrics[own.default], seed=seed, tested=tested)
        pairs[name] = pair, len(units.gold)
    better = {name: pair.permutation.better for name, (pair, _) in pairs.items()}
    worse = {name: pair.permutation.worse for name, (pair, _) in pairs.items()}
    corrected = holm(better), holm(worse)
    levels = holm_levels(better, tested), holm_levels(worse, tested)
    return {
        name: Criterion(
            **vars(pair),
            units=units,
            corrected=(corrected[0][name], corrected[1][name]),
            levels=(levels[0][name], levels[1][name]),
        )
        for name, (pair, units) in pairs.items()
    }


def joint_metric(name: str, criteria: CriteriaScale, parts: Mapping[str, Metric]) -> Metric:
    """Return the mean of a metric of each of some criteria, of those of them that have a unit."""
    each = list(parts.values())

    def statistics(units: Units) -> Statistics:
        cut = [(metric, units_of(criterion, criteria, units)) for criterion, metric in parts.items()]
        labelled = [(metric, own) for metric, own in cut if len(own.gold)] or cut[:1]
        several = [metric.statistics(own) for metric, own in labelled]
        widths = [own.sums[0].shape[1] for own in several]
        columns = [slice(*ends) for ends in pairwise(np.cumsum([0, *widths]))]

        def value(sums: Floats) -> Floats:
            values = [own.of(sums[..., its]) for own, its in zip(several, columns, strict=True)]
            return np.asarray(np.mean(values, axis=0))

        tables = zip(*(own.sums for own in several), strict=True)
        return Statistics(
            [
                scipy.sparse.hstack(each, format="csr")
                if any(map(scipy.sparse.issparse, each))
                else np.hstack(each)
                for each in tables
            ],
            value,
        )

    return Metric(
        name=name,
        statistics=statistics,
        low=min(metric.low for metric in each),  # people may have labelled that criterion alone
        high=max(metric.high for metric in each),
        higher_is_better=each[0].higher_is_better,
        draws=min(metric.draws for metric in each),
        divisible=all(metric.divisible for metric in each),
    )


def units_of(name: str, criteria: CriteriaScale, units: Units) -> Units:
    """Return the units of one criterion on its own scale, in all groups."""
    scale = criteria.scales[name]
    codes: dict[Value, int] = {value: code for code, value in enumerate(scale.domain)}
    moved = np.full(len(units.values) + 1, MISSING, dtype=np.int64)  # the last one is that of MISSING
    values: Any = units.values
    for code, value in enumerate(values):
        if value.criterion == name:
            moved[code] = codes.setdefault(value.value, len(codes))
    kept = moved[units.gold] != MISSING
    return replace(
        units,
        kind=scale,
        values=tuple(codes),
        gold=moved[units.gold[kept]],
        predicted=moved[units.predicted[:, kept]],
        group=units.group[kept],
    )
