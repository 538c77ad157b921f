"""Rows whose columns have other names than a judge's, or whose labels are other words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ..cases import Label
from ..errors import GoldError, UsageError, check_types, suggest_name
from ..evaluation.votes import Rule
from ..programs.judge import MISSING, NO_TEXT, hint_for_missing, hint_for_structure
from ..text.turns import as_text
from .columns import find_columns, is_silent
from .data import KEEP_GROUPS
from .files import Place, Row
from .paths import EACH, flat, has_column, is_taken_back, read_path, rows_within
from .rater_columns import match_rater_columns
from .rows import REASON, cell, is_rating, label_keys, row_keys, unquoted

if TYPE_CHECKING:
    from ..evaluation.scale import Scale
    from ..programs.judge import Judge

NO_LABEL = ""
"""The meaning of a source's label that gives no label: "unsure", "n/a"."""
_YES = {"yes", "y", "true", "t", "1", "1.0"}
_NO = {"no", "n", "false", "f", "0", "0.0"}
"""Words for yes and no, of a judge that answers yes or no, or true or false."""


@dataclass(frozen=True, kw_only=True)
class RowMapping:
    """The judge's names for the columns and labels of a source.

    Attributes:
        columns: column of the source -> field of the judge. A column that had the field's name before gives way.
            It may be a path: ``scores.overall``, ``outputs.0``; ``sentences[].label`` makes a row of each item.
        labels: label of the source -> label of the judge, whatever their capitals; ``""`` is no label.
        raters: the columns that hold one rater's labels each, or patterns such as ``label_*``; what the star stands for
            is then the rater's name. The labels are merged (:func:`jurist.gold.raters.merge_gold`).
        merge: the rule that makes one label of theirs; default: the judge's, else ``majority``, and of scores ``mean``.
        keep_groups: True keeps the groups of the source apart in a split also where their texts nearly repeat.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Label] = field(default_factory=dict)
    raters: Sequence[str] = ()
    merge: Rule | None = None
    keep_groups: bool = False

    def __post_init__(self) -> None:
        check_types(RowMapping, {"keep_groups": self.keep_groups})

    @classmethod
    def of_json(cls, parts: Mapping[str, Mapping[str, Any]]) -> RowMapping:
        """Return the mapping that :meth:`to_json` gave."""
        return cls(
            columns=parts.get("columns", {}),
            labels=parts.get("labels", {}),
            merge=parts.get("merge", {}).get("rule"),
            keep_groups=KEEP_GROUPS in parts,
        )

    def with_named(self, raters: str | Sequence[str], merge: Rule | None) -> RowMapping:
        """Return the mapping with other columns of raters and another merging rule, where these are given."""
        patterns = (raters,) if isinstance(raters, str) and raters else tuple(raters)
        return replace(self, raters=patterns or self.raters, merge=merge or self.merge)

    def with_raters(self, rows: Sequence[Row], path: str) -> RowMapping:
        """Return the mapping with a column ``rater:NAME`` for each column of ``raters``.

        Raises:
            GoldError: none of the rows has such a column.
        """
        if not self.raters:
            return self
        columns = dict(self.columns)
        columns_of_file = {name for row in rows for name in row}
        columns |= match_rater_columns(self.raters, column_paths(rows, self.raters), path, columns_of_file)
        return replace(self, columns=columns, raters=())

    def to_json(self) -> dict[str, dict[str, str]]:
        """Return the renamed columns and labels as JSON values, without empty parts."""
        parts: dict[str, dict[str, str]] = {}
        if self.columns:
            parts["columns"] = dict(self.columns)
        if self.labels:
            parts["labels"] = dict(self.labels)
        if self.merge is not None:
            parts["merge"] = {"rule": self.merge}
        if self.keep_groups:
            parts[KEEP_GROUPS] = {"near": "apart"}  # a card holds texts by names in each part of a mapping
        return parts

    def judge_label(self, label: str) -> str:
        """Return the judge's label for a label of the source; the label itself if it is not mapped."""
        return str(_fold_labels(self.labels).get(label.casefold(), label))

    def check(self, judge: Judge) -> None:
        """Refuse names that the judge does not have.

        Raises:
            UsageError: a column is mapped to no field of the judge's rows, or a label to no label of the judge.
        """
        fields = row_keys(judge)
        # Such a judge makes its rows from rows of another layout, whose fields nobody has listed.
        takes_any_field = judge.expand or judge.document
        for column, name in self.columns.items():
            is_about_raters = is_rating(name) or name.startswith(f"{REASON}:")
            if not takes_any_field and name not in fields and not is_about_raters:
                message = f"--column {column}={name}: rows of {judge.name} have no field {name!r}"
                raise UsageError(message, hint=suggest_name(name, fields))
        scales = judge.answer.criteria.values() or (judge.answer.scale,)
        for source_label, label in self.labels.items():
            is_answer = label == NO_LABEL or any(scale.cell(label) is not None for scale in scales)
            if not is_answer:
                message = f"--map {source_label}={label}: {label!r} is no answer of {judge.name}"
                raise UsageError(message, hint=f"use {judge.answer.scale.expects}")

    def check_columns(self, judge: Judge, rows: Sequence[Row], path: str) -> None:
        """Refuse to rename a column that none of the rows has.

        Raises:
            GoldError: there is such a column.
        """
        for column in self.columns:
            if not any(has_column(row, column) for row in rows):
                columns: dict[str, None] = {}
                for row in rows:
                    columns.update(dict.fromkeys(row))
                raise GoldError(
                    "no row has this column", path=path, field=column, hint=suggest_name(column, columns)
                )

    def with_source_column(self, judge: Judge, error: GoldError, row: Row) -> GoldError:
        """Return the error of a row, in which the column of the source stands in place of the judge's field.

        Args:
            judge: whose row it is.
            error: the error, with the field of the judge.
            row: as the source has it, one item of its lists.
        """
        source_error = self._with_column(judge, error, row)
        further_errors: list[GoldError] = []
        for further_error in error.further_errors:
            further_errors.append(self._with_column(judge, further_error, row))
        source_error.further_errors = tuple(further_errors)
        return source_error

    def _with_column(self, judge: Judge, error: GoldError, row: Row) -> GoldError:
        """Return one error with the column of the source."""
        for column, name in self.columns.items():
            if name == error.field and not has_column(row, column):
                hint = f"the row has no column {column!r}, which --column {column}={name} names"
                return error.with_field(name, hint=f"{hint}: {suggest_name(column, row)}")
        if error.reason == MISSING:
            return error.with_field(error.field, hint=hint_for_missing(error.field, row))
        for column, name in self._find_fields(judge, row).items():
            position = error.field.removeprefix(name)  # of a unit or a member within the field
            is_field = error.field.startswith(name) and (not position or position[0] in ".[")
            if is_field and column != name and has_column(row, column):
                hint = ""
                value = cell(read_path(row, column))
                if error.reason.startswith(NO_TEXT) and isinstance(value, list | Mapping):
                    hint = hint_for_structure(column, value, name)
                return error.with_field(column + position, hint=hint)
        if is_rating(error.field) and not has_column(row, error.field):
            return error.with_field("")  # a row for each rater has no column of one rater
        return error

    def items(self, judge: Judge, row: Row, place: Place | None = None) -> list[Row]:
        """Return a row for each item of a list column, which is mapped as ``NAME[]``; else the row alone."""
        return rows_within(row, list(judge.columns) + list(self.columns), place)

    def row(self, judge: Judge, row: Mapping[str, object]) -> Row:
        """Return a row with the judge's names for columns and labels, whatever the labels' capitals."""
        result = self._rename_columns(judge, row)
        labels = _fold_labels({**judge.values, **self.labels})
        scale = judge.answer.scale
        criteria = judge.answer.criteria
        is_void = is_taken_back(row)  # the rater cancelled or rejected this row
        for key in _label_columns(judge, result):
            if is_void:
                result[key] = None
            else:
                result[key] = _judge_label(criteria.get(key, scale), labels, result[key])
        ratings = result.get("ratings")
        if isinstance(ratings, Mapping):
            judge_ratings: dict[object, object] = {}
            for rater, rating in ratings.items():
                judge_ratings[rater] = _judge_label(scale, labels, rating)
            result["ratings"] = judge_ratings
        return result

    def _rename_columns(self, judge: Judge, row: Mapping[str, object]) -> Row:
        """Return a row with the judge's names for columns."""
        columns = self._find_fields(judge, row)
        new_names = set(columns.values())
        result: Row = {}
        for key, value in row.items():
            gives_way = key in new_names or key.endswith(EACH)
            if key in columns or not gives_way:
                result[columns.get(key, key)] = value
        for path, name in columns.items():
            if path not in row and has_column(row, path):
                result[name] = read_path(row, path)
                if path.startswith("ratings."):  # the column holds criteria, and no raters
                    result.pop("ratings", None)
        return result

    def _find_fields(self, judge: Judge, row: Mapping[str, object]) -> dict[str, str]:
        """Return column of a row -> field of the judge, by this mapping, else by the judge's, else by similar names."""
        columns = dict(self.columns)
        judge_columns: dict[str, str] = {}
        for key, name in judge.columns.items():
            if name not in columns.values():
                judge_columns[key] = name
        # The judge's names count only in a row that has one of their columns.
        if any(has_column(row, key) for key in judge_columns):
            columns.update(judge_columns)
        open_fields: list[str] = []
        for name in row_keys(judge):
            if name not in columns.values():
                open_fields.append(name)
        free_columns: list[str] = []
        for key in row:
            if key not in columns and not is_rating(key):
                free_columns.append(key)
        return {**find_columns(free_columns, open_fields), **columns}


