"""Metrics, intervals and tests of rows, for tests: encoding and resampling in one call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import Interval, metric_interval
from jurist.evaluation.paired import McNemar, compare_pair
from jurist.evaluation.permutation import Permutation, permute
from jurist.evaluation.rows import Row
from jurist.evaluation.scale import MetricLike, Scale, resolve
from jurist.evaluation.units import encode

NAMES = ClosedLabels("ab", {"a"}).shown
"""The metrics of closed labels that every table shows."""


@dataclass(frozen=True)
class Bounds:
    value: float
    worst: float
    best: float


def rows_of(pairs: Sequence[tuple[Any, Any]], *, group_size: int = 2) -> list[Row]:
    """One row per unit, groups of ``group_size`` neighbours."""
    return [
        Row(id=f"{place:03d}", group=str(place // group_size), gold=(gold,), predicted=(answer,))
        for place, (gold, answer) in enumerate(pairs)
    ]


def row(key: str, gold: str, predicted: str, *, group: str = "g", failed: bool = False) -> Row:
    """A row from one character per unit, '-' for none."""
    each = (tuple(None if mark == "-" else mark for mark in text) for text in (gold, predicted))
    return Row(id=key, group=group, gold=next(each), predicted=next(each), failed=failed)


def value_of(metric: MetricLike, gold: Sequence[Any], predicted: Sequence[Any], comparison: Scale) -> float:
    row = Row(id="all", group="all", gold=tuple(gold), predicted=tuple(predicted))
    return resolve(metric, comparison).of(encode(comparison, [row]))


def scores(
    rows: Sequence[Row], comparison: Scale, metrics: Sequence[MetricLike] | None = None
) -> dict[str, Bounds]:
    units = encode(comparison, rows)
    shown = [comparison.metrics[name] for name in comparison.shown]
    wanted = shown if metrics is None else [resolve(one, comparison) for one in metrics]
    return {one.name: Bounds(one.of(units), *one.bounds(units)) for one in wanted}


def interval(rows: Sequence[Row], metric: MetricLike, comparison: Scale) -> Interval:
    return metric_interval(encode(comparison, rows), resolve(metric, comparison))


def difference(
    first: Sequence[Row],
    second: Sequence[Row],
    metric: MetricLike,
    comparison: Scale,
    level: float = 0.95,
) -> Interval:
    found = resolve(metric, comparison)
    units = encode(comparison, first, second)
    return compare_pair(units, found, seed=0, tested=(1.0 - level) / 2.0).interval


def permutation(
    first: Sequence[Row],
    second: Sequence[Row],
    metric: MetricLike,
    comparison: Scale,
    *,
    seed: int = 0,
    draws: int | None = None,
    cautious: bool = False,
) -> Permutation:
    found = resolve(metric, comparison)
    drawn = replace(found, draws=draws) if draws else found
    return permute(encode(comparison, first, second), drawn, seed=seed, cautious=cautious)


def mcnemar_of(first: Sequence[Row], second: Sequence[Row], comparison: Scale) -> McNemar | None:
    units = encode(comparison, first, second)
    return compare_pair(units, resolve(comparison.default, comparison), seed=0, tested=0.05).mcnemar


def noisy(seed: int, noise: float, kind: Callable[[float], Any] = round) -> list[Row]:
    truth, rng = np.random.default_rng(7), np.random.default_rng(seed)
    rows = []
    for place in range(60):
        gold = float(truth.uniform(1, 5))
        said = float(np.clip(gold + rng.normal(0, noise), 1, 5))
        rows.append(
            Row(id=str(place), group=f"g{place // 3:02d}", gold=(kind(gold),), predicted=(kind(said),))
        )
    return rows
