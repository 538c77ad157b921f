"""Requests over connections of our own: DSPy's providers write and read them, aiohttp carries them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import uuid
from collections.abc import AsyncGenerator, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import dspy
import orjson
from dspy import LMError, LMProviderError, LMUnexpectedError, LMUnsupportedFeatureError
from dspy.lm15 import Config, LMRouter, Message, Request, Response, RouterConfig, TextPart, TransportError

from .dspy_internals import error_boundary, select_backend
from .identity_cache import IdentityCache

if TYPE_CHECKING:
    import aiohttp

_OPENAI = "api.openai.com"
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Header -> the environment variable that OpenAI's own client reads for it."""
MOST_BYTES = 32 << 20
"""Bytes of a reply at most, unpacked: one of 10,000 tokens with twenty alternatives each has as many."""
_PIECE = 1 << 16
_CONNECTING = 10.0
"""Seconds to connect in, as of DSPy's client."""


_IDLE = 4.0
"""Seconds for which a connection waits for its next request: servers such as uvicorn close theirs after five."""


async def opened() -> AsyncGenerator[Transport, None]:
    """Yield what carries requests; an event loop that ends closes its generators, and so the connections."""
    import aiohttp  # takes a fifth of a second, which no other engine needs

    limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECTING)
    connections = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE)
    async with aiohttp.ClientSession(
        connector=connections, timeout=limits, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield Transport(session)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A response in the shape that DSPy's providers read."""

    status: int
    body: bytes = field(repr=False)
    reason: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    http_version: str = "HTTP/1.1"

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The fields of its head."""
        return list(self.fields.items())

    def read(self) -> bytes:
        """Return the body, as a connection would."""
        return self.body

    def json(self) -> Any:
        """Return the JSON value of the body, or raise ``ValueError``."""
        try:
            return orjson.loads(self.body)
        except ValueError:  # what Python takes for JSON, as NaN
            return json.loads(self.body)

    def with_words(self) -> Reply:
        """Return a refusal with its words where DSPy's client looks for them: vLLM, FastAPI and Gemini have others."""
        if self.status < 400:
            return self
        try:
            body = self.json()
        except (RecursionError, ValueError):
            return self
        error = body.get("error") if isinstance(body, dict) else None
        if isinstance(error, dict) and isinstance(error.get("details"), list):
            return self._with_details(error)
        if error:
            return self
        words = body.get("message", body) if isinstance(body, dict) else body
        words = words if isinstance(words, str) else json.dumps(words)
        return replace(self, body=json.dumps({"error": {"message": words}}).encode())

    def _with_details(self, error: dict[str, Any]) -> Reply:
        """Return a refusal of Gemini's with the wait and the quotas of its details in its head and its message."""
        fields = dict(self.fields)
        quotas = list[str]()
        for detail in error["details"]:
            if not isinstance(detail, dict):
                continue
            seconds = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(detail.get("retryDelay")))
            if seconds and not any(name.lower() == "retry-after" for name in fields):
                fields["Retry-After"] = seconds[1]
            violations = detail.get("violations")
            for violation in violations if isinstance(violations, list) else []:
                if isinstance(violation, dict) and violation.get("quotaId"):
                    quotas.append(str(violation["quotaId"]))
        message = " ".join([str(error.get("message") or ""), *quotas])
        body = json.dumps({"error": {**error, "message": message}}).encode()
        return replace(self, body=body, fields=fields)

    def without_numbers(self) -> Reply:
        """Return a paid reply without what it says of its tokens, in whatever way; itself if it says nothing."""
        try:
            body = self.json()
            numbers = [body.pop("usage", None), *(choice.pop("logprobs", None) for choice in body["choices"])]
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            return self
        return replace(self, body=json.dumps(body).encode()) if any(numbers) else self


