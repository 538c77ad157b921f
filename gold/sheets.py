"""Reading back what people filled in: annotation sheets (CSV), Label Studio's JSON, journals of the review page.

They are told apart by content, and each of their adapters gives units of one kind. A sheet or an export holds all
inputs, so that it can be read without the file it was made from. The units of one case become one row with everybody's
ratings. The id of every unit is held against its inputs: what a spreadsheet program changed is found before it becomes
another case.

A program that opens a CSV file runs a cell that starts with ``=``, ``+``, ``-`` or ``@``. Such a cell, also one with
white space before the sign, one with the full-width form of it, and one that starts with an apostrophe, is written with
an apostrophe in front. Reading takes one leading apostrophe off; so every text comes back as it was, also from a
program that hides or removes the apostrophe itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from ..cases import Case
from ..errors import GoldError
from .files import Kind, Place, Row, Rows
from .rows import AMBIGUITY, RATER, label_keys, make_case

if TYPE_CHECKING:
    from ..programs.judge import Judge

Category: TypeAlias = Literal["sentiment", "relation", "other", "unknown"]
"""Why a unit is ambiguous, as people said in the row; ``unknown`` where nobody did. It is never guessed."""
CATEGORIES: tuple[Category, ...] = get_args(Category)
CASE, UNIT, TEXT, GROUP = "case", "unit", "text", "group"
INPUT, JSON_INPUT = "input:", "json:"
ID_MARK = "id-"
"""Stands before each id: sixteen digits, or digits with one ``e``, would be read as a number."""
LABEL = "label"
"""The name of the control that takes the label, in the labelling configuration."""

_RISKY = re.compile(r"\s*['=+\-@＝＋－＠]|[\t\r\n]")
_JOURNAL = {"case", "unit", "rater", "label"}
_TASK = {"case", "unit", "row"}
_AGAIN = "export again from Label Studio as JSON, with one choice a control"


def safe(text: str) -> str:
    """Return a text as a cell holds it."""
    return "'" + text if _RISKY.match(text) else text


def plain(cell: str) -> str:
    """Return the text that a cell holds: the inverse of :func:`safe`."""
    return cell.removeprefix("'")


@dataclass(frozen=True, kw_only=True)
class SheetUnit:
    """One unit of a case, wherever it was read from; nothing is checked yet."""

    case: str  # the id of its case; empty where the file has none
    unit: str  # its number in the case, from 1, as text
    row: Mapping[str, Any]  # the fields of the case's row, without label, group and ratings
    group: str  # the group; empty to leave it open
    place: Place
    # rater (empty if the file gives none), label as it stands there, and in which column, of those who gave one
    answers: tuple[tuple[str, str, str], ...]
    categories: frozenset[str]  # why the unit is ambiguous, as people said


def is_sheet(first: Row, kind: Kind) -> bool:
    """Say whether a source is a filled or empty sheet, by its first row."""
    if kind == "text":
        inputs = any(key.startswith((INPUT, JSON_INPUT)) for key in first)
        return {CASE, UNIT, TEXT} <= first.keys() and inputs
    return kind == "json" and (_is_task(first) or _is_journal(first))


def answered(judge: Judge, rows: Rows, path: str, kind: Kind) -> Rows:
    """Return the cases of a sheet, in the order of their first lines, as rows with ratings.

    A unit without a line, or with an empty cell, is one that the rater did not label.
    """
    if not label_keys(judge):
        raise GoldError(f"the rows of judge {judge.name!r} have no field for a label", path=path)
    if kind != "text" and _is_journal(rows[0][1]):
        units = _journal_units(rows, path)
    else:
        read = _line_unit if kind == "text" else _task_unit
        units = (read(row, Place(path, line)) for line, row in rows)
    cases: dict[str, _Units] = {}
    for unit in units:
        row, case = _checked(judge, unit)
        cases.setdefault(case.id, _Units(judge=judge, row=row, case=case)).add(unit)
    return [(next(iter(some.lines.values())), some.rated_row()) for some in cases.values()]


def _line_unit(row: Row, place: Place) -> SheetUnit:
    inputs: Row = {}
    for key, cell in row.items():
        if key.startswith(INPUT):
            inputs[key.removeprefix(INPUT)] = plain(cell)
        elif key.startswith(JSON_INPUT) and cell:
            try:
                inputs[key.removeprefix(JSON_INPUT)] = json.loads(plain(cell))
            except (ValueError, RecursionError) as error:
                hint = "copy the cell again from the sheet as it was written"
                raise place.wrong("the cell is not the JSON that was written", key, hint=hint) from error
    said = ((key, plain(cell).strip()) for key, cell in row.items() if key.startswith(RATER))
    return SheetUnit(
        case=plain(row[CASE]).strip().removeprefix(ID_MARK),
        unit=plain(row[UNIT]).strip(),
        row=inputs,
        group=plain(row.get(GROUP, "")),
        place=place,
        answers=tuple((key.removeprefix(RATER).strip(), label, key) for key, label in said if label),
        categories=frozenset({plain(row.get(AMBIGUITY, "")).strip()} - {""}),
    )


def _is_task(row: Mapping[str, Any]) -> bool:
    data = row.get("data")
    return isinstance(data, Mapping) and (isinstance(row.get("annotations"), list) or data.keys() >= _TASK)


def _task_unit(row: Row, place: Place) -> SheetUnit:
    """Return a task of Label Studio with the answers of its annotators: predictions, drafts and skips are none.

    A task of ours holds the case's id, the unit's number and the whole row under ``data``; in one of somebody else's
    ``data`` is the row, and the unit is the first.
    """
    data = row.get("data")
    if not isinstance(data, Mapping):
        raise place.wrong("the task holds no object 'data'", "data", hint=_AGAIN)
    ours = data.keys() >= _TASK
    inputs = data["row"] if ours else data
    if not isinstance(inputs, Mapping):
        raise place.wrong("it must be an object", "data.row", hint=_AGAIN)
    choices = list(_choices(row, place))
    return SheetUnit(
        case=str(data["case"]) if ours else "",
        unit=str(data["unit"]) if ours else "1",
        row=inputs,
        group=str(data.get("group") or ""),
        place=place,
        answers=tuple(
            (rater, choice, column)
            for rater, control, choice, column in choices
            if control == LABEL or not (ours or control == AMBIGUITY)
        ),
        categories=frozenset(choice for _, control, choice, _ in choices if control == AMBIGUITY),
    )


def _choices(row: Row, place: Place) -> Iterator[tuple[str, str, str, str]]:
    """Yield rater, control, choice and column of the results of type ``choices``."""
    annotations = row.get("annotations") or []
    for number, annotation in enumerate(annotations if isinstance(annotations, list) else [annotations]):
        name = f"annotations[{number}]"
        if not isinstance(annotation, Mapping):
            raise place.wrong("an annotation must be an object", name, hint=_AGAIN)
        if annotation.get("was_cancelled"):
            continue
        results = annotation.get("result")
        if not isinstance(results, list):
            raise place.wrong("it must be a list", f"{name}.result", hint=_AGAIN)
        for at, item in enumerate(results):
            if not isinstance(item, Mapping) or item.get("type", "choices") != "choices":
                continue
            column, value = f"{name}.result[{at}].value.choices", item.get("value")
            chosen = value.get("choices") if isinstance(value, Mapping) else None
            if not isinstance(chosen, list):
                raise place.wrong("it must be a list of choices", column, hint=_AGAIN)
            if len(chosen) > 1:
                raise place.wrong(f"there are {len(chosen)} choices, {chosen}", column, hint=_AGAIN)
            for choice in chosen:
                yield _annotator(annotation), str(item.get("from_name", LABEL)), str(choice).strip(), column


def _annotator(annotation: Mapping[str, Any]) -> str:
    """Return the annotator's e-mail address where the export has it, else the number."""
    by = annotation.get("completed_by")
    if isinstance(by, Mapping):
        return str(by.get("email") or by.get("username") or f"annotator-{by.get('id')}")
    return f"annotator-{by}" if isinstance(by, int) else str(by or "annotator")


