"""Reading back what people filled in: annotation sheets (CSV), Label Studio's JSON, journals of the review page.

A spreadsheet program runs a cell that starts with ``=``, ``+``, ``-`` or ``@``: it gets an apostrophe in front, as does
one that starts with one, and reading takes one off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import pydantic

from ..cases import Case
from ..errors import GoldError
from .files import Kind, Place, Row, Rows, validated
from .label_journal import is_journal, label_of
from .rows import AMBIGUITY, RATER, REASON, joined, label_keys, make_case

if TYPE_CHECKING:
    from ..programs.judge import Judge

Category: TypeAlias = Literal["sentiment", "relation", "other", "unknown"]
"""Why a unit is ambiguous, as people said in the row; ``unknown`` where nobody did. It is never guessed."""
CATEGORIES: tuple[Category, ...] = get_args(Category)
CASE, UNIT, TEXT, GROUP = "case", "unit", "text", "group"
INPUT, JSON_INPUT = "input:", "json:"
ID_MARK = "id-"  # before each id: sixteen digits, or digits with one ``e``, would be read as a number
LABEL = "label"  # the field of a journal that holds it

_RISKY = re.compile(r"\s*['=+\-@＝＋－＠]|[\t\r\n]")
_AGAIN = "export again from Label Studio as JSON, with one choice a control"


def safe(text: str) -> str:
    """Return a text as a cell holds it."""
    return "'" + text if _RISKY.match(text) else text


def plain(cell: str) -> str:
    """Return the text that a cell holds: the inverse of :func:`safe`."""
    return cell.removeprefix("'")


@dataclass(frozen=True, kw_only=True)
class SheetUnit:
    """One unit of a case with what people said of it, wherever it was read from; nothing is checked yet."""

    case: str  # the id of its case; empty where the file has none
    unit: str  # its number in the case, from 1, as text
    row: Mapping[str, Any]  # the fields of the case's row, without label, group and ratings
    group: str  # the group; empty to leave it open
    place: Place
    # rater (empty if the file gives none), label as it stands there, and in which column, of those who gave one
    labels: Iterable[tuple[str, str, str]]
    categories: Iterable[str]  # why the unit is ambiguous, as people said
    reasons: Mapping[str, str]  # rater -> why the label is right


def is_sheet(first: Row, kind: Kind) -> bool:
    """Say whether a source is a filled or empty sheet, by its first row."""
    if kind == "text":
        inputs = any(key.startswith((INPUT, JSON_INPUT)) for key in first)
        return {CASE, UNIT, TEXT} <= first.keys() and inputs
    task = isinstance(first.get("data"), Mapping) and isinstance(first.get("annotations"), list)
    return kind == "json" and (task or is_journal(first))


def sheet_cases(judge: Judge, rows: Rows, path: str, kind: Kind) -> list[tuple[int, tuple[Case, Row]]]:
    """Return the cases of a sheet with their rows and everybody's ratings; an empty cell is no label."""
    if not label_keys(judge):
        raise GoldError(f"the rows of judge {judge.name!r} have no field for a label", path=path)
    if kind != "text" and is_journal(rows[0][1]):
        units = _journal_units(rows, path)
    else:
        read = _line_unit if kind == "text" else _task_unit
        units = (read(row, Place(path, line)) for line, row in rows)
    cases: dict[str, tuple[int, tuple[Case, Row]]] = {}
    for unit in units:
        rated = _rated(judge, unit)
        line, before = cases.get(rated[0].id, (unit.place.line or 0, None))
        cases[rated[0].id] = line, joined(before, rated) if before else rated
    return list(cases.values())


def _rated(judge: Judge, unit: SheetUnit) -> tuple[Case, Row]:
    """Return the case of a unit, and its row with the ratings of this unit alone."""
    row, case = _identified(judge, unit)
    answer, wrong = judge.answer, unit.place.wrong
    count = len(answer.units(case.inputs))
    number = int(unit.unit) if unit.unit.isascii() and unit.unit.isdigit() else 0
    if not 1 <= number <= count:
        said = f"case {case.id} has {count} units, and no unit {unit.unit!r}"
        raise wrong(said, UNIT, hint=f"write a number from 1 to {count}")

    def placed(value: Any) -> Any:
        return answer.row_of([value if at == number else None for at in range(1, count + 1)])

    labels: dict[str, Any] = {}
    for rater, written, column in unit.labels:
        if not rater:
            raise wrong("the column names no rater", column, hint=f"write {RATER}NAME")
        label = answer.cell(written, number - 1)
        if label is None:
            hint = f"use {answer.scale_of(number - 1).expects}; or leave it empty"
            raise wrong(f"unknown label {written!r}", column, hint=hint)
        if labels.setdefault(rater, label) != label:
            said = f"rater {rater!r} has two labels, {labels[rater]!r} and {label!r}"
            raise wrong(said, column, hint="keep one of the two")
    if labels:
        row["ratings"] = {rater: placed(label) for rater, label in labels.items()}
    categories = {category.casefold() for category in unit.categories}
    for category in categories - set(CATEGORIES):
        hint = f"use one of: {', '.join(CATEGORIES)}; or leave it empty"
        raise wrong(f"unknown category {category!r}", AMBIGUITY, hint=hint)
    if categories:
        named = categories.pop() if len(categories) == 1 else "unknown"
        several = answer.per_unit or answer.criteria
        row[AMBIGUITY] = [named if at == number else None for at in range(1, count + 1)] if several else named
    if unit.reasons and REASON not in judge.row_model.model_fields:
        about = [*answer.criteria, *map(str, range(1, count + 1))][number - 1] + ": " if count > 1 else ""
        row[REASON] = {who: f"{about}{why}" for who, why in unit.reasons.items()}
    return make_case(judge, row, unit.place), row


