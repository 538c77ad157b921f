"""Rows whose columns have other names than a judge's, or whose labels are other words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..cases import Label
from ..errors import GoldError, UsageError, choices
from .files import Reading, Row
from .rows import REASON, is_rating, label_keys, row_keys

if TYPE_CHECKING:
    from ..programs.judge import Judge


_YES = {
    "yes": "true",
    "y": "true",
    "1": "true",
    "1.0": "true",
    "no": "false",
    "n": "false",
    "0": "false",
    "0.0": "false",
}


@dataclass(frozen=True, kw_only=True)
class RowMapping:
    """How the columns and labels of a source are called by a judge.

    Attributes:
        columns: column of the source -> field of the judge. A column that had the field's name before gives way.
        labels: label of the source -> label of the judge, whatever their capitals.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Label] = field(default_factory=dict)

    def to_json(self) -> dict[str, dict[str, str]]:
        """Return what is renamed, as plain JSON types; empty if nothing is."""
        parts = {"columns": dict(self.columns), "labels": dict(self.labels)}
        return {name: names for name, names in parts.items() if names}

    def check(self, judge: Judge) -> None:
        """Refuse names that the judge does not have.

        Raises:
            UsageError: a field or a label of the judge is none.
        """
        known = row_keys(judge)
        for column, name in self.columns.items():
            if not (
                judge.expand
                or judge.document
                or name in known
                or is_rating(name)
                or name.startswith(f"{REASON}:")
            ):
                raise UsageError(
                    f"--column {column}={name}: rows of {judge.name} have no field {name!r}",
                    hint=choices(name, known),
                )
        for given, label in self.labels.items():
            if judge.answer.scale.cell(label) is None:
                raise UsageError(
                    f"--map {given}={label}: {label!r} is no answer of {judge.name}",
                    hint=f"use {judge.answer.scale.expects}",
                )

    def check_columns(self, reading: Reading) -> None:
        """Refuse to rename a column that none of the rows has.

        Raises:
            GoldError: there is such a column.
        """
        have = dict.fromkeys(key for _, row in reading.rows for key in row) if self.columns else {}
        for column in self.columns:
            if column not in have:
                hint = choices(column, have)
                raise GoldError("no row has this column", path=reading.path, field=column, hint=hint)

    def row(self, judge: Judge, row: Mapping[str, Any]) -> Row:
        """Return a row with the judge's names; labels that differ in capitals only are the judge's too."""
        taken = set(self.columns.values())
        result = {
            self.columns.get(key, key): value
            for key, value in row.items()
            if key in self.columns or key not in taken
        }
        for key in (*label_keys(judge), *filter(is_rating, list(result))):
            if key in result:
                result[key] = self._label(judge, result[key])
        if isinstance(result.get("ratings"), Mapping):
            said = result["ratings"].items()
            result["ratings"] = {rater: self._label(judge, value) for rater, value in said}
        return result

    def _label(self, judge: Judge, value: Any) -> Any:
        if isinstance(value, list):
            found: list[Any] = []
            for one in value:
                label = self._label(judge, one)
                # of several labels in one list, each is a list of one when it stands alone
                found += label if isinstance(one, str) and isinstance(label, list) else [label]
            return found
        given = value.strip() if isinstance(value, str) else str(value).lower()
        label = self._folded.get(given.casefold()) or self._said_yes(judge, given)
        if label is None and not isinstance(value, str):
            return value
        known = judge.answer.scale.cell(given if label is None else label)
        # a text that says more than one label is read with the row
        return value if known is None or (label is None and not isinstance(known, str)) else known

    def _said_yes(self, judge: Judge, given: str) -> str | None:
        """Return what another word for yes or no says of a judge that answers true or false."""
        if set(map(judge.answer.scale.text, judge.answer.scale.domain)) != {"true", "false"}:
            return None
        return _YES.get(given.casefold())

    @cached_property
    def _folded(self) -> Mapping[str, Label]:
        return {given.strip().casefold(): label for given, label in self.labels.items()}
