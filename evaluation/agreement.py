"""How far raters of the same units agree: raw, Cohen's and Krippendorff's coefficients, and by label.

Any number of raters from two on, labels may be missing. Cohen's kappa of a pair (Cohen 1960) is over the units that
both labelled; Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability") and raw agreement
are over all units with two ratings or more.

Where answers are near or far rather than right or wrong (scores, sets), raw agreement is the mean similarity of two
ratings of a unit, alpha weighs a difference by the square of 1 - similarity (for scores this is the interval alpha),
and there is no kappa and nothing by label.

By label, alpha is that of the label against all others; specific agreement is the share of pairs of ratings with that
label that agree on it. Intervals are clustered by group, as for metrics. A quotient 0/0 is undefined, ``None``: where
all ratings are one label, chance alone agrees as well.

``krippendorff`` is not called, as its licence (GPL) would be one that jurist's users have to take on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..cases import Value
from ..errors import JuristError
from .closed_labels import cohen_kappa
from .intervals import Estimate, Jackknife, estimated, leaving_out
from .measured import Measured, measure
from .metrics import Counted, Metric, Ratio, mean
from .rows import Row
from .scale import MetricLike, Scale, shown_metrics
from .units import MISSING, Floats, Ints, Units, encode

Groups: TypeAlias = NDArray[Any]  # the name of the group of each unit


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """How far two raters agree on the units that both labelled."""

    first: str
    second: str
    units: int
    raw: Estimate
    # ``None`` where both gave one and the same label only, and for answers that are no labels
    kappa: Estimate | None


@dataclass(frozen=True, kw_only=True)
class LabelAgreement:
    """How far raters agree on one label, held against all others."""

    label: str
    given: Mapping[str, int]  # rater -> units to which they gave it
    specific: Estimate | None  # ``None`` where nobody gave the label
    alpha: Estimate | None  # ``None`` where nobody gave the label, and where everybody gave it always


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The raters of one gold set."""

    raters: tuple[str, ...]
    raw: Estimate
    pairs: tuple[PairAgreement, ...]
    alpha: Estimate | None  # ``None`` where only one value was given
    table: tuple[LabelAgreement, ...]
    units: int
    skipped: int
    groups: int


def rater_agreement(
    ratings: Mapping[str, Sequence[str | None]],
    comparison: Scale | None = None,
    *,
    groups: Sequence[str] | None = None,
) -> Agreement:
    """Compare raters, unit by unit."""
    labels, every = _encoded(ratings, comparison)
    compared = (every != MISSING).sum(axis=1) >= 2
    codes, group = every[compared], np.array(range(len(every)) if groups is None else groups)[compared]
    counts = _counts(codes, len(labels))
    closed = comparison is None or bool(comparison.domain)
    alike = np.eye(len(labels))
    if comparison is not None and not closed:
        alike = np.array([[comparison.similarity(first, second) for second in labels] for first in labels])
    return Agreement(
        raters=tuple(ratings),
        raw=_similarity(counts, group, alike),
        pairs=_pairs(tuple(ratings), codes, group, alike, closed=closed),
        alpha=_alpha(counts, group, (1.0 - alike) ** 2),
        table=tuple(
            LabelAgreement(
                label=str(label),
                given=dict(zip(ratings, (codes == code).sum(axis=0).tolist(), strict=True)),
                **_against_rest(counts, code, group),
            )
            for code, label in enumerate(labels if closed else ())
        ),
        units=len(codes),
        skipped=len(every) - len(codes),
        groups=len(set(group.tolist())),
    )


def _pairs(
    raters: Sequence[str], codes: Ints, group: Groups, alike: Floats, *, closed: bool
) -> tuple[PairAgreement, ...]:
    """Return each pair of raters with a unit in common; kappa where there are labels."""
    result = []
    for first, second in combinations(range(len(raters)), 2):
        both = (codes[:, [first, second]] != MISSING).all(axis=1)
        if not both.any():
            continue
        pair, own = codes[both][:, [first, second]], group[both]
        result.append(
            PairAgreement(
                first=raters[first],
                second=raters[second],
                units=len(pair),
                raw=_similarity(_counts(pair, len(alike)), own, alike),
                kappa=_cohen(pair, len(alike), own) if closed else None,
            )
        )
    return tuple(result)


