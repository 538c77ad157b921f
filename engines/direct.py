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
from contextvars import copy_context
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

_OPENAI: Final = "api.openai.com"
_ACCOUNT_VARIABLES: Final = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Header -> the environment variable that OpenAI's own client reads for it."""
MOST_BYTES = 32 << 20
"""Bytes of a reply at most, unpacked: one of 10,000 tokens with twenty alternatives each has as many."""
_PIECE: Final = 1 << 16
"""Bytes of a reply that are unpacked at once."""
_CONNECT_TIMEOUT: Final = 10.0
"""Seconds to connect in, as of DSPy's client."""
_IDLE: Final = 4.0
"""Seconds for which a connection waits for its next request: servers such as uvicorn close theirs after five."""


async def open_transport() -> AsyncGenerator[Transport, None]:
    """Yield connections; an event loop that ends closes its generators, and so the connections."""
    import aiohttp  # takes a fifth of a second, which no other engine needs

    limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT)
    connections = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE)
    async with aiohttp.ClientSession(
        connector=connections, timeout=limits, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield Transport(session)


_transports: dict[asyncio.AbstractEventLoop, tuple[Transport, AsyncGenerator[Transport, None]]] = {}
"""Event loop -> its connections, and the generator that has opened them and closes them at the loop's end."""
_transports_lock = threading.Lock()


async def transport_of_loop() -> Transport:
    """Return the connections of this event loop, which all models share: they end with it, not with a model."""
    loop = asyncio.get_running_loop()
    with _transports_lock:
        if loop in _transports:
            return _transports[loop][0]
        ended_loops = [known_loop for known_loop in _transports if known_loop.is_closed()]
        for ended_loop in ended_loops:
            del _transports[ended_loop]
    opening = open_transport()
    transport = await anext(opening)
    with _transports_lock:
        _transports[loop] = transport, opening
    return transport


@dataclass(frozen=True, kw_only=True)
class WireRequest:
    """An HTTP request as it is sent."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = field(repr=False)  # the key of the endpoint among them
    body: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class ProviderResponse:
    """A response in the shape that DSPy's providers read."""

    status: int
    body: bytes = field(repr=False)
    reason: str = ""
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)  # cookies among them
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
        except ValueError:  # Python also takes NaN, say, for JSON
            return json.loads(self.body)

    def with_words(self) -> ProviderResponse:
        """Return a refusal with its words where DSPy's client looks for them: vLLM, FastAPI and Gemini have others."""
        if self.status < 400:
            return self
        try:
            body = self.json()
        except (RecursionError, ValueError):
            return self
        words = body
        if isinstance(body, dict):
            error = body.get("error")
            if isinstance(error, dict) and isinstance(error.get("details"), list):
                return self._with_details(error)
            if error:
                return self
            words = body.get("message", body)
        if not isinstance(words, str):
            words = json.dumps(words)
        return replace(self, body=json.dumps({"error": {"message": words}}).encode())

    def _with_details(self, error: dict[str, Any]) -> ProviderResponse:
        """Return a refusal of Gemini's with the wait and the quotas of its details in its head and its message."""
        headers = dict(self.fields)
        words = [str(error.get("message") or "")]
        has_wait = any(name.lower() == "retry-after" for name in headers)
        for detail in error["details"]:
            if not isinstance(detail, dict):
                continue
            seconds = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(detail.get("retryDelay")))
            if seconds and not has_wait:
                headers["Retry-After"] = seconds[1]
                has_wait = True
            words += _quotas_in(detail.get("violations"))
        body = json.dumps({"error": error | {"message": " ".join(words)}}).encode()
        return replace(self, body=body, fields=headers)

    def without_numbers(self) -> ProviderResponse:
        """Return a paid reply without what it says of its tokens, in whatever way; itself if it says nothing."""
        try:
            body = self.json()
            has_numbers = bool(body.pop("usage", None))
            for choice in body["choices"]:
                has_numbers = bool(choice.pop("logprobs", None)) or has_numbers
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            return self
        if not has_numbers:
            return self
        return replace(self, body=json.dumps(body).encode())


def _quotas_in(violations: object) -> list[str]:
    """Return the names of the quotas that a detail of a refusal says were violated."""
    quotas = list[str]()
    if isinstance(violations, list):
        for violation in violations:
            if isinstance(violation, dict) and violation.get("quotaId"):
                quotas.append(str(violation["quotaId"]))
    return quotas


