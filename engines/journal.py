"""Every attempt to call a model, written down before it leaves, so that no answer is paid twice."""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from ..text.escaping import well_formed
from .database import Database
from .meter import Amount

WINDOW_FULL: Final = "window"
"""The end of a reply for which the model's context window had no more room."""
WITHOUT_END: Final = ("length", WINDOW_FULL, "content_filter", "error")
"""The ends of a reply that was not over: a limit, a filter, or anything else. Such a reply may be empty."""
Failed = Literal["again", "over", "refused", "dropped"]
"""The failures of an attempt: another one followed; it was the last; the endpoint refused the row for what it is, so
that it is never sent again; its answer was no longer waited for."""


@dataclass(frozen=True, kw_only=True)
class StoredResponse:
    """The response to one request, with all that a later replay needs."""

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    model: str = ""
    probabilities: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    """Output field -> label -> probability, of each label that it gives."""

    @property
    def tokens(self) -> int:
        """Tokens that were read and written."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, kw_only=True)
class Past:
    """The outcome of one call in earlier processes."""

    occurrence: int
    """The times that this process has come to ask it."""
    answer: StoredResponse | None = None
    phase: int = 0
    """The phase of the meter at the latest attempt."""
    retried: int = 0
    """Failed attempts after which another one followed, or would have."""
    failed_attempts: int = 0
    """Attempts of the latest series that ended without an answer, if nothing came after it."""
    error: str = ""
    """The last words of that series."""
    refusal: str = ""
    """The kind of failure, if the endpoint refused the row for what it is; ``error`` has its words."""
    kept_at: str = ""
    """When a finished job kept this outcome, in UTC; empty for one of this job."""

    @property
    def is_known(self) -> bool:
        """Whether nothing is sent: there is an answer, or the endpoint refused the row."""
        return self.answer is not None or bool(self.refusal)


ANSWER_COLUMNS: Final = tuple(item.name for item in fields(StoredResponse))
_TABLE: Final = f"""
PRAGMA locking_mode=EXCLUSIVE;
PRAGMA synchronous=NORMAL;  -- a killed process loses nothing, a machine that loses its power seconds
PRAGMA wal_autocheckpoint=16384;
CREATE TABLE IF NOT EXISTS attempts (
    id INTEGER PRIMARY KEY, key TEXT, n INTEGER, phase INTEGER, asker TEXT, size INTEGER, state TEXT, error TEXT,
    {", ".join(ANSWER_COLUMNS)}, call
);
"""
_INDEX: Final = "CREATE INDEX IF NOT EXISTS calls ON attempts (key, n)"
"""For a journal that is gone on with alone: others never look anything up."""
_SEEN: Final = """
PRAGMA journal_mode=OFF;
CREATE TABLE seen (key TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
"""
_MOST_RECENT: Final = 20_000
"""The keys whose counts are held in memory: some four megabytes."""
_AMOUNTS_BY_PHASE: Final = """
SELECT phase, sum(calls), sum(tokens), sum(cost) FROM (
    SELECT phase, max(id), count(*) AS calls, total(input_tokens + output_tokens) AS tokens, total(cost) AS cost
    FROM attempts GROUP BY key, n
) GROUP BY phase
"""
_SEND: Final = """
INSERT INTO attempts (id, key, n, phase, asker, size, call, state) VALUES (?, ?, ?, ?, ?, ?, ?, 'sent')
"""
_SET_ANSWER: Final = ", ".join(f"{name} = ?" for name in ANSWER_COLUMNS)
_KEEP: Final = f"UPDATE attempts SET state = 'answered', {_SET_ANSWER} WHERE id = ?"
_FAIL: Final = "UPDATE attempts SET state = ?, error = ? WHERE id = ?"
_ATTEMPTS_OF_CALL: Final = "SELECT * FROM attempts WHERE key = ? AND n = ? ORDER BY id"
_OUTCOMES: Final = """
SELECT * FROM attempts WHERE call IS NOT NULL AND state IN ('answered', 'refused') ORDER BY id
"""
_LARGEST_RATIOS: Final = """
SELECT max(1.0 * input_tokens / max(1, size)), max(output_tokens),
    max(coalesce(cost, 0.0) / max(1, input_tokens + output_tokens))
FROM attempts WHERE asker = ? AND text IS NOT NULL
"""


def _add_missing_columns(data: Database) -> None:
    """Give a journal of an earlier release the columns that it lacks; they are empty in its rows."""
    columns = {row["name"] for row in data.all("PRAGMA table_info(attempts)")}
    for name in (*ANSWER_COLUMNS, "call"):
        if name not in columns:
            data.all(f"ALTER TABLE attempts ADD COLUMN {name}")


def _after_attempt(past: Past, attempt: Mapping[str, Any]) -> Past:
    """Return the outcome of a call after one more of its attempts, as a row of the table."""
    past = replace(past, phase=attempt["phase"])
    state = attempt["state"]
    if state == "again":
        return replace(past, retried=past.retried + 1, failed_attempts=0)
    if state == "over":
        return replace(past, retried=0, failed_attempts=past.retried + 1, error=attempt["error"])
    if state == "refused":
        refusal, words = refusal_in(attempt["error"])
        return replace(past, refusal=refusal, error=words)
    if state == "answered":
        return replace(past, answer=answer_in(attempt), failed_attempts=0)
    return past


def refusal_in(error: str) -> tuple[str, str]:
    """Return the kind of failure and the endpoint's words, from the error with which a refused attempt is noted."""
    refusal, _, words = error.partition(": ")
    return refusal, words


def answer_in(attempt: Mapping[str, Any]) -> StoredResponse:
    """Return the answer in a row of the table."""
    values = {name: attempt[name] for name in ANSWER_COLUMNS}
    values["probabilities"] = json.loads(attempt["probabilities"])
    values["reasoning_tokens"] = values["reasoning_tokens"] or 0  # earlier releases did not count them
    return StoredResponse(**values)


def request_key(request: Mapping[str, object]) -> str:
    """Return the sha256 of a request's content."""
    return hashlib.sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()


class Occurrences:
    """The times that each key was asked: counts of recent keys in memory, those of others in a temporary file."""

    def __init__(self) -> None:
        self._recent: dict[str, int] = {}
        self._others: Database | None = None
        self._lock = threading.Lock()

    def add(self, key: str) -> int:
        """Count one more occurrence of a key, and return how many there are."""
        with self._lock:
            earlier = self._recent.get(key)
            if earlier is None:
                earlier = self._count_in_file(key)
            self._recent[key] = earlier + 1
            if len(self._recent) > _MOST_RECENT:
                self._move_to_file()
            return earlier + 1

    def _count_in_file(self, key: str) -> int:
        """Return the count of a key that is not in memory."""
        if self._others is None:
            return 0
        count: int | None = self._others.first("SELECT n FROM seen WHERE key = ?", key)
        return count or 0

    def _move_to_file(self) -> None:
        """Move all counts from memory to the file."""
        if self._others is None:
            self._others = Database(None, _SEEN)
        self._others.many("INSERT OR REPLACE INTO seen VALUES (?, ?)", self._recent.items())
        self._recent.clear()


class Journal:
    """The attempts of one asker or more. ``path=None`` keeps nothing and replays nothing."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._occurrences = Occurrences()
        self._data: Database | None = None
        self._earlier_attempts = self._answers = 0
        self._numbers = itertools.count(1)
        self._has_sent = False
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._data = Database(path, _TABLE, page=1024)
            _add_missing_columns(self._data)
            counts = self._data.all("SELECT count(*), count(text) FROM attempts")[0]
            self._earlier_attempts, self._answers = counts
            last_number = self._data.first("SELECT max(id) FROM attempts") or 0
            self._numbers = itertools.count(1 + last_number)
            if self._earlier_attempts:
                self._data.all(_INDEX)

    def __len__(self) -> int:
        """Return the number of answers kept."""
        return self._answers

    @property
    def begun(self) -> bool:
        """Whether it holds any attempt, answered or not."""
        return self._has_sent or self._earlier_attempts > 0

    def look_up(self, key: str) -> Past:
        """Count one more occurrence of ``key`` and return its outcome in earlier processes."""
        occurrence = self._occurrences.add(key)
        past = Past(occurrence=occurrence)
        if self._earlier_attempts and self._data:
            attempts = self._data.all(_ATTEMPTS_OF_CALL, key, occurrence)
            for attempt in attempts:
                past = _after_attempt(past, attempt)
        return past

    def earlier_amounts(self) -> Iterator[tuple[int, Amount]]:
        """Yield the amounts that earlier processes took of the budget, by the phase of each call's latest attempt."""
        if self._data is None:
            return
        for phase, calls, tokens, cost in self._data.all(_AMOUNTS_BY_PHASE):
            yield phase, Amount(calls=calls, tokens=tokens, cost=cost)

    def outcomes(self) -> Iterator[Mapping[str, Any]]:
        """Yield the row of each attempt that was answered, or refused for what the row is, and may be kept."""
        if self._data is not None:
            yield from self._data.each(_OUTCOMES)

    def largest_ratios(self, asker: str) -> tuple[float, int, float] | None:
        """Return the largest of an asker's answers: tokens a byte, tokens of a reply, and US dollars a token."""
        if self._data is None:
            return None
        tokens_a_byte, reply_tokens, cost_a_token = self._data.all(_LARGEST_RATIOS, asker)[0]
        if tokens_a_byte is None:
            return None
        return tokens_a_byte, reply_tokens, cost_a_token

    def note_sending(
        self,
        key: str,
        occurrence: int,
        *,
        phase: int = 0,
        asker: str = "",
        size: int = 0,
        call: bytes | None = None,
    ) -> int:
        """Note that an attempt is about to leave, and return its number.

        Args:
            key, occurrence: of its request; see :meth:`look_up`.
            phase: that of the meter.
            asker: the purpose and the model.
            size: that of the request, in bytes.
            call: the name under which its outcome is kept when the job is finished; ``None`` where it is not kept.
        """
        self._has_sent = self._data is not None
        number = next(self._numbers)
        self._write(_SEND, number, key, occurrence, phase, asker, size, call)
        return number

    def note_answer(self, attempt: int, answer: StoredResponse) -> None:
        """Note the answer to an attempt; it is not asked for again in this process."""
        values = dict(vars(answer))
        values["probabilities"] = json.dumps(answer.probabilities) if answer.probabilities else "{}"
        self._write(_KEEP, *values.values(), attempt)
        if self._data is not None:
            self._answers += 1

    def note_failure(self, attempt: int, failed: Failed, error: str = "") -> None:
        """Note how an attempt failed."""
        self._write(_FAIL, failed, well_formed(error), attempt)

    def _write(self, statement: str, *values: object) -> None:
        """Execute a statement, if anything is written down at all."""
        if self._data is not None:
            self._data.all(statement, *values)

    def close(self) -> None:
        """Close the table; what is noted after that is kept nowhere."""
        if self._data is not None:
            self._data.close()
            self._data = None