def _is_journal(row: Mapping[str, Any]) -> bool:
    return row.keys() >= _JOURNAL and ("row" in row or AMBIGUITY in row or len(row) == len(_JOURNAL))


def _journal_units(rows: Rows, path: str) -> Iterator[SheetUnit]:
    """Yield the units of a journal, each with the last label of every rater."""
    firsts: dict[str, Row] = {}
    last: dict[tuple[str, str], dict[str, tuple[int, Row]]] = {}
    for line, row in rows:
        if not _is_journal(row):
            raise GoldError("not a line of a review", path=path, line=line)
        case, unit = str(row["case"]), str(row["unit"])
        if isinstance(row.get("row"), Mapping):
            firsts.setdefault(case, row)
        elif case not in firsts:
            hint = "the first line of a case has it: take the whole journal"
            raise Place(path, line).wrong(f"the row of case {case!r} is missing", "row", hint=hint)
        last.setdefault((case, unit), {})[str(row["rater"])] = line, row
    for (case, unit), said in last.items():
        yield SheetUnit(
            case=case,
            unit=unit,
            row=firsts[case]["row"],
            group=str(firsts[case].get("group") or ""),
            place=Place(path, max(line for line, _ in said.values())),
            answers=tuple(
                (rater, str(row["label"]), "label") for rater, (_, row) in said.items() if row["label"]
            ),
            categories=frozenset(str(row.get(AMBIGUITY) or "") for _, row in said.values()) - {""},
        )


