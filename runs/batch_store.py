"""What waits for batches, and what they have brought: a database beside the output, so that a kill loses nothing."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dspy import LMError

from ..engines.conversion import hide_key
from ..engines.database import Database
from ..engines.direct import ProviderResponse
from ..engines.failures import brief

_TRIES = 4
"""Batches that may bring no reply to a request, before it has failed."""
_URL = "/v1"  # what the lines of a batch call the address of the server
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS batches (
    number INTEGER PRIMARY KEY, base TEXT, url TEXT, requests INTEGER,
    file TEXT NOT NULL DEFAULT '', id TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'cut',
    ended INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS requests (
    key TEXT PRIMARY KEY, custom_id TEXT UNIQUE, base TEXT, url TEXT, model TEXT, body BLOB, terms TEXT,
    round INTEGER, batch INTEGER, tries INTEGER NOT NULL DEFAULT 0, status INTEGER, reply BLOB,
    error TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS of_batch ON requests (batch);
"""
MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000
"""Lines and bytes of one file: the limits of OpenAI."""
_WAITS = f"reply IS NULL AND tries < {_TRIES}"


@dataclass(frozen=True, kw_only=True)
class Written:
    """A request as it is sent."""

    base: str  # address of the server, as ``https://api.openai.com/v1``
    path: str  # below it, as ``/chat/completions``
    model: str  # as the server knows it
    body: bytes  # JSON, on one line
    terms: str  # what was known of the endpoint when it was written; see :class:`~jurist.engines.terms.Terms`
    key: str  # what tells it from every other request, whatever was known, as hexadecimal digits
    case: str  # id of the case for which it was first sent

    @property
    def custom_id(self) -> str:
        """Its name in a batch: the id of the case, and the beginning of the key."""
        return f"{self.case}-{self.key[:24]}"


