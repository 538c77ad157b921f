"""How good people are at what a judge does: each rater scored against the rest, on the judge's own metrics.

A judge that reaches these scores agrees with the raters as well as they agree with each other; gold that one
rater gave alone cannot show more. The rest speaks by the consensus of the raters who labelled the unit: of closed
labels the strict majority, of scores the median, and of two raters the other one. Where the rest has none, such as a
tie, the rater is scored against each of them: no unit that two raters rated is left out, for those on which they differ
are what the ceiling is about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ..cases import Value
from .agreement import encode_ratings
from .intervals import Estimate
from .measured import Measured, measure
from .rows import Row
from .scale import MetricLike, Scale


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
    mean: Mapping[str, Estimate]  # of every label that a rater gave, whoever gave it


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
    together = measure(list(chain.from_iterable(by_rater.values())), metric, comparison)
    mean = {
        name: Estimate(value=score.value, interval=score.interval) for name, score in together.scores.items()
    }
    return Ceiling(metric=together.metric, raters=tuple(scores), mean=mean)


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
