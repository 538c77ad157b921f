"""Rows as arrays: encoded units, and confusion matrices per group, from which every metric is computed.

Below, K is the number of labels, N of labelled units, G of groups that hold one. Rows are sorted by group and
id first, so that no result depends on the order in which they were judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import JuristError, UsageError
from .rows import Row

__all__ = ["Bools", "Floats", "Ints", "Units", "encode"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MISSING = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Units:
    """The labelled units of some rows.

    Args:
        labels: the closed label set, K names.
        positive: shape (K,), which labels are positive; all False for a judge without a positive side.
        gold: shape (N,), indices into ``labels``.
        predicted: shape (N,), the same, -1 where there is no usable answer.
        group: shape (N,), 0..groups-1, ascending.
        groups: G.
        case: shape (N,), 0.. in order: which units are of one case.
    """

    labels: tuple[str, ...]
    positive: Bools
    gold: Ints
    predicted: Ints
    group: Ints
    groups: int
    case: Ints

    @property
    def answered(self) -> Bools:
        """Shape (N,): which units have an answer."""
        return np.asarray(self.predicted != MISSING)

    @property
    def correct(self) -> Bools:
        """Shape (N,): on the right side of ``positive`` if there is one, else the exact label.

        A unit without an answer is wrong.
        """
        if self.positive.any():
            same = self.positive[self.gold] == self.positive[self.predicted]
        else:
            same = self.gold == self.predicted
        return np.asarray(same & self.answered)

    def group_confusions(self) -> Ints:
        """Counts of the answered units, shape (G, K, K): group, gold label, predicted label."""
        size = len(self.labels)
        seen = self.answered
        cell = (self.group[seen] * size + self.gold[seen]) * size + self.predicted[seen]
        counts = np.bincount(cell, minlength=self.groups * size * size)
        return counts.reshape(self.groups, size, size).astype(np.int64)

    def confusion(self) -> Ints:
        """Counts of the answered units, shape (K, K): gold label, predicted label."""
        return np.asarray(self.group_confusions().sum(axis=0))

    def missing(self) -> Ints:
        """Units without an answer per gold label, shape (K,)."""
        counts = np.bincount(self.gold[~self.answered], minlength=len(self.labels))
        return counts.astype(np.int64)


def _check_labels(labels: Sequence[str], positive: AbstractSet[str]) -> None:
    if not labels or len(set(labels)) != len(labels):
        raise UsageError(f"the label set {list(labels)} is empty or names a label twice")
    if not positive:
        return
    if not positive < set(labels):
        raise UsageError(
            f"the positive labels {sorted(positive)} are no proper part of the label set {list(labels)}",
            hint="name at least one label of the set as positive and leave at least one negative",
        )


def _index(label: str, codes: dict[str, int], case: str, side: str) -> int:
    if label not in codes:
        raise JuristError(
            f"case {case!r}: the {side} label {label!r} is not one of {list(codes)}",
            hint="correct the label, or use None for a unit without a usable one",
        )
    return codes[label]


def encode(rows: Sequence[Row], labels: Sequence[str], positive: AbstractSet[str] = frozenset()) -> Units:
    """Turn rows into arrays; unlabelled units are left out.

    Raises:
        UsageError: ``labels`` is empty or repeats a label, or ``positive`` is not a proper part of it.
        JuristError: a gold or predicted label is outside ``labels``, or nothing is labelled at all.
    """
    _check_labels(labels, positive)
    codes = {label: code for code, label in enumerate(labels)}
    gold: list[int] = []
    predicted: list[int] = []
    groups: list[str] = []
    cases: list[int] = []
    for number, row in enumerate(sorted(rows, key=lambda row: (row.group, row.id))):
        for truth, answer in zip(row.gold, row.predicted, strict=True):
            if truth is None:
                continue
            gold.append(_index(truth, codes, row.id, "gold"))
            predicted.append(MISSING if answer is None else _index(answer, codes, row.id, "predicted"))
            groups.append(row.group)
            cases.append(number)
    if not gold:
        raise JuristError(f"none of the {len(rows)} rows has a labelled unit", hint="score labelled rows")
    names = {name: code for code, name in enumerate(dict.fromkeys(groups))}
    return Units(
        labels=tuple(labels),
        positive=np.array([label in positive for label in labels], dtype=np.bool_),
        gold=np.array(gold, dtype=np.int64),
        predicted=np.array(predicted, dtype=np.int64),
        group=np.array([names[name] for name in groups], dtype=np.int64),
        groups=len(names),
        case=np.array(cases, dtype=np.int64),
    )