class Transport:
    """Connections of one event loop."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session, self._proxies = session, dict[str, str | None]()

    async def answered(self, sent: Any, body: bytes | None = None) -> Reply:
        """Send what DSPy has written, or another body; return the reply when all of it is there."""
        import aiohttp

        try:
            async with self._session.request(
                sent.method,
                sent.url,
                headers=sent.headers,
                data=sent.body if body is None else body,
                allow_redirects=False,
                proxy=self._proxy(sent.url),
            ) as answer:
                return Reply(
                    status=answer.status,
                    body=await _body_of(answer),
                    reason=answer.reason or "",
                    fields=answer.headers,
                )
        except aiohttp.ConnectionTimeoutError:
            problem = f"timed out connecting to {_host(sent.url)}"
        except aiohttp.ClientConnectorError as error:
            problem = f"failed to connect to {_host(sent.url)}: {error.os_error}"
        except aiohttp.InvalidURL:  # which it shows, and there may be a key in it
            problem = f"{_host(sent.url)}, or the proxy of the environment, is no address"
        except aiohttp.ClientResponseError as error:  # the same
            problem = error.message
        except aiohttp.ClientError as error:
            problem = str(error) or "server closed connection before sending response"
        raise TransportError(problem)

    def _proxy(self, url: str) -> str | None:
        """Return the proxy of the environment for an address, looked up once."""
        if url not in self._proxies:
            parts = urlsplit(url)
            proxy = getproxies().get(parts.scheme) or getproxies().get("all")
            if proxy and "://" not in proxy:
                proxy = f"http://{proxy}"
            self._proxies[url] = None if proxy_bypass(parts.netloc) else proxy
        return self._proxies[url]


async def _body_of(answer: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer, unpacked; an error where it is larger than any reply."""
    # It is unpacked piece by piece, so that a few kilobytes that unpack to gigabytes are never held.
    body = bytearray()
    async for piece in answer.content.iter_chunked(_PIECE):
        body += piece
        if len(body) > MOST_BYTES:
            answer.close()
            raise LMUnexpectedError(f"the reply is larger than {MOST_BYTES >> 20} MB, and is not read")
    return bytes(body)


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


class Direct:
    """A client that answers like ``lm.acall(request)``, with one connection for each request in flight."""

    def __init__(
        self, lm: dspy.LM, *, headers: Sequence[tuple[str, str]] = (), fields: Mapping[str, Any] | None = None
    ) -> None:
        self._headers, self._fields = headers, fields or {}
        chosen = select_backend(lm)
        self.fits = chosen.native and not chosen.resolution.declared
        self._model = lm.model
        # Connections are closed with the generator that has opened them.
        self._lines: dict[asyncio.AbstractEventLoop, tuple[Transport, AsyncGenerator[Transport, None]]] = {}
        self._wire, self._lock = _Wire(), threading.Lock()
        self._forms: Final[IdentityCache[_Form | None]] = IdentityCache(self._form)
        if self.fits:
            self.provider, self.name = chosen.resolution.provider, chosen.resolution.model
            self._options = {
                "api_keys": _of(self.provider, chosen.clients.get("api_key")),
                "base_urls": _of(self.provider, chosen.clients.get("api_base")),
            }

    @cached_property
    def _client(self) -> Any:
        """The DSPy client that writes requests and reads responses; it sends nothing itself."""
        config, name = RouterConfig(transport=self._wire, **self._options), f"{self.provider}:{self.name}"
        client = LMRouter(config).lm(name)
        key = client.api_key
        if isinstance(key, str) and key != key.strip():  # a variable read from a file ends with a line, say
            client = LMRouter(replace(config, api_keys=_of(self.provider, key.strip()))).lm(name)
        return client

    @property
    def base(self) -> str:
        """The address of the server, as ``https://api.openai.com/v1``."""
        return str(self._client.base_url).rstrip("/")

    @property
    def key(self) -> str:
        """The key that is sent; empty if it is not known beforehand."""
        try:
            with self._errors():
                key = self._client.api_key
        except LMError:  # there is none: the first request says so
            return ""
        return key if isinstance(key, str) else ""

    async def complete(self, request: Request) -> Response:
        """Send a request and return the response."""
        form, text = None, _last_text(request)
        with self._errors():
            if text:
                form = self._forms(request.config, request.system, *request.messages[:-1])
            line = await self._line()
            if form is None or text is None:
                reply = await line.answered(self.written(request))
            else:
                reply = await line.answered(form.sent, form.body(text))
            if form and reply.status == 200:
                with suppress(LMError), self._errors():  # read again below, which says what is wrong
                    response: Response = self._client.parse_response(form.request, reply)
                    return response
        return self.read(request, reply)

    async def embedded(self, texts: Sequence[str]) -> Any:
        """Return the response of OpenAI's ``/embeddings``, the address beside that of chat, for some texts."""
        request = Request(model=self.name, messages=(Message.user("-"),))
        to = replace(self.written(request), url=f"{self.base}/embeddings")
        with self._errors():
            line = await self._line()
            reply = await line.answered(to, orjson.dumps({"model": self.name, "input": texts}))
            if reply.status >= 400:
                self.read(request, reply)  # says what is wrong
            return reply.json()

    def written(self, request: Request) -> Any:
        """Return a request as it is sent: its ``method``, ``url``, ``headers`` and ``body``."""
        with self._errors():
            if callable(self._client.api_key):  # which may ask for a new key
                raise LMUnsupportedFeatureError("more than one request", model=self._model)
            sent = self._client.build_request(self._named(request), stream=False)
        headers = [*self._headers, *self._account_headers]
        if headers:
            names = {name.lower() for name, _ in headers}
            others = [(name, value) for name, value in sent.headers if name.lower() not in names]
            sent = replace(sent, headers=[*others, *headers])
        if self._fields:
            sent = replace(sent, body=orjson.dumps(merged(orjson.loads(sent.body), self._fields)))
        return sent

    @property
    def changes(self) -> bool:
        """Whether requests have headers or fields that DSPy's own client would not send."""
        return self.fits and bool(self._headers or self._fields or self._account_headers)

    @cached_property
    def _account_headers(self) -> Sequence[tuple[str, str]]:
        """The headers by which OpenAI tells the organizations and projects of an account apart."""
        if not (self.fits and self.provider.startswith("openai") and urlsplit(self.base).netloc == _OPENAI):
            return ()
        found = ((name, os.environ.get(variable, "").strip()) for name, variable in _ACCOUNT.items())
        return [(name, value) for name, value in found if value]

    def read(self, request: Request, reply: Reply) -> Response:
        """Return the response to a request whose reply is here."""
        try:
            with self._errors(), self._lock:
                self._wire.reply = reply.with_words()
                response: Response = self._client.complete(self._named(request))
                return response
        except LMUnsupportedFeatureError as error:
            if error.status is not None:
                raise
            raise LMProviderError(error.message, model=self._model, status=reply.status) from error
        except LMUnexpectedError:
            if request.config.response_format:  # what was held to a schema and cannot be its data is text
                config = replace(request.config, response_format=None)
                return self.read(replace(request, config=config), reply)
            bare = reply.without_numbers()
            if bare == reply:
                raise
            return self.read(request, bare)

    def _form(self, config: Config, system: Any, *before: Message) -> _Form | None:
        """Let DSPy write a request with a mark for its last text; ``None`` where that text would change more."""
        marks = [uuid.uuid4().hex.encode() for _ in range(2)]
        first, second = (
            Request(
                model=self.name, system=system, messages=(*before, Message.user(mark.decode())), config=config
            )
            for mark in marks
        )
        sent = self.written(first)
        parts = sent.body.split(b'"%s"' % marks[0])
        if len(parts) != 2 or replace(sent, body=sent.body.replace(*marks)) != self.written(second):
            return None
        return _Form(request=first, sent=sent, around=(parts[0], parts[1]))

    def _named(self, request: Request) -> Request:
        return replace(request, model=self.name)

    def _errors(self) -> AbstractContextManager[Any]:
        boundary: AbstractContextManager[Any] = error_boundary(
            self._model, provider=self.provider, unexpected=True
        )
        return boundary

    async def _line(self) -> Transport:
        """Return the connections of this event loop: they end with it."""
        loop = asyncio.get_running_loop()
        if loop not in self._lines:
            for ended in [other for other in self._lines if other.is_closed()]:
                del self._lines[ended]
            opening = opened()
            self._lines[loop] = await anext(opening), opening
        return self._lines[loop][0]


