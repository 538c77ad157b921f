"""What a line of a run says: of its row, of what was judged, and of the run."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..cases import Case, Values
from ..engines.ledger import Spend
from ..gold.new_rows import NewRow
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from .state import Known, Seen

_ABOUT_ROW = ("id", "row", "part", "case", "source", "group")
_VERDICT = ("status", "label", "value", "answers", "passed", "by")
_ABOUT_VERDICT = ("units", "reasoning", "counts", "error", "usage")
_SAMPLES = ("drawn", "saved", "identical", "inconsistent", "reasked", "extra", "duplicated")
OF_RUN = ("judge", "artifact", "model", "judge_model", "strictness", "adapter", "sampling")
_OWN = frozenset((*_ABOUT_ROW, *_VERDICT, *_ABOUT_VERDICT, *_SAMPLES, *OF_RUN))
_KEPT = "input_"
_PLACED = ("start", "end")
_NOTHING_PAID = Spend().to_json()


def said_of(judge: Judge, case: Case, verdict: Verdict) -> dict[str, Any]:
    """Return what a line says of a case, whatever row it is about, as JSON values.

    Of labels ``agreement`` is the share of the votes that went to the unit's. ``saved`` samples were not asked, because
    no outcome could change; ``identical``: all replies were the same text. ``reasked`` counts samples in which missing
    units were asked for again, ``extra`` labels for nothing that was asked, ``duplicated`` units with two labels.
    """
    units, answer = [], judge.answer
    for index, text in enumerate(answer.units(case.inputs)):
        value, votes = verdict.values[index], verdict.votes[index] if verdict.votes else {}
        probabilities = {}
        if verdict.measured and verdict.probabilities[index]:  # by tokens: else they are shares of the votes
            shares = verdict.probabilities[index].items()
            probabilities = {"probabilities": {answer.scale.text(label): share for label, share in shares}}
        unit: dict[str, Any] = {
            "text": text,
            **answer.unit_parts(value),
            **probabilities,
            "votes": {answer.scale.text(voted): count for voted, count in votes.items()},
            "agreement": verdict.agreement[index],
        }
        units.append(unit)
    return {
        "status": verdict.status,
        **({"by": verdict.by} if verdict.by else {}),
        **answer.row_parts(verdict.values),
        "units": units,
        "reasoning": verdict.reasoning,
        **{name: getattr(verdict, name) for name in _SAMPLES},
        "counts": dict(verdict.counts),
        "error": verdict.error,
        "usage": verdict.usage.to_json(),
    }


def values_said(judge: Judge, said: Mapping[str, Any]) -> Values:
    """Return the values of the units of what was said."""
    return tuple(judge.answer.unit_value(unit) for unit in said["units"])


def line_of(
    row: NewRow, known: Known, stamp: Mapping[str, Any], keep: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the JSON-ready line of one row: what the row is, what was said, by whom, and its other columns."""
    case, said = row.case, dict(known.said)
    if case.spans:
        places = zip(said["units"], case.spans, strict=True)
        said["units"] = [{**unit, "start": start, "end": end} for unit, (start, end) in places]
    if known.row != row.row:
        said["usage"] = _NOTHING_PAID
    line = {
        "id": case.id if row.id in (None, "") else row.id,
        "row": row.row,
        "part": row.part,
        "case": case.id,
        "source": case.source,
        "group": case.group,
        **said,
        **stamp,
    }
    columns = row.columns if keep is None else {**row.given, **row.columns}
    names = columns if keep is None else [name for name in keep if name in columns]
    line.update((kept_name(name), columns[name]) for name in names)
    return line


def kept_name(column: str) -> str:
    """Return what a column of the input is called in a line: different columns never share a name."""
    own = column
    while own.startswith(_KEPT):
        own = own.removeprefix(_KEPT)
    return _KEPT + column if own in _OWN else column


def known_of(line: Mapping[str, Any]) -> tuple[Seen, Known]:
    """Return which row a line is about, and what it says of its case: the inverse of :func:`line_of`."""
    names = list(line)
    said = {name: line[name] for name in names[len(_ABOUT_ROW) : names.index("judge")]}
    said["units"] = [
        {name: value for name, value in unit.items() if name not in _PLACED} for unit in said["units"]
    ]
    case, status = line["case"], said["status"]
    if not (isinstance(case, str) and isinstance(status, str) and isinstance(said["usage"], dict)):
        raise TypeError("a value is of another type than a run writes")
    row = int(line["row"])
    return (row, int(line["part"]), case), Known(row=row, status=status, said=said, new=False)
