"""An endpoint that is asked in batches: a store of replies stands in the place of the connection to its provider.

The provider is spoken to through the ``openai`` package: a batch is begun once, as it is paid for.
"""

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, cast

import httpx
import openai
from dspy import LMError
from dspy.lm15 import Request, Response

from ..engines.channel import says_something
from ..engines.conversion import content_of
from ..engines.draws import current_draw
from ..engines.dspy_internals import model_info, rate
from ..engines.failures import brief
from ..engines.journal import request_key
from ..engines.models import Endpoint, Model
from ..engines.prices import shipped_prices
from ..engines.terms import Terms
from ..errors import AnswerPending, ModelError, UsageError
from .batch_store import Batch, BatchStore, Written


class BatchEndpoint(Endpoint):
    """An endpoint behind the channel that answers what batches have brought."""

    def __init__(self, model: Model, store: BatchStore) -> None:
        if model.decides:
            raise UsageError(
                f"{model.name} is a decision model, and no Batch API takes its questions",
                hint="use jurist run",
            )
        super().__init__(model)
        if not self._direct.fits or not self._direct.provider.startswith("openai"):
            raise UsageError(
                f"{model.name} cannot be asked in batches",
                hint="name an OpenAI-compatible endpoint: --model openai/NAME, elsewhere with --api-base and not with "
                "OPENAI_BASE_URL",
            )
        self._store = store
        stored_terms = store.terms(self._direct.name)
        if stored_terms:
            self._terms = self._terms.restored(stored_terms)
        self._terms_of_replies: dict[str, Terms] = {}

    def take_terms(self, terms: str) -> None:
        """Write requests by these terms of the endpoint from now on, also in another process."""
        self._store.learned(self._direct.name, terms)

    def check(self, request: Request) -> None:
        """Refuse a request whose reply is not there yet."""
        if self._store.wants(self.written(request)):
            raise AnswerPending

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Return the response that a batch has brought, and its cost."""
        request = self._as_set(request)
        written = self.written(request)
        reply = self._store.reply(written)
        if reply.terms not in self._terms_of_replies:
            self._terms_of_replies[reply.terms] = self._terms.restored(reply.terms)
        sent = self._terms_of_replies[reply.terms].apply(request)
        try:
            with self._in_time(request, sent):
                response = self._direct.read(sent, reply)
            priced = self._priced(request, sent, response)
        except LMError:
            self._store.forget(written)
            raise
        finally:
            if self._terms.as_json != written.terms:
                self._store.learned(self._direct.name, self._terms.as_json)
        if not says_something(response):  # the channel asks for another
            self._store.forget(written)
        return priced

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Complete a request without waiting, as :meth:`complete` does."""
        return self.complete(request)

    def written(self, request: Request) -> Written:
        """Return a request as it is sent."""
        sent = self._direct.wire_request(self._terms.apply(self._as_set(request)))
        base = self._direct.base
        return Written(
            base=base,
            path=sent.url.removeprefix(base),
            model=self._direct.name,
            body=sent.body,
            terms=self._terms.as_json,
            key=hashlib.sha256(f"{base} {request_key(content_of(request))}".encode()).hexdigest(),
            case=current_draw.get().case,
        )

    def _cost(self, request: Request, response: Response) -> float | None:
        cost = super()._cost(request, response)
        if cost is None:
            return None
        return cost * batch_discount(request.model)


@cache
def batch_discount(name: str) -> float:
    """Return the price of a model's call in a batch, as a share of what it costs at once: 1 where none is known."""
    shipped_prices()
    provider, _, model = name.partition("/")
    info = model_info(provider, model) or {}
    usual_price = rate(info, "input_cost_per_token")
    batch_price = rate(info, "input_cost_per_token_batches")
    if not usual_price or batch_price is None:
        return 1.0
    return float(batch_price / usual_price)


ENDED = ("completed", "expired", "cancelled", "failed")
_ATTEMPTS, _PAUSE = 4, 0.5
"""The most attempts to begin a batch, and the seconds before the second attempt."""
_AGAIN = (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError, httpx.TransportError)


class BatchService:
    """The service that batches are sent to."""

    def __init__(self, store: BatchStore, key: str | None, timeout: float) -> None:
        self._store, self._key, self._timeout = store, key, timeout

    def look(self, batch: Batch) -> Any:
        """Return the provider's state of a batch that has begun, as its package's object."""
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
            begun = None
            if batch.status == "sending":
                begun = self._begun(client, file)
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
                begun = self._begun(client, file)
                if begun is not None:
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
            why = _refusal_words(state) or "no reason was given"
        with _in_one_line(), TemporaryDirectory() as folder:
            paths: list[Path] = []
            for file_id in (state.output_file_id, state.error_file_id):
                if file_id:
                    path = Path(folder) / str(len(paths))
                    with self._client(batch).files.with_streaming_response.content(file_id) as answer:
                        answer.stream_to_file(path)
                    paths.append(path)
            self._store.end(batch, state.status, _lines(paths), why, key=self._sent_key or "")
        if not why:
            return ""
        return f"batch {batch.number} {state.status}: {why}"

    @property
    def _sent_key(self) -> str | None:
        # A variable read from a file ends with a line, say.
        return self._key or os.environ.get("OPENAI_API_KEY", "").strip() or None

    def _client(self, batch: Batch) -> openai.OpenAI:
        return openai.OpenAI(
            api_key=self._sent_key, base_url=batch.base, timeout=self._timeout, max_retries=_ATTEMPTS
        )

    def _begun(self, client: openai.OpenAI, file: str) -> Any:
        """Return the batch of a file, if it was begun although nobody heard so."""
        for batch in client.batches.list(limit=100):
            if batch.input_file_id == file:
                return batch
        return None


def _refusal_words(state: Any) -> str:
    """Return the first errors that the provider names for a batch; empty if it names none."""
    if not (state.errors and state.errors.data):
        return ""
    words = []
    for error in state.errors.data[:3]:
        place = f"line {error.line}: " if error.line else ""
        words.append(f"{place}{error.message}")
    return brief("; ".join(words))


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
