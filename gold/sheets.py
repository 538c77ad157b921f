"""Annotation sheets (units as a CSV for one rater, read back as gold), and the order in which people review units.

The most informative units come first. A label is worth the spread of the votes on its unit: one vote of each rater, and
one of the judge, divided like its samples.

A sheet never holds a gold label, another person's rating or a judge's verdict: a rater should not see them. A
spreadsheet program runs a cell that starts with ``=``, ``+``, ``-`` or ``@``. Such a cell, and one that starts with an
apostrophe, gets an apostrophe in front. Reading takes one off.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cases import Case, Value, Values
from ..errors import GoldError, UsageError, as_data
from .columns import is_silent
from .files import Place, Row
from .raters import unit_ratings
from .rows import AMBIGUITY, RATER, REASON, RESOLVED, canonical_row, cases_of_row, label_keys, make_case
from .sources import All, read
from .tables import escape_cell, unescape_cell
from .writing import json_text, of_table, write_whole

if TYPE_CHECKING:
    from ..evaluation.scale import Scale
    from ..programs.judge import Judge
    from .data import GoldData

CASE = "case"
UNIT = "unit"
GROUP = "group"
_INPUT = "input:"  # the start of columns of inputs that are texts
_JSON = "json:"  # the start of columns of inputs that are no texts
_ID = "id-"  # before each id: sixteen digits, or digits with one ``e``, would be read as a number
_JOURNAL_FIELDS = {CASE, UNIT, "rater", "label"}
"""The fields of every line of a journal; its module is imported for a row with all of them alone."""
RATER_NAME = re.compile(r"""[^,;"'\s\x00-\x1f](?:[^,;"\x00-\x1f]*[^,;"\s\x00-\x1f])?""")
"""What a rater may be called: the head of a column, and a name in a list."""


@dataclass(frozen=True, kw_only=True)
class SheetLine:
    """One unit to label."""

    case: Case  # its case
    unit: int  # its place in the case, from 0


def open_lines(gold: GoldData, *, rater: str = "", with_labelled: bool = False) -> list[SheetLine]:
    """Return the units that a rater has not labelled, in order; units that have gold only ``with_labelled``."""
    lines: list[SheetLine] = []
    for case in gold.cases + gold.ambiguous:
        unit_count = len(gold.judge.answer.units(case.inputs))
        unlabelled = (None,) * unit_count
        gold_labels = case.gold or unlabelled
        rater_labels = case.ratings.get(rater, unlabelled)
        for unit in range(unit_count):
            if rater_labels[unit] is None and (with_labelled or gold_labels[unit] is None):
                lines.append(SheetLine(case=case, unit=unit))
    return lines


def sheet_row(gold: GoldData, case: Case) -> Row:
    """Return the fields of a case's row that people need, from which the same case is read again."""
    judge = gold.judge
    keys = label_keys(judge)
    if not keys:
        hint = "name a judge whose rows people can label"
        raise GoldError(f"the rows of judge {judge.name!r} have no field for a label", hint=hint)
    fields_of_people = {"ratings", AMBIGUITY, REASON} - set(judge.input_fields)
    row = _without(case.row, fields_of_people)
    row = canonical_row(judge, replace(case, row=row, ratings={}, reason=""))
    inputs = _without(row, keys + [GROUP])
    if make_case(judge, inputs, Place(case.source)).id != case.id:
        raise GoldError("the row is another case without its label", path=case.source)
    return inputs


def _without(row: Mapping[str, Any], columns: Collection[str]) -> Row:
    """Return a row without some columns."""
    other_columns: Row = {}
    for column, value in row.items():
        if column not in columns:
            other_columns[column] = value
    return other_columns


def write_sheet(lines: Sequence[SheetLine], gold: GoldData, path: Path, *, rater: str) -> None:
    """Write units as a sheet for one rater, a line each."""
    if not lines:
        raise UsageError("there is no unit to label", hint="every unit has a label; --all takes them all")
    if not RATER_NAME.fullmatch(rater):
        hint = "use a name without commas, semicolons, quotes and line breaks"
        raise UsageError(f"the rater's name {rater!r} cannot head a column", hint=hint)
    if path.exists():
        raise UsageError(
            f"{as_data(path)} exists and may hold labels", hint="name another file, or move it away"
        )
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerows(_sheet_cells(lines, gold, rater))
    write_whole("\ufeff" + stream.getvalue(), path)


