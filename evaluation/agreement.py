"""How far raters of the same units agree: raw, Cohen's, Fleiss' and Krippendorff's coefficients, and by label.

Any number of raters from two on, labels may be missing. Each coefficient says over which units it is:

- Cohen's kappa of a pair: the units that both labelled.
- Fleiss' kappa: the units with one and the same number of ratings, the number that most units have (of equally
  frequent ones the larger); the others are left out and counted.
- Krippendorff's alpha and raw agreement: all units with two ratings or more.

Where answers are near or far rather than right or wrong (scores, sets), raw agreement is the mean similarity of two
ratings of a unit, alpha weighs a difference by the square of 1 - similarity (for scores this is the interval alpha),
and there is no kappa and nothing by label.

By label, the coefficients are those of the label against all others; specific agreement is the share of pairs
of ratings with that label that agree on it. Intervals are clustered by group, as for metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from .chance import (
    cohen,
    coincidences,
    collapsed,
    confusions,
    fleiss,
    fleiss_collapsed,
    fleiss_table,
    krippendorff_distance,
    krippendorff_nominal,
    krippendorff_ordinal,
    pair_table,
    specific,
    value_table,
)
from .comparisons import Comparison
from .intervals import Estimate, Sums, estimated, summed
from .raters import Ratings, encode_ratings
from .ratios import mean
from .units import MISSING, Floats, Ints


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """Two of the raters."""

    first: str
    second: str
    units: int
    raw: Estimate
    kappa: Estimate | None
    by_label: Mapping[str, Estimate]


@dataclass(frozen=True, kw_only=True)
class FleissAgreement:
    """Fleiss' kappa."""

    kappa: Estimate
    ratings: int
    units: int
    left_out: int


@dataclass(frozen=True, kw_only=True)
class LabelAgreement:
    """One label against all others."""

    label: str
    given: Mapping[str, int]
    specific: Estimate
    fleiss: Estimate
    alpha: Estimate


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The raters of one gold set. Every coefficient is 0.0 where only one label occurs."""

    raters: tuple[str, ...]
    raw: Estimate
    pairs: tuple[PairAgreement, ...]
    fleiss: FleissAgreement | None
    alpha: Estimate
    ordinal: Estimate | None
    table: tuple[LabelAgreement, ...]
    units: int
    skipped: int
    groups: int


def rater_agreement(
    ratings: Mapping[str, Sequence[str | None]],
    comparison: Comparison | None = None,
    *,
    groups: Sequence[str] | None = None,
    ordered: bool = False,
) -> Agreement:
    """Compare raters, unit by unit."""
    found = encode_ratings(ratings, comparison, groups=groups)
    size, used = len(found.labels), found.compared
    if comparison is None or comparison.domain:
        alike, labels = np.eye(size), range(size)
    else:
        alike = np.array([[comparison.similarity(one, two) for two in found.labels] for one in found.labels])
        labels = range(0)
    distance, group = (1.0 - alike) ** 2, found.group[used]
    values = summed(value_table(found.counts[used], distance), group)
    every = Agreement(
        raters=found.raters,
        raw=_alike(found.codes[used], group, alike),
        pairs=_pairs(found, alike, labels),
        fleiss=None,
        alpha=estimated(values, krippendorff_distance.given(distance), low=-1.0),
        ordinal=None,
        table=(),
        units=int(used.sum()),
        skipped=int((~used).sum()),
        groups=values.groups,
    )
    return _of_labels(every, found, labels, ordered) if labels else every


def _of_labels(every: Agreement, found: Ratings, labels: Sequence[int], ordered: bool) -> Agreement:
    """Return what is said of closed labels beside what is said of every kind of answer."""
    counts, group = found.counts[found.compared], found.group[found.compared]
    pairs, together = summed(pair_table(counts), group), summed(coincidences(counts), group)
    fleiss_sums, overall = _fleiss(found)
    n, fleiss_of = overall.ratings, fleiss.given(overall.ratings)
    alphas = [krippendorff_nominal.after(partial(collapsed, label=code)) for code in labels]
    kappas = [fleiss_of.after(partial(fleiss_collapsed, label=code, ratings=n)) for code in labels]
    return replace(
        every,
        fleiss=overall,
        ordinal=estimated(together, krippendorff_ordinal, low=-1.0) if ordered else None,
        table=tuple(
            LabelAgreement(
                label=str(found.labels[code]),
                given=_given(found, code),
                specific=estimated(pairs, specific.given(code)),
                fleiss=estimated(fleiss_sums, kappas[code], low=-1.0),
                alpha=estimated(together, alphas[code], low=-1.0),
            )
            for code in labels
        ),
    )


def _alike(codes: Ints, group: Ints, table: Floats) -> Estimate:
    """The mean similarity of two ratings of a unit."""
    return estimated(summed(_similarities(codes, table), group), mean)


def _similarities(codes: Ints, table: Floats) -> Floats:
    """Shape (N, 2): the similarities of all ordered pairs of ratings of a unit, and how many pairs they are."""
    totals = np.zeros((len(codes), 2))
    for one, two in combinations(range(codes.shape[1]), 2):
        given = (codes[:, [one, two]] != MISSING).all(axis=1)
        totals[given, 0] += 2.0 * table[codes[given, one], codes[given, two]]
        totals[given, 1] += 2.0
    return totals


def _pairs(found: Ratings, alike: Floats, labels: Sequence[int]) -> tuple[PairAgreement, ...]:
    result = []
    for one, two in combinations(range(len(found.raters)), 2):
        codes = found.codes[:, [one, two]]
        both = (codes != MISSING).all(axis=1)
        if not both.any():
            continue
        codes, group = codes[both], found.group[both]
        sums = summed(confusions(codes[:, 0], codes[:, 1], len(labels)), group)
        by_label = {
            str(found.labels[code]): estimated(sums, cohen.after(partial(collapsed, label=code)), low=-1.0)
            for code in labels
        }
        result.append(
            PairAgreement(
                first=found.raters[one],
                second=found.raters[two],
                units=len(codes),
                raw=_alike(codes, group, alike),
                kappa=estimated(sums, cohen, low=-1.0) if labels else None,
                by_label=by_label,
            )
        )
    return tuple(result)


def _fleiss(found: Ratings) -> tuple[Sums, FleissAgreement]:
    numbers = found.counts.sum(axis=1)
    sizes, units = np.unique(numbers[found.compared], return_counts=True)
    n, most = max(zip(sizes.tolist(), units.tolist(), strict=True), key=lambda entry: (entry[1], entry[0]))
    chosen = numbers == n
    sums = summed(fleiss_table(found.counts[chosen]), found.group[chosen])
    kappa = estimated(sums, fleiss.given(n), low=-1.0)
    return sums, FleissAgreement(kappa=kappa, ratings=n, units=most, left_out=int(units.sum()) - most)


def _given(found: Ratings, code: int) -> dict[str, int]:
    given = (found.codes[found.compared] == code).sum(axis=0)
    return dict(zip(found.raters, given.tolist(), strict=True))
