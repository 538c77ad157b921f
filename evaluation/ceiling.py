"""How good people are at what a judge does: each rater scored against the rest, on the judge's own metrics.

A judge that reaches these scores agrees with the raters as well as they agree with each other; gold that one
rater gave alone cannot show more. The rest speaks by the consensus of the raters who labelled the unit: of closed
labels the strict majority, of scores the median, and of two raters the other one. Where the rest has none, such as a
tie, the rater is scored against each of them: no unit that two raters rated is left out, for those on which they differ
are what the ceiling is about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cases import Value
from .agreement import encode_ratings
from .intervals import Estimate, Jackknife, leaving_out
from .measured import Measured, measure
from .metrics import Counted, Metric
from .rows import Row
from .scale import MetricLike, Scale, shown_metrics
from .units import Units, encode


@dataclass(frozen=True, kw_only=True)
class RaterScore:
    """One rater against the rest."""

    rater: str
    measured: Measured
    units: int
    left_out: int


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """All raters against the rest."""

    metric: str
    raters: tuple[RaterScore, ...]
    mean: Mapping[str, Estimate]


def human_ceiling(
    ratings: Mapping[str, Sequence[Value | None]],
    metric: MetricLike,
    comparison: Scale,
    *,
    groups: Sequence[str] | None = None,
) -> Ceiling | None:
    """Score each rater against what the others agree on."""
    _, _, named = encode_ratings(ratings, comparison, groups=groups)
    by_rater = {rater: _rows(rater, ratings, named, comparison) for rater in ratings}
    by_rater = {rater: rows for rater, rows in by_rater.items() if rows}
    if not by_rater:
        return None
    scores = []
    for rater, rows in by_rater.items():
        labelled = sum(value is not None for value in ratings[rater])
        units = len({row.id.rpartition("/")[0] for row in rows})
        measured = measure(rows, metric, comparison)
        scores.append(RaterScore(rater=rater, measured=measured, units=units, left_out=labelled - units))
    names = sorted({row.group for rows in by_rater.values() for row in rows})
    encoded = []
    for rows in by_rater.values():  # with groups numbered as those of all raters are
        coded, own = encode(comparison, rows), sorted({row.group for row in rows})
        encoded.append(replace(coded, group=np.searchsorted(names, own)[coded.group], groups=len(names)))
    mean = {metric.name: _mean(encoded, metric) for metric in shown_metrics(comparison, metric)}
    return Ceiling(metric=scores[0].measured.metric, raters=tuple(scores), mean=mean)


def _rows(
    rater: str,
    ratings: Mapping[str, Sequence[Value | None]],
    groups: Sequence[str],
    comparison: Scale,
) -> list[Row]:
    rows = []
    for unit, (value, group) in enumerate(zip(ratings[rater], groups, strict=True)):
        others = [given[unit] for name, given in ratings.items() if name != rater]
        rest = [other for other in others if other is not None]
        agreed = comparison.consensus(rest)
        # one row for each of the others, so that a unit on which they are split weighs as much as any
        for number, other in enumerate(rest if value is not None else ()):
            gold = other if agreed is None else agreed
            rows.append(Row(id=f"{rater}/{unit:09d}/{number}", group=group, gold=(gold,), predicted=(value,)))
    return rows


def _mean(raters: Sequence[Units], metric: Metric) -> Estimate:
    """Return the mean of a metric over raters, each group left out for all of them together."""
    weights = leaving_out(raters[0].groups)
    value = float(np.mean([metric.of(units) for units in raters]))
    present = np.array([weights @ units.sizes > 0 for units in raters], dtype=np.float64)
    left = (np.array([metric.resampled(units, weights) for units in raters]) * present).sum(axis=0)
    counted = Counted.added([metric.counted(units) for units in raters])
    jackknife = Jackknife.of(value, left / np.maximum(present.sum(axis=0), 1.0), counted)
    return Estimate(value=value, interval=jackknife.within(metric.low, metric.high))
