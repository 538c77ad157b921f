"""Which metric answers of one kind are held against gold by.

Kinds of answers differ for evaluation in their scale (:class:`~jurist.evaluation.scale.Scale`) alone.
"""

from dataclasses import replace
from typing import TypeAlias

from ..errors import UsageError
from .metrics import CustomMetric, Metric, ValueFunction
from .scale import Scale

Comparison: TypeAlias = Scale
MetricLike: TypeAlias = str | ValueFunction | Metric
"""A name of :attr:`Scale.metrics`, a function (gold, predicted) -> float in [0, 1], a
:class:`~jurist.evaluation.metrics.CustomMetric` with a range of its own, or a
:class:`~jurist.evaluation.metrics.Metric`."""


def resolve(metric: MetricLike, comparison: Comparison) -> Metric:
    """The metric behind a name or a function."""
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        if metric not in choosable(comparison):
            names = ", ".join(choosable(comparison))
            raise UsageError(f"the metric {metric!r} does not fit this judge", hint=f"use one of {names}")
        return comparison.metrics[metric]
    own = metric if isinstance(metric, CustomMetric) else CustomMetric(function=metric)
    name = own.metric.name
    return replace(own, name=f"custom_{name}").metric if name in comparison.metrics else own.metric


def choosable(comparison: Comparison) -> tuple[str, ...]:
    """The names of the metrics that answers can be better or worse in."""
    return tuple(name for name, one in comparison.metrics.items() if one.higher_is_better is not None)


def shown_metrics(comparison: Comparison, metric: MetricLike) -> list[Metric]:
    """The metrics of every table, and the judge's own."""
    own = resolve(metric, comparison)
    shown = [comparison.metrics[name] for name in comparison.shown]
    return shown if own.name in comparison.shown else [*shown, own]
