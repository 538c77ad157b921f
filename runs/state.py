"""The database of a run: the verdict on each case, and the rows of the input that were read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..engines.database import Database
from ..gold.writing import json_line
from .lines import JsonObject, RowKey

_TABLES = """
CREATE TABLE IF NOT EXISTS verdicts (
    case_id TEXT PRIMARY KEY, row INTEGER, status TEXT, said TEXT, new INTEGER
);
CREATE TABLE IF NOT EXISTS seen (row INTEGER, part INTEGER, case_id TEXT, PRIMARY KEY (row, part));
DELETE FROM seen;
UPDATE verdicts SET new = 0 WHERE new;
"""


_VERDICTS_TOGETHER: Final = 256
"""The verdicts that are committed together. After a kill those that were not are made again from the journal."""


class RunState(Database):
    """The database of a run: verdicts by case, and the rows of the input."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "PRAGMA synchronous=NORMAL; PRAGMA temp_store=FILE;" + _TABLES)
        # One byte for each hash of a case, set for verdicts of this start. It saves most look-ups: a case whose byte is
        # not set has no verdict of this start.
        self._marks = bytearray(2**20)
        self._has_earlier = self.has_earlier
        self._uncommitted = 0  # verdicts of the open transaction

    def close(self) -> None:
        """Commit what was kept, and close the connection."""
        self.commit()
        super().close()

    def commit(self) -> None:
        """Commit the verdicts that were kept since the last time."""
        with self.used():
            if self._data.in_transaction:
                self.all("COMMIT")
            self._uncommitted = 0

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make one transaction of the block's statements, after a commit of what was kept before."""
        self.commit()
        with super().together():
            yield

    def load(self, lines: Iterable[tuple[RowKey, JsonObject]]) -> None:
        """Add the verdicts of an earlier output; a case that already has a verdict keeps it."""
        with self.used(), self.together():
            for key, written in lines:
                self._has_earlier = True
                columns = _columns_of(key.case_id, written)
                self.all("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, 0)", *columns)

    @property
    def has_earlier(self) -> bool:
        """Whether there is a verdict of an earlier start."""
        return bool(self.first("SELECT 1 FROM verdicts WHERE NOT new LIMIT 1"))

    def add_rows(self, keys: Iterable[RowKey]) -> None:
        """Add rows of the input, so that they are counted by :meth:`count_waiting`."""
        self.many("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", keys)

    def verdict(self, case_id: str) -> JsonObject | None:
        """Return the written verdict on a case, of this start or an earlier one; ``None`` without one."""
        if not (self._has_earlier or self._marks[hash(case_id) % len(self._marks)]):
            return None
        for row, text in self.all("SELECT row, said FROM verdicts WHERE case_id = ?", case_id):
            # In the databases of earlier releases the number of the row stands in its column alone.
            return {"row": row, **json.loads(text)}
        return None

    def is_earlier(self, case_id: str) -> bool:
        """Return whether the verdict on a case is of an earlier start."""
        if not self._has_earlier:
            return False
        return bool(self.first("SELECT 1 FROM verdicts WHERE case_id = ? AND NOT new", case_id))

    def keep(self, case_id: str, written: JsonObject) -> None:
        """Keep the written verdict on a case, of this start."""
        self._marks[hash(case_id) % len(self._marks)] = True
        columns = _columns_of(case_id, written)
        with self.used():
            if not self._data.in_transaction:
                self.all("BEGIN IMMEDIATE")
            self.all("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, 1)", *columns)
            self._uncommitted += 1
            if self._uncommitted >= _VERDICTS_TOGETHER:
                self.commit()

    def list_beyond_input(self) -> set[str]:
        """Return the ids of the cases that have a verdict of an earlier start, and are in no row of the input."""
        query = (
            "SELECT verdicts.case_id FROM verdicts LEFT JOIN seen ON verdicts.case_id = seen.case_id "
            "WHERE seen.case_id IS NULL AND NOT new"
        )
        return {case_id for (case_id,) in self.all(query)}

    def count_waiting(self) -> tuple[int, int]:
        """Return two numbers of different cases of the input: never asked about, and failed."""
        query = (
            "SELECT count(DISTINCT seen.case_id) FILTER (WHERE status IS NULL), "
            "count(DISTINCT seen.case_id) FILTER (WHERE status = 'failed') "
            "FROM seen LEFT JOIN verdicts ON verdicts.case_id = seen.case_id"
        )
        never_asked, failed = self.all(query)[0]
        return int(never_asked), int(failed)


def _columns_of(case_id: str, written: JsonObject) -> tuple[str, int, str, str]:
    """Return the columns of a written verdict but the last, ``new``."""
    return case_id, written["row"], written["status"], json_line(written)