def _counts(codes: Ints, size: int) -> Ints:
    """Return the table that coefficients are of, (N, K): how many raters gave each label to each unit."""
    return np.asarray((codes[:, :, np.newaxis] == np.arange(size)).sum(axis=1))


def _similarity(counts: Ints, group: Groups, alike: Floats) -> Estimate:
    """Return the mean similarity of two ratings of a unit."""
    sizes = counts.sum(axis=1)
    near = ((counts @ alike) * counts).sum(axis=1) - sizes
    return estimated(np.stack([near, sizes * (sizes - 1.0)], axis=1), group, mean)


def _cohen(pair: Ints, size: int, group: Groups) -> Estimate | None:
    """Return Cohen's kappa of two raters; ``None`` where both gave one and the same label only."""
    if len(np.unique(pair)) < 2:
        return None
    first, second = np.eye(size)[pair.T]
    no_side = np.zeros(0, dtype=np.bool_)
    return estimated(
        first[:, :, np.newaxis] * second[:, np.newaxis, :], group, cohen_kappa.given(no_side), low=-1.0
    )


def _against_rest(counts: Ints, code: int, group: Groups) -> dict[str, Estimate | None]:
    """Return how far raters agree on one label."""
    sizes = counts.sum(axis=1)
    given = counts[:, code]
    pairs = np.stack([given * (given - 1), given * (sizes - 1)], axis=1)
    two = np.stack([given, sizes - given], axis=1)
    specific = estimated(pairs, group, mean) if given.any() else None
    return {"specific": specific, "alpha": _alpha(two, group, 1.0 - np.eye(2))}


def _alpha(counts: Ints, group: Groups, distance: Floats) -> Estimate | None:
    """Return 1 - observed / expected distance (K, K) of two ratings; ``None`` where only one value was given."""
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    others = np.maximum(counts.sum(axis=1) - 1, 1)
    within = ((counts @ distance) * counts).sum(axis=1) / others

    @Ratio
    def coefficient(sums: Floats) -> tuple[Floats, Floats]:
        observed, sizes = sums[..., 0], sums[..., 1:]
        chance = ((sizes @ distance) * sizes).sum(axis=-1)
        return chance - observed * (sizes.sum(axis=-1) - 1), chance

    return estimated(np.column_stack([within, counts]), group, coefficient, low=-1.0)


def _encoded(
    ratings: Mapping[str, Sequence[Value | None]], comparison: Scale | None
) -> tuple[tuple[Value, ...], Ints]:
    """Return all values in their order, and the place of each rating among them (N, R)."""
    values = comparison.domain if comparison is not None else ()
    if not values:  # numbers by size, labels by their letters
        seen = {value for own in ratings.values() for value in own if value is not None}
        values = tuple(
            sorted(seen, key=lambda value: value if isinstance(value, int | float) else str(value))
        )
    code_of: dict[Value | None, int] = {None: MISSING, **{value: code for code, value in enumerate(values)}}
    codes = np.array([[code_of[value] for value in own] for own in ratings.values()], dtype=np.int64).T
    if not ((codes != MISSING).sum(axis=1) >= 2).any():
        hint = "let two raters label the same units"
        raise JuristError(f"none of the {len(codes)} units is labelled by two raters", hint=hint)
    return values, codes


@dataclass(frozen=True, kw_only=True)
class RaterScore:
    """One rater against the rest."""

    rater: str
    measured: Measured
    units: int
    left_out: int  # units that nobody else labelled


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """All raters against the rest."""

    metric: str
    raters: tuple[RaterScore, ...]
    mean: Mapping[str, Estimate]  # metric -> the mean over the raters
    who: str = "people"  # who the raters are, in words: labels of a model are no ceiling of people


def human_ceiling(
    ratings: Mapping[str, Sequence[Value | None]],
    metric: MetricLike,
    comparison: Scale,
    *,
    groups: Sequence[str],
) -> Ceiling:
    """Score each rater against what the others agree on: the ceiling for a judge, as gold cannot show more."""
    # some unit has two ratings or more
    by_rater = {rater: rows for rater in ratings if (rows := _rows(rater, ratings, groups, comparison))}
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
    """Return the units of a rater, held against what the others stand for."""
    rows = []
    for unit, (value, group) in enumerate(zip(ratings[rater], groups, strict=True)):
        others = [own[unit] for name, own in ratings.items() if name != rater]
        rest = [other for other in others if other is not None]
        # without one, as in a tie, each of the others speaks: units on which they differ are what the ceiling is about
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
