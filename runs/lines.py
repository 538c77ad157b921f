"""The lines of a run: from a row and the verdict on its case to JSON, and back from the lines of an earlier run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..cases import Case, Values
from ..engines.ledger import Spend
from ..programs.judge import Judge
from ..programs.options import JUDGE_OPTIONS
from ..programs.verdicts import Verdict

JsonObject: TypeAlias = dict[str, Any]
"""Names -> JSON values."""
OF_RUN: Final = ("judge", "artifact", "model", "judge_model", *JUDGE_OPTIONS, "adapter", "sampling")
"""The names of what a line says of the run: who answered, and how it was asked."""
_OF_ROW: Final = ("id", "row", "part", "case", "source", "group")
_OF_ANSWER: Final = ("status", "by", "label", "value", "answers", "passed")
_OF_SAMPLES: Final = (
    "drawn",
    "saved",
    "identical",
    "inconsistent",
    "redrawn",
    "reasked",
    "extra",
    "duplicated",
)
_OF_VERDICT: Final = frozenset(_OF_ANSWER + _OF_SAMPLES).union(
    ["units", "reasoning", "counts", "panel", "error_kind", "error", "usage"]
)
_RESERVED: Final = _OF_VERDICT.union(_OF_ROW, OF_RUN)
_OF_INPUT: Final = "input_"
_OF_PLACE: Final = ("start", "end")
_NOTHING_PAID: Final = Spend().to_json()


class RowKey(NamedTuple):
    """The place of a case in the input."""

    row: int  # the number of its row, from 1
    part: int  # its number among the cases of the row, from 1
    case_id: str


def written_verdict(judge: Judge, case: Case, verdict: Verdict) -> JsonObject:
    """Return a verdict as the database of a run keeps it: its part of a line, and the number of the row it is of.

    Other rows of the same case get the same part of a line, and paid nothing.
    """
    return {"row": case.row_number, **verdict_parts(judge, case, verdict)}


def verdict_parts(judge: Judge, case: Case, verdict: Verdict) -> JsonObject:
    """Return the part of a line that a verdict fills, as JSON values.

    Of closed labels ``agreement`` is the share of the votes for the label of the unit. ``saved`` counts samples that
    were not drawn, as no outcome could change; ``identical`` says that all replies were the same text. ``reasked``
    counts samples in which missing units were asked for again, ``extra`` labels for nothing that was asked, and
    ``duplicated`` units with two labels.
    """
    answer = judge.answer
    text_of = answer.scale.text
    units: list[JsonObject] = []
    for index, text in enumerate(answer.units(case.inputs)):
        unit: JsonObject = {"text": text}
        unit.update(answer.unit_parts(verdict.values[index]))
        # Probabilities that no token told are shares of the votes, which the line has anyway.
        if verdict.measured and verdict.probabilities[index]:
            shares = verdict.probabilities[index]
            unit["probabilities"] = {text_of(label): share for label, share in shares.items()}
        unit["votes"] = {}
        if verdict.votes:
            unit["votes"] = {text_of(value): count for value, count in verdict.votes[index].items()}
        unit["agreement"] = verdict.agreement[index]
        units.append(unit)

    parts: JsonObject = {"status": verdict.status}
    if verdict.by:
        parts["by"] = verdict.by
    parts.update(answer.row_parts(verdict.values))
    parts["units"] = units
    parts["reasoning"] = verdict.reasoning
    for name in _OF_SAMPLES:
        parts[name] = getattr(verdict, name)
    parts["counts"] = dict(verdict.counts)
    if verdict.members:
        parts["panel"] = _values_by_member(judge, verdict)
    parts["error_kind"] = verdict.error_kind
    parts["error"] = verdict.error
    parts["usage"] = verdict.usage.to_json()
    return parts


def _values_by_member(judge: Judge, verdict: Verdict) -> JsonObject:
    """Return the value of each unit by each member of a panel, as JSON; ``None`` of one without an answer."""
    to_json = judge.answer.scale.to_json
    members: JsonObject = {}
    for name, values in verdict.members.items():
        members[name] = None
        if values is not None:
            members[name] = [to_json(value) for value in values]
    return members


def unit_values(judge: Judge, line: Mapping[str, Any]) -> Values:
    """Return the values of the units of a line."""
    return tuple(judge.answer.unit_value(unit) for unit in line["units"])


def line_of_case(
    case: Case,
    written: Mapping[str, Any],
    stamp: Mapping[str, Any],
    judged_columns: Collection[str],
    keep: Sequence[str] | None = None,
) -> JsonObject:
    """Return the line of a case of a new row as JSON values.

    Args:
        case: the case.
        written: the verdict on it, as :func:`written_verdict` returns it.
        stamp: who answered and how it was asked.
        judged_columns: the columns of its row that do not travel with the verdict.
        keep: the columns that stand in the line; default: all that travel.
    """
    row_id = case.row.get("id")
    line: JsonObject = {
        "id": case.id if row_id in (None, "") else row_id,
        "row": case.row_number,
        "part": case.part,
        "case": case.id,
        "source": case.source,
        "group": case.group,
    }
    parts = dict(written)
    judged_row = parts.pop("row")
    line.update(parts)
    if case.spans:
        placed_units = []
        for unit, (start, end) in zip(line["units"], case.spans, strict=True):
            placed_units.append({**unit, "start": start, "end": end})
        line["units"] = placed_units
    if judged_row != case.row_number:
        line["usage"] = _NOTHING_PAID
    line.update(stamp)
    if keep is None:
        for name, value in case.row.items():
            if name not in judged_columns:
                line[column_in_line(name)] = value
        return line
    for name in keep:
        if name in case.row and name not in judged_columns:
            line[column_in_line(name)] = case.row[name]
        elif name in case.source_row:
            line[column_in_line(name)] = case.source_row[name]
    return line


def column_in_line(column: str) -> str:
    """Return the name of a column of the input in a line; different columns never share a name."""
    name = column
    while name.startswith(_OF_INPUT):
        name = name.removeprefix(_OF_INPUT)
    if name in _RESERVED:
        return _OF_INPUT + column
    return column


def read_line(line: Mapping[str, Any]) -> tuple[RowKey, JsonObject]:
    """Return the place of a line's row and the written verdict on its case: the inverse of :func:`line_of_case`.

    Raises:
        KeyError, TypeError, ValueError: a run does not write such a line.
    """
    case_id, status, usage = line["case"], line["status"], line["usage"]
    if not (isinstance(case_id, str) and isinstance(status, str) and isinstance(usage, dict)):
        raise TypeError("a value is of another type than a run writes")
    if "judge" not in line:
        raise KeyError("judge")
    key = RowKey(row=int(line["row"]), part=int(line["part"]), case_id=case_id)
    written: JsonObject = {"row": key.row}
    for name, value in line.items():
        if name in _OF_VERDICT:
            written[name] = value
    units = []
    for unit in line["units"]:
        units.append({name: value for name, value in unit.items() if name not in _OF_PLACE})
    written["units"] = units
    return key, written
