"""Rows as arrays: one or several sets of answers to the same labelled units, encoded.

Below, N is the number of labelled units, R of answer sets (repeats of a judge, or the judges that are compared),
G of groups that hold a unit, V of distinct values. Rows are sorted by group and id first, so that no result
depends on the order in which they were judged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import JuristError
from .rows import Row, matched

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MISSING = -1


class Kind(ABC):
    """What arrays need to know of a scale (:class:`~jurist.evaluation.scale.Scale`), which is made of their metrics."""

    @property
    def domain(self) -> tuple[Any, ...]:
        """All values in their order, where the set is closed; else empty."""
        return ()

    def right(self, gold: Any, value: Any) -> bool | None:
        """Whether a value is right; ``None`` where it is near or far."""
        return None

    def stratum(self, gold: Any) -> str:
        """The name of the kind of gold values in which errors are alike."""
        return str(gold)

    @abstractmethod
    def wrong(self, gold: Any) -> Any:
        """What a missing answer counts as: as far from gold as an answer can be."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Units:
    """The labelled units of some rows."""

    kind: Kind
    values: tuple[Hashable, ...]
    gold: Ints
    predicted: Ints
    group: Ints
    groups: int

    @property
    def sizes(self) -> Ints:
        """Shape (G,): how many labelled units each group holds."""
        return np.bincount(self.group, minlength=self.groups)

    @property
    def answered(self) -> Bools:
        """Shape (R, N): which units have an answer."""
        return np.asarray(self.predicted != MISSING)

    @property
    def right(self) -> Bools | None:
        """Shape (R, N): which units are right, those without an answer never; ``None`` if nothing is right or wrong."""
        cells, pairs = self.pairs
        flags = [self.kind.right(gold, value) for gold, value in pairs]
        if None in flags:
            return None
        return np.asarray(np.array([*flags, False], dtype=np.bool_)[cells])

    @cached_property
    def pairs(self) -> tuple[Ints, list[tuple[Hashable, Hashable]]]:
        """The distinct pairs of gold and answer, and which of them each unit is: (R, N), -1 without an answer."""
        size = len(self.values)
        seen = self.answered
        codes, places = np.unique((self.gold * size + self.predicted)[seen], return_inverse=True)
        cells = np.full(self.predicted.shape, MISSING, dtype=np.int64)
        cells[seen] = places
        return cells, [(self.values[code // size], self.values[code % size]) for code in codes.tolist()]

    @cached_property
    def wrong(self) -> Ints:
        """Shape (N,): the code of what a missing answer to each unit counts as."""
        codes = {value: code for code, value in enumerate(self.values)}
        wrong = np.full(len(codes), MISSING, dtype=np.int64)
        for code in np.unique(self.gold).tolist():
            wrong[code] = codes[self.kind.wrong(self.values[code])]
        return np.asarray(wrong[self.gold])

    @property
    def worst(self) -> Units:
        """The same units, with every missing answer as wrong as it can be."""
        return self.filled(self.wrong)

    @property
    def best(self) -> Units:
        """The same units, with every missing answer as gold has it."""
        return self.filled(self.gold)

    def sets(self, which: slice) -> Units:
        """Return the same units with some of the answer sets."""
        return self.answering(self.predicted[which])

    @property
    def apart(self) -> Units:
        """The same units, each a group of its own."""
        return replace(self, group=np.arange(len(self.gold)), groups=len(self.gold))

    def only(self, kept: Bools) -> Units:
        """Return some of the units, ``kept`` of shape (N,), with their groups numbered anew."""
        groups, group = np.unique(self.group[kept], return_inverse=True)
        return replace(
            self, gold=self.gold[kept], predicted=self.predicted[:, kept], group=group, groups=len(groups)
        )

    def answering(self, predicted: Ints) -> Units:
        """Return the same units with other answers, shape (R, N)."""
        return replace(self, predicted=predicted)

    def filled(self, answers: Ints) -> Units:
        """Return the same units with one answer (N,) to each in the place of all that are missing."""
        return self.answering(np.where(self.answered, self.predicted, answers))


def encode(kind: Kind, *sets: Sequence[Row]) -> Units:
    """Turn one or several sets of answers to the same cases into arrays; unlabelled units are left out."""
    first = sorted(sets[0], key=lambda row: (row.group, row.id))
    every = [first, *(matched(first, other) for other in sets[1:])]
    codes: dict[Hashable, int] = {value: code for code, value in enumerate(kind.domain)}
    gold: list[int] = []
    groups: list[str] = []
    predicted: list[list[int]] = [[] for _ in sets]
    for rows in zip(*every, strict=True):
        for unit, truth in enumerate(rows[0].gold):
            if truth is None:
                continue
            gold.append(codes.setdefault(truth, len(codes)))
            groups.append(rows[0].group)
            for row, answers in zip(rows, predicted, strict=True):
                answer = row.predicted[unit]
                answers.append(MISSING if answer is None else codes.setdefault(answer, len(codes)))
    if not gold:
        raise JuristError(f"none of the {len(first)} rows has a labelled unit", hint="score labelled rows")
    seen = list(codes)
    for code in dict.fromkeys(gold):
        codes.setdefault(kind.wrong(seen[code]), len(codes))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    return Units(
        kind=kind,
        values=tuple(codes),
        gold=np.array(gold, dtype=np.int64),
        predicted=np.array(predicted, dtype=np.int64),
        group=np.array([numbers[name] for name in groups], dtype=np.int64),
        groups=len(numbers),
    )
