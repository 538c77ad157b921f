"""The agreement of raters of the same units: raw, Cohen's and Krippendorff's coefficients, and by label.

Any number of raters from two on, labels may be missing. Cohen's kappa of a pair (Cohen 1960) is over the units that
both labelled; Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability") and raw agreement
are over all units with two ratings or more.

Where answers are near or far rather than right or wrong (scores, sets), raw agreement is the mean similarity of two
ratings of a unit, alpha weighs a difference by the square of 1 - similarity (for scores this is the interval alpha),
and there is no unweighted kappa and nothing by label.

Of numbers (scores, and closed labels that are three numbers or more) there are also weighted kappas (Cohen 1968), in
which a difference counts by its size (linear) or by the square of its size (quadratic), and the interval alpha.

AC1 (Gwet 2008, "Computing inter-rater reliability and its variance in the presence of high agreement") takes chance
agreement from how mixed the labels are. Where one label is rare, it stays near raw agreement, and alpha falls.

By label, alpha is that of the label against all others; specific agreement is the share of pairs of ratings with that
label that agree on it. Intervals are clustered by group, as for metrics. A quotient 0/0 is undefined, ``None``: where
all ratings are one label, chance alone agrees as well.

``krippendorff`` is not called, as its licence (GPL) would be one that jurist's users have to take on.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..cases import Value
from ..errors import JuristError
from .intervals import Estimate, Jackknife, estimated, leaving_out
from .measured import Measured, measure
from .metrics import GroupWeights, Metric, Ratio, mean, quotient
from .rows import JudgedRow
from .scale import MetricLike, Scale, shown_metrics
from .units import MISSING, Bools, Floats, Ints, Units, encode
from .votes import Rule

Groups: TypeAlias = NDArray[Any]  # the name of the group of each unit
_FEWEST_NUMBERS = 3  # with two labels, all differences are one size, and no weight changes a coefficient


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """The agreement of two raters on the units that both labelled."""

    first: str
    second: str
    units: int
    raw: Estimate
    # ``None`` where both gave one and the same label only, and for answers that are no labels
    kappa: Estimate | None
    # ``None`` where both gave one and the same number only, and for answers that are no numbers
    quadratic_kappa: Estimate | None = None
    linear_kappa: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class LabelAgreement:
    """The agreement of raters on one label, held against all others."""

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
    # ``None`` where only one number was given, and for answers that are no numbers
    interval_alpha: Estimate | None
    has_numbers: bool  # whether the values are scores, or labels that are numbers
    ac1: Estimate | None  # ``None`` where there is only one label, and for answers that are no labels
    table: tuple[LabelAgreement, ...]
    units: int
    skipped: int
    groups: int


def rater_agreement(
    ratings: Mapping[str, Sequence[Value | None]],
    comparison: Scale | None = None,
    *,
    groups: Sequence[str] | None = None,
) -> Agreement:
    """Compare raters, unit by unit."""
    values, all_codes = _encoded(ratings, comparison)
    has_two_ratings = (all_codes != MISSING).sum(axis=1) >= 2
    codes = all_codes[has_two_ratings]  # (N, raters)
    group: Groups = np.arange(len(all_codes))  # each unit is a group of its own
    if groups is not None:
        group = np.array(groups)
    is_closed = comparison is None or bool(comparison.domain)
    ac1 = None
    if is_closed:
        ac1 = _ac1(_count_ratings(all_codes, len(values)), group)
    group = group[has_two_ratings]
    counts = _count_ratings(codes, len(values))
    similarity = np.eye(len(values))  # (K, K), of two values
    table = []
    if is_closed:
        for code, label in enumerate(values):
            times_given = (codes == code).sum(axis=0).tolist()
            table.append(
                LabelAgreement(
                    label=str(label),
                    given=dict(zip(ratings, times_given, strict=True)),
                    specific=_specific_agreement(counts, code, group),
                    alpha=_alpha_against_rest(counts, code, group),
                )
            )
    elif comparison is not None:
        for row, first in enumerate(values):
            for column, second in enumerate(values):
                similarity[row, column] = comparison.similarity(first, second)
    gaps = _gaps_between_numbers(values, comparison)
    interval_alpha = None
    if gaps is not None:
        interval_alpha = _alpha(counts, group, gaps**2)
    return Agreement(
        raters=tuple(ratings),
        raw=_similarity(counts, group, similarity),
        pairs=_pairs(tuple(ratings), codes, group, similarity, gaps, closed=is_closed),
        alpha=_alpha(counts, group, (1.0 - similarity) ** 2),
        interval_alpha=interval_alpha,
        has_numbers=gaps is not None,
        ac1=ac1,
        table=tuple(table),
        units=len(codes),
        skipped=len(all_codes) - len(codes),
        groups=len(set(group.tolist())),
    )


def _gaps_between_numbers(values: Sequence[Value], comparison: Scale | None) -> Floats | None:
    """Return the distance of each two values (K, K) that are numbers; ``None`` where they are none, or too few."""
    if comparison is None:
        return None
    are_numbers = len(values) >= _FEWEST_NUMBERS and all(map(_is_number, values))
    if comparison.learned != "number" and not are_numbers:
        return None
    numbers = np.array(values, dtype=np.float64)  # (K,)
    return np.abs(numbers[:, np.newaxis] - numbers)


def _is_number(value: Value) -> bool:
    """Say whether a label is a finite number in digits."""
    try:
        return math.isfinite(float(str(value)))
    except ValueError:
        return False


def _pairs(
    raters: Sequence[str],
    codes: Ints,
    group: Groups,
    similarity: Floats,
    gaps: Floats | None,
    *,
    closed: bool,
) -> tuple[PairAgreement, ...]:
    """Return each pair of raters with a unit in common; kappas where there are labels or numbers."""
    result = []
    for first, second in combinations(range(len(raters)), 2):
        pair_codes = codes[:, [first, second]]
        rated_by_both = (pair_codes != MISSING).all(axis=1)
        if not rated_by_both.any():
            continue
        pair_codes = pair_codes[rated_by_both]
        pair_group = group[rated_by_both]
        values = len(similarity)
        kappa = None
        if closed:
            kappa = _kappa(pair_codes, 1.0 - similarity, pair_group)
        quadratic_kappa = None
        linear_kappa = None
        if gaps is not None:
            quadratic_kappa = _kappa(pair_codes, gaps**2, pair_group)
            linear_kappa = _kappa(pair_codes, gaps, pair_group)
        result.append(
            PairAgreement(
                first=raters[first],
                second=raters[second],
                units=len(pair_codes),
                raw=_similarity(_count_ratings(pair_codes, values), pair_group, similarity),
                kappa=kappa,
                quadratic_kappa=quadratic_kappa,
                linear_kappa=linear_kappa,
            )
        )
    return tuple(result)


def _count_ratings(codes: Ints, size: int) -> Ints:
    """Return the table that coefficients are of, (N, K): how many raters gave each label to each unit."""
    return np.asarray((codes[:, :, np.newaxis] == np.arange(size)).sum(axis=1))


def _similarity(counts: Ints, group: Groups, similarity: Floats) -> Estimate:
    """Return the mean similarity of two ratings of a unit."""
    ratings = counts.sum(axis=1)  # (N,)
    # Each rating is paired with all others of its unit, but not with itself, to which it is as similar as can be.
    similarity_of_pairs = ((counts @ similarity) * counts).sum(axis=1) - ratings
    pairs = ratings * (ratings - 1.0)
    return estimated(np.stack([similarity_of_pairs, pairs], axis=1), group, mean)


def _kappa(pair: Ints, distance: Floats, group: Groups) -> Estimate | None:
    """Return kappa of two raters, in which a difference counts by its distance (K, K).

    ``None`` where both gave one and the same value only.
    """
    if len(np.unique(pair)) < 2:
        return None
    size = len(distance)
    first, second = np.eye(size)[pair.T]  # (N, K) each

    @Ratio
    def coefficient(sums: Floats) -> tuple[Floats, Floats]:
        observed = sums[..., 0]
        first_sizes = sums[..., 1 : size + 1]
        second_sizes = sums[..., size + 1 :]
        chance = ((first_sizes @ distance) * second_sizes).sum(axis=-1)
        return chance - observed * first_sizes.sum(axis=-1), chance

    distances = distance[pair[:, 0], pair[:, 1]]  # (N,)
    return estimated(np.column_stack([distances, first, second]), group, coefficient, low=-1.0)


def _specific_agreement(counts: Ints, code: int, group: Groups) -> Estimate | None:
    """Return the share of pairs of ratings with a label that agree on it; ``None`` where nobody gave the label."""
    times_given = counts[:, code]
    if not times_given.any():
        return None
    agreeing_pairs = times_given * (times_given - 1)
    pairs_with_label = times_given * (counts.sum(axis=1) - 1)
    return estimated(np.stack([agreeing_pairs, pairs_with_label], axis=1), group, mean)


def _alpha_against_rest(counts: Ints, code: int, group: Groups) -> Estimate | None:
    """Return alpha of one label against all others."""
    times_given = counts[:, code]
    two_labels = np.stack([times_given, counts.sum(axis=1) - times_given], axis=1)
    return _alpha(two_labels, group, 1.0 - np.eye(2))


def _alpha(counts: Ints, group: Groups, distance: Floats) -> Estimate | None:
    """Return 1 - observed / expected distance (K, K) of two ratings; ``None`` where only one value was given."""
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    other_ratings = np.maximum(counts.sum(axis=1) - 1, 1)
    distance_within = ((counts @ distance) * counts).sum(axis=1) / other_ratings  # (N,)

    @Ratio
    def coefficient(sums: Floats) -> tuple[Floats, Floats]:
        observed, sizes = sums[..., 0], sums[..., 1:]
        chance = ((sizes @ distance) * sizes).sum(axis=-1)
        return chance - observed * (sizes.sum(axis=-1) - 1), chance

    return estimated(np.column_stack([distance_within, counts]), group, coefficient, low=-1.0)


def _ac1(counts: Ints, group: Groups) -> Estimate | None:
    """Return Gwet's AC1 from the counts (N, K) of all units, also those with one rating; ``None`` for one label."""
    labels = counts.shape[1]
    if labels < 2:
        return None
    is_rated = counts.any(axis=1)
    counts = counts[is_rated]
    ratings = counts.sum(axis=1)  # (N,)
    has_two_ratings = ratings >= 2
    agreeing_share = (counts * (counts - 1)).sum(axis=1) / np.maximum(ratings * (ratings - 1), 1)
    label_shares = counts / ratings[:, np.newaxis]

    @Ratio
    def coefficient(sums: Floats) -> tuple[Floats, Floats]:
        agreement, pairs, shares = sums[..., 0], sums[..., 1], sums[..., 2:]
        prevalence = quotient(shares, shares.sum(axis=-1, keepdims=True))
        chance = (prevalence * (1.0 - prevalence)).sum(axis=-1) / (labels - 1)
        return agreement - pairs * chance, pairs * (1.0 - chance)

    per_unit = np.column_stack([agreeing_share, has_two_ratings, label_shares])
    return estimated(per_unit, group[is_rated], coefficient, low=-1.0)