class Transport:
    """Connections of one event loop."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._proxies = dict[str, str | None]()
        """Address -> the proxy of the environment for it."""

    async def send(self, request: WireRequest, body: bytes | None = None) -> ProviderResponse:
        """Send a request, or one with another body; return the reply when all of it is there."""
        import aiohttp

        try:
            async with self._session.request(
                request.method,
                request.url,
                headers=request.headers,
                data=request.body if body is None else body,
                allow_redirects=False,
                proxy=self._proxy(request.url),
            ) as answer:
                return ProviderResponse(
                    status=answer.status,
                    body=await _read_body(answer),
                    reason=answer.reason or "",
                    fields=answer.headers,
                )
        except aiohttp.ConnectionTimeoutError:
            problem = f"timed out connecting to {_host(request.url)}"
        except aiohttp.ClientConnectorError as error:
            problem = f"failed to connect to {_host(request.url)}: {error.os_error}"
        except aiohttp.InvalidURL:  # its words show the address, in which there may be a key
            problem = f"{_host(request.url)}, or the proxy of the environment, is no address"
        except aiohttp.ClientResponseError as error:  # its words may show the address, too
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


async def _read_body(answer: aiohttp.ClientResponse) -> bytes:
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
    """Return host and port of an address, without a user or a password in it."""
    return urlsplit(url).netloc.rpartition("@")[2]


class Direct:
    """A client that answers like ``lm.acall(request)``, with one connection for each request in flight."""

    def __init__(
        self,
        lm: dspy.LM,
        *,
        headers: Sequence[tuple[str, str]] = (),
        fields: Mapping[str, object] | None = None,
        provider: str = "",
    ) -> None:
        """Reach a model's endpoint; ``provider`` is one of the router's that DSPy itself never chooses."""
        self._headers, self._fields = headers, fields or {}
        self.shown_name = lm.model  # in errors
        self._reply_in_hand, self._lock = _ReplyInHand(), threading.Lock()
        self._templates: Final[IdentityCache[_RequestTemplate | None]] = IdentityCache(self._template_of)
        clients: Mapping[str, Any] = lm.kwargs
        if provider:
            self.fits = True
            self.provider, self.name = provider, lm.model.partition("/")[2]
        else:
            backend = select_backend(lm)
            clients = backend.clients
            self.fits = backend.native and not backend.resolution.declared
            if self.fits:
                self.provider, self.name = backend.resolution.provider, backend.resolution.model
        if self.fits:
            self._options = {
                "api_keys": _by_provider(self.provider, clients.get("api_key")),
                "base_urls": _by_provider(self.provider, clients.get("api_base")),
            }

    @cached_property
    def _client(self) -> Any:
        """The DSPy client that writes requests and reads responses; it sends nothing itself."""
        config = RouterConfig(transport=self._reply_in_hand, **self._options)
        name = f"{self.provider}:{self.name}"
        client = LMRouter(config).lm(name)
        key = client.api_key
        if isinstance(key, str) and key != key.strip():  # a variable read from a file ends with a line, say
            client = LMRouter(replace(config, api_keys=_by_provider(self.provider, key.strip()))).lm(name)
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
        text, template = _last_text(request), None
        with self._errors():
            if text:
                template = self._templates(request.config, request.system, *request.messages[:-1])
            transport = await transport_of_loop()
            if template is None or text is None:
                reply = await transport.send(self.wire_request(request))
            else:
                reply = await transport.send(template.wire_request, template.body(text))
            if template and reply.status == 200:
                with suppress(Exception):  # it is read again below, which says what is wrong
                    response: Response = self._client.parse_response(template.request, reply)
                    return response
        return self.read(request, reply)

    async def embed(self, texts: Sequence[str]) -> Any:
        """Return the response of OpenAI's ``/embeddings`` for some texts."""
        return await self.post("embeddings", {"model": self.name, "input": texts})

    async def post(self, path: str, body: Mapping[str, object]) -> Any:
        """Return the JSON of the reply to a body, sent to an address beside that of chat."""
        request = Request(model=self.name, messages=(Message.user("-"),))
        beside_chat = replace(self.wire_request(request), url=f"{self.base}/{path}")
        with self._errors():
            transport = await transport_of_loop()
            sent_body = merge_fields(body, self._fields)
            reply = await transport.send(beside_chat, orjson.dumps(sent_body))
            if reply.status >= 400:
                self.read(request, reply)  # says what is wrong
            return reply.json()

    def wire_request(self, request: Request) -> WireRequest:
        """Return a request as it is sent."""
        with self._errors():
            if callable(self._client.api_key):  # it may ask for a new key
                raise LMUnsupportedFeatureError("more than one request", model=self.shown_name)
            built = self._client.build_request(self._with_name(request), stream=False)
        headers, body = list(built.headers), built.body
        if self._fields:
            body = orjson.dumps(merge_fields(orjson.loads(body), self._fields))
        further_headers = list(self._headers) + list(self._account_headers)
        if further_headers:
            replaced_names = {name.lower() for name, _ in further_headers}
            headers = [header for header in headers if header[0].lower() not in replaced_names]
            headers += further_headers
        return WireRequest(method=built.method, url=built.url, headers=headers, body=body)

    @property
    def changes_requests(self) -> bool:
        """Whether requests have headers or fields that DSPy's own client would not send."""
        return self.fits and bool(self._headers or self._fields or self._account_headers)

    @cached_property
    def _account_headers(self) -> Sequence[tuple[str, str]]:
        """The headers by which OpenAI tells the organizations and projects of an account apart."""
        if not (self.fits and self.provider.startswith("openai") and urlsplit(self.base).netloc == _OPENAI):
            return ()
        headers = list[tuple[str, str]]()
        for name, variable in _ACCOUNT_VARIABLES.items():
            value = os.environ.get(variable, "").strip()
            if value:
                headers.append((name, value))
        return headers

    def read(self, request: Request, reply: ProviderResponse) -> Response:
        """Return the response to a request whose reply is here."""
        try:
            with self._errors(), self._lock:
                self._reply_in_hand.reply = reply.with_words()
                response: Response = self._client.complete(self._with_name(request))
                return response
        except LMUnsupportedFeatureError as error:
            if error.status is not None:
                raise
            raise LMProviderError(error.message, model=self.shown_name, status=reply.status) from error
        except LMUnexpectedError:
            # A reply that was held to a schema and cannot be its data is text.
            if request.config.response_format:
                config = replace(request.config, response_format=None)
                return self.read(replace(request, config=config), reply)
            reply_without_numbers = reply.without_numbers()
            if reply_without_numbers == reply:
                raise
            return self.read(request, reply_without_numbers)

    def _template_of(self, config: Config, system: Any, *opening: Message) -> _RequestTemplate | None:
        """Let DSPy write a request with a mark for its last text; ``None`` where that text would change more."""

        def request_with(text: str) -> Request:
            messages = opening + (Message.user(text),)
            return Request(model=self.name, system=system, messages=messages, config=config)

        mark, other_mark = uuid.uuid4().hex, uuid.uuid4().hex
        request = request_with(mark)
        written = self.wire_request(request)
        parts = written.body.split(b'"%s"' % mark.encode())
        if len(parts) != 2:
            return None
        expected_body = written.body.replace(mark.encode(), other_mark.encode())
        if self.wire_request(request_with(other_mark)) != replace(written, body=expected_body):
            return None
        return _RequestTemplate(request=request, wire_request=written, around=(parts[0], parts[1]))

    def _with_name(self, request: Request) -> Request:
        """Return a request for the model by the provider's own name."""
        return replace(request, model=self.name)

    def _errors(self) -> AbstractContextManager[None]:
        """Turn errors of the block into those of DSPy."""
        boundary: AbstractContextManager[None] = error_boundary(
            self.shown_name, provider=self.provider, unexpected=True
        )
        return boundary


