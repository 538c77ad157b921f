"""An SQLite database, for the data of a job that outlives its process, or does not fit into memory."""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..errors import CheckpointError

_ROOM = "make room on the disk and start again with --resume"


class Database:
    """An SQLite database, as a context manager. Thread-safe, except for statements written :meth:`together`."""

    def __init__(self, path: Path | None, script: str, *, page: int = 4096) -> None:
        self._path, self._lock = path, threading.RLock()
        with self.used():
            self._data = sqlite3.connect(path or "", isolation_level=None, check_same_thread=False)
            self._data.row_factory = sqlite3.Row
            self._data.executescript(f"PRAGMA page_size={page}; PRAGMA journal_mode=WAL;" + script)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._data.close()

    @contextmanager
    def used(self) -> Iterator[None]:
        """Use it within a block, one thread at a time."""
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: sqlite3.Error) -> CheckpointError:
        """Return the error for a database that cannot be used, with the next step."""
        hint = _ROOM
        if type(error) is sqlite3.DatabaseError:
            hint = "it is damaged: start again with --fresh"
        return CheckpointError(f"{self._path or 'a temporary file'}: cannot be used: {error}", hint=hint)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make one transaction of the block's statements; an error within it leaves all as it was."""
        self.all("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._data.in_transaction:  # a full disk has ended it already
                self.all("ROLLBACK")
            raise
        self.all("COMMIT")

    def all(self, statement: str, *values: object) -> list[Any]:
        """Execute a statement, and return all rows that it gives."""
        try:  # this is self.used() by hand, as a call of a model waits for it
            with self._lock:
                return self._data.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement for each row, in one transaction."""
        with self.used(), self.together():
            self._data.executemany(statement, rows)

    def each(self, query: str, *values: object) -> Iterator[Any]:
        """Yield the rows of a query one after the other."""
        with self.used():
            yield from self._data.execute(query, values)

    def first(self, query: str, *values: object) -> Any:
        """Return the first value of the first row; ``None`` without a row."""
        rows = self.all(query, *values)
        if not rows:
            return None
        return rows[0][0]
