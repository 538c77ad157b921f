"""Annotation sheets: the units that people should label, as a CSV for a spreadsheet.

No gold label, rating of another person or verdict of a judge is ever in a sheet: who labels should not see them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cases import Case
from ..errors import GoldError, UsageError
from ..text.escaping import well_formed
from .files import Place, Row
from .rows import AMBIGUITY, RATER, REASON, canonical_row, label_keys, make_case
from .sheets import CASE, GROUP, ID_MARK, INPUT, JSON_INPUT, TEXT, UNIT, safe
from .writing import json_text, write_whole

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from .goldset import Gold

CELL_LIMIT = 32_767  # characters that Excel keeps in one cell
RATER_NAME = re.compile(r"""[^,;"'\s\x00-\x1f](?:[^,;"\x00-\x1f]*[^,;"\s\x00-\x1f])?""")
"""What a rater may be called: the head of a column, and a name in a list."""


@dataclass(frozen=True, kw_only=True)
class SheetLine:
    """One unit to label."""

    case: Case  # its case
    unit: int  # its place in the case, from 0
    # further columns, for the person who labels; they are not read back
    notes: Mapping[str, str] = field(default_factory=dict)


def open_lines(gold: Gold, *, rater: str = "", every: bool = False) -> list[SheetLine]:
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


def write_sheet(lines: Sequence[SheetLine], gold: Gold, path: Path, *, rater: str) -> int:
    """Write units as a sheet for one rater; return how many cells Excel would cut."""
    if not lines:
        raise UsageError("there is no unit to label", hint="every unit has a label; --all takes them all")
    if not RATER_NAME.fullmatch(rater):
        raise UsageError(
            f"the rater's name {rater!r} cannot head a column",
            hint="use a name without commas, semicolons, quotes and line breaks",
        )
    if path.exists():
        raise UsageError(f"{path} exists and may hold labels", hint="name another file, or move it away")
    inputs = {case.id: sheet_row(gold, case) for case in {line.case.id: line.case for line in lines}.values()}
    text, long = _csv(lines, inputs, gold.judge, rater)
    write_whole("\ufeff" + text, path)
    return long


def sheet_row(gold: Gold, case: Case) -> Row:
    """Return the fields of a case's row that people need, from which the same case is read again."""
    judge, keys = gold.judge, label_keys(gold.judge)
    if not keys:
        raise GoldError(
            f"the rows of judge {judge.name!r} have no field for a label",
            hint="name a judge whose rows people can label",
        )
    unlabelled = {
        key: value for key, value in gold.rows[case.id].items() if key not in ("ratings", AMBIGUITY, REASON)
    }
    plain = Case(inputs=case.inputs, group=case.group, gold=case.gold, source=case.source)
    row = canonical_row(judge, unlabelled, plain)
    left = {key: value for key, value in row.items() if key not in (*keys, GROUP)}
    again = make_case(judge, left, Place(case.source))
    if again.id != case.id:
        raise GoldError("the row is another case without its label", path=case.source)
    return left


def _csv(lines: Iterable[SheetLine], inputs: Mapping[str, Row], judge: Judge, rater: str) -> tuple[str, int]:
    lines = list(lines)
    names = list(dict.fromkeys(name for row in inputs.values() for name in row))
    # a column of texts is text; in every other one cells are JSON, and an empty cell is an absent field
    texts = {name for name in names if all(_is_text(row.get(name)) for row in inputs.values())}
    columns = [f"{INPUT if name in texts else JSON_INPUT}{name}" for name in names]
    notes = list(dict.fromkeys(name for line in lines for name in line.notes))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(
        [CASE, UNIT, GROUP, *columns, TEXT, "labels", RATER + rater, f"{REASON}:{rater}", AMBIGUITY, *notes]
    )
    long = 0
    for line in lines:
        scale = judge.answer.scale_of(line.unit)
        allowed = " | ".join(scale.choices) or scale.expects
        row, case = inputs[line.case.id], line.case
        cells = [
            row[name] if name in texts else json_text(row[name]) if name in row else "" for name in names
        ]
        shown = well_formed(judge.answer.units(case.inputs)[line.unit]).replace("\0", "\ufffd")
        told = [line.notes.get(name, "") for name in notes]
        if not _is_text(case.group):
            hint = "rename the group"
            raise GoldError("no CSV can hold this name", path=case.source, field=GROUP, hint=hint)
        texts_of = (case.group, *cells, shown, allowed, "", "", "", *told)
        whole = [ID_MARK + case.id, str(line.unit + 1), *map(safe, texts_of)]
        writer.writerow(whole)
        long += sum(len(cell) > CELL_LIMIT for cell in whole)
    return stream.getvalue(), long


def _is_text(value: Any) -> bool:
    """Say whether a CSV can hold a value as it is: no NUL, no half of a surrogate pair."""
    return isinstance(value, str) and "\0" not in value and well_formed(value) == value