MappingLike: TypeAlias = RowMapping | Mapping[str, str]
"""The judge's names for columns and labels, or for columns alone."""


def make_mapping(mapping: MappingLike | None) -> RowMapping:
    """Return the names of columns and labels; a dictionary holds names of columns."""
    if isinstance(mapping, RowMapping):
        return mapping
    return RowMapping(columns=mapping or {})


def column_paths(rows: Sequence[Row], patterns: Sequence[str] = ()) -> list[str]:
    """Return the columns of some rows and the paths into them, each once.

    Args:
        rows: of a source.
        patterns: names of columns; those with ``[]`` give the paths into the items of such a list, too.
    """
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
        names.update(dict.fromkeys(dict(flat(row))))
        names.update(dict.fromkeys(_paths_of_lists(row)))
        if any(EACH in pattern for pattern in patterns):
            for item in rows_within(row, patterns):
                names.update(dict.fromkeys(dict(flat(item))))
    return list(names)


def _paths_of_lists(row: Row) -> list[str]:
    """Return the paths to the lists in a row, such as ``given.ann`` of ``given.ann.0``."""
    paths: list[str] = []
    for path, _ in flat(row):
        start, _, item = path.rpartition(".")
        if item == "0" and isinstance(read_path(row, start), list):
            paths.append(start)
    return paths


