"""The provider's side of batches, through the ``openai`` package: a batch is begun once, as it is paid for."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, cast

import httpx
import openai

from ..engines.failures import brief
from ..errors import ModelError
from .batch_store import Batch, BatchStore

ENDED = ("completed", "expired", "cancelled", "failed")
_ATTEMPTS, _PAUSE = 4, 0.5
"""How often a batch is begun that could not be, and the seconds before the second attempt."""
_AGAIN = (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError, httpx.TransportError)


class BatchService:
    """Who batches are sent to."""

    def __init__(self, store: BatchStore, key: str | None, timeout: float) -> None:
        self._store, self._key, self._timeout = store, key, timeout

    def look(self, batch: Batch) -> Any:
        """Return what the provider says of a batch that has begun: the package's own object."""
        with _in_one_line():
            return self._client(batch).batches.retrieve(batch.id)

    def advance(self, batch: Batch) -> str:
        """Begin a batch, or keep what it has brought; return why it is not to be sent again by itself."""
        if batch.id:
            return self._take(batch)
        self._send(batch)
        return ""

    def _send(self, batch: Batch) -> None:
        """Upload the file of a batch and begin it; what was done of that before is not done again."""
        with _in_one_line():
            client, file = self._client(batch), batch.file
            if not file:
                with TemporaryFile() as lines:
                    lines.writelines(self._store.lines(batch))
                    lines.seek(0)
                    sent = (f"jurist-{batch.number}.jsonl", lines)
                    file = client.files.create(file=sent, purpose="batch").id
                self._store.note(batch, file=file, status="uploaded")
            # an earlier process may have begun it although nobody heard so
            begun = self._begun(client, file) if batch.status == "sending" else None
            self._store.note(batch, status="sending")
            begun = begun or self._created(client, batch, file)
            self._store.note(batch, id=begun.id, status=begun.status)

    def _created(self, client: openai.OpenAI, batch: Batch, file: str) -> Any:
        """Begin a batch; before each further attempt it is looked up whether it was begun after all."""
        once, endpoint = client.with_options(max_retries=0), cast(Any, batch.url)
        for attempt in range(_ATTEMPTS):
            try:
                return once.batches.create(input_file_id=file, endpoint=endpoint, completion_window="24h")
            except _AGAIN:
                if attempt + 1 == _ATTEMPTS:
                    raise
                time.sleep(_PAUSE * 2**attempt)  # first: what was begun need not be listed at once
                if (begun := self._begun(client, file)) is not None:
                    return begun
        raise AssertionError("the last attempt returns or raises")

    def _take(self, batch: Batch) -> str:
        """Keep what a batch has brought, if it has ended; return why the provider refused it, or somebody ended it."""
        state = self.look(batch)
        if state.status not in ENDED:
            self._store.note(batch, status=state.status)
            return ""
        why = ""
        if state.status in ("failed", "cancelled"):
            errors = state.errors.data[:3] if state.errors and state.errors.data else []
            words = (
                f"line {error.line}: {error.message}" if error.line else str(error.message)
                for error in errors
            )
            why = brief("; ".join(words)) or "no reason was given"
        with _in_one_line(), TemporaryDirectory() as folder:
            names = list(filter(None, (state.output_file_id, state.error_file_id)))
            paths = [Path(folder) / str(number) for number in range(len(names))]
            for name, path in zip(names, paths, strict=True):
                with self._client(batch).files.with_streaming_response.content(name) as answer:
                    answer.stream_to_file(path)
            self._store.end(batch, state.status, _lines(paths), why, key=self._sent_key or "")
        return f"batch {batch.number} {state.status}: {why}" if why else ""

    @property
    def _sent_key(self) -> str | None:
        # A variable read from a file ends with a line, say.
        return self._key or os.environ.get("OPENAI_API_KEY", "").strip() or None

    def _client(self, batch: Batch) -> openai.OpenAI:
        about: dict[str, Any] = {"base_url": batch.base, "timeout": self._timeout, "max_retries": _ATTEMPTS}
        return openai.OpenAI(api_key=self._sent_key, **about)

    def _begun(self, client: openai.OpenAI, file: str) -> Any:
        """Return the batch of a file, if it was begun although nobody heard so."""
        batches = client.batches.list(limit=100)
        return next((batch for batch in batches if batch.input_file_id == file), None)


def _lines(paths: Sequence[Path]) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as file:
            yield from file


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Say in one line what fails at the provider, without the key."""
    try:
        yield
    except (openai.OpenAIError, httpx.TransportError) as error:
        hint = "check the address, the key and the account; nothing is lost: jurist batch collect goes on"
        raise ModelError(f"the provider of batches: {brief(error)}", hint=hint) from error
