"""Metrics of closed labels: confusion matrices, and the metrics that follow from them.

Conventions, the same as scikit-learn's unless said otherwise:

- A quotient 0/0 is 0.0: precision without a positive answer, recall without positive gold, F1 without either,
  anything over no units at all.
- ``balanced_accuracy`` is the mean recall over the labels that occur in gold; ``macro_f1`` the mean F1 over
  those that occur in gold or among the answers.
- ``kappa`` is Cohen's, unweighted, over exact labels. When gold holds one label only it is 0.0 (scikit-learn:
  NaN if the answers are that label too): agreement beyond chance cannot be shown there.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from ..cases import Label
from .metrics import SIDES, Metric, Ratio, Ratios, Test, mean_parts, pair_sums
from .units import Bools, Floats


def metrics_of_labels(
    names: Sequence[str], labels: Sequence[Label], positive: Collection[Label]
) -> Mapping[str, Metric]:
    """Return the named metrics of closed labels, by name."""
    metrics: dict[str, Metric] = {}
    for name in names:
        lowest = 0.0
        if name == "kappa":
            lowest = -1.0
        metrics[name] = confusion_metric(name, labels, positive, _RATIOS[name], low=lowest)
    return MappingProxyType(metrics)


def metrics_by_label(labels: Sequence[Label]) -> Mapping[Label, Mapping[str, Metric]]:
    """Return the metrics of each label against the rest, by name; empty for a single label."""
    by_label: dict[Label, dict[str, Metric]] = {}
    if len(labels) == 1:
        return by_label
    for label in labels:
        label_metrics = {}
        for name, ratio in CONFUSED.items():
            label_metrics[name] = confusion_metric(f"{name}_{label}", labels, [label], ratio)
        by_label[label] = label_metrics
    return by_label


def confusion_metric(
    name: str, labels: Sequence[Label], positive: Collection[Label], of: Ratio, *, low: float = 0.0
) -> Metric:
    """Make a metric from a ratio of counts (..., K, K), gold by answer, and positive labels (K,)."""
    # The bounds of a metric take all missing answers as wrong, and all as right. No other answers would give a value
    # outside of them, except by macro F1 and kappa of three labels or more.
    size = len(labels)
    is_positive = np.array([label in positive for label in labels], dtype=np.bool_)  # (K,)
    place = {label: code for code, label in enumerate(labels)}
    # One row for each pair of gold and answer: the flattened confusion matrix (K * K,) of a unit with this pair.
    cells = np.eye(size * size).tolist()

    def parts(sums: Floats) -> tuple[Floats, Floats]:
        return of.parts(sums.reshape(sums.shape[:-1] + (size, size)), is_positive)

    def cell(gold: Label, answered: Label) -> Sequence[float]:
        return cells[place[gold] * size + place[answered]]

    statistics = pair_sums(cell, replace(of, parts=parts), size * size)
    test: Test = "swaps"
    if name in BY_T:
        test = "t with pairs"
    return Metric(name=name, statistics=statistics, low=low, test=test)


def _of_positive(side: Ratio) -> Ratio:
    """Return a ratio of (hits, gold, answers) as a ratio of confusion matrices (..., K, K) and positive labels (K,)."""

    def parts(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
        answers_to_positive = counts[..., positive, :].sum(axis=-2)  # (..., K)
        hits = answers_to_positive[..., positive].sum(axis=-1)
        gold = answers_to_positive.sum(axis=-1)
        answers = counts[..., positive].sum(axis=(-2, -1))
        return side.parts(np.stack([hits, gold, answers], axis=-1))

    return Ratio(parts)


CONFUSED: Final[Mapping[str, Ratio]] = {name: _of_positive(side) for name, side in SIDES.items()}
"""Precision, recall and F1 of the positive labels, by name."""


@Ratio
def _accuracy(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    return np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1))


@Ratios
def _balanced_accuracy(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    return mean_parts(np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(axis=-1))


@Ratios
def _macro_f1(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    sizes = counts.sum(axis=-1) + counts.sum(axis=-2)
    return mean_parts(2.0 * np.diagonal(counts, axis1=-2, axis2=-1), sizes)


@Ratio
def _cohen_kappa(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Cohen's kappa in [-1, 1], from confusion matrices (..., K, K)."""
    units = counts.sum(axis=(-2, -1))
    hits = np.trace(counts, axis1=-2, axis2=-1)
    chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    return units * hits - chance, units * units - chance


_RATIOS: Final[Mapping[str, Ratio]] = {
    **CONFUSED,
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "macro_f1": _macro_f1,
    "kappa": _cohen_kappa,
}
"""Name of a metric -> its ratio of confusion matrices."""
BY_T: Final = frozenset({"accuracy", "balanced_accuracy", "f1", "kappa", "macro_f1"})
"""The metrics whose differences the t-test over groups decides."""
