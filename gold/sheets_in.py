"""Reading back what people filled in: annotation sheets (CSV), Label Studio exports and the
review page's journals, told apart by content.

The first two have one line (or task) a unit and hold all inputs, so that a sheet can be read without the file it was
made from. The lines of one case become one row with everybody's ratings. The id of every line is held against its
inputs: what a spreadsheet program changed is found before it becomes another case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..cases import Case
from ..errors import GoldError
from .cells import json_of, plain
from .files import Kind, Place, Row, Rows
from .label_journal import is_journal, journal_units
from .rows import AMBIGUITY, RATER, label_keys, make_case
from .tasks import is_task, task_unit
from .units import CATEGORIES, Answer, SheetUnit

if TYPE_CHECKING:
    from ..programs.judge import Judge

CASE, UNIT, TEXT, GROUP = "case", "unit", "text", "group"
INPUT, JSON_INPUT = "input:", "json:"
ID_MARK = "id-"
"""Stands before each id: sixteen digits, or digits with one ``e``, would be read as a number."""


def is_sheet(first: Row, kind: Kind) -> bool:
    """Say whether a source is a filled or empty sheet, by its first row."""
    if kind == "text":
        return {CASE, UNIT, TEXT} <= first.keys() and any(
            key.startswith((INPUT, JSON_INPUT)) for key in first
        )
    return kind == "json" and (is_task(first) or is_journal(first))


def answered(judge: Judge, rows: Rows, path: str, kind: Kind) -> Rows:
    """Return the cases of a sheet, in the order of their first lines, as rows with ratings.

    A unit without a line, or with an empty cell, is one that the rater did not label.
    """
    if not label_keys(judge):
        raise GoldError(f"the rows of judge {judge.name!r} have no field for a label", path=path)
    if kind != "text" and is_journal(rows[0][1]):
        units = journal_units(rows, path)
    else:
        units = [(_from_line if kind == "text" else task_unit)(row, path, line) for line, row in rows]
    found: dict[str, _Collected] = {}
    for unit in units:
        row, case = _checked(judge, unit)
        place = found.setdefault(case.id, _Collected(judge=judge, row=row, case=case, line=unit.line))
        place.add(unit)
    return [(one.line, one.answers()) for one in found.values()]


def _from_line(row: Row, path: str, line: int) -> SheetUnit:
    inputs: Row = {}
    for key, cell in row.items():
        if key.startswith(INPUT):
            inputs[key.removeprefix(INPUT)] = plain(cell)
        elif key.startswith(JSON_INPUT) and cell:
            inputs[key.removeprefix(JSON_INPUT)] = json_of(cell, key, Place(path, line))
    answers = tuple(
        Answer(rater=key.removeprefix(RATER).strip(), label=label, column=key)
        for key, cell in row.items()
        if key.startswith(RATER) and (label := plain(cell).strip())
    )
    return SheetUnit(
        case=plain(row[CASE]).strip().removeprefix(ID_MARK),
        unit=plain(row[UNIT]).strip(),
        row=inputs,
        group=plain(row.get(GROUP, "")),
        path=path,
        line=line,
        answers=answers,
        category=plain(row.get(AMBIGUITY, "")).strip(),
    )


_Checked: TypeAlias = tuple[Row, Case]


def _checked(judge: Judge, unit: SheetUnit) -> _Checked:
    """Return the row of a line, and its case, whose id is that of the line."""
    row, case = _made(judge, unit.row, unit)
    if unit.case in ("", case.id):
        return row, case
    # programs that save a sheet may write the line ends inside a cell their own way
    for ending in ("\r\n", "\r"):
        again, other = _made(judge, _with_ends(unit.row, ending), unit)
        if other.id == unit.case:
            return again, other
    raise unit.wrong(
        f"unknown case id {unit.case!r}: the inputs of this line have the id {case.id!r}",
        CASE,
        hint="the id or an input was changed; copy both again from the sheet as it was written",
    )


def _made(judge: Judge, inputs: Mapping[str, Any], unit: SheetUnit) -> _Checked:
    has_group = unit.group and GROUP in judge.row_model.model_fields
    row = {**inputs, **({GROUP: unit.group} if has_group else {})}
    return row, make_case(judge, row, unit.place)


def _with_ends(value: Any, ending: str) -> Any:
    return {
        key: part.replace("\r\n", "\n").replace("\n", ending) if isinstance(part, str) else part
        for key, part in value.items()
    }


@dataclass(kw_only=True)
class _Collected:
    """The units of one case, as they come in."""

    judge: Judge
    row: Row
    case: Case
    line: int
    lines: dict[int, int] = field(default_factory=dict)
    labels: dict[str, dict[int, Any]] = field(default_factory=dict)
    categories: dict[int, str] = field(default_factory=dict)

    def add(self, unit: SheetUnit) -> None:
        count = len(self.judge.answer.units(self.case.inputs))
        number = int(unit.unit) if unit.unit.isascii() and unit.unit.isdigit() else 0
        if not 1 <= number <= count:
            said = f"case {self.case.id} has {count} units, and no unit {unit.unit!r}"
            raise unit.wrong(said, UNIT, hint=f"write a number from 1 to {count}")
        if number in self.lines:
            said = f"unit {number} of case {self.case.id} stands here and in line {self.lines[number]}"
            raise unit.wrong(said, UNIT, hint="remove one of the two lines")
        self.lines[number] = unit.line
        for answer in unit.answers:
            self._answer(answer, number, unit)
        if unit.category:
            self.categories[number] = _category(unit)

    def _answer(self, answer: Answer, number: int, unit: SheetUnit) -> None:
        if not answer.rater:
            raise unit.wrong("the column names no rater", answer.column, hint=f"write {RATER}NAME")
        label = self.judge.answer.cell(answer.label)
        if label is None:
            hint = f"use {self.judge.answer.expects}; or leave it empty"
            raise unit.wrong(f"unknown label {answer.label!r}", answer.column, hint=hint)
        before = self.labels.setdefault(answer.rater, {}).setdefault(number, label)
        if before != label:
            said = f"rater {answer.rater!r} has two labels, {before!r} and {label!r}"
            raise unit.wrong(said, answer.column, hint="keep one of the two")

    def answers(self) -> Row:
        """Return the row with everybody's ratings."""
        result = dict(self.row)
        numbers = range(1, len(self.judge.answer.units(self.case.inputs)) + 1)
        if not self.judge.answer.per_unit:
            ratings: dict[str, Any] = {rater: given[1] for rater, given in self.labels.items()}
            why: Any = self.categories.get(1)
        else:
            ratings = {
                rater: [given.get(number) for number in numbers] for rater, given in self.labels.items()
            }
            why = [self.categories.get(number) for number in numbers] if self.categories else None
        return {**result, **({"ratings": ratings} if ratings else {}), **({AMBIGUITY: why} if why else {})}


def _category(unit: SheetUnit) -> str:
    name = unit.category.casefold()
    if name not in CATEGORIES:
        hint = f"use one of: {', '.join(CATEGORIES)}; or leave it empty"
        raise unit.wrong(f"unknown category {unit.category!r}", AMBIGUITY, hint=hint)
    return name
