"""Cases: rows to judge, each of one unit or several, with the gold labels that people gave."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import orjson

Label: TypeAlias = str
Labels: TypeAlias = tuple[Label | None, ...]
"""One label per unit; ``None`` is *unlabelled* in gold and *abstained* in a verdict."""
Value: TypeAlias = Any
"""What is said of one unit, hashable: a closed label (str), a score (int, float), the sorted tuple of several labels
or of objects. Only the judge's kind of answer looks into it."""
Values: TypeAlias = tuple[Value | None, ...]
"""One value per unit; ``None`` as in :data:`Labels`."""

ROWS = "rows"
"""The name of gold that is rows in Python, and no file, unless its user gives another."""

SHARES_OF_FEW = (0.3, 0.2, 0.5)
SHARES_OF_MANY = (0.5, 0.2, 0.3)
"""The usual shares of train, dev and test, of a few labelled rows and of many."""


def text_hash(text: str) -> str:
    """Return the sha256 of ``text`` (UTF-8) as 64 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def case_id(inputs: Mapping[str, Any]) -> str:
    """Return the id of a case: 16 hex digits of the hash of its inputs, whatever their order."""
    if all(type(value) is str and value.isascii() for value in inputs.values()):
        # orjson writes the same bytes, much faster.
        digest = hashlib.sha256(orjson.dumps(inputs, option=orjson.OPT_SORT_KEYS)).hexdigest()
    else:
        digest = text_hash(json.dumps(inputs, sort_keys=True, ensure_ascii=False, separators=(",", ":")))
    return digest[:16]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row to judge.

    Attributes:
        inputs: the judge's inputs, as JSON values, in their order.
        group: the conversation or document the row comes from; no group is ever in two splits.
        gold: one value per unit, ``None`` where people gave none; ``None`` altogether for new data.
        ratings: each rater's own values, kept beside the merged ``gold``.
        source: ``file:line`` for messages.
        reason: why people gave these labels, in their own words; only those of train are ever shown to a model.
        draw: the number of its first sample, from 0. Cases with equal inputs are different cases if their draws differ.
        spans: (start, end) of each unit in the text it was taken from, where the row gave that text; else empty.
        row: the row that it was read from, under the judge's names for columns; empty if it was read from none.
        source_row: that row as the source has it.
        row_number: the number of that row in a source of new rows, from 1.
        part: the number of the case among those of its row, from 1.
    """

    inputs: Mapping[str, Any]
    group: str = ""
    gold: Values | None = None
    ratings: Mapping[str, Values] = field(default_factory=dict)
    source: str = ""
    spans: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    reason: str = field(default="", compare=False)
    draw: int = 0
    row: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    source_row: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    row_number: int = field(default=0, compare=False, repr=False)
    part: int = field(default=0, compare=False, repr=False)

    @cached_property
    def id(self) -> str:
        """The hash of the inputs: equal inputs are the same case, wherever they were read from."""
        inputs = self.inputs
        if self.draw:
            inputs = {**inputs, "draw": self.draw}
        return case_id(inputs)

    def in_group(self, group: str) -> Self:
        """Return the case in a group; one that is in it keeps the id that was computed."""
        if group == self.group:
            return self
        return replace(self, group=group)

    def with_reason(self, reason: str) -> Self:
        """Return the case with a reason for its labels; one that has it keeps the id that was computed."""
        if reason == self.reason:
            return self
        return replace(self, reason=reason)

    @property
    def labels(self) -> tuple[Value, ...]:
        """The labels of the units that people labelled; empty without any."""
        return tuple(value for value in self.gold or () if value is not None)