def _encoded(
    ratings: Mapping[str, Sequence[Value | None]], comparison: Scale | None
) -> tuple[tuple[Value, ...], Ints]:
    """Return all values in their order, and the place of each rating among them (N, R)."""
    values: tuple[Value, ...] = ()
    if comparison is not None:
        values = comparison.domain
    if not values:
        distinct_ratings: set[Value | None] = set()
        for rater_values in ratings.values():
            distinct_ratings.update(rater_values)
        distinct_ratings.discard(None)
        values = tuple(sorted(distinct_ratings, key=_by_size_or_letters))
    code_of: dict[Value | None, int] = {None: MISSING}
    for code, value in enumerate(values):
        code_of[value] = code
    codes_by_rater = []
    for rater_values in ratings.values():
        codes_by_rater.append([code_of[value] for value in rater_values])
    codes = np.array(codes_by_rater, dtype=np.int64).T
    if not ((codes != MISSING).sum(axis=1) >= 2).any():
        hint = "let two raters label the same units"
        raise JuristError(f"none of the {len(codes)} units is labelled by two raters", hint=hint)
    return values, codes


def _by_size_or_letters(value: Value) -> Any:
    """Return the key by which a value is sorted: a number itself, any other value as text."""
    if isinstance(value, int | float):
        return value
    return str(value)


