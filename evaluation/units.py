"""Rows as arrays: one or several sets of answers to the same labelled units, encoded.

Below, N is the number of labelled units, R of answer sets (repeats of a judge, or the judges that are compared),
G of groups that hold a unit, V of distinct values. Rows are sorted by group and id first, so that no result
depends on the order in which they were judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..cases import Value
from ..errors import JuristError
from .kinds import Kind
from .rows import JudgedRow, matched

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MISSING = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Units:
    """The labelled units of some rows."""

    kind: Kind
    values: tuple[Value, ...]
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
        flags = []
        for gold, answer in pairs:
            is_right = self.kind.right(gold, answer)
            if is_right is None:
                return None
            flags.append(is_right)
        flags.append(False)  # the last place is that of a missing answer, which is -1
        return np.asarray(np.array(flags, dtype=np.bool_)[cells])

    @cached_property
    def pairs(self) -> tuple[Ints, list[tuple[Value, Value]]]:
        """The distinct pairs of gold and answer, and which of them each unit is: (R, N), -1 without an answer."""
        size = len(self.values)
        answered = self.answered
        pair_codes = self.gold * size + self.predicted  # (R, N)
        distinct_codes, places = np.unique(pair_codes[answered], return_inverse=True)
        cells = np.full(self.predicted.shape, MISSING, dtype=np.int64)
        cells[answered] = places
        pairs = []
        for code in distinct_codes.tolist():
            gold_code, answer_code = divmod(code, size)
            pairs.append((self.values[gold_code], self.values[answer_code]))
        return cells, pairs

    @cached_property
    def wrong(self) -> Ints:
        """Shape (N,): the code of what a missing answer to each unit counts as."""
        code_of_value = {value: code for code, value in enumerate(self.values)}
        wrong_code = np.full(len(self.values), MISSING, dtype=np.int64)  # (V,), by the code of gold
        for code in np.unique(self.gold).tolist():
            wrong_code[code] = code_of_value[self.kind.wrong(self.values[code])]
        return np.asarray(wrong_code[self.gold])

    @property
    def worst(self) -> Units:
        """These units with every missing answer as wrong as it can be."""
        return self.filled(self.wrong)

    @property
    def best(self) -> Units:
        """These units with every missing answer as gold has it."""
        return self.filled(self.gold)

    def sets(self, which: slice) -> Units:
        """Return these units with some of the answer sets."""
        return self.answering(self.predicted[which])

    @property
    def halves(self) -> tuple[Units, Units]:
        """These units with the first half of the answer sets, and with the second."""
        half = len(self.predicted) // 2
        return self.sets(slice(half)), self.sets(slice(half, None))

    @property
    def apart(self) -> Units:
        """These units, each a group of its own."""
        return replace(self, group=np.arange(len(self.gold)), groups=len(self.gold))

    def only(self, selected: Bools) -> Units:
        """Return some of the units, ``selected`` of shape (N,), with their groups numbered anew."""
        old_groups, group = np.unique(self.group[selected], return_inverse=True)
        return replace(
            self,
            gold=self.gold[selected],
            predicted=self.predicted[:, selected],
            group=group,
            groups=len(old_groups),
        )

    def answering(self, predicted: Ints) -> Units:
        """Return these units with other answers, shape (R, N)."""
        return replace(self, predicted=predicted)

    def filled(self, answers: Ints) -> Units:
        """Return these units with one answer (N,) to each in the place of all that are missing."""
        return self.answering(np.where(self.answered, self.predicted, answers))


def encode(kind: Kind, *sets: Sequence[JudgedRow]) -> Units:
    """Turn one or several sets of answers to the same cases into arrays; unlabelled units are left out."""
    first = sorted(sets[0], key=lambda row: (row.group, row.id))
    sorted_sets = [first]
    for rows in sets[1:]:
        sorted_sets.append(matched(first, rows))
    code_of_value: dict[Value, int] = {value: code for code, value in enumerate(kind.domain)}
    gold_codes: list[int] = []
    group_names: list[str] = []  # of each labelled unit
    answer_codes: list[list[int]] = [[] for _ in sets]
    for rows_of_case in zip(*sorted_sets, strict=True):
        case_row = rows_of_case[0]
        for unit, gold in enumerate(case_row.gold):
            if gold is None:
                continue
            gold_codes.append(code_of_value.setdefault(gold, len(code_of_value)))
            group_names.append(case_row.group)
            for row, codes in zip(rows_of_case, answer_codes, strict=True):
                answer = row.predicted[unit]
                if answer is None:
                    codes.append(MISSING)
                else:
                    codes.append(code_of_value.setdefault(answer, len(code_of_value)))
    if not gold_codes:
        raise JuristError(f"none of the {len(first)} rows has a labelled unit", hint="score labelled rows")
    # A missing answer may count as a value that nobody gave.
    values = list(code_of_value)
    for code in dict.fromkeys(gold_codes):
        code_of_value.setdefault(kind.wrong(values[code]), len(code_of_value))
    group_numbers = {name: number for number, name in enumerate(dict.fromkeys(group_names))}
    return Units(
        kind=kind,
        values=tuple(code_of_value),
        gold=np.array(gold_codes, dtype=np.int64),
        predicted=np.array(answer_codes, dtype=np.int64),
        group=np.array([group_numbers[name] for name in group_names], dtype=np.int64),
        groups=len(group_numbers),
    )
