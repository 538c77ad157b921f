"""An endpoint that is asked in batches: what is sent waits there, and its reply comes later.

The same provider of DSPy's writes the request and reads the reply as where the endpoint is asked at once; here a store
of replies stands in the place of the connection. A request without a reply there is left there, and whoever asked is
told that the answer is pending.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

from dspy.clients.errors import error_boundary
from dspy.clients.model_metadata import model_info, rate
from dspy.lm15 import LMRouter, Request, Response
from dspy.utils.exceptions import LMError

from ..errors import AnswerPending, UsageError
from .channel import says_something
from .conversion import content_of
from .draws import current_draw
from .journal import request_key
from .models import Endpoint, Model, shipped_prices
from .structure import Terms

__all__ = ["BatchEndpoint", "Replies", "Written", "batch_discount"]


@dataclass(frozen=True, kw_only=True)
class Written:
    """A request as it is sent.

    Attributes:
        base: address of the server, as ``https://api.openai.com/v1``.
        path: below it, as ``/chat/completions``.
        model: as the server knows it.
        body: JSON, on one line.
        terms: what was known of the endpoint when it was written; see :class:`~jurist.engines.structure.Terms`.
        key: what tells it from every other request, whatever was known, as hexadecimal digits.
        case: id of the case for which it was first sent.
    """

    base: str
    path: str
    model: str
    body: bytes
    terms: str
    key: str
    case: str

    @property
    def custom_id(self) -> str:
        """Its name in a batch: the id of the case, and the beginning of the key."""
        return f"{self.case}-{self.key[:24]}"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back for a request: HTTP status and body, and what was known of the endpoint when it was written."""

    status: int
    terms: str
    body: bytes = field(repr=False)
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    http_version: str = "HTTP/1.1"

    def read(self) -> bytes:
        """Return the body, as a connection would."""
        return self.body


class Replies(Protocol):
    """Where requests wait for their replies. Thread-safe."""

    def wants(self, request: Written) -> bool:
        """Take note that a request is asked for; return whether it still waits for its reply."""

    def reply(self, request: Written) -> Reply:
        """Return the reply to a request that does not wait any more.

        Raises:
            LMError: several batches have brought none.
        """

    def forget(self, request: Written) -> None:
        """Drop a reply that was of no use: if its request is asked for again, it waits for another one."""

    def terms(self, model: str) -> str:
        """Return what is known of an endpoint's model; empty if nothing is."""

    def learned(self, model: str, terms: str) -> None:
        """Keep what is known of it, for what is written from now on, also by another process."""


class BatchEndpoint(Endpoint):
    """An endpoint behind the channel that answers what batches have brought.

    Args:
        model: who answers.
        replies: what they have brought.

    Raises:
        UsageError: it is no OpenAI-compatible endpoint.
    """

    def __init__(self, model: Model, replies: Replies) -> None:
        super().__init__(model)
        if not self._direct.fits or not self._direct.provider.startswith("openai"):
            raise UsageError(
                f"{model.name} cannot be asked in batches",
                hint="name an OpenAI-compatible endpoint: --model openai/NAME, elsewhere with --api-base and not with "
                "OPENAI_BASE_URL",
            )
        self._replies, self._wire, self._lock = replies, _Wire(), threading.Lock()
        self._client = self._direct.client(LMRouter, self._wire)
        if known := replies.terms(self._direct.name):
            self._terms = self._terms.as_of(known)
        self._written_with = dict[str, Terms]()

    def check(self, request: Request) -> None:
        """Refuse a request that is certainly too long, and one whose reply is not there yet."""
        super().check(request)
        if self._replies.wants(self.written(request)):
            raise AnswerPending

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Return the response that a batch has brought, and its cost."""
        written = self.written(request)
        reply = self._replies.reply(written)
        if reply.terms not in self._written_with:
            self._written_with[reply.terms] = self._terms.as_of(reply.terms)
        sent = self._written_with[reply.terms].apply(request)
        try:
            with self._in_time(sent):
                response = self._carried(sent, reply)
            priced = self._priced(sent, response)
        except LMError:
            self._replies.forget(written)
            raise
        finally:
            if self._terms.known != written.terms:
                self._replies.learned(self._direct.name, self._terms.known)
        if not says_something(response):  # the channel asks for another
            self._replies.forget(written)
        return priced

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Do the same: nothing is waited for."""
        return self.complete(request)

    def written(self, request: Request) -> Written:
        """Return a request as it is sent."""
        try:
            self._carried(self._terms.apply(request), None)
        except _Written as told:
            (sent,) = told.args
        base = self._client.base_url.rstrip("/")
        return Written(
            base=base,
            path=sent.url.removeprefix(base),
            model=self._direct.name,
            body=sent.body,
            terms=self._terms.known,
            key=hashlib.sha256(f"{base} {request_key(content_of(request))}".encode()).hexdigest(),
            case=current_draw.get().case,
        )

    def _carried(self, sent: Request, reply: Reply | None) -> Response:
        with error_boundary(sent.model, provider=self._direct.provider, unexpected=True), self._lock:
            self._wire.reply = reply
            response: Response = self._client.complete(replace(sent, model=self._direct.name))
            return response

    def _cost(self, request: Request, response: Response) -> float | None:
        cost = super()._cost(request, response)
        return None if cost is None else cost * batch_discount(request.model)


class _Written(BaseException):
    """Ends a call as soon as its request is written; no client that catches ``Exception`` takes it for a failure."""


class _Wire:
    """A transport of DSPy's providers that carries nothing: it gives the reply in hand, or tells what would be sent."""

    reply: Reply | None = None

    @contextmanager
    def stream(self, request: Any) -> Iterator[Reply]:
        if self.reply is None:
            raise _Written(request)
        yield self.reply


@cache
def batch_discount(name: str) -> float:
    """Return the price of a model's call in a batch, as a share of what it costs at once: 1 where none is known."""
    shipped_prices()
    provider, _, model = name.partition("/")
    info = model_info(provider, model) or {}
    whole, batch = (rate(info, f"input_cost_per_token{suffix}") for suffix in ("", "_batches"))
    return batch / whole if whole and batch is not None else 1.0
