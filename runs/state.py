"""What a line of a run says, and what the run knows besides: the verdict of each case, and the rows it has seen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from types import TracebackType
from typing import Any

from ..arguments.groups import JUDGE_OPTIONS
from ..cases import Case, Values
from ..engines.database import Database
from ..engines.ledger import Spend
from ..gold.new_rows import NewRow
from ..gold.writing import json_line
from ..programs.judge import Judge
from ..programs.verdicts import Verdict

Seen = tuple[int, int, str]
"""The number of a row, which of its cases, and the case's id."""
_AT_ONCE = 512
"""Verdicts that are handed to the operating system together."""
_TABLES = """
CREATE TABLE IF NOT EXISTS verdicts (
    case_id TEXT PRIMARY KEY, row INTEGER, status TEXT, said TEXT, new INTEGER
);
CREATE TABLE IF NOT EXISTS seen (row INTEGER, part INTEGER, case_id TEXT, PRIMARY KEY (row, part));
DELETE FROM seen;
UPDATE verdicts SET new = 0 WHERE new;
"""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was said of a case."""

    row: int  # the number of the row for which it was asked
    status: str  # verdict, abstained or failed
    said: Mapping[str, Any]  # what a line says of it, whatever row it is about
    new: bool  # whether it was asked in this start

    @property
    def error_kind(self) -> str:
        """Why it has no verdict, in a few words; empty if it has one, or if an earlier release wrote the line."""
        return str(self.said.get("error_kind") or "")


class RunState(Database):
    """The database of a run."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "PRAGMA synchronous=NORMAL; PRAGMA temp_store=FILE;" + _TABLES)
        self._kept = dict[str, Known]()
        # by their hashes the cases of this start: what is not marked was never met, what is marked may have been
        self._met = bytearray(2**20)
        self._old = self.knows_old

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._end()
        finally:
            super().__exit__(kind, error, trace)

    def load(self, lines: Iterable[tuple[Seen, Known]]) -> None:
        """Take over what an output says; what is known is left as it is."""
        with self.used(), self.together():
            for seen, known in lines:
                self._old = True
                self.all("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, 0)", *_stored(seen[2], known))

    @property
    def knows_old(self) -> bool:
        """Whether an earlier start said anything."""
        return bool(self.first("SELECT 1 FROM verdicts WHERE NOT new LIMIT 1"))

    def see(self, rows: Iterable[Seen]) -> None:
        """Note rows of the input."""
        self.many("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", rows)

    def known(self, case_id: str) -> Known | None:
        """Return what was said of a case, in this start or an earlier one."""
        if case_id in self._kept or not (self._old or self._met[hash(case_id) % len(self._met)]):
            return self._kept.get(case_id)
        for row, status, text, new in self.all(
            "SELECT row, status, said, new FROM verdicts WHERE case_id = ?", case_id
        ):
            return Known(row=row, status=status, said=json.loads(text), new=bool(new))
        return None

    def keep(self, case_id: str, known: Known) -> None:
        """Keep what was said of a case; what a kill loses of it is in the journal of the calls, or in the output."""
        self._kept[case_id] = known
        self._met[hash(case_id) % len(self._met)] = True
        if len(self._kept) >= _AT_ONCE:
            self._end()

    def waiting(self) -> tuple[int, int]:
        """Return how many different cases, of the rows that were seen, were never asked about, and how many failed."""
        query = (
            "SELECT count(DISTINCT seen.case_id) FILTER (WHERE status IS NULL), "
            "count(DISTINCT seen.case_id) FILTER (WHERE status = 'failed') "
            "FROM seen LEFT JOIN verdicts ON verdicts.case_id = seen.case_id"
        )
        never_asked, failed = self.all(query)[0]
        return int(never_asked), int(failed)

    def _end(self) -> None:
        """Hand to the operating system what was kept since the last time."""
        kept, self._kept = self._kept, {}
        self.many("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, 1)", starmap(_stored, kept.items()))


def _stored(case_id: str, known: Known) -> tuple[str, int, str, str]:
    return case_id, known.row, known.status, json_line(known.said)


_ABOUT_ROW = ("id", "row", "part", "case", "source", "group")
_VERDICT = ("status", "label", "value", "answers", "passed", "by")
_ABOUT_VERDICT = ("units", "reasoning", "counts", "error_kind", "error", "usage")
_SAMPLES = ("drawn", "saved", "identical", "inconsistent", "redrawn", "reasked", "extra", "duplicated")
OF_RUN = ("judge", "artifact", "model", "judge_model", *JUDGE_OPTIONS, "adapter", "sampling")
_OWN = frozenset((*_ABOUT_ROW, *_VERDICT, *_ABOUT_VERDICT, *_SAMPLES, *OF_RUN))
_KEPT = "input_"
_PLACED = ("start", "end")
_NOTHING_PAID = Spend().to_json()


def said_of(judge: Judge, case: Case, verdict: Verdict) -> dict[str, Any]:
    """Return what a line says of a case, whatever row it is about, as JSON values."""
    # Of labels ``agreement`` is the share of the votes that went to the unit's. ``saved`` samples were not asked,
    # because no outcome could change; ``identical``: all replies were the same text. ``reasked`` counts samples in
    # which missing units were asked for again, ``extra`` labels for nothing that was asked, ``duplicated`` units with
    # two labels.
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
        "error_kind": verdict.error_kind,
        "error": verdict.error,
        "usage": verdict.usage.to_json(),
    }


def values_said(judge: Judge, line: Mapping[str, Any]) -> Values:
    """Return the values of the units of what was said."""
    return tuple(judge.answer.unit_value(unit) for unit in line["units"])


def line_of(
    row: NewRow, known: Known, stamp: Mapping[str, Any], keep: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the JSON-ready line of one row: what the row is, what was said, by whom, and its other columns."""
    case, about = row.case, dict(known.said)
    if case.spans:
        places = zip(about["units"], case.spans, strict=True)
        about["units"] = [{**unit, "start": start, "end": end} for unit, (start, end) in places]
    if known.row != row.row:
        about["usage"] = _NOTHING_PAID
    line = {
        "id": case.id if row.id in (None, "") else row.id,
        "row": row.row,
        "part": row.part,
        "case": case.id,
        "source": case.source,
        "group": case.group,
        **about,
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
    about = {name: line[name] for name in names[len(_ABOUT_ROW) : names.index("judge")]}
    about["units"] = [
        {name: value for name, value in unit.items() if name not in _PLACED} for unit in about["units"]
    ]
    case, status = line["case"], about["status"]
    if not (isinstance(case, str) and isinstance(status, str) and isinstance(about["usage"], dict)):
        raise TypeError("a value is of another type than a run writes")
    row = int(line["row"])
    return (row, int(line["part"]), case), Known(row=row, status=status, said=about, new=False)
