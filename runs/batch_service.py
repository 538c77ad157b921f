"""The provider's side of batches, through the ``openai`` package: a batch is begun once, as it is paid for."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import httpx
import openai

from ..engines.failures import redact
from ..errors import ModelError
from .batch_store import Batch, BatchStore

ENDED = ("completed", "expired", "cancelled", "failed")
_OVER = (*ENDED, "cancelling")  # what cannot be cancelled, or need not be
_ATTEMPTS, _PAUSE = 4, 0.5
_AGAIN = (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError, httpx.TransportError)
Found = TypeVar("Found")


class BatchService:
    """Who batches are sent to."""

    def __init__(self, store: BatchStore, key: str | None, timeout: float) -> None:
        self._store, self._key, self._timeout = store, key, timeout

    def look(self, batch: Batch) -> Any:
        """Return what the provider says of a batch that has begun: the package's own object."""
        with _told():
            return _tried(lambda: self._client(batch).batches.retrieve(batch.id))

    def advance(self, batch: Batch) -> str:
        """Begin a batch, or keep what it has brought; return why it is not to be sent again by itself."""
        if batch.id:
            return self._take(batch)
        self._send(batch)
        return ""

    def cancel(self, batch: Batch) -> None:
        """Cancel a batch that has not ended, and keep how it stands then; what was never begun never will be."""
        client = self._client(batch)
        with _told("jurist batch cancel asks again"):
            begun = (
                self._sent(client, batch)
                if not batch.id
                else _tried(lambda: client.batches.retrieve(batch.id))
            )
            if begun is None:
                self._store.end(batch, "cancelled", (), "it was not sent")
                return
            if begun.status not in _OVER:
                try:
                    begun = _tried(lambda: client.batches.cancel(begun.id))
                except openai.APIStatusError:
                    begun = client.batches.retrieve(begun.id)
                    if begun.status not in _OVER:
                        raise
            self._store.note(batch, id=begun.id, status=begun.status)

    def _send(self, batch: Batch) -> None:
        """Upload the file of a batch and begin it; what was done of that before is not done again."""
        client, file, endpoint = self._client(batch), batch.file, cast(Any, batch.url)
        with _told():
            if not file:
                file = _tried(lambda: self._uploaded(client, batch))
                self._store.note(batch, file=file, status="uploaded")
            begun = self._sent(client, batch)
            self._store.note(batch, status="sending")
            begun = begun or _tried(
                lambda: client.batches.create(input_file_id=file, endpoint=endpoint, completion_window="24h"),
                lambda: self._begun(client, file),
            )
            self._store.note(batch, id=begun.id, status=begun.status)

    def _take(self, batch: Batch) -> str:
        found = self.look(batch)
        if found.status not in ENDED:
            self._store.note(batch, status=found.status)
            return ""
        why = ""
        if found.status in ("failed", "cancelled"):
            errors = found.errors.data[:3] if found.errors and found.errors.data else []
            words = (f"line {one.line}: {one.message}" if one.line else str(one.message) for one in errors)
            why = redact("; ".join(words))[:300] or "no reason was given"
        with _told(), tempfile.TemporaryFile() as kept:
            for file in filter(None, (found.output_file_id, found.error_file_id)):
                _tried(lambda file=file: self._download(batch, file, kept))  # type: ignore[misc]
            kept.seek(0)
            self._store.end(batch, found.status, kept, why, key=self._sent_key or "")
        return f"batch {batch.number} {found.status}: {why}" if why else ""

    @property
    def _sent_key(self) -> str | None:
        # A variable read from a file ends with a line, say.
        return self._key or os.environ.get("OPENAI_API_KEY", "").strip() or None

    def _client(self, batch: Batch) -> openai.OpenAI:
        # What begins a batch must not be repeated blindly, as the package would.
        return openai.OpenAI(
            api_key=self._sent_key, base_url=batch.base, timeout=self._timeout, max_retries=0
        )

    def _uploaded(self, client: openai.OpenAI, batch: Batch) -> str:
        with tempfile.TemporaryFile() as file:
            file.writelines(self._store.lines(batch))
            file.seek(0)
            return client.files.create(file=(f"jurist-{batch.number}.jsonl", file), purpose="batch").id

    def _sent(self, client: openai.OpenAI, batch: Batch) -> Any:
        """Return a batch that an earlier process may have begun, if it has."""
        return self._begun(client, batch.file) if batch.status == "sending" else None

    def _begun(self, client: openai.OpenAI, file: str) -> Any:
        """Return the batch of a file, if it was begun although nobody heard so."""
        every = client.with_options(max_retries=_ATTEMPTS).batches.list(limit=100)
        return next((one for one in every if one.input_file_id == file), None)

    def _download(self, batch: Batch, file: str, kept: Any) -> None:
        begin = kept.tell()
        kept.truncate(begin)
        try:
            with self._client(batch).files.with_streaming_response.content(file) as answer:
                for part in answer.iter_bytes():
                    kept.write(part)
            kept.write(b"\n")
        except (openai.OpenAIError, httpx.TransportError):
            kept.seek(begin)
            raise


def _tried(work: Callable[[], Found], done: Callable[[], Found | None] = lambda: None) -> Found:
    """Do something again that failed for a while; ``done`` says before whether it was done after all."""
    for attempt in range(_ATTEMPTS):
        try:
            return work()
        except _AGAIN:
            if attempt + 1 == _ATTEMPTS:
                raise
            time.sleep(_PAUSE * 2**attempt)
            if (found := done()) is not None:
                return found
    raise AssertionError("the last attempt returns or raises")


@contextmanager
def _told(then: str = "jurist batch collect goes on") -> Iterator[None]:
    try:
        yield
    except (openai.OpenAIError, httpx.TransportError) as error:
        hint = f"check the address, the key and the account; nothing is lost: {then}"
        raise ModelError(f"the provider of batches: {redact(str(error))[:300]}", hint=hint) from error
