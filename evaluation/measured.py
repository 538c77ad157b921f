"""One program on one set of rows: every metric with its clustered interval, and what was not answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import Any

from .confusion import Ints, Units, encode
from .intervals import Interval, group_weights, measure_interval
from .metrics import METRICS, MetricLike, resolve
from .rows import Row, Tally
from .scoring import Score, Scores, applicable, scores

__all__ = ["Measured", "measure"]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Scores with intervals.

    Attributes:
        metric: the name of the judge's own metric.
        scores: every metric over the answered units, with worst and best cases.
        intervals: the clustered 95 % interval of each, by metric.
    """

    metric: str
    scores: Scores
    intervals: Mapping[str, Interval]

    def __getitem__(self, metric: str) -> Score:
        """Return the score of a metric.

        Raises:
            KeyError: it was not measured.
        """
        return self.scores[metric]

    @property
    def coverage(self) -> float:
        """The share of labelled units that were answered, 0 to 1."""
        return self.scores.coverage

    def to_card(self) -> dict[str, Any]:
        """Return ``scores`` and ``counts`` as plain JSON types."""
        return {"scores": self.score_card(), "counts": self.count_card()}

    def score_card(self) -> dict[str, dict[str, float]]:
        """Return metric -> value, low and high of the interval, worst and best case."""
        return {
            name: {
                "value": score.value,
                "low": self.intervals[name].low,
                "high": self.intervals[name].high,
                "worst": score.worst,
                "best": score.best,
            }
            for name, score in self.scores.metrics.items()
        }

    def count_card(self) -> dict[str, Any]:
        """Return the counts of units and cases by how they ended, and the coverage."""
        counts: Tally = self.scores.counts
        return {**asdict(counts), "coverage": counts.units.coverage}


def measure(
    rows: Sequence[Row],
    metric: MetricLike,
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
    *,
    seed: int = 0,
) -> Measured:
    """Score rows on every metric that applies, and on ``metric``.

    Args:
        rows: gold and predicted labels.
        metric: the judge's metric: a name, or a function (gold, predicted) -> float.
        labels: the closed label set.
        positive: its positive labels, or empty.
        seed: of the bootstrap.

    Raises:
        JuristError: nothing is labelled, or a label is outside ``labels``. UsageError: an unknown metric.
    """
    units = encode(rows, labels, positive)
    return measure_units(rows, units, metric, group_weights(units.groups, seed=seed))


def measure_units(rows: Sequence[Row], units: Units, metric: MetricLike, weights: Ints) -> Measured:
    """Do the same for encoded rows and resamples that are already drawn."""
    own = resolve(metric, units)
    wanted = applicable(units) if own.name in METRICS else [*applicable(units), metric]
    measures = [resolve(one, units) for one in wanted]
    positive = frozenset(label for label, found in zip(units.labels, units.positive, strict=True) if found)
    return Measured(
        metric=own.name,
        scores=scores(rows, units.labels, positive, metrics=wanted),
        intervals={one.name: measure_interval(units, one, weights) for one in measures},
    )