@dataclass(frozen=True, kw_only=True)
class RaterScore:
    """One rater against the rest."""

    rater: str
    measured: Measured
    units: int
    left_out: int  # units that nobody else labelled


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """The scores of all raters, each against the others."""

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
    rule: Rule | None = None,
) -> Ceiling:
    """Score each rater against what the others agree on.

    A judge is scored against what all raters agree on, which errs less: one more rater would mostly score higher there.

    Args:
        ratings: rater -> values of the units, ``None`` where a rater gave none.
        metric: the metric of the judge.
        comparison: the scale of the values.
        groups: of the units.
        rule: by which gold merges scores; ``None`` for the mean.
    """
    rows_by_rater: dict[str, list[JudgedRow]] = {}
    for rater in ratings:
        rows = _rows_against_rest(rater, ratings, groups, comparison, rule)
        if rows:  # Some unit has two ratings or more, so some rater has rows.
            rows_by_rater[rater] = rows
    scores = []
    for rater, rows in rows_by_rater.items():
        labelled = len(ratings[rater]) - list(ratings[rater]).count(None)
        units = len({row.id.rpartition("/")[0] for row in rows})
        measured = measure(rows, metric, comparison)
        scores.append(RaterScore(rater=rater, measured=measured, units=units, left_out=labelled - units))
    units_by_rater = _encode_by_rater(list(rows_by_rater.values()), comparison)
    means: dict[str, Estimate] = {}
    for table_metric in shown_metrics(comparison, metric):
        means[table_metric.name] = _mean_over_raters(units_by_rater, table_metric)
    return Ceiling(metric=scores[0].measured.metric, raters=tuple(scores), mean=means)


