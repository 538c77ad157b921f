"""Which units people label next, and annotation sheets: units as a CSV, read back as gold, as a review's journal is.

The most informative come first: a label is worth the spread of the votes on its unit, one of each rater, and the
judge's, divided as its samples are.

No gold label, rating of another person or verdict of a judge is ever in a sheet: who labels should not see them.
A spreadsheet program runs a cell that starts with ``=``, ``+``, ``-`` or ``@``: it gets an apostrophe in front, as does
one that starts with one, and reading takes one off.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cases import Case, Values
from ..errors import GoldError, UsageError
from .columns import is_silent
from .files import Place, Row
from .label_journal import is_journal, label_of
from .raters import unit_ratings
from .rows import AMBIGUITY, RATER, REASON, RESOLVED, canonical_row, label_keys, make_case, normalise
from .sources import All, read
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
        hint = "name a judge whose rows people can label"
        raise GoldError(f"the rows of judge {judge.name!r} have no field for a label", hint=hint)
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
        hint = "use a name without commas, semicolons, quotes and line breaks"
        raise UsageError(f"the rater's name {rater!r} cannot head a column", hint=hint)
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
            written = meant.get(cell.strip().casefold(), cell.strip())
            label = answer.cell(written, unit - 1)
            if label is None and is_silent(written):
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


_SURE = 0.9  # the share of its vote from which the judge does not waver


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the judge says of one case."""

    id: str  # of the case
    values: Values  # the verdict of each unit; ``None`` where there is none
    # value -> share of the judge's vote, of each unit; empty where it has none
    shares: tuple[Mapping[str, float], ...]


def read_judged(path: str | Path, judge: Judge) -> list[Judged]:
    """Read the output of ``jurist run``, without rows on which the machinery failed."""
    judged: list[Judged] = []
    for place, row in read(path).rows:
        try:
            judged += [] if row["status"] == "failed" else [_judged(row, judge)]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = f"no line of a run of judge {judge.name!r}: {error}"
            raise place.wrong(message, hint="give the file that this judge wrote") from error
    return judged


def _judged(row: Mapping[str, Any], judge: Judge) -> Judged:
    """Return what a line says. Raises whatever a line of another kind does."""
    units, scale = row["units"], judge.answer.scale
    votes = [unit.get("probabilities") or unit.get("votes", {}) for unit in units]
    for name, vote in (item for of_unit in votes for item in of_unit.items()):
        if scale.cell(name) is None or vote < 0:
            raise ValueError(f"it has no {scale.noun} {name!r}")
    return Judged(
        id=str(row.get("case") or row["id"]),
        values=tuple(map(judge.answer.unit_value, units)),
        shares=tuple(map(_shares, votes)),
    )


def review_lines(judged: Iterable[Judged], judge: Judge, known: Mapping[str, Case]) -> list[SheetLine]:
    """Return the units to review, most informative first."""
    lines: dict[str, Judged] = {}
    for line in judged:
        lines.setdefault(line.id, line)
    if missing := sorted(lines.keys() - known.keys()):
        raise GoldError(
            f"{len(missing)} of the judged cases are not in the rows, such as {missing[0]}",
            hint="name the rows that were judged",
        )
    worth = {
        (case, unit): value
        for case in {**lines, **known}
        for unit, value in worths(known[case], lines.get(case), judge).items()
    }
    ordered = sorted(worth, key=lambda key: -round(worth[key], 9))
    return [SheetLine(case=known[case], unit=unit) for case, unit in ordered]


def worths(case: Case, line: Judged | None, judge: Judge) -> dict[int, float]:
    """Return the units of a case on which raters, gold and judge are at odds, with what a label is worth."""
    people, scale, worth = unit_ratings(case), judge.answer.scale, dict[int, float]()
    labels = case.gold or (None,) * (len(people) or len(line.values if line else ()))
    if line and len(labels) != len(line.values):
        raise GoldError(
            f"case {case.id} has {len(line.values)} units here and {len(labels)} in the gold set",
            hint="give the gold set of the rows that were judged",
        )
    for unit, label in enumerate(labels):
        ratings = people[unit] if people else {}
        raters = [ratings[RESOLVED]] if RESOLVED in ratings else list(ratings.values())
        value = line.values[unit] if line else None
        shares: Mapping[str, float] = line.shares[unit] if line else {}
        unsure = line is not None and (value is None or max(shares.values(), default=1.0) < _SURE)
        if len(set(raters)) > 1 or unsure or (None not in (label, value) and label != value):
            votes = Counter(map(scale.text, raters or ([] if label is None else [label])))
            every = {name: votes[name] + shares.get(name, 0.0) for name in {**votes, **shares}}
            worth[unit] = scale.spread(every) if every else 1.0
    return worth


def _shares(votes: Mapping[str, float]) -> dict[str, float]:
    """Return votes, or probabilities, as shares of their sum."""
    total = sum(votes.values())
    return {name: count / total for name, count in votes.items() if count} if total else {}
