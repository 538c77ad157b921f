"""The named metrics: numbers that follow from a confusion matrix of gold labels against answers.

Conventions, the same as scikit-learn's unless said otherwise:

- A quotient 0/0 is 0.0: precision without a positive answer, recall without positive gold, F1 without either,
  anything over no units at all.
- ``balanced_accuracy`` is the mean recall over the labels that occur in gold; ``macro_f1`` the mean F1 over
  those that occur in gold or among the answers.
- ``kappa`` is Cohen's, unweighted, over exact labels. When gold holds one label only it is 0.0 (scikit-learn:
  NaN if the answers are that label too): agreement beyond chance cannot be shown there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

import numpy as np

from ..errors import UsageError
from .completions import Completion, all_right, all_wrong, best_kappa, worst_kappa, worst_macro_f1
from .confusion import Bools, Floats, Ints, Units, encode
from .means import MEANS
from .measures import CustomMetric, LabelFunction, Measure, weighted_sums, with_predicted
from .rows import Row

__all__ = ["METRICS", "Metric", "MetricLike", "MetricName", "resolve"]

MetricName = Literal["precision", "recall", "f1", "accuracy", "balanced_accuracy", "macro_f1", "kappa"]
MetricLike: TypeAlias = "str | LabelFunction | Metric"
"""A name of ``METRICS`` or of ``MEANS``, a function (gold labels, predicted labels) -> float in [0, 1], or a
:class:`Metric`."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric that follows from the confusion matrix.

    Args:
        name: its name, for those in ``METRICS`` the one there.
        of_confusion: (counts (..., K, K) gold by predicted, positive (K,)) -> values (...).
        worst: the completion that makes it lowest; exact.
        best: the completion that makes it highest; exact.
        needs_positive: it is defined for judges with a positive side only.
        low: the lowest value it can take; the highest is 1.
    """

    name: str
    of_confusion: Callable[[Floats, Bools], Floats]
    worst: Completion = all_wrong
    best: Completion = all_right
    needs_positive: bool = False
    low: float = 0.0
    high: float = 1.0

    def __call__(
        self,
        gold: Sequence[str],
        predicted: Sequence[str],
        *,
        labels: Sequence[str],
        positive: AbstractSet[str] = frozenset(),
    ) -> float:
        """The metric of two label sequences of equal length, one entry per unit.

        Raises:
            UsageError: the label set is wrong, or the metric needs a positive side and there is none.
            JuristError: the lengths differ, they are empty, or a label is outside ``labels``.
        """
        row = Row(id="all", group="all", gold=tuple(gold), predicted=tuple(predicted))
        units = encode([row], labels, positive)
        self.check(units)
        return self.of(units)

    def check(self, units: Units) -> None:
        """Raise UsageError if the metric needs a positive side and the units have none."""
        if self.needs_positive and not units.positive.any():
            raise UsageError(
                f"the metric {self.name!r} needs positive labels and the judge has none",
                hint="name them, or use accuracy, balanced_accuracy, macro_f1 or kappa",
            )

    def of(self, units: Units) -> float:
        """Its value over the answered units; 0.0 when none is answered."""
        return self._value(units.confusion(), units.positive)

    def bounds(self, units: Units) -> tuple[float, float]:
        """Exact lowest and highest value over all completions."""
        answered, missing = units.confusion(), units.missing()
        lowest = answered + self.worst(answered, missing, units.positive)
        highest = answered + self.best(answered, missing, units.positive)
        return self._value(lowest, units.positive), self._value(highest, units.positive)

    def filled(self, units: Units) -> Units:
        """The units with the worst completion filled in: ``of`` then gives the lower of ``bounds``."""
        table = self.worst(units.confusion(), units.missing(), units.positive)
        predicted = units.predicted.copy()
        for gold in range(len(units.labels)):
            holes = np.flatnonzero((units.gold == gold) & ~units.answered)
            predicted[holes] = np.repeat(np.arange(len(units.labels)), table[gold])
        return with_predicted(units, predicted)

    def resampled(self, units: Units, weights: Ints) -> Floats:
        """Values over weighted groups, through their confusion matrices: one matrix product for all."""
        per_group = units.group_confusions().astype(np.float64)
        return self.of_confusion(weighted_sums(weights, per_group), units.positive)

    def swapped(self, first: Units, second: Units, swaps: Bools) -> Floats:
        """Differences after swaps, through confusion matrices."""
        one = first.group_confusions().astype(np.float64)
        two = second.group_confusions().astype(np.float64)
        moved = weighted_sums(swaps, two - one)
        left = self.of_confusion(one.sum(axis=0) + moved, first.positive)
        right = self.of_confusion(two.sum(axis=0) - moved, first.positive)
        return np.asarray(right - left)

    def _value(self, counts: Ints, positive: Bools) -> float:
        return float(self.of_confusion(counts.astype(np.float64), positive))


def _quotient(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _cells(counts: Floats, positive: Bools) -> tuple[Floats, Floats, Floats]:
    """True positives, gold positives, predicted positives."""
    gold = counts[..., positive, :].sum(axis=-2)
    return gold[..., positive].sum(axis=-1), gold.sum(axis=-1), counts[..., positive].sum(axis=(-2, -1))


def _precision(counts: Floats, positive: Bools) -> Floats:
    true, _, predicted = _cells(counts, positive)
    return _quotient(true, predicted)


def _recall(counts: Floats, positive: Bools) -> Floats:
    true, gold, _ = _cells(counts, positive)
    return _quotient(true, gold)


def _f1(counts: Floats, positive: Bools) -> Floats:
    true, gold, predicted = _cells(counts, positive)
    return _quotient(2.0 * true, gold + predicted)


def _accuracy(counts: Floats, positive: Bools) -> Floats:
    return _quotient(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1)))


def _balanced_accuracy(counts: Floats, positive: Bools) -> Floats:
    gold = counts.sum(axis=-1)
    recalls = _quotient(np.diagonal(counts, axis1=-2, axis2=-1), gold)
    return _quotient(recalls.sum(axis=-1), (gold > 0).sum(axis=-1))


def _macro_f1(counts: Floats, positive: Bools) -> Floats:
    sizes = counts.sum(axis=-1) + counts.sum(axis=-2)
    scores = _quotient(2.0 * np.diagonal(counts, axis1=-2, axis2=-1), sizes)
    return _quotient(scores.sum(axis=-1), (sizes > 0).sum(axis=-1))


def _kappa(counts: Floats, positive: Bools) -> Floats:
    units = counts.sum(axis=(-2, -1))
    hits = np.trace(counts, axis1=-2, axis2=-1)
    chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    return _quotient(units * hits - chance, units * units - chance)


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric(name="precision", of_confusion=_precision, needs_positive=True),
            Metric(name="recall", of_confusion=_recall, needs_positive=True),
            Metric(name="f1", of_confusion=_f1, needs_positive=True),
            Metric(name="accuracy", of_confusion=_accuracy),
            Metric(name="balanced_accuracy", of_confusion=_balanced_accuracy),
            Metric(name="macro_f1", of_confusion=_macro_f1, worst=worst_macro_f1),
            Metric(name="kappa", of_confusion=_kappa, worst=worst_kappa, best=best_kappa, low=-1.0),
        )
    }
)


def resolve(metric: MetricLike, units: Units) -> Measure:
    """The measure behind a name or a function, checked against the units it is to be used on.

    Raises:
        UsageError: the name is unknown, or the metric needs a positive side and the units have none.
    """
    if isinstance(metric, Metric):
        metric.check(units)
        return metric
    if not isinstance(metric, str):
        name = getattr(metric, "__name__", type(metric).__name__)
        return CustomMetric(name=f"custom_{name}" if name in METRICS else name, function=metric)
    if metric in MEANS:
        return MEANS[metric](units)
    if metric not in METRICS:
        names = (*get_args(MetricName), *MEANS)
        raise UsageError(f"unknown metric {metric!r}", hint=f"use one of {', '.join(names)}")
    found = METRICS[metric]
    found.check(units)
    return found