def _fold_labels(labels: Mapping[str, Label]) -> dict[str, Label]:
    """Return label of the source, case-folded and stripped, -> label of the judge."""
    return {text.strip().casefold(): label for text, label in labels.items()}


def _label_columns(judge: Judge, row: Row) -> list[str]:
    """Return the columns of a row that hold labels: of criteria, of the judge's label, of raters."""
    names = list(judge.answer.criteria) + label_keys(judge)
    columns: list[str] = []
    for name in names:
        if name in row:
            columns.append(name)
    for name in row:
        if is_rating(name):
            columns.append(name)
    return columns


def _judge_label(scale: Scale, labels: Mapping[str, Label], value: object) -> object:
    """Return the judge's label for a label of a source, or for each of a list; any other value as it is.

    Args:
        scale: of the judge's labels.
        labels: label of the source, case-folded -> label of the judge.
        value: the label of the source.
    """
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list):
        return _judge_labels(scale, labels, value)
    if isinstance(value, str):
        value = unquoted(value)
    text = str(as_text(value)).strip()
    label = labels.get(text.casefold())
    if label is None:
        label = labels.get(str(value).casefold())  # 1.0 is also written as 1
    if label == NO_LABEL or (isinstance(value, float) and math.isnan(value)):
        return None
    if label is None:
        label = _yes_or_no(scale, text)
    if label is None:
        return _read_unmapped(scale, value, text)
    scale_value = scale.cell(label)
    if scale_value is None:
        return value
    return scale_value


def _read_unmapped(scale: Scale, value: object, text: str) -> object:
    """Return the label that an unmapped cell names, ``None`` for a word such as "n/a", else the value as it is."""
    if not isinstance(value, str):
        return value
    scale_value = scale.cell(text)
    if scale_value is None:
        return None if is_silent(text) else value
    if not isinstance(scale_value, str):
        return value  # a text with more than one label is read with the row
    return scale_value


def _judge_labels(scale: Scale, labels: Mapping[str, Label], values: Sequence[object]) -> list[object]:
    """Return the judge's labels for a list of labels of a source."""
    judge_labels: list[object] = []
    for value in values:
        label = _judge_label(scale, labels, value)
        # On a scale of several labels, a label alone is read as a list of one.
        if isinstance(value, str) and isinstance(label, list):
            judge_labels.extend(label)
        else:
            judge_labels.append(label)
    return judge_labels


def _yes_or_no(scale: Scale, text: str) -> str | None:
    """Return the label for a word for yes or no, of a scale of two such labels; ``None`` for others."""
    word = text.casefold()
    if word not in _YES and word not in _NO:
        return None
    names = sorted(scale.text(value).casefold() for value in scale.domain)
    if names not in (["no", "yes"], ["false", "true"]):
        return None
    no_label, yes_label = names
    return yes_label if word in _YES else no_label
