"""How good people are at what a judge does: each rater scored against the rest, on the judge's own metrics.

A judge that reaches these scores agrees with the raters as well as they agree with each other; gold that one
rater gave alone cannot show more. The rest speaks by strict majority of the raters who labelled the unit (of
two raters: the other one); a unit on which the rest has none, such as a tie, is left out and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np

from .confusion import Floats, Ints, Units, encode
from .intervals import group_weights
from .measured import Measured, measure
from .measures import Measure
from .metrics import MetricLike, resolve
from .raters import Estimate, encode_ratings, percentiles
from .rows import Row, majority
from .scoring import applicable

__all__ = ["Ceiling", "RaterScore", "human_ceiling"]


@dataclass(frozen=True, kw_only=True)
class RaterScore:
    """One rater against the rest.

    Args:
        rater: the name.
        measured: the metrics with clustered intervals, the rest's majority taken as gold.
        units: the units they are over.
        left_out: units that the rater labelled and on which the others have no majority or no label.
    """

    rater: str
    measured: Measured
    units: int
    left_out: int


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """All raters against the rest.

    Args:
        metric: the name of the judge's own metric.
        raters: one entry per rater with a unit to compare, in the order given.
        mean: metric -> the plain mean over those raters, with its interval: the groups are drawn once for all
            raters, and a rater without a unit in a resample is left out of its mean.
    """

    metric: str
    raters: tuple[RaterScore, ...]
    mean: Mapping[str, Estimate]


def human_ceiling(
    ratings: Mapping[str, Sequence[str | None]],
    metric: MetricLike,
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
    *,
    groups: Sequence[str] | None = None,
    seed: int = 0,
) -> Ceiling | None:
    """Score each rater against the majority of the others.

    Args:
        ratings: rater -> one label per unit, ``None`` where the rater gave none; two raters or more.
        metric: the judge's metric: a name, or a function (gold, predicted) -> float in [0, 1].
        labels: the closed label set.
        positive: its positive labels, or empty.
        groups: the cluster of each unit; ``None`` takes every unit as its own.
        seed: of the bootstrap.

    Returns:
        ``None`` where no rater has a unit on which the others have a majority.

    Raises:
        UsageError: as ``rater_agreement``, or an unknown metric.
        JuristError: as ``rater_agreement``.
    """
    encode_ratings(ratings, groups=groups, labels=labels)
    size = len(next(iter(ratings.values())))
    places = [f"{place:09d}" for place in range(size)] if groups is None else groups
    found: list[RaterScore] = []
    encoded: list[tuple[Units, list[str]]] = []
    for rater, given in ratings.items():
        rest = [other for name, other in ratings.items() if name != rater]
        rows = _rows(given, rest, places)
        if not rows:
            continue
        labelled = sum(label is not None for label in given)
        found.append(
            RaterScore(
                rater=rater,
                measured=measure(rows, metric, labels, positive, seed=seed),
                units=len(rows),
                left_out=labelled - len(rows),
            )
        )
        encoded.append((encode(rows, labels, positive), sorted({row.group for row in rows})))
    if not found:
        return None
    return Ceiling(metric=found[0].measured.metric, raters=tuple(found), mean=_means(encoded, metric, seed))


def _rows(
    given: Sequence[str | None], rest: Sequence[Sequence[str | None]], groups: Sequence[str]
) -> list[Row]:
    rows = []
    for place, (label, group) in enumerate(zip(given, groups, strict=True)):
        agreed = majority(other[place] for other in rest)
        if label is not None and agreed is not None:
            rows.append(Row(id=f"{place:09d}", group=group, gold=(agreed,), predicted=(label,)))
    return rows


def _means(encoded: Sequence[tuple[Units, list[str]]], metric: MetricLike, seed: int) -> dict[str, Estimate]:
    """The mean of each metric over raters, on resamples of the groups of all of them together."""
    every = sorted({name for _, names in encoded for name in names})
    place = {name: code for code, name in enumerate(every)}
    shared = [_shared(units, [place[name] for name in names], len(every)) for units, names in encoded]
    weights = group_weights(len(every), seed=seed)
    first = encoded[0][0]
    wanted = applicable(first)
    if not isinstance(metric, str):
        wanted.append(metric)
    result = {}
    for one in wanted:
        found = resolve(one, first)
        value = float(np.mean([found.of(units) for units in shared]))
        drawn = _mean_drawn(shared, found, weights) if len(every) > 1 else None
        interval = percentiles(drawn, groups=len(every), low=found.low, high=found.high)
        result[found.name] = Estimate(value=value, interval=interval)
    return result


def _shared(units: Units, places: Sequence[int], groups: int) -> Units:
    """The same units with their groups numbered as all raters' groups are."""
    return replace(units, group=np.array(places, dtype=np.int64)[units.group], groups=groups)


def _mean_drawn(shared: Sequence[Units], found: Measure, weights: Ints) -> Floats:
    present = np.array(
        [weights @ np.bincount(units.group, minlength=units.groups) > 0 for units in shared], dtype=np.float64
    )
    values = np.array([found.resampled(units, weights) for units in shared]) * present
    return np.asarray(values.sum(axis=0) / present.sum(axis=0))