def _checked(judge: Judge, unit: SheetUnit) -> tuple[Row, Case]:
    """Return the row of a unit, and its case, whose id is that of the unit."""
    known = ""
    # programs that save a sheet may write the line ends inside a cell their own way
    for ending in ("", "\r\n", "\r"):
        row: Row = {
            key: part.replace("\r\n", "\n").replace("\n", ending)
            if ending and isinstance(part, str)
            else part
            for key, part in unit.row.items()
        }
        if unit.group and GROUP in judge.row_model.model_fields:
            row[GROUP] = unit.group
        case = make_case(judge, row, unit.place)
        if unit.case in ("", case.id):
            return row, case
        known = known or case.id
    raise unit.place.wrong(
        f"unknown case id {unit.case!r}: the inputs of this line have the id {known!r}",
        CASE,
        hint="the id or an input was changed; copy both again from the sheet as it was written",
    )


@dataclass(kw_only=True)
class _Units:
    """The units of one case, as they come in."""

    judge: Judge
    row: Row
    case: Case
    lines: dict[int, int] = field(default_factory=dict)  # number of a unit -> its line
    labels: dict[str, dict[int, Any]] = field(default_factory=dict)
    categories: dict[int, str] = field(default_factory=dict)

    def add(self, unit: SheetUnit) -> None:
        """Take a unit."""
        answer, wrong = self.judge.answer, unit.place.wrong
        count = len(answer.units(self.case.inputs))
        number = int(unit.unit) if unit.unit.isascii() and unit.unit.isdigit() else 0
        if not 1 <= number <= count:
            said = f"case {self.case.id} has {count} units, and no unit {unit.unit!r}"
            raise wrong(said, UNIT, hint=f"write a number from 1 to {count}")
        if number in self.lines:
            said = f"unit {number} of case {self.case.id} stands here and in line {self.lines[number]}"
            raise wrong(said, UNIT, hint="remove one of the two lines")
        self.lines[number] = unit.place.line or 0
        for rater, given, column in unit.answers:
            if not rater:
                raise wrong("the column names no rater", column, hint=f"write {RATER}NAME")
            label = answer.scale.cell(given)
            if label is None:
                hint = f"use {answer.scale.expects}; or leave it empty"
                raise wrong(f"unknown label {given!r}", column, hint=hint)
            before = self.labels.setdefault(rater, {}).setdefault(number, label)
            if before != label:
                said = f"rater {rater!r} has two labels, {before!r} and {label!r}"
                raise wrong(said, column, hint="keep one of the two")
        for category in unit.categories:
            if category.casefold() not in CATEGORIES:
                hint = f"use one of: {', '.join(CATEGORIES)}; or leave it empty"
                raise wrong(f"unknown category {category!r}", AMBIGUITY, hint=hint)
            self.categories[number] = "unknown" if len(unit.categories) > 1 else category.casefold()

    def rated_row(self) -> Row:
        """Return the row with everybody's ratings."""
        numbers = range(1, len(self.judge.answer.units(self.case.inputs)) + 1)
        each = self.judge.answer.per_unit
        ratings = {
            rater: [given.get(number) for number in numbers] if each else given[1]
            for rater, given in self.labels.items()
        }
        why: Any = [self.categories.get(number) for number in numbers] if each else self.categories.get(1)
        why = why if self.categories else None
        return {**self.row, **({"ratings": ratings} if ratings else {}), **({AMBIGUITY: why} if why else {})}
