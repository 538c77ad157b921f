"""The database of a run: the verdict on each case, and the rows of the input."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import starmap
from pathlib import Path
from types import TracebackType

from ..engines.database import Database
from ..gold.writing import json_line
from .lines import RowKey, WrittenVerdict

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


class RunState(Database):
    """The database of a run."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "PRAGMA synchronous=NORMAL; PRAGMA temp_store=FILE;" + _TABLES)
        self._unwritten: dict[str, WrittenVerdict] = {}
        # A mark for the hash of each case of this start: a case without a mark is not in the database.
        self._marks = bytearray(2**20)
        self._has_earlier = self.has_earlier

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._write()
        finally:
            super().__exit__(kind, error, trace)

    def load(self, lines: Iterable[tuple[RowKey, WrittenVerdict]]) -> None:
        """Take the verdicts of an earlier output, but of cases that already have one."""
        with self.used(), self.together():
            for key, verdict in lines:
                self._has_earlier = True
                record = _record(key.case_id, verdict)
                self.all("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, 0)", *record)

    @property
    def has_earlier(self) -> bool:
        """Whether it holds a verdict of an earlier start."""
        return bool(self.first("SELECT 1 FROM verdicts WHERE NOT new LIMIT 1"))

    def add_rows(self, keys: Iterable[RowKey]) -> None:
        """Note rows of the input."""
        self.many("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", keys)

    def verdict(self, case_id: str) -> WrittenVerdict | None:
        """Return the verdict on a case, of this start or an earlier one; ``None`` without one."""
        if case_id in self._unwritten:
            return self._unwritten[case_id]
        if not (self._has_earlier or self._marks[hash(case_id) % len(self._marks)]):
            return None
        query = "SELECT row, status, said, new FROM verdicts WHERE case_id = ?"
        for row, status, parts, new in self.all(query, case_id):
            return WrittenVerdict(row=row, status=status, parts=json.loads(parts), new=bool(new))
        return None

    def keep(self, case_id: str, verdict: WrittenVerdict) -> None:
        """Keep the verdict on a case; one that a kill loses is in the journal of the calls, or in the output."""
        self._unwritten[case_id] = verdict
        self._marks[hash(case_id) % len(self._marks)] = True
        if len(self._unwritten) >= _AT_ONCE:
            self._write()

    def waiting(self) -> tuple[int, int]:
        """Return the number of different cases of the input that were never asked about, and of those that failed."""
        query = (
            "SELECT count(DISTINCT seen.case_id) FILTER (WHERE status IS NULL), "
            "count(DISTINCT seen.case_id) FILTER (WHERE status = 'failed') "
            "FROM seen LEFT JOIN verdicts ON verdicts.case_id = seen.case_id"
        )
        never_asked, failed = self.all(query)[0]
        return int(never_asked), int(failed)

    def _write(self) -> None:
        """Hand the verdicts since the last time to the operating system."""
        verdicts, self._unwritten = self._unwritten, {}
        records = starmap(_record, verdicts.items())
        self.many("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, 1)", records)


def _record(case_id: str, verdict: WrittenVerdict) -> tuple[str, int, str, str]:
    return case_id, verdict.row, verdict.status, json_line(verdict.parts)