@dataclass(frozen=True, kw_only=True)
class _RequestTemplate:
    """A request without its last text, the only part that differs between cases."""

    request: Request
    """The request for some text."""
    wire_request: WireRequest
    """This request as DSPy writes it."""
    around: tuple[bytes, bytes]
    """Its body before and after the text."""

    def body(self, text: str) -> bytes:
        """Return the body for a text."""
        return orjson.dumps(text).join(self.around)


class _ReplyInHand:
    """A transport of DSPy's providers that carries nothing: it gives the reply in hand."""

    reply: ProviderResponse

    @contextmanager
    def stream(self, request: object) -> Iterator[ProviderResponse]:
        yield self.reply


def merge_fields(written: Mapping[str, object], fields: Mapping[str, object]) -> dict[str, object]:
    """Return a JSON object with the fields of another, objects within both merged likewise."""
    merged = dict(written)
    for name, value in fields.items():
        written_value = written.get(name)
        if isinstance(written_value, Mapping) and isinstance(value, Mapping):
            merged[name] = merge_fields(written_value, value)
        else:
            merged[name] = value
    return merged


def wait_in_thread(answer: Coroutine[Any, Any, Response]) -> Response:
    """Wait for a response where nothing can be awaited: in an event loop and a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, answer).result()


def _last_text(request: Request) -> str | None:
    """Return the text of the last message, where that is a user's and nothing else."""
    message = request.messages[-1]
    part = message.parts[0]
    if request.tools or message.role != "user" or len(message.parts) != 1 or type(part) is not TextPart:
        return None
    if part.continuation or message.continuation:
        return None
    text: str = part.text
    return text


def _by_provider(provider: str, value: str | None) -> dict[str, str] | None:
    """Return an option of DSPy's router for one provider; ``None`` without a value."""
    return {provider: value} if value else None