def _sheet_cells(lines: Sequence[SheetLine], gold: GoldData, rater: str) -> Iterator[list[str]]:
    """Yield the cells of the header of a sheet, and of each of its lines."""
    rows: dict[str, Row] = {}
    for line in lines:
        if line.case.id not in rows:
            rows[line.case.id] = sheet_row(gold, line.case)
    is_text = _text_columns(rows.values())

    header = [CASE, UNIT, GROUP]
    for name in is_text:
        start = _JSON
        if is_text[name]:
            start = _INPUT
        header.append(start + name)
    header.extend(["text", "labels", RATER + rater, f"{REASON}:{rater}", AMBIGUITY])
    yield header

    for line in lines:
        cells = _cells_of_line(line, rows[line.case.id], is_text, gold.judge)
        yield [_ID + line.case.id, str(line.unit + 1)] + [escape_cell(cell) for cell in cells]


def _text_columns(rows: Collection[Row]) -> dict[str, bool]:
    """Return column -> True where all rows have a text in it; the columns in the order in which they occur."""
    is_text: dict[str, bool] = {}
    for row in rows:
        is_text.update(dict.fromkeys(row, True))
    for row in rows:
        for name in is_text:
            if not isinstance(row.get(name), str):
                is_text[name] = False
    return is_text


def _cells_of_line(line: SheetLine, row: Row, is_text: Mapping[str, bool], judge: Judge) -> list[str]:
    """Return the cells of a line after its case and unit; a case that no CSV can hold is refused."""
    case = line.case
    cells = [case.group]
    for name in is_text:
        if is_text[name]:
            cells.append(row[name])
        elif name in row:
            cells.append(json_text(row[name]))
        else:  # an empty cell of JSON is an input that the row does not have
            cells.append("")
    if any(of_table(cell) != cell for cell in cells):
        hint = "label on the page: jurist review JUDGE ROWS -o F.jsonl"
        raise GoldError("no CSV can hold the characters of this row", path=case.source, hint=hint)
    scale = judge.answer.scale_of(line.unit)
    cells.append(judge.answer.units(case.inputs)[line.unit])
    cells.append(" | ".join(scale.choices) or scale.expects)
    cells.extend(["", "", ""])  # the label, its reason and its ambiguity, which the rater fills in
    return cells


def labelled_rows(rows: All) -> All:
    """Return the rows of a source; of a review page's journal the last label of each rater on each unit."""
    if not rows:
        return rows
    first_place, first_row = rows[0]
    if first_place.kind != "json" or not _is_of_journal(first_row):
        return rows
    from .label_journal import read_label

    case_rows: dict[str, Row] = {}
    last_labels: dict[tuple[str, int, str], tuple[Place, Row]] = {}
    for place, row in rows:
        label = read_label(row, place)
        if label.row:
            case_rows.setdefault(label.case, {"row": label.row, GROUP: label.group})
        elif label.case not in case_rows:
            hint = "the first line of a case has it: take the whole journal"
            raise place.wrong(f"the row of case {label.case!r} is missing", "row", hint=hint)
        last_labels[label.key] = place, {**row, **case_rows[label.case]}
    return list(last_labels.values())


def as_row(judge: Judge, row: Row, place: Place) -> tuple[Row, Place]:
    """Return a row as a file of rows would have it: what people said in ``rater:`` and ``reason:`` columns."""
    if place.kind == "text" and _is_of_sheet(row):
        place = replace(place, kind="json")
        return _sheet_line(judge, row, place), place
    if place.kind == "json" and _is_of_journal(row):
        return _journal_line(judge, row, place), place
    return row, place


def _is_of_sheet(row: Row) -> bool:
    """True for a row with the columns that a sheet has."""
    if CASE not in row or UNIT not in row:
        return False
    return any(column.startswith((_INPUT, _JSON)) for column in row)


def _sheet_line(judge: Judge, row: Row, place: Place) -> Row:
    """Return the row of a line of a sheet. The inputs of the line decide which case it is."""
    texts: dict[str, str] = {}
    values: dict[str, object] = {}
    labels = {GROUP: "", AMBIGUITY: ""}  # what the rater filled in, by column
    for key, cell in row.items():
        text = unescape_cell(cell)
        if key.startswith(_INPUT):
            texts[key.removeprefix(_INPUT)] = text
        elif key.startswith(_JSON) and text:
            values[key.removeprefix(_JSON)] = _json_or_text(text)
        elif key == GROUP or key.startswith((RATER, f"{REASON}:")):
            labels[key] = text
        elif key == AMBIGUITY:
            labels[key] = text.strip().casefold()
    case_id = unescape_cell(row[CASE]).strip().removeprefix(_ID)
    number = unescape_cell(row[UNIT]).strip()
    unit = 0
    if number.isascii() and number.isdigit():
        unit = int(number)

    for line_ends in _line_end_forms(texts):
        for case in cases_of_row(judge, {**line_ends, **values}, place):
            if case.id == case_id:
                return _row_with_label(judge, case, case.row, unit, labels, place)
    hint = "the id or an input was changed; copy both again from the sheet as it was written"
    raise place.wrong(f"the inputs of this line are not those of case {case_id!r}", CASE, hint=hint)