@dataclass(frozen=True, kw_only=True)
class BatchReply(ProviderResponse):
    """The response to a request of a batch."""

    terms: str  # what was known of the endpoint when the request was written


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One batch."""

    number: int  # ours, from 1
    base: str  # address of the server
    url: str  # what its lines ask, as ``/v1/chat/completions``
    requests: int  # lines of its file
    file: str  # the provider's id of its file; empty until it has it
    id: str  # the provider's id of the batch; empty until it is known
    status: str  # ``cut``, ``sending`` (from before the provider is asked to begin it), then what the provider says
    ended: bool  # whether nothing more will come of it, and what came is kept
    error: str  # why the provider refused it; empty if it did not


class BatchStore(Database):
    """The requests and batches of one output."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "PRAGMA synchronous=FULL;" + _TABLES)

    @property
    def about(self) -> dict[str, Any]:
        """The description of the whole work, as JSON values."""
        return {name: json.loads(value) for name, value in self.all("SELECT name, value FROM about")}

    def tell(self, facts: Mapping[str, object]) -> None:
        """Write something down of the whole work."""
        for name, value in facts.items():
            self.all("INSERT OR REPLACE INTO about VALUES (?, ?)", name, json.dumps(value))

    @contextmanager
    def round(self) -> Iterator[None]:
        """Begin another pass over the rows: only what is wanted in the block is wanted still."""
        number = int(self.about.get("round", 0)) + 1
        with self.together():
            self.all("INSERT OR REPLACE INTO about VALUES ('round', ?)", number)
            yield

    def wants(self, request: Written) -> bool:
        """Take note that a request is asked for; return whether it still waits for its reply."""
        ((waits, is_free),) = self.all(
            "INSERT INTO requests (key, custom_id, base, url, model, body, terms, round) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT value FROM about WHERE name = 'round')) "
            f"ON CONFLICT (key) DO UPDATE SET round = excluded.round RETURNING {_WAITS}, batch IS NULL",
            request.key,
            request.custom_id,
            request.base,
            _URL + request.path,
            request.model,
            request.body,
            request.terms,
        )
        if waits and is_free:  # it is sent as it is written now
            again = "UPDATE requests SET body = ?, terms = ? WHERE key = ?"
            self.all(again, request.body, request.terms, request.key)
        return bool(waits)

    def reply(self, request: Written) -> BatchReply:
        """Return the reply to a request that does not wait any more."""
        query = "SELECT status, terms, reply, error FROM requests WHERE key = ?"
        ((status, terms, reply, error),) = self.all(query, request.key)
        if reply is None:
            raise LMError(f"{_TRIES} batches brought no answer: {error}")
        return BatchReply(status=status, terms=terms, body=reply)

    def forget(self, request: Written) -> None:
        """Drop a reply that was of no use: if its request is asked for again, it waits for another one."""
        self.all("UPDATE requests SET reply = NULL, round = 0 WHERE key = ?", request.key)

    def terms(self, model: str) -> str:
        """Return the stored terms of an endpoint's model; empty without any."""
        return str(self.about.get(f"terms of {model}", ""))

    def learned(self, model: str, terms: str) -> None:
        """Keep what is known of it, for what is written from now on, also by another process."""
        self.tell({f"terms of {model}": terms})

    def cut(self, allowed: float, requests: int = MOST_REQUESTS, size_limit: int = MOST_BYTES) -> int:
        """Put what waits and is in no batch into new ones, ``allowed`` requests in all; return how many are left."""
        with self.together():
            batch = self.first("SELECT coalesce(max(number), 0) FROM batches")
            lines = size = 0
            batch_place = None
            query = f"SELECT key, base, url, model, custom_id, length(body) AS length FROM requests WHERE {self._free}"
            for row in self.all(f"{query} ORDER BY base, url, model, rowid"):
                if allowed < 1:
                    break
                allowed -= 1
                place = (row["base"], row["url"], row["model"])
                length = row["length"] + len(_request_line({**row, "body": b""}))
                if place != batch_place or lines >= requests or size + length > size_limit:
                    batch += 1
                    batch_place = place
                    lines = size = 0
                    self.all(
                        "INSERT INTO batches (number, base, url) VALUES (?, ?, ?)",
                        batch,
                        row["base"],
                        row["url"],
                    )
                lines += 1
                size += length
                self.all("UPDATE requests SET batch = ? WHERE key = ?", batch, row["key"])
                self.all("UPDATE batches SET requests = ? WHERE number = ?", lines, batch)
            return int(self.first(f"SELECT count(*) FROM requests WHERE {self._free}"))

    @property
    def _free(self) -> str:
        return f"{_WAITS} AND batch IS NULL AND round = {int(self.about.get('round', 0))}"

    @property
    def pending(self) -> int:
        """The number of wanted requests that still wait for their replies."""
        return int(
            self.first(f"SELECT count(*) FROM requests WHERE {_WAITS} AND round = ?", self.about["round"])
        )

    @property
    def flying(self) -> int:
        """The number of requests in batches that have not ended."""
        return int(self.first("SELECT count(*) FROM requests WHERE batch NOT NULL"))

    def batches(self) -> list[Batch]:
        """Return all batches, in their order."""
        batches = []
        for row in self.all("SELECT * FROM batches ORDER BY number"):
            values = dict(row)
            values["ended"] = bool(row["ended"])
            batches.append(Batch(**values))
        return batches

    def unended(self) -> list[Batch]:
        """Return the batches that have not ended."""
        return [batch for batch in self.batches() if not batch.ended]

    def lines(self, batch: Batch) -> Iterator[bytes]:
        """Return the lines of a batch's file."""
        query = "SELECT custom_id, url, body FROM requests WHERE batch = ? ORDER BY rowid"
        return map(_request_line, self.each(query, batch.number))

    def note(self, batch: Batch, *, file: str = "", id: str = "", status: str) -> None:
        """Keep what the provider says of a batch, before anything else is done."""
        self.all(
            "UPDATE batches SET file = coalesce(nullif(?, ''), file), id = coalesce(nullif(?, ''), id), status = ? "
            "WHERE number = ?",
            file,
            id,
            status,
            batch.number,
        )

    def end(self, batch: Batch, status: str, lines: Iterable[bytes], why: str = "", *, key: str = "") -> None:
        """Keep what a batch has brought, and set those of its requests free that have no reply."""
        with self.together():
            self.all("UPDATE requests SET error = ? WHERE batch = ?", f"batch {status}", batch.number)
            for line in lines:
                self._take(line, key)
            tries = "tries" if why else "tries + 1"
            freed = f"UPDATE requests SET tries = {tries}, batch = NULL WHERE batch = ? AND reply IS NULL"
            self.all(freed, batch.number)
            self.all("UPDATE requests SET batch = NULL WHERE batch = ?", batch.number)
            self.all(
                "UPDATE batches SET status = ?, ended = 1, error = ? WHERE number = ?",
                status,
                why,
                batch.number,
            )

    def _take(self, line: bytes, key: str) -> None:
        """Keep the reply that a line of a batch's result holds, or why there is none; skip what is no such line."""
        try:
            result = json.loads(line)
            name = str(result["custom_id"])
            response = result.get("response") or {}
            status, body = response.get("status_code"), response.get("body")
            error = _json_without_key(result.get("error") or body, key)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        # others say that the request was not looked at, and might be another time
        settled = isinstance(status, int) and (status < 400 or status in (400, 413, 422))
        if settled and isinstance(body, dict):
            keep = "UPDATE requests SET status = ?, reply = ? WHERE custom_id = ? AND reply IS NULL"
            self.all(keep, status, _json_without_key(body, key).encode(), name)
        else:
            self.all("UPDATE requests SET error = ? WHERE custom_id = ?", brief(error, 200), name)


def _json_without_key(value: object, key: str) -> str:
    """Return a value as JSON that does not show the key."""
    return hide_key(json.dumps(value), json.dumps(key)[1:-1])


def _request_line(row: Mapping[str, Any]) -> bytes:
    """Return the line of a request; its body is byte for byte what would be sent at once."""
    fields = json.dumps({"custom_id": row["custom_id"], "method": "POST", "url": row["url"]})
    body: bytes = row["body"]
    return fields[:-1].encode() + b', "body": ' + body + b"}\n"
