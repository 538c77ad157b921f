"""Metrics of several criteria: those of each criterion over its own units, and the mean of all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import scipy

from ..cases import Value
from .metrics import Metric, Statistics, Sums
from .scale import Scale
from .units import MISSING, Floats, Units


def metrics_of_criteria(mean: str, scales: Mapping[str, Scale]) -> Mapping[str, Metric]:
    """Return the mean over all criteria, under its name, and the metrics of each as ``criterion.metric``."""
    defaults: dict[str, Metric] = {}
    for criterion, scale in scales.items():
        defaults[criterion] = scale.metrics[scale.default]
    metrics = {mean: joint_metric(mean, scales, defaults)}
    for criterion, scale in scales.items():
        for key, metric in scale.metrics.items():
            name = f"{criterion}.{key}"
            metrics[name] = joint_metric(name, scales, {criterion: metric})
    return MappingProxyType(metrics)


def joint_metric(name: str, scales: Mapping[str, Scale], parts: Mapping[str, Metric]) -> Metric:
    """Return the metric that is the mean of the metrics of several criteria, of those that have a labelled unit.

    ``parts`` are the metrics by criterion.
    """
    metrics = list(parts.values())

    def statistics(units: Units) -> Statistics:
        labelled_statistics: list[Statistics] = []
        for criterion, metric in parts.items():
            criterion_units = units_of(criterion, scales[criterion], units)
            if len(criterion_units.gold):
                labelled_statistics.append(metric.statistics(criterion_units))
        if labelled_statistics:
            return _joint_statistics(labelled_statistics)
        first_criterion, first_metric = next(iter(parts.items()))
        no_units = units_of(first_criterion, scales[first_criterion], units)
        return _joint_statistics([first_metric.statistics(no_units)])

    # The ends are the widest ones, because people may have labelled a single criterion.
    lows: list[float] = []
    highs: list[float] = []
    draws: list[int] = []
    divisible = True
    for metric in metrics:
        lows.append(metric.low)
        highs.append(metric.high)
        draws.append(metric.draws)
        divisible = divisible and metric.divisible
    return Metric(
        name=name,
        statistics=statistics,
        low=min(lows),
        high=max(highs),
        higher_is_better=metrics[0].higher_is_better,
        draws=min(draws),
        divisible=divisible,
    )


def _joint_statistics(statistics_by_criterion: Sequence[Statistics]) -> Statistics:
    """Return the statistics of the mean of several metrics, whose sums stand in one table beside each other."""
    column_ends = [0]  # of each criterion, the column after its last one
    for part in statistics_by_criterion:
        width = part.sums[0].shape[1]
        column_ends.append(column_ends[-1] + width)

    def value(sums: Floats) -> Floats:
        values: list[Floats] = []
        for number, part in enumerate(statistics_by_criterion):
            columns = slice(column_ends[number], column_ends[number + 1])
            values.append(part.of(sums[..., columns]))
        return np.asarray(np.mean(values, axis=0))

    answer_sets = len(statistics_by_criterion[0].sums)
    tables: list[Sums] = []
    for answer_set in range(answer_sets):
        criterion_tables: list[Sums] = []
        for part in statistics_by_criterion:
            criterion_tables.append(part.sums[answer_set])
        tables.append(_join_columns(criterion_tables))
    return Statistics(tables, value)


def _join_columns(tables: Sequence[Sums]) -> Sums:
    """Return one table with the columns of several, sparse where one of them is."""
    is_sparse = any(map(scipy.sparse.issparse, tables))
    if is_sparse:
        return scipy.sparse.hstack(tables, format="csr")
    return np.hstack(tables)


def units_of(name: str, scale: Scale, units: Units) -> Units:
    """Return the units of one criterion on its own scale, in all groups."""
    codes: dict[Value, int] = {}
    for value in scale.domain:
        codes[value] = len(codes)
    # The last place is that of MISSING, which is -1; values of other criteria are missing on this scale.
    criterion_codes = np.full(len(units.values) + 1, MISSING, dtype=np.int64)
    for code, rated in enumerate(units.values):
        if rated.criterion == name:
            criterion_codes[code] = codes.setdefault(rated.value, len(codes))
    is_of_criterion = criterion_codes[units.gold] != MISSING
    return replace(
        units,
        kind=scale,
        values=tuple(codes),
        gold=criterion_codes[units.gold[is_of_criterion]],
        predicted=criterion_codes[units.predicted[:, is_of_criterion]],
        group=units.group[is_of_criterion],
    )
