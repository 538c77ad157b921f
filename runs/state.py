"""What a run knows besides its output: the verdict of each case, the rows it has seen, and how these have changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from types import TracebackType
from typing import Any

from ..engines.database import Database
from ..text.json_lines import json_line

Seen = tuple[int, int, str]
"""The number of a row, which of its cases, and the case's id."""
_AT_ONCE = 512
"""Verdicts that are handed to the operating system together."""
_TABLES = """
CREATE TABLE IF NOT EXISTS verdicts (
    case_id TEXT PRIMARY KEY, row INTEGER, status TEXT, said TEXT, new INTEGER
);
CREATE TABLE IF NOT EXISTS rows_before (row INTEGER, part INTEGER, case_id TEXT, PRIMARY KEY (row, part));
CREATE TABLE IF NOT EXISTS rows_now (row INTEGER, part INTEGER, case_id TEXT, PRIMARY KEY (row, part));
"""
_NAMED = 5  # rows that are named of each kind
_KINDS = {
    "changed": ("changed", "asked anew"),
    "added": ("new", "asked"),
    "removed": ("gone", "left out (by the numbers they had)"),
    "moved": ("elsewhere than before", "not asked again"),
}
"""Kind of change -> what such rows are, and what becomes of them."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What became of the rows, by the kind of change."""

    counts: Mapping[str, int] = field(default_factory=dict)  # how many rows
    rows: Mapping[str, Sequence[int]] = field(default_factory=dict)  # the numbers of the first of them

    @classmethod
    def merged(cls, shards: Sequence[Changes]) -> Changes:
        """Return the changes of several together."""
        rows = {name: sorted(row for one in shards for row in one.rows.get(name, ())) for name in _KINDS}
        return cls(
            counts={name: sum(one.counts.get(name, 0) for one in shards) for name in _KINDS},
            rows={name: numbers[:_NAMED] for name, numbers in rows.items()},
        )

    @property
    def words(self) -> tuple[str, ...]:
        """Return what there is to say."""
        lines = []
        for name, (what, then) in _KINDS.items():
            if count := self.counts.get(name, 0):
                numbers = ", ".join(map(str, self.rows[name]))
                if (more := count - len(self.rows[name])) > 0:
                    numbers += f" and {more} more"
                lines.append(
                    f"row {numbers} is {what}: {then}" if count == 1 else f"rows {numbers} are {what}: {then}"
                )
        return tuple(lines)

    def to_json(self) -> dict[str, int]:
        """Return the counts."""
        return {name: self.counts.get(name, 0) for name in _KINDS}


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was said of a case."""

    row: int  # the number of the row for which it was asked
    status: str  # verdict, abstained or failed
    said: Mapping[str, Any]  # what a line says of it, whatever row it is about
    new: bool  # whether it was asked in this start


class RunState(Database):
    """The database of a run."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "PRAGMA synchronous=NORMAL; PRAGMA temp_store=FILE;" + _TABLES)
        self._old, self._kept = False, dict[str, Known]()
        # by their hashes the cases of this start: what is not marked was never met, what is marked may have been
        self._met = bytearray(2**20)
        with self.used():
            self._turn()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._end()
        finally:
            super().__exit__(kind, error, trace)

    def _turn(self) -> None:
        """Take the rows that the last start has read for those of before, if it has come as far."""
        self.all("UPDATE verdicts SET new = 0 WHERE new")
        now, before = (
            self.one(f"SELECT coalesce(max(row), 0) FROM {name}") for name in ("rows_now", "rows_before")
        )
        if now >= before:
            self._data.executescript(
                "DELETE FROM rows_before; INSERT INTO rows_before SELECT * FROM rows_now; DELETE FROM rows_now;"
            )
        else:
            self.all("DELETE FROM rows_now")
        self._whole_before = bool(self.one("PRAGMA user_version"))
        self.all("PRAGMA user_version = 0")
        self._old = bool(self.one("SELECT 1 FROM verdicts LIMIT 1"))

    def load(self, lines: Iterable[tuple[Seen, Known]]) -> None:
        """Take over what an output says; what is known is left as it is."""
        with self.used(), self.together():
            rows = not self.one("SELECT 1 FROM rows_before LIMIT 1")
            for seen, known in lines:
                self._old = True
                self.all("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, 0)", *_stored(seen[2], known))
                if rows:  # where all have failed, nothing says that these were all the rows
                    self._whole_before |= known.status != "failed"
                    self.all("INSERT OR IGNORE INTO rows_before VALUES (?, ?, ?)", *seen)

    @property
    def knows_old(self) -> bool:
        """Whether an earlier start said anything."""
        return bool(self.one("SELECT 1 FROM verdicts WHERE NOT new LIMIT 1"))

    def see(self, rows: Iterable[Seen]) -> None:
        """Note rows of the input."""
        self.many("INSERT OR REPLACE INTO rows_now VALUES (?, ?, ?)", rows)

    def known(self, case_id: str) -> Known | None:
        """Return what was said of a case, in this start or an earlier one."""
        if case_id in self._kept or not (self._old or self._met[hash(case_id) % len(self._met)]):
            return self._kept.get(case_id)
        for row, status, said, new in self.all(
            "SELECT row, status, said, new FROM verdicts WHERE case_id = ?", case_id
        ):
            return Known(row=row, status=status, said=json.loads(said), new=bool(new))
        return None

    def keep(self, case_id: str, known: Known) -> None:
        """Keep what was said of a case; what a kill loses of it is in the journal of the calls, or in the output."""
        self._kept[case_id] = known
        self._met[hash(case_id) % len(self._met)] = True
        if len(self._kept) >= _AT_ONCE:
            self._end()

    def to_ask(self, *, failed_only: bool) -> int:
        """Return how many different cases there are to ask about, of the rows that were seen."""
        which, status = ("IN", "=") if failed_only else ("NOT IN", "!=")
        asked = (
            f"SELECT count(DISTINCT case_id) FROM rows_now WHERE case_id {which} "
            f"(SELECT case_id FROM verdicts WHERE status {status} 'failed')"
        )
        return int(self.one(asked))

    def changes(self) -> Changes:
        """Return how the rows differ from those of before, if there were any; all of them have been seen."""
        self.all("PRAGMA user_version = 1")
        if (last := self.one("SELECT max(row) FROM rows_before")) is None:
            return Changes()
        seen = "" if self._whole_before else f"AND row <= {int(last)} "
        fresh = (
            f"SELECT row, part FROM rows_now WHERE case_id NOT IN (SELECT case_id FROM rows_before) {seen}"
        )
        gone = "SELECT row, part FROM rows_before WHERE case_id NOT IN (SELECT case_id FROM rows_now)"
        only = "SELECT a.row FROM ({}) a LEFT JOIN ({}) b USING (row, part) WHERE b.row IS NULL"
        found = {
            "changed": f"SELECT row FROM ({fresh}) JOIN ({gone}) USING (row, part)",
            "added": only.format(fresh, gone),
            "removed": only.format(gone, fresh),
            "moved": "SELECT n.row FROM rows_now n LEFT JOIN rows_before b USING (row, part) "
            "WHERE n.case_id IS NOT b.case_id AND n.case_id IN (SELECT case_id FROM rows_before)",
        }
        first = "SELECT DISTINCT row FROM ({}) ORDER BY row LIMIT {}"
        return Changes(
            counts={name: self.one(f"SELECT count(*) FROM ({query})") for name, query in found.items()},
            rows={
                name: [row for (row,) in self.all(first.format(query, _NAMED))]
                for name, query in found.items()
            },
        )

    def _end(self) -> None:
        """Hand to the operating system what was kept since the last time."""
        kept, self._kept = self._kept, {}
        self.many("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, 1)", starmap(_stored, kept.items()))


def _stored(case_id: str, known: Known) -> tuple[str, int, str, str]:
    return case_id, known.row, known.status, json_line(known.said)
