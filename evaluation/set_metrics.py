"""Metrics of sets: of several labels out of a closed set, and of objects.

Of several labels:

- ``micro_f1`` counts labels over all units; ``macro_f1`` is the mean F1 over the labels that occur in gold or among
  the answers. A quotient 0/0 is 0.0 in both.
- ``balanced_accuracy`` is the mean recall of labels, given and left out alike: over the labels that some units of
  gold have and others have not, the mean of the share found where gold has it and of the share left out where it
  has not. Any constant set has 0.5; 0.0 where there is no such label.
- ``example_f1`` is the mean over units; there, no label where gold has none is right: 1.0.
- ``exact_match`` is the share of units whose set is gold's.

A missing answer counts as all labels that gold has not, and none that it has: no answer could be worse.

Of objects:

Each object is matched to at most one of gold's. Of all such assignments the one with the largest sum of similarities
counts (Kuhn 1955, "The Hungarian method"). Precision is that sum over the objects found, recall over gold's, F1 their
harmonic mean, all over the sums of all units (micro); 0/0 is 0.0. With a similarity that is 0 or 1 the sum is the
number of matched objects.

A missing answer counts as a number of wrong objects: as many as gold has, and at least one. A set has no largest size,
so an answer can be worse than none.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import scipy

from ..cases import Label
from ..errors import JuristError
from .metrics import SIDES, Metric, Ratios, f1, mean_parts, pair_means, pair_sums
from .units import Floats

Set: TypeAlias = tuple[Label, ...]
_ROUNDING = 1e-9


def metrics_of_label_sets(
    labels: Sequence[Label], example_f1: Callable[[Set, Set], float]
) -> Mapping[str, Metric]:
    """Return the metrics of sets of labels, by name; ``example_f1`` is the F1 of one set against another."""
    size = 3 * len(labels)

    def by_label_and_unit(gold: Set, value: Set) -> list[float]:
        return _cells_by_label(labels, gold, value) + [1.0]

    statistics = {
        "balanced_accuracy": pair_sums(by_label_and_unit, _mean_label_recall, size + 1),
        "micro_f1": pair_sums(_label_counts, f1, 3),
        "macro_f1": pair_sums(partial(_cells_by_label, labels), _mean_label_f1, size),
        "example_f1": pair_means(example_f1),
        "exact_match": pair_means(lambda gold, value: float(gold == value)),
    }
    metrics: dict[str, Metric] = {}
    for name, statistics_of in statistics.items():
        metrics[name] = Metric(name=name, statistics=statistics_of)
    return MappingProxyType(metrics)


def metrics_by_member(labels: Sequence[Label]) -> Mapping[Label, Mapping[str, Metric]]:
    """Return precision, recall and F1 of each label of a set, by name."""
    by_label: dict[Label, dict[str, Metric]] = {}
    for label in labels:
        label_metrics = {}
        for name, ratio in SIDES.items():
            statistics = pair_sums(partial(_label_cells, label), ratio, 3)
            label_metrics[name] = Metric(name=f"{name}_{label}", statistics=statistics)
        by_label[label] = label_metrics
    return by_label


def _cells_by_label(labels: Sequence[Label], gold: Set, value: Set) -> list[float]:
    """Return the three cells of each label (:func:`_label_cells`), one label after the other."""
    cells: list[float] = []
    for label in labels:
        cells.extend(_label_cells(label, gold, value))
    return cells


def _label_cells(label: Label, gold: Set, value: Set) -> tuple[float, float, float]:
    """Return the cells of a label, each 1.0 or 0.0: whether it is in both, in gold, in the answer."""
    in_gold = label in gold
    in_value = label in value
    return float(in_gold and in_value), float(in_gold), float(in_value)


def _label_counts(gold: Set, value: Set) -> tuple[float, float, float]:
    """Return the number of labels in both, in gold, and in the answer."""
    return float(len(set(gold) & set(value))), float(len(gold)), float(len(value))


def _by_labels(cells: Floats) -> Floats:
    """Return sums of cells of shape (..., 3 * labels) as (..., labels, 3)."""
    return cells.reshape(cells.shape[:-1] + (-1, 3))


@Ratios
def _mean_label_f1(sums: Floats) -> tuple[Floats, Floats]:
    """Return numerator and denominator of the mean F1 over labels, from the summed cells of each label."""
    doubled_hits, sizes = f1.parts(_by_labels(sums))
    return mean_parts(doubled_hits, sizes)


@Ratios
def _mean_label_recall(sums: Floats) -> tuple[Floats, Floats]:
    """Return numerator and denominator of the mean recall of labels, given and left out.

    ``sums`` are the summed cells of each label, and last the number of units.
    """
    units = sums[..., -1:]
    cells_by_label = _by_labels(sums[..., :-1])
    in_both, in_gold, in_answer = np.moveaxis(cells_by_label, -1, 0)  # (..., labels) each
    out_of_gold = units - in_gold
    out_of_both = out_of_gold - in_answer + in_both
    # A label that all units of gold have, or none, has one recall only and counts for nothing.
    has_both_sides = np.minimum(in_gold, out_of_gold) > _ROUNDING * units
    numerators = np.concatenate([in_both, out_of_both], axis=-1)
    denominators = np.concatenate(
        [np.where(has_both_sides, in_gold, 0.0), np.where(has_both_sides, out_of_gold, 0.0)], axis=-1
    )
    return mean_parts(numerators, denominators)


def metrics_of_object_sets(sums: Callable[[Any, Any], Sequence[float]]) -> Mapping[str, Metric]:
    """Return precision, recall and F1 of sets of objects, by name; ``sums`` counts what two sets have in common."""
    metrics: dict[str, Metric] = {}
    for name, ratio in SIDES.items():
        metrics[name] = Metric(name=name, statistics=pair_sums(sums, ratio, 3))
    return metrics


def assign_objects(
    same: Callable[[Any, Any], float], gold: Sequence[object], value: Sequence[object]
) -> list[tuple[int, int, float]]:
    """Return the assignment with the largest sum of similarities, without pairs that have nothing in common."""
    similarities = np.zeros((len(gold), len(value)))
    for row, gold_object in enumerate(gold):
        for column, answer_object in enumerate(value):
            similarities[row, column] = same(gold_object, answer_object)
    if not ((similarities >= 0.0) & (similarities <= 1.0)).all():
        raise JuristError("the similarity of two objects is not in [0, 1]", hint="correct its function")
    rows, columns = scipy.optimize.linear_sum_assignment(similarities, maximize=True)
    pairs = []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        similarity = float(similarities[row, column])
        if similarity > 0.0:
            pairs.append((row, column, similarity))
    return pairs
