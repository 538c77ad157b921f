"""Tests for two systems on the same rows: exact McNemar, a clustered permutation test, Holm's correction."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from ..errors import UsageError
from .confusion import Bools, Units, encode
from .measures import Measure
from .metrics import MetricLike, resolve
from .rows import Row, matched

__all__ = [
    "DRAWS",
    "EXACT_GROUPS",
    "McNemar",
    "Permutation",
    "holm",
    "mcnemar",
    "mcnemar_rows",
    "permutation_test",
]

EXACT_GROUPS = 14
DRAWS = 10_000
SLICE = 1024  # swaps held in memory at once


@dataclass(frozen=True, kw_only=True)
class McNemar:
    """The exact two-sided test on discordant units. It takes units as independent.

    Args:
        b: units that only the first system has right (broken by the second).
        c: units that only the second has right (corrected by it).
        p: in (0, 1]; 1 when no unit is discordant.
        mid_p: the mid-p value, less conservative, at most ``p``.
    """

    b: int
    c: int
    p: float
    mid_p: float


def mcnemar(b: int, c: int) -> McNemar:
    """Exact McNemar: the two-sided binomial test of b against c at 1/2, from whole numbers.

    Values too small for a float are given as the smallest normal one, so that p is never 0.

    Raises:
        UsageError: a count is negative.
    """
    if b < 0 or c < 0:
        raise UsageError(f"McNemar's counts are b={b} and c={c}", hint="give counts of discordant units")
    units, least = b + c, min(b, c)
    term = below = 1
    for successes in range(1, least + 1):
        term = term * (units - successes + 1) // successes
        below += term
    ways = 1 << units
    exact = min(2 * below, ways)
    smallest = sys.float_info.min
    return McNemar(b=b, c=c, p=max(exact / ways, smallest), mid_p=max((2 * below - term) / ways, smallest))


def encode_pair(
    first: Sequence[Row], second: Sequence[Row], labels: Sequence[str], positive: AbstractSet[str]
) -> tuple[Units, Units]:
    """Encode two systems' rows of the same cases, refusing others as ``matched`` does."""
    pairs = matched(first, second)
    return (
        encode([left for left, _ in pairs], labels, positive),
        encode([right for _, right in pairs], labels, positive),
    )


def mcnemar_units(first: Units, second: Units) -> McNemar:
    """McNemar on two encodings of the same rows; see ``mcnemar_rows``."""
    one, two = first.correct, second.correct
    return mcnemar(int((one & ~two).sum()), int((two & ~one).sum()))


def mcnemar_rows(
    first: Sequence[Row],
    second: Sequence[Row],
    *,
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
) -> McNemar:
    """McNemar on whether each labelled unit is right; abstained and failed units are wrong.

    With positive labels, right means on the right side of them; without, the exact label.

    Raises:
        JuristError: the two hold different cases, gold or groups, or as ``scores``.
        UsageError: as ``scores``.
    """
    return mcnemar_units(*encode_pair(first, second, labels, positive))


@dataclass(frozen=True, kw_only=True)
class Permutation:
    """A paired permutation test that swaps the two systems' answers in whole groups.

    Args:
        difference: second minus first, missing answers counted as wrong.
        p: two-sided, in (0, 1].
        swaps: how many swaps were evaluated.
        exact: all swaps were enumerated, else they were drawn.
        groups: the groups in which the two systems differ; the others cannot matter.
    """

    difference: float
    p: float
    swaps: int
    exact: bool
    groups: int


def permute(first: Units, second: Units, measure: Measure, *, seed: int, draws: int = DRAWS) -> Permutation:
    """The permutation test on two encodings of the same rows; see ``permutation_test``."""
    one, two = measure.filled(first), measure.filled(second)
    differing = np.unique(one.group[one.predicted != two.predicted])
    exact = len(differing) <= EXACT_GROUPS
    count = 1 << len(differing) if exact else draws
    chosen = _all_swaps(len(differing)) if exact else _drawn_swaps(len(differing), draws, seed)
    observed = measure.of(two) - measure.of(one)
    reached = 0
    for some in chosen:
        swaps = np.zeros((len(some), one.groups), dtype=np.bool_)
        swaps[:, differing] = some
        # Equal differences may be computed along different roundings; ties must count as reached.
        reached += int((np.abs(measure.swapped(one, two, swaps)) >= abs(observed) - 1e-12).sum())
    p = reached / count if exact else (reached + 1) / (count + 1)
    return Permutation(difference=observed, p=p, swaps=count, exact=exact, groups=len(differing))


def _all_swaps(groups: int) -> Iterator[Bools]:
    for start in range(0, 1 << groups, SLICE):
        codes = np.arange(start, min(start + SLICE, 1 << groups))
        yield (codes[:, np.newaxis] >> np.arange(groups)) & 1 == 1


def _drawn_swaps(groups: int, draws: int, seed: int) -> Iterator[Bools]:
    rng = np.random.default_rng(seed)
    for start in range(0, draws, SLICE):
        yield rng.integers(0, 2, size=(min(SLICE, draws - start), groups)) == 1


def permutation_test(
    first: Sequence[Row],
    second: Sequence[Row],
    metric: MetricLike,
    *,
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
    seed: int = 0,
    draws: int = DRAWS,
) -> Permutation:
    """Test whether two systems differ in a metric, with the group as the unit of exchange.

    All 2^g swaps are enumerated when at most 14 groups differ, so p is exact; otherwise ``draws`` random ones
    are evaluated and p is (k + 1) / (draws + 1). With g differing groups p cannot go below 2^(1 - g).

    Raises:
        JuristError: the two hold different cases, gold or groups, or as ``scores``.
        UsageError: as ``scores``.
    """
    one, two = encode_pair(first, second, labels, positive)
    return permute(one, two, resolve(metric, one), seed=seed, draws=draws)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values, by the same names: each at least its own p and at most 1.

    Raises:
        UsageError: a p-value is not in [0, 1].
    """
    for name, p in p_values.items():
        if math.isnan(p) or not 0.0 <= p <= 1.0:
            raise UsageError(f"the p-value of {name!r} is {p!r}", hint="give p-values from 0 to 1")
    adjusted: dict[str, float] = {}
    floor = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p))
        adjusted[name] = floor
    return {name: adjusted[name] for name in p_values}
