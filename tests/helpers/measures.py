"""Metrics, intervals and tests of rows, for tests: encoding and resampling in one call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import Interval, metric_interval
from jurist.evaluation.paired import McNemar, compare_pair
from jurist.evaluation.permutation import Permutation, permute
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scale import MetricLike, Scale, resolve
from jurist.evaluation.units import encode

NAMES = ClosedLabels("ab", {"a"}).shown
"""The metrics of closed labels that every table shows."""


@dataclass(frozen=True)
class Bounds:
    value: float
    worst: float
    best: float


def rows_of(pairs: Sequence[tuple[Any, Any]], *, group_size: int = 2) -> list[JudgedRow]:
    """One row per unit, groups of ``group_size`` neighbours."""
    return [
        JudgedRow(id=f"{place:03d}", group=str(place // group_size), gold=(gold,), predicted=(answer,))
        for place, (gold, answer) in enumerate(pairs)
    ]


def row(key: str, gold: str, predicted: str, *, group: str = "g", failed: bool = False) -> JudgedRow:
    """A row from one character per unit, '-' for none."""
    return JudgedRow(id=key, group=group, gold=_values(gold), predicted=_values(predicted), failed=failed)


def _values(marks: str) -> tuple[str | None, ...]:
    return tuple(None if mark == "-" else mark for mark in marks)


def value_of(metric: MetricLike, gold: Sequence[Any], predicted: Sequence[Any], comparison: Scale) -> float:
    row = JudgedRow(id="all", group="all", gold=tuple(gold), predicted=tuple(predicted))
    return resolve(metric, comparison).of(encode(comparison, [row]))


def scores(
    rows: Sequence[JudgedRow], comparison: Scale, metrics: Sequence[MetricLike] | None = None
) -> dict[str, Bounds]:
    """The metrics of every table, or other ones, by name."""
    units = encode(comparison, rows)
    bounds: dict[str, Bounds] = {}
    for name_or_function in metrics or comparison.shown:
        metric = comparison.metrics.get(name_or_function) if isinstance(name_or_function, str) else None
        if metric is None:
            metric = resolve(name_or_function, comparison)
        worst, best = metric.bounds(units)
        bounds[metric.name] = Bounds(metric.of(units), worst, best)
    return bounds


def interval(rows: Sequence[JudgedRow], metric: MetricLike, comparison: Scale) -> Interval:
    return metric_interval(encode(comparison, rows), resolve(metric, comparison))


def difference(
    first: Sequence[JudgedRow],
    second: Sequence[JudgedRow],
    metric: MetricLike,
    comparison: Scale,
    level: float = 0.95,
) -> Interval:
    units = encode(comparison, first, second)
    pair = compare_pair(units, resolve(metric, comparison), seed=0, tested=(1.0 - level) / 2.0)
    return pair.interval


def permutation(
    first: Sequence[JudgedRow],
    second: Sequence[JudgedRow],
    metric: MetricLike,
    comparison: Scale,
    *,
    seed: int = 0,
    draws: int | None = None,
    cautious: bool = False,
) -> Permutation:
    resolved = resolve(metric, comparison)
    if draws:
        resolved = replace(resolved, draws=draws)
    return permute(encode(comparison, first, second), resolved, seed=seed, cautious=cautious)


def mcnemar_of(first: Sequence[JudgedRow], second: Sequence[JudgedRow], comparison: Scale) -> McNemar | None:
    units = encode(comparison, first, second)
    return compare_pair(units, resolve(comparison.default, comparison), seed=0, tested=0.05).mcnemar


def noisy(seed: int, noise: float, kind: Callable[[float], Any] = round) -> list[JudgedRow]:
    """Rows with scores from 1 to 5, three of a group; the gold is the same for all seeds."""
    truth = np.random.default_rng(7)
    rng = np.random.default_rng(seed)
    rows = []
    for place in range(60):
        gold = float(truth.uniform(1, 5))
        answer = float(np.clip(gold + rng.normal(0, noise), 1, 5))
        group = f"g{place // 3:02d}"
        rows.append(JudgedRow(id=str(place), group=group, gold=(kind(gold),), predicted=(kind(answer),)))
    return rows
