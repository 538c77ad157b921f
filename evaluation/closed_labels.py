"""Closed labels: confusion matrices, and the metrics that follow from them.

Conventions, the same as scikit-learn's unless said otherwise:

- A quotient 0/0 is 0.0: precision without a positive answer, recall without positive gold, F1 without either,
  anything over no units at all.
- ``balanced_accuracy`` is the mean recall over the labels that occur in gold; ``macro_f1`` the mean F1 over
  those that occur in gold or among the answers.
- ``kappa`` is Cohen's, unweighted, over exact labels. When gold holds one label only it is 0.0 (scikit-learn:
  NaN if the answers are that label too): agreement beyond chance cannot be shown there.
- ``validation_rate`` is the share of cases that pass as a whole: every labelled unit has the exact label. So
  HaluAgent counts an item as valid when all its checks pass (section 3.2, Table 3, "Overall").
- ``neg_mse`` is minus the mean squared error of labels that are numbers.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from ..cases import Label
from ..errors import UsageError
from .metrics import Metric, case_means, pair_sums
from .ratios import Ratio, Ratios, mean_parts
from .rows import majority
from .scores import error_metrics
from .units import Bools, Floats, Ints, Units

_SIDED = ("precision", "recall", "f1")


@dataclass(frozen=True)
class ClosedLabels:
    """One label of a closed set; an answer is right or wrong."""

    labels: Sequence[Label]
    positive: AbstractSet[Label] = frozenset()

    compared: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall")

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "positive", frozenset(self.positive))
        if not self.labels or len(set(self.labels)) != len(self.labels):
            raise UsageError(
                f"the label set {list(self.labels)} is empty or names a label twice", hint="name each once"
            )
        if self.positive and not self.positive < set(self.labels):
            raise UsageError(
                f"the positive labels {sorted(self.positive)} are no proper part of the label set {list(self.labels)}",
                hint="name at least one label of the set as positive and leave at least one negative",
            )

    @property
    def domain(self) -> tuple[Label, ...]:
        """The labels."""
        return tuple(self.labels)

    @property
    def right_means(self) -> str:
        """What McNemar counts as right, in words."""
        return "right side of the positive labels" if self.positive else "exact label"

    @property
    def default(self) -> str:
        """Balanced accuracy: every constant answer has one over the number of labels, whatever their rates."""
        return "balanced_accuracy"

    @property
    def shown(self) -> tuple[str, ...]:
        """The metrics of every table: those of the confusion matrix."""
        return tuple(name for name in self.metrics if name not in ("validation_rate", "neg_mse"))

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """Those that fit, by name."""
        functions = zip(_SIDED, (precision, recall, f1), strict=True)
        found = [confusion_metric(name, self, of) for name, of in functions if self.positive]
        found += [
            confusion_metric("accuracy", self, _accuracy),
            confusion_metric("balanced_accuracy", self, _balanced_accuracy),
            confusion_metric("macro_f1", self, _macro_f1),
            confusion_metric("kappa", self, cohen_kappa, low=-1.0),
            Metric(name="validation_rate", statistics=case_means(_exact), divisible=False),
        ]
        numbers = {label: _number(label) for label in self.labels}
        if all(map(math.isfinite, numbers.values())):
            ends = min(numbers.values()), max(numbers.values())
            found.append(error_metrics(*ends, numbers.__getitem__, _farthest(numbers))["neg_mse"])
        return MappingProxyType({metric.name: metric for metric in found})

    @cached_property
    def classes(self) -> Mapping[Label, Mapping[str, Metric]]:
        """Label -> precision, recall and F1 of that label against all others."""
        return {
            label: {
                name: confusion_metric(f"{name}_{label}", ClosedLabels(self.labels, {label}), function)
                for name, function in zip(_SIDED, (precision, recall, f1), strict=True)
            }
            for label in (self.labels if len(self.labels) > 1 else ())
        }

    def check(self, value: Any) -> str:
        """What is wrong with a value; empty if it is one of the labels."""
        return "" if value in self.labels else f"label {value!r} is not one of {list(self.labels)}"

    def right(self, gold: Label, value: Label) -> bool:
        """Whether a label is right."""
        return (gold in self.positive) == (value in self.positive) if self.positive else gold == value

    def similarity(self, gold: Label, value: Label) -> float:
        """1.0 for the exact label, else 0.0."""
        return float(gold == value)

    def wrong(self, gold: Label) -> Label:
        """A label of the other side, or the next one."""
        return self._wrong[gold]

    @cached_property
    def _wrong(self) -> Mapping[Label, Label]:
        return {label: self.labels[code] for label, code in zip(self.labels, _wrong_codes(self), strict=True)}

    def consensus(self, values: Sequence[Label]) -> Label | None:
        """The label that more than half of the values are, if any."""
        return majority(values)


def confusion_metric(name: str, kind: ClosedLabels, of: Ratio, *, low: float = 0.0) -> Metric:
    """Make a metric from a ratio of counts (..., K, K), gold by answer, and positive labels (K,).

    Its bounds are exact, but for macro F1 and kappa of three labels or more: there they are all wrong and all right.
    """
    size, positive, wrong = len(kind.labels), _flags(kind), _wrong_codes(kind)
    place = {label: code for code, label in enumerate(kind.labels)}
    cells = np.eye(size * size)
    value = of.given(positive).after(lambda sums: sums.reshape(*sums.shape[:-1], size, size))

    return Metric(
        name=name,
        statistics=pair_sums(lambda gold, said: cells[place[gold] * size + place[said]], value, size * size),
        low=low,
        worst=lambda units: units.filled(wrong[units.gold]),
    )


def _wrong_codes(kind: ClosedLabels) -> Ints:
    """Return a wrong label for each: on the other side of the positive ones, if there are any, else the next one."""
    flags = _flags(kind)
    return (
        (flags != flags[:, np.newaxis]).argmax(axis=1)
        if flags.any()
        else (np.arange(len(flags)) + 1) % len(flags)
    )


def _flags(kind: ClosedLabels) -> Bools:
    return np.array([label in kind.positive for label in kind.labels], dtype=np.bool_)


def _exact(units: Units) -> Bools:
    return np.asarray(units.gold == units.predicted)


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return math.nan


def _farthest(numbers: Mapping[Label, float]) -> Callable[[Units], Units]:
    """Fill missing answers with the label farthest from gold."""
    values = np.array(list(numbers.values()))
    farthest = np.abs(values[:, None] - values[None, :]).argmax(axis=1)
    return lambda units: units.filled(farthest[units.gold])


def _cells(counts: Floats, positive: Bools) -> tuple[Floats, Floats, Floats]:
    """True positives, gold positives, predicted positives."""
    gold = counts[..., positive, :].sum(axis=-2)
    return gold[..., positive].sum(axis=-1), gold.sum(axis=-1), counts[..., positive].sum(axis=(-2, -1))


@Ratio
def precision(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Found and positive over found, from confusion matrices (..., K, K)."""
    true, _, predicted = _cells(counts, positive)
    return true, predicted


@Ratio
def recall(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Found and positive over positive, from confusion matrices (..., K, K)."""
    true, gold, _ = _cells(counts, positive)
    return true, gold


@Ratio
def f1(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """The harmonic mean of precision and recall, from confusion matrices (..., K, K)."""
    true, gold, predicted = _cells(counts, positive)
    return 2.0 * true, gold + predicted


@Ratio
def _accuracy(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    return np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1))


@Ratios
def _balanced_accuracy(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    gold = counts.sum(axis=-1)
    return mean_parts(np.diagonal(counts, axis1=-2, axis2=-1), gold)


@Ratios
def _macro_f1(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    sizes = counts.sum(axis=-1) + counts.sum(axis=-2)
    return mean_parts(2.0 * np.diagonal(counts, axis1=-2, axis2=-1), sizes)


@Ratio
def cohen_kappa(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Cohen's kappa in [-1, 1], from confusion matrices (..., K, K)."""
    units = counts.sum(axis=(-2, -1))
    hits = np.trace(counts, axis1=-2, axis2=-1)
    chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    return units * hits - chance, units * units - chance
