"""Annotation sheets: units to label as a CSV, read back as gold, as is the journal of the review page.

No gold label, rating of another person or verdict of a judge is ever in a sheet: who labels should not see them.
A spreadsheet program runs a cell that starts with ``=``, ``+``, ``-`` or ``@``: it gets an apostrophe in front, as does
one that starts with one, and reading takes one off.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cases import Case
from ..errors import GoldError, UsageError
from .files import Place, Row
from .label_journal import is_journal, label_of
from .mapping import is_silent
from .rows import AMBIGUITY, RATER, REASON, canonical_row, label_keys, make_case, normalise
from .sources import All
from .writing import json_text, of_table, write_whole

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from .data import GoldData

CASE, UNIT, GROUP = "case", "unit", "group"
_INPUT, _JSON = "input:", "json:"  # the starts of columns of inputs that are texts, and of others
_ID = "id-"  # before each id: sixteen digits, or digits with one ``e``, would be read as a number
_RISKY = re.compile(r"\s*['=+\-@＝＋－＠]|[\t\r\n]")
RATER_NAME = re.compile(r"""[^,;"'\s\x00-\x1f](?:[^,;"\x00-\x1f]*[^,;"\s\x00-\x1f])?""")
"""What a rater may be called: the head of a column, and a name in a list."""


def safe(text: str) -> str:
    """Return a text as a cell holds it."""
    return "'" + text if _RISKY.match(text) else text


def plain(cell: str) -> str:
    """Return the text that a cell holds: the inverse of :func:`safe`."""
    return cell.removeprefix("'")


@dataclass(frozen=True, kw_only=True)
class SheetLine:
    """One unit to label."""

    case: Case  # its case
    unit: int  # its place in the case, from 0


def open_lines(gold: GoldData, *, rater: str = "", every: bool = False) -> list[SheetLine]:
    """Return the units to label, in order."""
    lines = []
    for case in (*gold.cases, *gold.ambiguous):
        count = len(gold.judge.answer.units(case.inputs))
        labels, own = case.gold or (None,) * count, case.ratings.get(rater, (None,) * count)
        lines += [
            SheetLine(case=case, unit=unit)
            for unit in range(count)
            if own[unit] is None and (every or labels[unit] is None)
        ]
    return lines


def sheet_row(gold: GoldData, case: Case) -> Row:
    """Return the fields of a case's row that people need, from which the same case is read again."""
    judge, keys = gold.judge, label_keys(gold.judge)
    if not keys:
        raise GoldError(
            f"the rows of judge {judge.name!r} have no field for a label",
            hint="name a judge whose rows people can label",
        )
    of_people = {"ratings", AMBIGUITY, REASON} - set(judge.input_fields)
    row = {key: value for key, value in gold.rows[case.id].items() if key not in of_people}
    row = canonical_row(judge, row, replace(case, ratings={}, reason=""))
    left = {key: value for key, value in row.items() if key not in (*keys, GROUP)}
    if make_case(judge, left, Place(case.source)).id != case.id:
        raise GoldError("the row is another case without its label", path=case.source)
    return left


def write_sheet(lines: Sequence[SheetLine], gold: GoldData, path: Path, *, rater: str) -> None:
    """Write units as a sheet for one rater, a line each."""
    if not lines:
        raise UsageError("there is no unit to label", hint="every unit has a label; --all takes them all")
    if not RATER_NAME.fullmatch(rater):
        raise UsageError(
            f"the rater's name {rater!r} cannot head a column",
            hint="use a name without commas, semicolons, quotes and line breaks",
        )
    if path.exists():
        raise UsageError(f"{path} exists and may hold labels", hint="name another file, or move it away")
    answer = gold.judge.answer
    rows = {case.id: sheet_row(gold, case) for case in {line.case.id: line.case for line in lines}.values()}
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    texts = {name for name in names if all(isinstance(row.get(name), str) for row in rows.values())}
    inputs = [f"{_INPUT if name in texts else _JSON}{name}" for name in names]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    columns = [*inputs, "text", "labels", RATER + rater, f"{REASON}:{rater}", AMBIGUITY]
    writer.writerow([CASE, UNIT, GROUP, *columns])
    for line in lines:
        case, row, scale = line.case, rows[line.case.id], answer.scale_of(line.unit)
        # an empty cell of JSON is an input that the row does not have
        cells = [
            row[name] if name in texts else json_text(row[name]) if name in row else "" for name in names
        ]
        if any(of_table(cell) != cell for cell in (case.group, *cells)):
            hint = "label on the page: jurist review JUDGE ROWS -o F.jsonl"
            raise GoldError("no CSV can hold the characters of this row", path=case.source, hint=hint)
        allowed = " | ".join(scale.choices) or scale.expects
        cells = [case.group, *cells, answer.units(case.inputs)[line.unit], allowed, "", "", ""]
        writer.writerow([_ID + case.id, line.unit + 1, *map(safe, cells)])
    write_whole("\ufeff" + stream.getvalue(), path)


