"""Every paid answer, kept as it arrives, so that no call is ever paid twice.

A journal is an append-only JSONL file. A request is looked up by the hash of
all that is sent, and by how often this run has sent it: a seeded job that is
started again asks the same questions in the same order, is answered from the
file as far as the file goes, and then goes on for real. A line torn by a kill
is dropped when the file is read. Keys and addresses are never part of a request.

A call has a line before it leaves, which says that it was sent, and another one
when it is answered or has failed: all of them took their part of the budget, and a
job that goes on has to stand where it stood. What was sent and has no second line
when the file is read was in flight when the process was killed; it counts as spent.

Each line is handed to the operating system before the work goes on, so that a
killed process loses none. It is not forced onto the disk (no ``fsync``, which would
cost milliseconds a call): a machine that loses its power may lose the last seconds.
Memory stays flat however long the file is: what is in it is looked up by a temporary
index on the disk, which is made when the file is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

import orjson

from ..errors import CheckpointError
from ..text.json_lines import json_line
from .kept import Marks
from .meter import Amount

WITHOUT_END: Final = ("length", "content_filter", "error")
"""What ended a reply before it was over: the limit on it, a filter, or anything else; it may say nothing at all."""
Failed = Literal["again", "over", "dropped"]
"""How an attempt failed: another one followed; it was the last; its answer was no longer waited for."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back for one request: all that a later replay needs.

    ``probabilities`` are those of the labels that were asked for; see :mod:`jurist.engines.probabilities`.
    """

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    model: str = ""
    probabilities: Sequence[Mapping[str, float]] = ()

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.input_tokens + self.output_tokens

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a plain mapping, without probabilities that nobody asked for."""
        return {name: value for name, value in vars(self).items() if name != "probabilities" or value}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Answer:
        """Rebuild the answer that :meth:`to_json` gave. Raises ``TypeError`` on anything else."""
        answer = cls(**data)
        shares = (share for one in answer.probabilities for share in one.values())
        numbers = (
            answer.input_tokens,
            answer.output_tokens,
            answer.cached_tokens,
            answer.cost or 0.0,
            *shares,
        )
        if not isinstance(answer.text, str) or not all(isinstance(number, int | float) for number in numbers):
            raise TypeError("not an answer")
        return answer


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The circumstances of a call, kept beside what came of it."""

    phase: int = 0  # of the meter, when the call was made
    asker: str = ""  # who asked: the purpose and the model
    size: int = 0  # bytes of the request; 0 if not known


_UNMARKED = Mark()


@dataclass(frozen=True, kw_only=True)
class Past:
    """What an earlier process made of one call, besides its answer."""

    mark: Mark = _UNMARKED  # the circumstances of the latest attempt
    retried: int = 0  # failed attempts after which another one followed, or would have
    over: int = 0  # attempts of the latest series that ended without an answer, if nothing came after it
    error: str = ""  # the last words of that series
    lost: int = 0  # all other attempts, which no answer follows
    unanswered: int = 0  # attempts that were sent, and of which nothing more is known: in flight at a kill

    @property
    def attempts(self) -> int:
        """All attempts that gave no answer."""
        return self.retried + self.over + self.lost + self.unanswered

    def taken(self, answer: Answer | None) -> Amount:
        """Return what the call took of the budget, with its answer if there is one."""
        if answer is None:
            return Amount(calls=self.attempts)
        return Amount(calls=1 + self.attempts, tokens=answer.tokens, cost=answer.cost or 0.0)

    def sent(self, mark: Mark) -> Past:
        """Return what it is after one more attempt has left."""
        return replace(self, mark=mark, unanswered=self.unanswered + 1)

    def after(self, failed: Failed | None, mark: Mark, error: str = "") -> Past:
        """Return what it is after an attempt that failed, or an answer."""
        waiting = max(0, self.unanswered - 1)  # journals of earlier versions do not say what was sent
        if failed == "dropped":
            return replace(self, mark=mark, lost=self.lost + 1, unanswered=waiting)
        lost = self.lost + self.over
        if failed == "over":
            return Past(mark=mark, over=self.retried + 1, error=error, lost=lost, unanswered=waiting)
        return Past(mark=mark, retried=self.retried + (failed == "again"), lost=lost, unanswered=waiting)


_NOTHING = Past()
_AT_ONCE = 256
_ANSWER = frozenset(item.name for item in fields(Answer))


def request_key(request: Mapping[str, Any]) -> str:
    """Return the sha256 of a request's content."""
    return hashlib.sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()


