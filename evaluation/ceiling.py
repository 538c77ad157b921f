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
from .comparisons import Comparison, MetricLike, shown_metrics
from .intervals import Estimate, Jackknife, leaving_out
from .measured import Measured, measure
from .metrics import Metric
from .ratios import Counted
from .rows import Row
from .units import Floats, Ints, Units, encode


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
    comparison: Comparison,
    *,
    groups: Sequence[str] | None = None,
) -> Ceiling | None:
    """Score each rater against what the others agree on."""
    places = encode_ratings(ratings, comparison, groups=groups).groups
    found: list[RaterScore] = []
    encoded: list[Units] = []
    every: list[list[str]] = []
    for rater, given in ratings.items():
        rest = [other for name, other in ratings.items() if name != rater]
        rows = _rows(given, rest, places, comparison)
        if not rows:
            continue
        labelled, units = sum(value is not None for value in given), len({row.id[:9] for row in rows})
        measured = measure(rows, metric, comparison)
        found.append(RaterScore(rater=rater, measured=measured, units=units, left_out=labelled - units))
        encoded.append(encode(comparison, rows))
        every.append(sorted({row.group for row in rows}))
    if not found:
        return None
    metrics = shown_metrics(comparison, metric)
    return Ceiling(
        metric=found[0].measured.metric,
        raters=tuple(found),
        mean=_means(_shared(encoded, every), metrics),
    )


def _rows(
    given: Sequence[Value | None],
    rest: Sequence[Sequence[Value | None]],
    groups: Sequence[str],
    comparison: Comparison,
) -> list[Row]:
    rows = []
    for place, (value, group) in enumerate(zip(given, groups, strict=True)):
        said = [other[place] for other in rest if other[place] is not None]
        agreed = comparison.consensus(said)
        # one row for each of the others, so that a unit on which they are split weighs as much as any
        for number, one in enumerate(said if value is not None else ()):
            gold = one if agreed is None else agreed
            rows.append(Row(id=f"{place:09d}/{number}", group=group, gold=(gold,), predicted=(value,)))
    return rows


def _shared(encoded: Sequence[Units], names: Sequence[Sequence[str]]) -> list[Units]:
    """Each rater's units with their groups numbered as all raters' groups are."""
    place = {name: code for code, name in enumerate(sorted({name for own in names for name in own}))}
    codes = [np.array([place[name] for name in own], dtype=np.int64) for own in names]
    return [
        replace(units, group=code[units.group], groups=len(place))
        for units, code in zip(encoded, codes, strict=True)
    ]


def _means(shared: Sequence[Units], metrics: Sequence[Metric]) -> dict[str, Estimate]:
    """The mean of each metric over raters, each group left out for all of them together."""
    groups = shared[0].groups
    weights = leaving_out(groups)
    result = {}
    for metric in metrics:
        value = float(np.mean([metric.of(units) for units in shared]))
        counted = Counted.added([metric.counted(units) for units in shared])
        found = Jackknife.of(value, _mean_left(shared, metric, weights), counted)
        result[metric.name] = Estimate(value=value, interval=found.within(metric.low, metric.high))
    return result


def _mean_left(shared: Sequence[Units], metric: Metric, weights: Ints) -> Floats:
    present = np.array(
        [weights @ np.bincount(units.group, minlength=units.groups) > 0 for units in shared], dtype=np.float64
    )
    values = np.array([metric.resampled(units, weights) for units in shared]) * present
    return np.asarray(values.sum(axis=0) / np.maximum(present.sum(axis=0), 1.0))