def _json_or_text(cell: str) -> object:
    """Return the JSON value of a cell; a cell that was changed stays a text, which no input equals."""
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def _line_end_forms(texts: Mapping[str, str]) -> tuple[dict[str, str], ...]:
    """Return texts with the line ends they have, of Unix and of Windows: programs that save a sheet change them."""
    unix: dict[str, str] = {}
    windows: dict[str, str] = {}
    for name, text in texts.items():
        unix[name] = text.replace("\r\n", "\n")
        windows[name] = unix[name].replace("\n", "\r\n")
    return dict(texts), unix, windows


def _is_of_journal(row: Row) -> bool:
    """Say whether a row is a line of the review page's journal."""
    if not row.keys() >= _JOURNAL_FIELDS:
        return False
    from .label_journal import JournalLabel

    return row.keys() <= JournalLabel.model_fields.keys()


def _journal_line(judge: Judge, row: Row, place: Place) -> Row:
    """Return the row of a line of a journal, with the label of its rater."""
    from .label_journal import read_label

    label = read_label(row, place)
    labels = {
        RATER + label.rater: label.label,
        f"{REASON}:{label.rater}": label.reason,
        AMBIGUITY: label.ambiguity,
        GROUP: label.group,
    }
    case = make_case(judge, label.row, place)
    return _row_with_label(judge, case, label.row, label.unit, labels, place)


def _row_with_label(
    judge: Judge, case: Case, row: Mapping[str, Any], unit: int, labels: Mapping[str, str], place: Place
) -> Row:
    """Return the row of a case with what a rater filled in for one of its units (from 1)."""
    answer = judge.answer
    unit_count = len(answer.units(case.inputs))
    if not 1 <= unit <= unit_count:
        hint = f"write a number from 1 to {unit_count}"
        raise place.wrong(f"case {case.id} has {unit_count} units, and no such unit", UNIT, hint=hint)

    result = dict(row)
    for column, cell in labels.items():
        text = cell.strip()
        if not text:
            continue
        if column.startswith(RATER):
            label = _label_of_cell(judge, text, unit, column, place)
            if label is not None:
                unit_labels: list[object] = [None] * unit_count
                unit_labels[unit - 1] = label
                result[column] = answer.row_of(unit_labels)
        elif column == GROUP:
            if GROUP in judge.row_model.model_fields:
                result[GROUP] = cell
        elif unit_count == 1:
            result[column] = text
            if column == AMBIGUITY:
                result[column] = cell
        elif column == AMBIGUITY:
            categories: list[str | None] = [None] * unit_count
            categories[unit - 1] = cell
            result[AMBIGUITY] = categories
        else:
            unit_name = str(unit)
            if answer.criteria:  # its units are its criteria
                unit_name = list(answer.criteria)[unit - 1]
            result[column] = f"{unit_name}: {text}"
    return result


def _label_of_cell(judge: Judge, text: str, unit: int, column: str, place: Place) -> object:
    """Return the label that a rater wrote, or ``None`` if the text says that there is none."""
    judge_label = text
    for file_label, mapped_label in judge.values.items():
        if file_label.casefold() == text.casefold():
            judge_label = mapped_label
    label = judge.answer.cell(judge_label, unit - 1)
    if label is None and not is_silent(judge_label):
        hint = f"use {judge.answer.scale_of(unit - 1).expects}; or leave it empty"
        raise place.wrong(f"unknown label {text!r}", column, hint=hint)
    return label


_SURE = 0.9
"""The share of the judge's vote from which its verdict counts as sure."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A judge's verdict on one case, read from the output of a run."""

    id: str  # of the case
    values: Values  # the verdict of each unit; ``None`` where there is none
    # value -> share of the judge's vote, of each unit; empty where it has none
    shares: tuple[Mapping[str, float], ...]