class Journal:
    """An append-only file of answers. ``path=None`` keeps nothing and replays nothing."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._new, self._begun = 0, False
        self._index = _Index()
        self._file, self._past = None, None
        if path is not None:
            self._load(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file, self._past = path.open("ab"), path.open("rb")

    def __len__(self) -> int:
        """Return the number of answers kept."""
        return self._index.answers + self._new

    @property
    def begun(self) -> bool:
        """Whether it holds any call, answered or not."""
        return self._begun or self._index.calls > 0

    def ask(self, key: str) -> tuple[int, Answer | None]:
        """Count one more occurrence of ``key`` and return its number with the kept answer, if there is one."""
        with self._lock:
            occurrence = self._index.seen(key)
            place = self._index.place(key, occurrence)
            if place is None or self._past is None:
                return occurrence, None
            self._past.seek(place)
            row = json.loads(self._past.readline())
        return occurrence, Answer.of({name: row[name] for name in row if name in _ANSWER})

    def past(self, key: str, occurrence: int) -> Past:
        """Return what an earlier process made of a call; nothing is added to it in this one."""
        with self._lock:
            return self._index.past(key, occurrence)

    def kept(self) -> Iterator[tuple[Past, Answer | None]]:
        """Go through the calls of earlier processes: their attempts, and their answer, without its text."""
        return self._index.all()

    def keep_sent(self, key: str, occurrence: int, mark: Mark = _UNMARKED) -> None:
        """Append that an attempt is about to leave; an answer, or how it failed, comes in another line."""
        self._append({"key": key, "n": occurrence, "phase": mark.phase, "sent": True})

    def keep(self, key: str, occurrence: int, answer: Answer, mark: Mark = _UNMARKED) -> None:
        """Append an answer; it is not asked for again in this process."""
        self._append({"key": key, "n": occurrence, **vars(mark), **answer.to_json()})

    def keep_failed(
        self, key: str, occurrence: int, failed: Failed, mark: Mark = _UNMARKED, error: str = ""
    ) -> None:
        """Append an attempt that failed; the next attempt, or an answer, comes in another line."""
        said = {"error": error} if error else {}
        self._append({"key": key, "n": occurrence, **vars(mark), "failed": failed, **said})

    def _append(self, row: Mapping[str, Any]) -> None:
        """Append a line; it is on its way to the disk when this returns."""
        if self._file is None:
            return
        with self._lock:
            self._begun, self._new = True, self._new + ("text" in row)
            try:
                self._file.write(json_line(row).encode() + b"\n")
                self._file.flush()
            except OSError as error:
                hint = "make room on the disk and start again with --resume"
                raise CheckpointError(
                    f"{self.path}: cannot be written: {error.strerror}", hint=hint
                ) from error

    def close(self) -> None:
        """Close the file."""
        if self._file is not None and self._past is not None:
            with suppress(OSError):  # whoever kept the answer that cannot be written was told so
                self._file.close()
            self._past.close()
            self._file = self._past = None

    def _load(self, path: Path) -> None:
        if not path.exists():
            return
        place = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    self._take(dict(json.loads(line)), place)
                except (ValueError, KeyError, TypeError, sqlite3.Error) as error:
                    raise CheckpointError(
                        f"{path}:{number}: not a journal line",
                        hint="remove the checkpoint folder and start again",
                    ) from error
                place += len(line)
        if place != path.stat().st_size:
            os.truncate(path, place)  # in place: on a full disk, writing it anew would lose it all

    def _take(self, row: dict[str, Any], place: int) -> None:
        key, occurrence = row.pop("key"), row.pop("n")
        mark, past = _mark(row), self._index.past(key, occurrence)
        if "sent" in row:
            if row != {"sent": True}:
                raise TypeError("not a call that was sent")
            self._index.keep(key, occurrence, past.sent(mark))
        elif "failed" in row:
            failed, error = row.pop("failed"), row.pop("error", "")
            if failed not in get_args(Failed) or not isinstance(error, str) or row:
                raise TypeError("not a failed attempt")
            self._index.keep(key, occurrence, past.after(failed, mark, error))
        else:
            self._index.keep(key, occurrence, past.after(None, mark), place, Answer.of(row))


class _Index:
    """Where the answer to each call stands in a journal, what else came of it, and how often each thing was asked.

    A database in a temporary file that nobody else sees: it is gone with the process.
    """

    def __init__(self) -> None:
        self.answers = self.calls = 0
        self._marks, self._new = Marks(), list[tuple[str]]()  # new: seen once, and not in the database yet
        self._data = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._data.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE seen (key TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;"
            "CREATE TABLE calls (id INTEGER PRIMARY KEY, key TEXT, n INTEGER, past TEXT, "
            "place INTEGER, taken TEXT, UNIQUE (key, n));"
            "BEGIN;"  # for good: nobody else reads it
        )

    def seen(self, key: str) -> int:
        """Count one more occurrence of a key, and return its number."""
        if key not in self._marks:
            self._marks.add(key)
            self._new.append((key,))
            if len(self._new) >= _AT_ONCE:
                self._flush()
            return 1
        self._flush()
        asked = "INSERT INTO seen VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1 RETURNING n"
        return int(self._data.execute(asked, (key,)).fetchall()[0][0])

    def _flush(self) -> None:
        new, self._new = self._new, []
        self._data.executemany("INSERT INTO seen VALUES (?, 1)", new)

    def place(self, key: str, occurrence: int) -> int | None:
        """Return where the answer stands; ``None`` without one."""
        place: int | None = self._one("place", key, occurrence)
        return place

    def past(self, key: str, occurrence: int) -> Past:
        """Return what is known of a call."""
        found = self._one("past", key, occurrence)
        return _past(found) if found else _NOTHING

    def _one(self, what: str, key: str, occurrence: int) -> Any:
        if not self.calls:
            return None
        asked = f"SELECT {what} FROM calls WHERE key = ? AND n = ?"
        row = self._data.execute(asked, (key, occurrence)).fetchone()
        return row and row[0]

    def keep(
        self, key: str, occurrence: int, past: Past, place: int | None = None, answer: Answer | None = None
    ) -> None:
        """Keep what is known of a call now, and where its answer stands."""
        taken = answer and json.dumps([answer.input_tokens, answer.output_tokens, answer.cost])
        self._data.execute(
            "INSERT INTO calls (key, n, past, place, taken) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key, n) DO UPDATE "
            "SET past = excluded.past, place = coalesce(excluded.place, place), "
            "taken = coalesce(excluded.taken, taken)",
            (key, occurrence, json.dumps(vars(past) | {"mark": vars(past.mark)}), place, taken),
        )
        self.calls += 1
        self.answers += answer is not None

    def all(self) -> Iterator[tuple[Past, Answer | None]]:
        """Go through all calls, in the order in which they were first made."""
        last, asked = 0, "SELECT * FROM calls WHERE id > ? ORDER BY id LIMIT 1000"
        while rows := self._data.execute(asked, (last,)).fetchall():
            for last, _, _, past, _, taken in rows:  # noqa: B007 - it is where to go on
                yield _past(past), _answer(taken) if taken else None


def _answer(taken: str) -> Answer:
    input_tokens, output_tokens, cost = json.loads(taken)
    return Answer(text="", input_tokens=input_tokens, output_tokens=output_tokens, cost=cost)


def _past(text: str) -> Past:
    told = json.loads(text)
    return Past(**{**told, "mark": Mark(**told["mark"])})


def _mark(row: dict[str, Any]) -> Mark:
    """Take the circumstances off a line; the journals of earlier versions have none."""
    mark = Mark(**{name: row.pop(name) for name in ("phase", "asker", "size") if name in row})
    if not (isinstance(mark.phase, int) and isinstance(mark.size, int) and isinstance(mark.asker, str)):
        raise TypeError("not a mark")
    return mark
