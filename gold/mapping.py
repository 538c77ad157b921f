"""Rows whose columns have other names than a judge's, or whose labels are other words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..cases import Label, text_hash
from ..errors import GoldError, UsageError, choices
from ..text.turns import as_text
from ..text.wording import plain
from .files import Row
from .rows import REASON, cell, is_rating, label_keys, row_keys

if TYPE_CHECKING:
    from ..evaluation.scale import Scale
    from ..programs.judge import Judge

_EACH = "[]"
"""Stands in a path for every item of a list."""
NO_LABEL = ""
"""What a label of a source means that says nothing: "unsure", "n/a"."""
_SILENT = {"", "unsure", "unknown", "na", "nan", "none", "null", "skip", "skipped", "idk", "dontknow"}
"""Words of raters who do not know, as :func:`plain` writes them: no label, but where the judge has such a one."""
_SAID = {"yes": True, "y": True, "true": True, "t": True, "1": True, "1.0": True}
_SAID |= {"no": False, "n": False, "false": False, "f": False, "0": False, "0.0": False}
"""Words for yes and no, of a judge that answers yes or no, or true or false."""


@dataclass(frozen=True, kw_only=True)
class RowMapping:
    """How the columns and labels of a source are called by a judge.

    Attributes:
        columns: column of the source -> field of the judge. A column that had the field's name before gives way.
            It may be a path: ``scores.overall``, ``outputs.0``; ``sentences[].label`` makes a row of each item.
        labels: label of the source -> label of the judge, whatever their capitals; ``""`` is no label.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Label] = field(default_factory=dict)

    def to_json(self) -> dict[str, dict[str, str]]:
        """Return what is renamed, as plain JSON types; empty if nothing is."""
        parts = {"columns": dict(self.columns), "labels": dict(self.labels)}
        return {name: names for name, names in parts.items() if names}

    def check(self, judge: Judge) -> None:
        """Refuse names that the judge does not have."""
        known, any_field = row_keys(judge), judge.expand or judge.document
        for column, name in self.columns.items():
            if not (any_field or name in known or is_rating(name) or name.startswith(f"{REASON}:")):
                message = f"--column {column}={name}: rows of {judge.name} have no field {name!r}"
                raise UsageError(message, hint=choices(name, known))
        scales = judge.answer.criteria.values() or (judge.answer.scale,)
        for theirs, label in self.labels.items():
            if label != NO_LABEL and all(scale.cell(label) is None for scale in scales):
                message = f"--map {theirs}={label}: {label!r} is no answer of {judge.name}"
                raise UsageError(message, hint=f"use {judge.answer.scale.expects}")

    def check_columns(self, judge: Judge, rows: Sequence[Row], path: str) -> None:
        """Refuse to rename a column that none of the rows has."""
        for column in self.columns:
            if not any(has_column(item, column) for row in rows for item in self.items(judge, row)):
                hint = choices(column, dict.fromkeys(key for row in rows for key in row))
                raise GoldError("no row has this column", path=path, field=column, hint=hint)

    def items(self, judge: Judge, row: Row) -> list[Row]:
        """Return the rows that a row holds, by the columns of the judge and of the source."""
        return rows_within(row, (*judge.columns, *self.columns))

    def row(self, judge: Judge, row: Mapping[str, Any]) -> Row:
        """Return a row with the judge's names; labels that differ in capitals only are the judge's too."""
        own = {key: name for key, name in judge.columns.items() if name not in self.columns.values()}
        # the judge's own names count in a row that has one of their columns
        columns = {**(own if any(has_column(row, key) for key in own) else {}), **self.columns}
        taken = set(columns.values())
        result = {
            columns.get(key, key): value
            for key, value in row.items()
            if key in columns or not (key in taken or key.endswith(_EACH))
        }
        for path, name in columns.items():
            if path not in row and has_column(row, path):
                result[name] = _at(row, path)
                if path.startswith("ratings."):  # it is theirs, and holds no raters
                    result.pop("ratings", None)
        labels = {text.strip().casefold(): label for text, label in {**judge.values, **self.labels}.items()}
        scale, parts = judge.answer.scale, judge.answer.criteria
        for key in (*parts, *label_keys(judge), *filter(is_rating, list(result))):
            if key in result:
                result[key] = _label(parts.get(key, scale), labels, result[key])
        if isinstance(result.get("ratings"), Mapping):
            by_rater = result["ratings"].items()
            result["ratings"] = {rater: _label(scale, labels, value) for rater, value in by_rater}
        return result


def rows_within(row: Row, columns: Iterable[str]) -> list[Row]:
    """Return the rows that a row holds: one for each item of the list that columns name, as ``sentences[].label``."""
    lists = {path.partition(_EACH)[0] for path in columns if _EACH in path}
    if len(lists) > 1:
        message = f"columns are items of several lists: {', '.join(sorted(lists))}"
        raise UsageError(message, hint="name columns of one list")
    name = next(iter(lists), "")
    value = _at(row, name) if name else None
    if not isinstance(value, list):
        return [row]
    group = text_hash(json.dumps(row, sort_keys=True, default=str))[:12]
    return [{"group": group, **row, name + _EACH: item} for item in value]


def is_silent(text: str) -> bool:
    """Whether it is what raters write who do not know: a word for it, or only dashes and the like, but no emoji."""
    return (plain(text) or text.strip("-–—?./ ")) in _SILENT


def _label(scale: Scale, labels: Mapping[str, Label], value: Any) -> Any:
    """Return a source's label, or each of a list, as the judge calls it; ``labels`` are the names by those there."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list):
        result: list[Any] = []
        for item in value:
            label = _label(scale, labels, item)
            # of several labels in one list, each is a list of one when it stands alone
            result += label if isinstance(item, str) and isinstance(label, list) else [label]
        return result
    text = str(as_text(value)).strip()
    label = labels.get(text.casefold(), labels.get(str(value).casefold()))  # 1.0 is called 1, too
    if label == NO_LABEL or (isinstance(value, float) and math.isnan(value)):
        return None
    names = sorted(scale.text(alone).casefold() for alone in scale.domain)
    if label is None and names in (["no", "yes"], ["false", "true"]) and text.casefold() in _SAID:
        label = names[_SAID[text.casefold()]]
    if label is None and not isinstance(value, str):
        return value
    known = scale.cell(text if label is None else label)
    if known is None and label is None and is_silent(text):
        return None
    # a text that says more than one label is read with the row
    return value if known is None or (label is None and not isinstance(known, str)) else known


def _at(row: Mapping[str, Any], path: str) -> Any:
    """Return what stands at a path in a row, as ``scores.overall`` or ``outputs.0``; ``None`` if nothing does."""
    value: Any = row
    if path in row:
        return cell(row[path])
    start, every, rest = path.partition(_EACH)
    if every:
        value, path = row.get(start + every), rest.removeprefix(".")
    for part in path.split("."):
        value = cell(value)
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def has_column(row: Any, column: str) -> bool:
    """Whether a row has a column, or a value at the path that is written so."""
    if not isinstance(row, Mapping) or column in row:
        return isinstance(row, Mapping)
    return "." in column and _at(row, column) is not None
