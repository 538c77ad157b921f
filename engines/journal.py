"""Every attempt to call a model, written down before it leaves, so that no answer is paid twice."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from ..text.escaping import well_formed
from .database import Database
from .meter import Amount

WINDOW_FULL: Final = "window"
"""The end of a reply for which the model's context window had no more room."""
WITHOUT_END: Final = ("length", WINDOW_FULL, "content_filter", "error")
"""What ended a reply before it was over: a limit, a filter, or anything else. Such a reply may be empty."""
Failed = Literal["again", "over", "refused", "dropped"]
"""How an attempt failed: another one followed; it was the last; the endpoint refused the row for what it is, so that it
is never sent again; its answer was no longer waited for."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The response to one request, with all that a later replay needs."""

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    model: str = ""
    # output field -> label -> probability, of each label that it gives
    probabilities: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, kw_only=True)
class Past:
    """The outcome of one call in earlier processes."""

    occurrence: int  # how often this process has come to ask it
    answer: Answer | None = None
    phase: int = 0  # of the meter, at the latest attempt
    retried: int = 0  # failed attempts after which another one followed, or would have
    over: int = 0  # attempts of the latest series that ended without an answer, if nothing came after it
    error: str = ""  # the last words of that series
    refusal: str = (
        ""  # the kind of failure, if the endpoint refused the row for what it is; ``error`` has its words
    )


_ANSWER: Final = tuple(item.name for item in fields(Answer))
_TABLE: Final = f"""
PRAGMA locking_mode=EXCLUSIVE;
PRAGMA synchronous=NORMAL;  -- a killed process loses nothing, a machine that loses its power seconds
PRAGMA wal_autocheckpoint=16384;
CREATE TABLE IF NOT EXISTS attempts (
    id INTEGER PRIMARY KEY, key TEXT, n INTEGER, phase INTEGER, asker TEXT, size INTEGER, state TEXT, error TEXT,
    {", ".join(_ANSWER)}
);
"""
# of what is gone on with; else it only costs
_INDEX: Final = "CREATE INDEX IF NOT EXISTS calls ON attempts (key, n)"
_SEEN: Final = """
PRAGMA journal_mode=OFF;
CREATE TABLE seen (key TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
BEGIN;
"""
_TAKEN: Final = """
SELECT phase, sum(calls), sum(tokens), sum(cost) FROM (
    SELECT phase, max(id), count(*) AS calls, total(input_tokens + output_tokens) AS tokens, total(cost) AS cost
    FROM attempts GROUP BY key, n
) GROUP BY phase
"""
_SEND: Final = """
INSERT INTO attempts (id, key, n, phase, asker, size, state) VALUES (?, ?, ?, ?, ?, ?, 'sent')
"""
_KEEP: Final = (
    f"UPDATE attempts SET state = 'answered', {', '.join(f'{name} = ?' for name in _ANSWER)} WHERE id = ?"
)
_MOST: Final = """
SELECT max(1.0 * input_tokens / max(1, size)), max(output_tokens),
    max(coalesce(cost, 0.0) / max(1, input_tokens + output_tokens))
FROM attempts WHERE asker = ? AND text IS NOT NULL
"""


def _add_missing_columns(data: Database) -> None:
    """Give a journal of an earlier release the columns that it lacks; they are empty in its rows."""
    columns = {row["name"] for row in data.all("PRAGMA table_info(attempts)")}
    for name in _ANSWER:
        if name not in columns:
            data.all(f"ALTER TABLE attempts ADD COLUMN {name}")


def request_key(request: Mapping[str, Any]) -> str:
    """Return the sha256 of a request's content."""
    return hashlib.sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()


class Journal:
    """The attempts of one asker or more. ``path=None`` keeps nothing and replays nothing."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._seen = Database(None, _SEEN)  # one transaction for good: nobody else reads it
        self._data: Database | None = None
        self._before = self._answers = 0
        self._numbers = itertools.count(1)
        self._sent = False
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._data = Database(path, _TABLE, page=1024)
            _add_missing_columns(self._data)
            self._before, self._answers = self._data.all("SELECT count(*), count(text) FROM attempts")[0]
            self._numbers = itertools.count(1 + (self._data.first("SELECT max(id) FROM attempts") or 0))
            if self._before:
                self._data.all(_INDEX)

    def __len__(self) -> int:
        """Return the number of answers kept."""
        return self._answers

    @property
    def begun(self) -> bool:
        """Whether it holds any attempt, answered or not."""
        return self._sent or self._before > 0

    def ask(self, key: str) -> Past:
        """Count one more occurrence of ``key`` and return what earlier processes made of it."""
        counted = "INSERT INTO seen VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1 RETURNING n"
        occurrence: int = self._seen.first(counted, key)
        if not (self._before and self._data):
            return Past(occurrence=occurrence)
        kept: dict[str, Any] = {"retried": 0, "over": 0, "error": ""}
        for row in self._data.all(
            "SELECT * FROM attempts WHERE key = ? AND n = ? ORDER BY id", key, occurrence
        ):
            kept["phase"] = row["phase"]
            if row["state"] == "again":
                kept |= {"retried": kept["retried"] + 1, "over": 0}
            elif row["state"] == "over":
                kept |= {"retried": 0, "over": kept["retried"] + 1, "error": row["error"]}
            elif row["state"] == "refused":
                refusal, _, words = str(row["error"]).partition(": ")
                kept |= {"refusal": refusal, "error": words}
            elif row["state"] == "answered":
                shares = json.loads(row["probabilities"])
                values = {name: row[name] for name in _ANSWER}
                values["reasoning_tokens"] = (
                    values["reasoning_tokens"] or 0
                )  # not counted by earlier releases
                kept |= {"answer": Answer(**{**values, "probabilities": shares}), "over": 0}
        return Past(occurrence=occurrence, **kept)

    def taken(self) -> Iterator[tuple[int, Amount]]:
        """Yield the amounts that earlier processes took of the budget, by the phase of each call's latest attempt."""
        for phase, calls, tokens, cost in self._data.all(_TAKEN) if self._data else ():
            yield phase, Amount(calls=calls, tokens=tokens, cost=cost)

    def most(self, asker: str) -> tuple[float, int, float] | None:
        """Return the most that an asker's answers took: tokens a byte, tokens of a reply, and US dollars a token."""
        row = self._data.all(_MOST, asker)[0] if self._data else None
        return tuple(row) if row and row[0] is not None else None

    def send(self, key: str, occurrence: int, *, phase: int = 0, asker: str = "", size: int = 0) -> int:
        """Note that an attempt is about to leave, and return its number; ``size`` is that of the request in bytes."""
        self._sent = self._data is not None
        number = next(self._numbers)
        self._write(_SEND, number, key, occurrence, phase, asker, size)
        return number

    def keep(self, attempt: int, answer: Answer) -> None:
        """Note what an attempt was answered; it is not asked for again in this process."""
        shares = json.dumps(answer.probabilities) if answer.probabilities else "{}"
        self._write(_KEEP, *{**vars(answer), "probabilities": shares}.values(), attempt)
        self._answers += self._data is not None

    def fail(self, attempt: int, failed: Failed, error: str = "") -> None:
        """Note how an attempt failed."""
        self._write(
            "UPDATE attempts SET state = ?, error = ? WHERE id = ?", failed, well_formed(error), attempt
        )

    def _write(self, asked: str, *values: Any) -> None:
        if self._data is not None:
            self._data.all(asked, *values)

    def close(self) -> None:
        """Close the table; what is noted after that is kept nowhere."""
        if self._data is not None:
            self._data.close()
            self._data = None
