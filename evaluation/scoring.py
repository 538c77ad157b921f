"""How good a judge's rows are: every metric over the answered units, and what the unanswered could change.

Nothing is silently defaulted: a value is over the units that are labelled and answered, its bounds say how
far the missing ones could move it, and the objective counts them as wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from .confusion import Units, encode
from .metrics import METRICS, MetricLike, resolve
from .rows import Row, Tally, tally

__all__ = ["Score", "Scores", "applicable", "objective_score", "scores"]


@dataclass(frozen=True, kw_only=True)
class Score:
    """One metric.

    Args:
        value: over the labelled units that were answered.
        worst: the lowest it could be if the missing units had been answered: exact for the metrics of
            ``METRICS``, the trivial 0 for a user's own function.
        best: the highest, likewise (trivially 1). All three agree when nothing is missing. With much missing,
            ``value`` may lie outside for kappa and macro F1: leaving out units is not one of the ways to
            answer them.
    """

    value: float
    worst: float
    best: float


@dataclass(frozen=True, kw_only=True)
class Scores:
    """All metrics of some rows, by name, with the counts behind them.

    ``coverage`` is the share of labelled units that were answered.
    """

    metrics: Mapping[str, Score]
    counts: Tally

    @property
    def coverage(self) -> float:
        """Answered over labelled units, in [0, 1]."""
        return self.counts.units.coverage

    def __getitem__(self, metric: str) -> Score:
        return self.metrics[metric]


def applicable(units: Units) -> list[MetricLike]:
    """The names of the metrics that are defined: all, or those without a positive side."""
    return [name for name, metric in METRICS.items() if units.positive.any() or not metric.needs_positive]


def scores(
    rows: Sequence[Row],
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
    *,
    metrics: Sequence[MetricLike] | None = None,
) -> Scores:
    """Score rows on every metric that applies, or on those given.

    Args:
        rows: the cases; at least one labelled unit.
        labels: the judge's closed label set.
        positive: the labels that precision, recall and F1 look for; a proper part of ``labels``, or empty for
            a judge without a positive side, which then has no such metrics.
        metrics: names or own functions in place of all.

    Raises:
        UsageError: the label sets are wrong, or a metric is unknown or undefined without a positive side.
        JuristError: a label is outside ``labels``, or nothing is labelled.
    """
    units = encode(rows, labels, positive)
    found: dict[str, Score] = {}
    for wanted in applicable(units) if metrics is None else metrics:
        measure = resolve(wanted, units)
        worst, best = measure.bounds(units)
        found[measure.name] = Score(value=measure.of(units), worst=worst, best=best)
    return Scores(metrics=found, counts=tally(rows))


def objective_score(
    rows: Sequence[Row],
    metric: MetricLike,
    *,
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
) -> float:
    """The metric with every abstained or failed unit counted as wrong: what optimizers select on.

    A missing unit takes the answer that is worst for the metric: the other side for precision, recall and F1,
    a wrong label for the rest. So this is the lower bound of ``scores`` for the named metrics, and giving any
    answer is never worse than giving none. For an own function a missing unit takes a wrong label.

    Returns:
        A value in the metric's range: [0, 1], for kappa [-1, 1].

    Raises:
        UsageError, JuristError: as ``scores``.
    """
    units = encode(rows, labels, positive)
    measure = resolve(metric, units)
    return measure.of(measure.filled(units))