def read_judged(path: str | Path, judge: Judge) -> list[Judged]:
    """Read the output of ``jurist run``, without rows that failed.

    Raises:
        GoldError: a line is not of a run of this judge.
    """
    judged: list[Judged] = []
    for place, row in read(path).rows:
        try:
            if row["status"] != "failed":
                judged.append(_judged(row, judge))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = f"no line of a run of judge {judge.name!r}: {error}"
            raise place.wrong(message, hint="give the file that this judge wrote") from error
    return judged


def _judged(row: Mapping[str, Any], judge: Judge) -> Judged:
    """Return the verdict of a line; a line of another kind raises an error of Python."""
    scale = judge.answer.scale
    shares: list[dict[str, float]] = []
    for unit in row["units"]:
        votes = unit.get("probabilities") or unit.get("votes", {})
        for name, vote in votes.items():
            if scale.cell(name) is None or vote < 0:
                raise ValueError(f"it has no {scale.noun} {name!r}")
        shares.append(_shares_of_sum(votes))
    return Judged(
        id=str(row.get("case") or row["id"]),
        values=tuple(judge.answer.unit_value(unit) for unit in row["units"]),
        shares=tuple(shares),
    )


def review_lines(judged: Iterable[Judged], judge: Judge, cases: Mapping[str, Case]) -> list[SheetLine]:
    """Return the units to review, most informative first.

    Args:
        judged: verdicts; of several on one case the first counts.
        judge: whose verdicts they are.
        cases: id -> case, of all rows that may be reviewed.

    Raises:
        GoldError: a judged case is not among ``cases``.
    """
    verdicts: dict[str, Judged] = {}
    for verdict in judged:
        verdicts.setdefault(verdict.id, verdict)
    missing = sorted(verdicts.keys() - cases.keys())
    if missing:
        raise GoldError(
            f"{len(missing)} of the judged cases are not in the rows, such as {missing[0]}",
            hint="name the rows that were judged",
        )
    worth: dict[tuple[str, int], float] = {}
    for case_id in {**verdicts, **cases}:  # judged cases first: the order decides between equals
        for unit, value in worths(cases[case_id], verdicts.get(case_id), judge).items():
            worth[case_id, unit] = value
    ordered = sorted(worth, key=lambda key: -round(worth[key], 9))
    return [SheetLine(case=cases[case_id], unit=unit) for case_id, unit in ordered]


def worths(case: Case, verdict: Judged | None, judge: Judge) -> dict[int, float]:
    """Return unit -> worth of a further label, for the units where raters, gold and judge are at odds.

    A unit is also at odds if the judge abstained, or gave less than nine tenths of its vote to one value.
    """
    scale = judge.answer.scale
    ratings_of_units = unit_ratings(case)
    unit_count = len(ratings_of_units)
    if verdict and not unit_count:
        unit_count = len(verdict.values)
        ratings_of_units = ({},) * unit_count
    labels = case.gold or (None,) * unit_count
    if verdict and len(labels) != len(verdict.values):
        raise GoldError(
            f"case {case.id} has {len(verdict.values)} units here and {len(labels)} in the gold set",
            hint="give the gold set of the rows that were judged",
        )
    worth: dict[int, float] = {}
    for unit, label in enumerate(labels):
        ratings = ratings_of_units[unit]
        rater_labels = list(ratings.values())
        if RESOLVED in ratings:
            rater_labels = [ratings[RESOLVED]]
        raters_differ = len(set(rater_labels)) > 1
        value = None
        shares: Mapping[str, float] = {}
        judge_is_unsure = False
        if verdict:
            value = verdict.values[unit]
            shares = verdict.shares[unit]
            judge_is_unsure = value is None or max(shares.values(), default=1.0) < _SURE
        gold_differs = label is not None and value is not None and label != value
        if raters_differ or judge_is_unsure or gold_differs:
            if not rater_labels and label is not None:
                rater_labels = [label]
            worth[unit] = _spread_of_votes(scale, rater_labels, shares)
    return worth


def _spread_of_votes(scale: Scale, labels: Sequence[Value], shares: Mapping[str, float]) -> float:
    """Return the spread of a vote in which each rater has one voice, and the judge one that its samples divide."""
    votes: dict[str, float] = dict(Counter(scale.text(label) for label in labels))
    for name, share in shares.items():
        votes[name] = votes.get(name, 0.0) + share
    if not votes:
        return 1.0
    return scale.spread(votes)


def _shares_of_sum(votes: Mapping[str, float]) -> dict[str, float]:
    """Return votes, or probabilities, as shares of their sum, without those of zero."""
    total = sum(votes.values())
    shares: dict[str, float] = {}
    for name, count in votes.items():
        if count:
            shares[name] = count / total
    return shares
