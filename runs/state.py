"""What a run knows besides its output: the verdict of each case, the rows it has seen, lines that wait for their turn.

A database beside the output, so that memory stays flat. A verdict belongs to what was judged and never to a place: rows
may have been added, removed or changed when the run goes on.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from types import TracebackType
from typing import Any

from ..engines.kept import Marks
from ..errors import CheckpointError
from ..text.json_lines import json_line
from .changes import Changes, changes_of

__all__ = ["Known", "RunState", "Seen", "database_errors"]

Seen = tuple[int, int, str]
"""The number of a row, which of its cases, and the case's id."""
_AT_ONCE = 512
"""Verdicts that are handed to the operating system together."""
_IN_MEMORY = 2**22
"""Characters of lines that wait in memory for their turn."""
_TABLES = """
CREATE TABLE IF NOT EXISTS verdicts (
    case_id TEXT PRIMARY KEY, row INTEGER, status TEXT, said TEXT, new INTEGER
);
CREATE TABLE IF NOT EXISTS rows_before (row INTEGER, part INTEGER, case_id TEXT, PRIMARY KEY (row, part));
CREATE TABLE IF NOT EXISTS rows_now (row INTEGER, part INTEGER, case_id TEXT, PRIMARY KEY (row, part));
CREATE TEMP TABLE waiting (number INTEGER PRIMARY KEY, line TEXT);
"""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was said of a case.

    Attributes:
        row: the number of the row for which it was asked.
        status: verdict, abstained or failed.
        said: what a line says of it, whatever row it is about.
        new: whether it was asked in this start.
    """

    row: int
    status: str
    said: Mapping[str, Any]
    new: bool


class RunState:
    """The database of a run, as a context manager.

    Args:
        path: its file; ``None`` for one that is gone with the process.

    Raises:
        CheckpointError: it cannot be read or written, also later.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._old, self._kept = path, False, dict[str, Known]()
        self._marks = Marks()  # of the cases of this start
        self._waiting, self._waiting_size, self._on_disk = dict[int, str | None](), 0, 0
        self._lock = threading.RLock()  # rows may be read in a thread of their own
        with self._told():
            self._data = sqlite3.connect(path or "", isolation_level=None, check_same_thread=False)
            self._data.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=FILE;" + _TABLES
            )
            self._data.execute("UPDATE verdicts SET new = 0 WHERE new")
            self._turn()

    def __enter__(self) -> "RunState":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._end()
        self._data.close()

    def _turn(self) -> None:
        """Take the rows that the last start has read for those of before, if it has come as far."""
        (now,), (before,) = (
            self._data.execute(f"SELECT coalesce(max(row), 0) FROM {name}").fetchone()
            for name in ("rows_now", "rows_before")
        )
        if now >= before:
            self._data.executescript(
                "DELETE FROM rows_before; INSERT INTO rows_before SELECT * FROM rows_now; DELETE FROM rows_now;"
            )
        else:
            self._data.execute("DELETE FROM rows_now")
        self._whole_before = bool(self._data.execute("PRAGMA user_version").fetchone()[0])
        self._data.execute("PRAGMA user_version = 0")
        self._old = self._data.execute("SELECT 1 FROM verdicts LIMIT 1").fetchone() is not None

    def load(self, lines: Iterable[tuple[Seen, Known]]) -> None:
        """Take over what an output says; what is known is left as it is."""
        with self._told(), self._together():
            rows = self._data.execute("SELECT 1 FROM rows_before LIMIT 1").fetchone() is None
            for seen, known in lines:
                self._old = True
                self._data.execute(
                    "INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, 0)", _stored(seen[2], known)
                )
                if rows:  # where all have failed, nothing says that these were all the rows
                    self._whole_before |= known.status != "failed"
                    self._data.execute("INSERT OR IGNORE INTO rows_before VALUES (?, ?, ?)", seen)

    @property
    def knows_old(self) -> bool:
        """Whether an earlier start said anything."""
        with self._told():
            return self._data.execute("SELECT 1 FROM verdicts WHERE NOT new LIMIT 1").fetchone() is not None

    def see(self, rows: Iterable[Seen]) -> None:
        """Note rows of the input."""
        with self._told(), self._together():
            self._data.executemany("INSERT OR REPLACE INTO rows_now VALUES (?, ?, ?)", rows)

    def known(self, case_id: str) -> Known | None:
        """Return what was said of a case, in this start or an earlier one."""
        if case_id in self._kept or not (self._old or case_id in self._marks):
            return self._kept.get(case_id)
        with self._told():
            asked = "SELECT row, status, said, new FROM verdicts WHERE case_id = ?"
            found = self._data.execute(asked, (case_id,)).fetchone()
        if found is None:
            return None
        return Known(row=found[0], status=found[1], said=json.loads(found[2]), new=bool(found[3]))

    def keep(self, case_id: str, known: Known) -> None:
        """Keep what was said of a case.

        It goes to the disk with some others. What a kill loses of it is in the journal of the calls, or in the output:
        it is read from there again, and paid for no second time.
        """
        self._kept[case_id] = known
        self._marks.add(case_id)
        if len(self._kept) >= _AT_ONCE:
            self._end()

    def to_ask(self, *, failed_only: bool) -> int:
        """Return how many different cases there are to ask about, of the rows that were seen."""
        which = "IN" if failed_only else "NOT IN"
        status = "=" if failed_only else "!="
        with self._told():
            asked = (
                f"SELECT count(DISTINCT case_id) FROM rows_now WHERE case_id {which} "
                f"(SELECT case_id FROM verdicts WHERE status {status} 'failed')"
            )
            return int(self._data.execute(asked).fetchone()[0])

    def changes(self) -> Changes:
        """Return how the rows differ from those of before; all of them have been seen."""
        with self._told():
            self._data.execute("PRAGMA user_version = 1")
            return changes_of(self._data, whole_before=self._whole_before)

    def wait(self, number: int, line: str | None) -> None:
        """Keep a line that cannot be written yet, or that there is none: on the disk, where many are kept."""
        self._waiting[number] = line
        self._waiting_size += len(line or "")
        if self._waiting_size >= _IN_MEMORY:
            self._to_disk()

    def waited(self, number: int) -> tuple[str | None] | None:
        """Return a line that waited, and keep it no longer; ``None`` if nothing is known of it."""
        if number in self._waiting:
            line = self._waiting.pop(number)
            self._waiting_size -= len(line or "")
            return (line,)
        if not self._on_disk:
            return None
        with self._told():
            asked = "DELETE FROM waiting WHERE number = ? RETURNING line"
            found = self._data.execute(asked, (number,)).fetchall()
        self._on_disk -= len(found)
        return found[0] if found else None

    def all_waited(self) -> Iterator[str]:
        """Return all lines that still wait, in their order."""
        self._to_disk()
        with self._told():
            for (line,) in self._data.execute("SELECT line FROM waiting WHERE line NOT NULL ORDER BY number"):
                yield line

    def _to_disk(self) -> None:
        with self._told(), self._together():
            self._data.executemany("INSERT INTO waiting VALUES (?, ?)", self._waiting.items())
        self._on_disk += len(self._waiting)
        self._waiting, self._waiting_size = {}, 0

    def _end(self) -> None:
        """Hand to the operating system what was kept since the last time."""
        kept, self._kept = self._kept, {}
        with self._told(), self._together():
            self._data.executemany(
                "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, 1)", starmap(_stored, kept.items())
            )

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Make one transaction of many writes."""
        self._data.execute("BEGIN")
        try:
            yield
        finally:
            self._data.execute("COMMIT")

    def _told(self) -> AbstractContextManager[None]:
        return database_errors(self._path, self._lock)


@contextmanager
def database_errors(path: Path | None, lock: AbstractContextManager[Any]) -> Iterator[None]:
    """Use a database within a block, one thread at a time.

    Raises:
        CheckpointError: it cannot be used.
    """
    try:
        with lock:
            yield
    except sqlite3.Error as error:
        hint = "make room on the disk and start again with --resume"
        raise CheckpointError(f"{path}: cannot be used: {error}", hint=hint) from error


def _stored(case_id: str, known: Known) -> tuple[str, int, str, str]:
    return case_id, known.row, known.status, json_line(known.said)
