"""The database of a run: the verdict on each case, and the rows of the input that were read."""

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
"""Verdicts that are written together."""
_TABLES = """
CREATE TABLE IF NOT EXISTS verdicts (
    case_id TEXT PRIMARY KEY, row INTEGER, status TEXT, said TEXT, new INTEGER
);
CREATE TABLE IF NOT EXISTS seen (row INTEGER, part INTEGER, case_id TEXT, PRIMARY KEY (row, part));
DELETE FROM seen;
UPDATE verdicts SET new = 0 WHERE new;
"""


class RunState(Database):
    """The database of a run: verdicts by case, and the rows of the input."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "PRAGMA synchronous=NORMAL; PRAGMA temp_store=FILE;" + _TABLES)
        self._unwritten: dict[str, WrittenVerdict] = {}
        # One byte for each hash of a case, set for verdicts of this start. It saves most look-ups: a case whose byte is
        # not set has no verdict of this start.
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
        """Add the verdicts of an earlier output; a case that already has a verdict keeps it."""
        with self.used(), self.together():
            for key, verdict in lines:
                self._has_earlier = True
                record = _record(key.case_id, verdict)
                self.all("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, 0)", *record)

    @property
    def has_earlier(self) -> bool:
        """Whether there is a verdict of an earlier start."""
        return bool(self.first("SELECT 1 FROM verdicts WHERE NOT new LIMIT 1"))

    def add_rows(self, keys: Iterable[RowKey]) -> None:
        """Add rows of the input, so that they are counted by :meth:`count_waiting`."""
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
        """Keep the verdict on a case; it is written with later ones.

        A verdict that is lost by a kill can be made again, from the journal of calls or the output.
        """
        self._unwritten[case_id] = verdict
        self._marks[hash(case_id) % len(self._marks)] = True
        if len(self._unwritten) >= _AT_ONCE:
            self._write()

    def count_waiting(self) -> tuple[int, int]:
        """Return two numbers of different cases of the input: never asked about, and failed."""
        query = (
            "SELECT count(DISTINCT seen.case_id) FILTER (WHERE status IS NULL), "
            "count(DISTINCT seen.case_id) FILTER (WHERE status = 'failed') "
            "FROM seen LEFT JOIN verdicts ON verdicts.case_id = seen.case_id"
        )
        never_asked, failed = self.all(query)[0]
        return int(never_asked), int(failed)

    def _write(self) -> None:
        """Write the verdicts that were kept since the last time."""
        verdicts, self._unwritten = self._unwritten, {}
        records = starmap(_record, verdicts.items())
        self.many("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, 1)", records)


def _record(case_id: str, verdict: WrittenVerdict) -> tuple[str, int, str, str]:
    """Return the columns of a verdict but the last, ``new``."""
    return case_id, verdict.row, verdict.status, json_line(verdict.parts)
