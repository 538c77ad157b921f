"""Rows whose columns have other names than a judge's, or whose labels are other words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..cases import Label
from ..errors import GoldError, UsageError, choices
from ..text.turns import as_text
from .columns import find_columns, is_silent
from .files import Place, Row
from .paths import EACH, has_column, is_taken_back, read_path, rows_within
from .rows import REASON, is_rating, label_keys, row_keys, unquoted

if TYPE_CHECKING:
    from ..evaluation.scale import Scale
    from ..programs.judge import Judge

NO_LABEL = ""
"""What a label of a source means that says nothing: "unsure", "n/a"."""
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

    def meant(self, label: str) -> str:
        """Return what a label of the source means; the label itself where nothing is said of it."""
        labels = {text.strip().casefold(): ours for text, ours in self.labels.items()}
        return str(labels.get(label.casefold(), label))

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
            if not any(has_column(row, column) for row in rows):
                hint = choices(column, dict.fromkeys(key for row in rows for key in row))
                raise GoldError("no row has this column", path=path, field=column, hint=hint)

    def items(self, judge: Judge, row: Row, place: Place | None = None) -> list[Row]:
        """Return the rows that a row holds, by the columns of the judge and of the source."""
        return rows_within(row, (*judge.columns, *self.columns), place)

    def row(self, judge: Judge, row: Mapping[str, Any]) -> Row:
        """Return a row with the judge's names; labels that differ in capitals only are the judge's too."""
        columns = self._columns(judge, row)
        renamed_to = set(columns.values())
        result: Row = {}
        for key, value in row.items():
            gives_way = key in renamed_to or key.endswith(EACH)
            if key in columns or not gives_way:
                result[columns.get(key, key)] = value
        for path, name in columns.items():
            if path not in row and has_column(row, path):
                result[name] = read_path(row, path)
                if path.startswith("ratings."):  # the criteria stand in it, and no raters
                    result.pop("ratings", None)
        labels = {text.strip().casefold(): label for text, label in {**judge.values, **self.labels}.items()}
        scale, parts = judge.answer.scale, judge.answer.criteria
        taken_back = is_taken_back(row)
        for key in (*parts, *label_keys(judge), *filter(is_rating, list(result))):
            if key in result:
                result[key] = None if taken_back else _label(parts.get(key, scale), labels, result[key])
        if isinstance(result.get("ratings"), Mapping):
            by_rater = result["ratings"].items()
            result["ratings"] = {rater: _label(scale, labels, value) for rater, value in by_rater}
        return result

    def _columns(self, judge: Judge, row: Mapping[str, Any]) -> dict[str, str]:
        """Return column -> field of a row: as the source names them, as the judge does, then as they are called."""
        columns = dict(self.columns)
        of_judge = {key: name for key, name in judge.columns.items() if name not in columns.values()}
        # the judge's own names count in a row that has one of their columns
        if any(has_column(row, key) for key in of_judge):
            columns |= of_judge
        wanted = [name for name in row_keys(judge) if name not in columns.values()]
        free = [key for key in row if key not in columns and not is_rating(key)]
        return find_columns(free, wanted) | columns


def _label(scale: Scale, labels: Mapping[str, Label], value: Any) -> Any:
    """Return a source's label, or each of a list, as the judge calls it; ``labels`` are the names by those there."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str):
        value = unquoted(value)
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
