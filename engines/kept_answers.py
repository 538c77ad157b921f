"""The answers of finished jobs in one file, so that a later job does not pay again for the same requests."""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ..errors import CheckpointError
from ..text.files import hide_from_git
from .database import Database
from .journal import ANSWER_COLUMNS, Journal, Occurrences, Past, answer_in, refusal_in

_MOST_ANSWERS: Final = 1_000_000
"""The most answers that are kept: each new one beyond that drops the oldest."""
_COLUMNS: Final = ("call", "kept_at", "error", *ANSWER_COLUMNS)
_TABLES: Final = f"""
CREATE TABLE IF NOT EXISTS answers (id INTEGER PRIMARY KEY, call BLOB UNIQUE, {", ".join(_COLUMNS[1:])});
CREATE TABLE IF NOT EXISTS jobs (job TEXT PRIMARY KEY, kept_since TEXT, answers TEXT);
"""
_KEEP: Final = f"""
INSERT OR REPLACE INTO answers ({", ".join(_COLUMNS)}) VALUES ({", ".join("?" * len(_COLUMNS))})
"""
_DROP_OLDEST: Final = "DELETE FROM answers WHERE id <= (SELECT max(id) FROM answers) - ?"
_DROP_JOBS: Final = "DELETE FROM jobs WHERE kept_since < (SELECT min(kept_at) FROM answers)"


@dataclass(frozen=True, kw_only=True)
class FinishedJob:
    """A job that was finished, whose answers are kept."""

    kept_since: str  # when the oldest of its answers was kept, in UTC
    answers: Mapping[str, int]  # role -> the number of its answers


class KeptAnswers:
    """The answers in a file, as one job uses them: each once. Others may use the file, too. Thread-safe.

    Args:
        path: the file, which need not exist.
        anew: whether no answer of it is used.
    """

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        self._path = path
        self._anew = anew
        self._occurrences = Occurrences()
        self.problem = ""
        """Why the file is used no longer; empty while it is."""
        self._data: Database | None = None
        if path.exists():
            self._data = Database(path, _TABLES)

    def name_call(self, endpoint: str, key: str) -> bytes:
        """Return the name of the next call for a request: a hash of who is asked, what, and how often in this job.

        Two judges of a job that send equal requests, each for draws of its own, so have names of their own.
        """
        number = self._occurrences.add(f"{endpoint} {key}")
        return hashlib.sha256(f"{endpoint} {key} {number}".encode()).digest()

    def look_up(self, call: bytes, past: Past) -> Past:
        """Return the kept outcome of a call of this name; ``past``, that in the journal, without any."""
        for row in self._find_rows("SELECT * FROM answers WHERE call = ?", call):
            if row["error"]:
                refusal, words = refusal_in(row["error"])
                return replace(past, refusal=refusal, error=words, kept_at=row["kept_at"])
            return replace(past, answer=answer_in(row), kept_at=row["kept_at"])
        return past

    def find_job(self, job: str) -> FinishedJob | None:
        """Return the finished job of this name; ``None`` if there is none."""
        for row in self._find_rows("SELECT * FROM jobs WHERE job = ?", job):
            return FinishedJob(kept_since=row["kept_since"], answers=json.loads(row["answers"]))
        return None

    def _find_rows(self, query: str, value: object) -> list[Any]:
        """Return the rows of a query; none where no answer is used, or once the file was found damaged."""
        if self._data is None or self._anew or self.problem:
            return []
        try:
            return self._data.all(query, value)
        except CheckpointError as error:
            self.problem = error.message
            return []

    def keep(self, job: str, finished: FinishedJob, journals: Sequence[Journal], now: str) -> None:
        """Keep the answers of a finished job; those to equal requests take the place of earlier ones.

        Without any answer of an endpoint no file is made.

        Args:
            job: its name.
            finished: what :meth:`find_job` returns from now on.
            journals: its journals, still open.
            now: the time, in UTC.
        """
        rows = _rows_of(journals, now)
        if self._data is None:
            first_row = next(rows, None)
            if first_row is None:
                return
            rows = itertools.chain([first_row], rows)
            # Replies may quote what was judged, which is not to get into a repository with the store.
            hide_from_git(self._path.parent)
            self._data = Database(self._path, _TABLES)
        self._data.many(_KEEP, rows)
        self._data.all(_DROP_OLDEST, _MOST_ANSWERS)
        self._data.all(_DROP_JOBS)
        self._data.all(
            "INSERT OR REPLACE INTO jobs VALUES (?, ?, ?)",
            job,
            finished.kept_since,
            json.dumps(finished.answers),
        )

    def close(self) -> None:
        """Close the file."""
        if self._data is not None:
            self._data.close()
            self._data = None


def _rows_of(journals: Sequence[Journal], now: str) -> Iterator[list[Any]]:
    """Yield the row of each outcome in journals."""
    for journal in journals:
        for attempt in journal.outcomes():
            error = attempt["error"] if attempt["state"] == "refused" else ""
            row = [attempt["call"], now, error]
            row.extend(attempt[name] for name in ANSWER_COLUMNS)
            yield row
