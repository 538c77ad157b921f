"""How answers of one kind are held against gold: the one place where kinds of answers differ for evaluation.

Scales (:class:`~jurist.evaluation.scale.Scale`) come with jurist; whatever offers the same can stand beside them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from ..errors import UsageError
from .metrics import CustomMetric, Metric, ValueFunction
from .units import Kind

MetricLike: TypeAlias = str | ValueFunction | Metric
"""A name of :attr:`Comparison.metrics`, a function (gold, predicted) -> float in [0, 1], a
:class:`~jurist.evaluation.metrics.CustomMetric` with a range of its own, or a
:class:`~jurist.evaluation.metrics.Metric`."""


class Comparison(Kind, Protocol):
    """How answers of one kind are held against gold."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics that fit, by name."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of those that every table shows."""

    @property
    def compared(self) -> tuple[str, ...]:
        """The names of those that a comparison of judges shows beside the tested one, where they fit."""

    @property
    def default(self) -> str:
        """The name of the metric that is used unless another is asked for."""

    @property
    def classes(self) -> Mapping[str, Mapping[str, Metric]]:
        """Class -> precision, recall and F1 of that class against the rest; empty where there are no classes."""

    @property
    def right_means(self) -> str:
        """What counts as right, in words; empty where nothing is right or wrong."""

    def similarity(self, gold: Any, value: Any) -> float:
        """How far two values are the same, in [0, 1]; 1.0 for equal ones."""

    def consensus(self, values: Sequence[Any]) -> Any | None:
        """The value that several raters or samples stand for; ``None`` if there is none."""


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
    found = [comparison.metrics[name] for name in comparison.shown]
    return found if own.name in comparison.shown else [*found, own]