def _identified(judge: Judge, unit: SheetUnit) -> tuple[Row, Case]:
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
    written = ((key, plain(cell).strip()) for key, cell in row.items() if key.startswith(RATER))
    return SheetUnit(
        case=plain(row[CASE]).strip().removeprefix(ID_MARK),
        unit=plain(row[UNIT]).strip(),
        row=inputs,
        group=plain(row.get(GROUP, "")),
        place=place,
        labels=[(key.removeprefix(RATER).strip(), label, key) for key, label in written if label],
        categories={plain(row.get(AMBIGUITY, "")).strip()} - {""},
        reasons={
            key.removeprefix(f"{REASON}:").strip(): why
            for key, cell in row.items()
            if key.startswith(f"{REASON}:") and (why := plain(cell).strip())
        },
    )


class _Result(pydantic.BaseModel):
    type: str = "choices"
    from_name: str = LABEL
    value: dict[str, Any] = {}


class _Annotation(pydantic.BaseModel):
    result: list[_Result]
    completed_by: Any = None
    was_cancelled: bool = False

    @property
    def rater(self) -> str:
        """The annotator's e-mail address where the export has it, else the number."""
        by = self.completed_by
        if isinstance(by, Mapping):
            return str(by.get("email") or by.get("username") or f"annotator-{by.get('id')}")
        return f"annotator-{by}" if isinstance(by, int) else str(by or "annotator")


class _Task(pydantic.BaseModel):
    data: dict[str, Any]
    annotations: list[_Annotation] = []


_TASKS = pydantic.TypeAdapter(_Task)


def _task_unit(row: Row, place: Place) -> SheetUnit:
    """Return a task of Label Studio with what its annotators said, drafts left out."""
    task = validated(_TASKS, row, place, hint=_AGAIN)
    labels, reasons = [], dict[str, str]()
    for number, annotation in enumerate(task.annotations):
        for at, result in enumerate([] if annotation.was_cancelled else annotation.result):
            if (result.type, result.from_name) == ("textarea", REASON):
                texts = result.value.get("text") or ""
                reasons[annotation.rater] = "\n".join(
                    [texts] if isinstance(texts, str) else map(str, texts)
                ).strip()
            if result.type != "choices":
                continue
            column = f"annotations.{number}.result.{at}.value.choices"
            chosen = result.value.get("choices")
            if not isinstance(chosen, list) or len(chosen) > 1:
                raise place.wrong(f"it must be a list of one choice, not {chosen!r}", column, hint=_AGAIN)
            labels += [(annotation.rater, str(choice).strip(), column) for choice in chosen]
    return SheetUnit(
        case="",
        unit="1",
        row=task.data,
        group=str(task.data.get(GROUP) or ""),
        place=place,
        labels=labels,
        categories=(),
        reasons={rater: why for rater, why in reasons.items() if why},
    )


def _journal_units(rows: Rows, path: str) -> Iterator[SheetUnit]:
    """Yield the last label of every rater on every unit of a journal."""
    firsts: dict[str, Row] = {}
    last: dict[tuple[str, int, str], SheetUnit] = {}
    for line, row in rows:
        place = Place(path, line)
        label = label_of(row, place)
        if isinstance(row.get("row"), Mapping):
            firsts.setdefault(label.case, row)
        elif label.case not in firsts:
            hint = "the first line of a case has it: take the whole journal"
            raise place.wrong(f"the row of case {label.case!r} is missing", "row", hint=hint)
        last[label.key] = SheetUnit(
            case=label.case,
            unit=str(label.unit + 1),
            row=firsts[label.case]["row"],
            group=str(firsts[label.case].get(GROUP) or ""),
            place=place,
            labels=[(label.rater, label.label, LABEL)] if label.label else [],
            categories={label.category} - {""},
            reasons={label.rater: label.reason} if label.reason else {},
        )
    yield from last.values()