@dataclass(frozen=True, kw_only=True)
class _Form:
    """A request without its last text, the only part that differs between cases."""

    request: Request  # for some text
    sent: Any  # what DSPy writes for it
    around: tuple[bytes, bytes]  # its body before and after the text

    def body(self, text: str) -> bytes:
        """Return the body for a text."""
        return orjson.dumps(text).join(self.around)


class _Wire:
    """A transport of DSPy's providers that carries nothing: it gives the reply in hand."""

    reply: Reply

    @contextmanager
    def stream(self, request: Any) -> Iterator[Reply]:
        yield self.reply


def merged(written: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with the fields of another, objects within both merged likewise."""
    both = dict(written)
    for name, value in fields.items():
        before = both.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            both[name] = merged(before, value)
        else:
            both[name] = value
    return both


def finished(answer: Coroutine[Any, Any, Response]) -> Response:
    """Wait for a response where nothing can be awaited: in an event loop and a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, answer).result()


def _last_text(request: Request) -> str | None:
    """Return the text of the last message, where that is a user's and nothing else."""
    last, part = request.messages[-1], request.messages[-1].parts[0]
    alone = last.role == "user" and len(last.parts) == 1 and type(part) is TextPart and not request.tools
    return part.text if alone and not (part.continuation or last.continuation) else None


def _of(provider: str, value: str | None) -> dict[str, str] | None:
    return {provider: value} if value else None
