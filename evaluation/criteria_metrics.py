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
        statistics_by_criterion = []
        for criterion, metric in parts.items():
            criterion_units = units_of(criterion, scales[criterion], units)
            if len(criterion_units.gold):
                statistics_by_criterion.append(metric.statistics(criterion_units))
        if not statistics_by_criterion:
            first = next(iter(parts))
            first_units = units_of(first, scales[first], units)
            statistics_by_criterion.append(metrics[0].statistics(first_units))
        return _joint_statistics(statistics_by_criterion)

    return Metric(
        name=name,
        statistics=statistics,
        low=min(metric.low for metric in metrics),  # people may have labelled that criterion alone
        high=max(metric.high for metric in metrics),
        higher_is_better=metrics[0].higher_is_better,
        draws=min(metric.draws for metric in metrics),
        divisible=all(metric.divisible for metric in metrics),
    )


def _joint_statistics(statistics_by_criterion: Sequence[Statistics]) -> Statistics:
    """Return the statistics of the mean of several metrics."""
    # The sums of the criteria stand beside each other: the columns of one lie between two ends.
    ends = [0]
    for part in statistics_by_criterion:
        ends.append(ends[-1] + part.sums[0].shape[1])

    def value(sums: Floats) -> Floats:
        values = []
        for number, part in enumerate(statistics_by_criterion):
            values.append(part.of(sums[..., ends[number] : ends[number + 1]]))
        return np.asarray(np.mean(values, axis=0))

    tables = []
    for answer_set in range(len(statistics_by_criterion[0].sums)):
        criterion_tables = [part.sums[answer_set] for part in statistics_by_criterion]
        tables.append(_join_columns(criterion_tables))
    return Statistics(tables, value)


def _join_columns(tables: Sequence[Sums]) -> Sums:
    """Return one table with the columns of several, sparse where one of them is."""
    if any(scipy.sparse.issparse(table) for table in tables):
        return scipy.sparse.hstack(tables, format="csr")
    return np.hstack(tables)


def units_of(name: str, scale: Scale, units: Units) -> Units:
    """Return the units of one criterion on its own scale, in all groups."""
    codes: dict[Value, int] = {value: code for code, value in enumerate(scale.domain)}
    # The code of each value on the criterion's scale; the last place is that of MISSING, which is -1.
    criterion_codes = np.full(len(units.values) + 1, MISSING, dtype=np.int64)
    for code, value in enumerate(units.values):
        if value.criterion == name:
            criterion_codes[code] = codes.setdefault(value.value, len(codes))
    is_of_criterion = criterion_codes[units.gold] != MISSING
    return replace(
        units,
        kind=scale,
        values=tuple(codes),
        gold=criterion_codes[units.gold[is_of_criterion]],
        predicted=criterion_codes[units.predicted[:, is_of_criterion]],
        group=units.group[is_of_criterion],
    )