def _encode_by_rater(rows_by_rater: Sequence[Sequence[JudgedRow]], comparison: Scale) -> list[Units]:
    """Return the units of each rater, with one numbering of groups for all raters."""
    group_names: set[str] = set()
    for rows in rows_by_rater:
        for row in rows:
            group_names.add(row.group)
    all_groups = sorted(group_names)
    units_by_rater = []
    for rows in rows_by_rater:
        units = encode(comparison, rows)
        # Encoded units have the numbers of the rater's own groups, which are sorted, too.
        rater_groups = sorted({row.group for row in rows})
        group_number = np.searchsorted(all_groups, rater_groups)
        units_by_rater.append(replace(units, group=group_number[units.group], groups=len(all_groups)))
    return units_by_rater


def _rows_against_rest(
    rater: str,
    ratings: Mapping[str, Sequence[Value | None]],
    groups: Sequence[str],
    comparison: Scale,
    rule: Rule | None,
) -> list[JudgedRow]:
    """Return the units of a rater as rows, with the consensus of the others as gold."""
    rows = []
    for unit, (value, group) in enumerate(zip(ratings[rater], groups, strict=True)):
        if value is None:
            continue
        other_values = []
        for name, rater_values in ratings.items():
            if name != rater and rater_values[unit] is not None:
                other_values.append(rater_values[unit])
        # Without a consensus, as in a tie, each of the others speaks: units on which they differ are what the ceiling
        # is about. There is one row for each of the others, so that a unit on which they are split weighs as much as
        # any.
        consensus = _agreed_value(other_values, comparison, rule)
        for number, other_value in enumerate(other_values):
            gold = consensus
            if consensus is None:
                gold = other_value
            rows.append(
                JudgedRow(id=f"{rater}/{unit:09d}/{number}", group=group, gold=(gold,), predicted=(value,))
            )
    return rows


def _agreed_value(values: Sequence[Value], comparison: Scale, rule: Rule | None) -> Value | None:
    """Return the value that some raters stand for; the mean of scores is not rounded, as that favours one side."""
    if values and comparison.learned == "number" and rule != "median":
        return sum(values) / len(values)
    return comparison.consensus(values)


def _mean_over_raters(raters: Sequence[Units], metric: Metric) -> Estimate:
    """Return the mean of a metric over raters, each group left out for all of them together."""
    weights = leaving_out(raters[0].groups)  # (blocks, groups)
    values: list[float] = []
    values_without_block: list[Floats] = []
    units_left: list[Bools] = []  # of a rater who labelled nothing beside a block there is no value
    group_weights: list[GroupWeights] = []
    for units in raters:
        values.append(metric.of(units))
        values_without_block.append(metric.resampled(units, weights))
        units_left.append(weights @ units.sizes > 0)
        group_weights.append(metric.group_weights(units))
    has_value = np.array(units_left, dtype=np.float64)  # (raters, blocks)
    total_without_block = (np.array(values_without_block) * has_value).sum(axis=0)
    mean_without_block = total_without_block / np.maximum(has_value.sum(axis=0), 1.0)
    mean_value = float(np.mean(values))
    jackknife = Jackknife.of(mean_value, mean_without_block, GroupWeights.in_mean(group_weights))
    return Estimate(value=mean_value, interval=jackknife.within(metric.low, metric.high))