def labelled_rows(rows: All) -> All:
    """Return the rows of a source, of a journal of the review page the last label of every rater on every unit."""
    if not rows or rows[0][0].kind != "json" or not is_journal(rows[0][1]):
        return rows
    firsts: dict[str, Row] = {}
    last: dict[tuple[str, int, str], tuple[Place, Row]] = {}
    for place, row in rows:
        label = label_of(row, place)
        if label.row:
            firsts.setdefault(label.case, {"row": label.row, GROUP: label.group})
        elif label.case not in firsts:
            hint = "the first line of a case has it: take the whole journal"
            raise place.wrong(f"the row of case {label.case!r} is missing", "row", hint=hint)
        last[label.key] = place, {**row, **firsts[label.case]}
    return list(last.values())


def as_row(judge: Judge, row: Row, place: Place) -> tuple[Row, Place]:
    """Return a row as a file of rows would have it: what people said in ``rater:`` and ``reason:`` columns."""
    starts = (_INPUT, _JSON)
    if place.kind == "text" and {CASE, UNIT} <= row.keys() and any(key.startswith(starts) for key in row):
        place = replace(place, kind="json")
        return _sheet_line(judge, row, place), place
    if place.kind == "json" and is_journal(row):
        return _journal_line(judge, row, place), place
    return row, place


def _sheet_line(judge: Judge, row: Row, place: Place) -> Row:
    """Return the row of a line of a sheet, whose case is told by its inputs."""
    cells = {key: plain(cell) for key, cell in row.items()}
    inputs = {key.removeprefix(_INPUT): cell for key, cell in cells.items() if key.startswith(_INPUT)}
    others = {key.removeprefix(_JSON): cell for key, cell in cells.items() if key.startswith(_JSON) and cell}
    for name, cell in others.items():
        with suppress(ValueError, RecursionError):  # a changed cell stays a text, which is no such input
            others[name] = json.loads(cell)
    wanted = cells[CASE].strip().removeprefix(_ID)
    # programs that save a sheet write the line ends inside a cell their own way
    unix = {key: cell.replace("\r\n", "\n") for key, cell in inputs.items()}
    windows = {key: cell.replace("\n", "\r\n") for key, cell in unix.items()}
    for texts in (inputs, unix, windows):
        for case, own in normalise(judge, {**texts, **others}, place):
            if case.id == wanted:
                number = cells[UNIT].strip()
                filled = {key: cell for key, cell in cells.items() if key.startswith((RATER, f"{REASON}:"))}
                filled |= {
                    GROUP: cells.get(GROUP, ""),
                    AMBIGUITY: cells.get(AMBIGUITY, "").strip().casefold(),
                }
                unit = int(number) if number.isascii() and number.isdigit() else 0
                return _of_unit(judge, case, own, unit, filled, place)
    hint = "the id or an input was changed; copy both again from the sheet as it was written"
    raise place.wrong(f"the inputs of this line are not those of case {wanted!r}", CASE, hint=hint)


def _journal_line(judge: Judge, row: Row, place: Place) -> Row:
    label = label_of(row, place)
    filled = {RATER + label.rater: label.label, f"{REASON}:{label.rater}": label.reason}
    filled |= {AMBIGUITY: label.ambiguity, GROUP: label.group}
    return _of_unit(judge, make_case(judge, label.row, place), label.row, label.unit, filled, place)


def _of_unit(judge: Judge, case: Case, row: Row, unit: int, filled: Mapping[str, str], place: Place) -> Row:
    """Return the row of a case with what people said of one of its units (from 1)."""
    answer = judge.answer
    count = len(answer.units(case.inputs))
    if not 1 <= unit <= count:
        hint = f"write a number from 1 to {count}"
        raise place.wrong(f"case {case.id} has {count} units, and no such unit", UNIT, hint=hint)

    def placed(value: Any) -> list[Any]:
        return [value if at == unit else None for at in range(1, count + 1)]

    result, meant = dict(row), {text.casefold(): label for text, label in judge.values.items()}
    for key, cell in filled.items():
        if not cell.strip():
            continue
        if key.startswith(RATER):
            said = meant.get(cell.strip().casefold(), cell.strip())
            label = answer.cell(said, unit - 1)
            if label is None and is_silent(said):
                continue
            if label is None:
                hint = f"use {answer.scale_of(unit - 1).expects}; or leave it empty"
                raise place.wrong(f"unknown label {cell!r}", key, hint=hint)
            result[key] = answer.row_of(placed(label))
        elif key == AMBIGUITY:
            result[key] = placed(cell) if count > 1 else cell
        elif key == GROUP:
            result |= {GROUP: cell} if GROUP in judge.row_model.model_fields else {}
        else:
            about = [*answer.criteria, *map(str, range(1, count + 1))][unit - 1]
            result[key] = f"{about}: {cell.strip()}" if count > 1 else cell.strip()
    return result
