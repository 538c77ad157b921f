"""Requests to an endpoint over connections of our own, one a request in flight.

DSPy's client does a good deal around each request and holds at most 100 connections. Here the same provider of DSPy's
writes the request and reads the reply, byte for byte, and aiohttp carries it. What this cannot carry (models that DSPy
reaches through LiteLLM, and requests that it writes otherwise) takes DSPy's own path.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import dspy
from dspy.clients.backend_selection import select_backend
from dspy.clients.errors import error_boundary
from dspy.lm15 import AsyncLMRouter, LMRouter, Request, Response, RouterConfig, TransportError

__all__ = ["Direct"]

_CONNECTING = 10.0
"""Seconds to connect in, as of DSPy's client."""


class Direct:
    """What answers as ``lm.acall(request)`` does, with one connection a request in flight.

    Args:
        lm: a language model of DSPy's, with its address, key and model.

    Attributes:
        fits: whether this can carry its requests; what follows is there only then.
        provider: DSPy's name of who answers.
        name: of the model there.
    """

    def __init__(self, lm: dspy.LM) -> None:
        chosen = select_backend(lm)
        self.fits = chosen.native and not chosen.resolution.declared
        self._model, self._lines = lm.model, dict[asyncio.AbstractEventLoop, _Line]()
        if self.fits:
            self.provider, self.name = chosen.resolution.provider, chosen.resolution.model
            self._options = {
                "api_keys": _of(self.provider, chosen.clients.get("api_key")),
                "base_urls": _of(self.provider, chosen.clients.get("api_base")),
            }

    async def complete(self, request: Request) -> Response:
        """Send a request and return the response.

        Raises:
            LMError: as DSPy's client. Where it is ``LMUnsupportedFeatureError``, nothing was sent.
        """
        with error_boundary(self._model, provider=self.provider, unexpected=True):
            client = (await self._line()).client
            response: Response = await client.complete(replace(request, model=self.name))
            return response

    async def _line(self) -> _Line:
        """Return the connections of this event loop: they end with it."""
        loop = asyncio.get_running_loop()
        if loop not in self._lines:
            for other in [one for one in self._lines if one.is_closed()]:
                del self._lines[other]
            opened = _open()
            client = self.client(AsyncLMRouter, await anext(opened))
            self._lines[loop] = _Line(client=client, opened=opened)
        return self._lines[loop]

    def client(self, router: type[AsyncLMRouter] | type[LMRouter], transport: Any) -> Any:
        """Return what writes requests and reads replies, over a transport of that router's kind."""
        config = RouterConfig(transport=transport, **self._options)
        return router(config).lm(f"{self.provider}:{self.name}")


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A provider of DSPy's that sends over a session; the session is closed with the generator that has opened it."""

    client: Any
    opened: AsyncGenerator[_Transport, None]


async def _open() -> AsyncGenerator[_Transport, None]:
    """Yield what carries requests; an event loop that ends closes its generators, and so the connections."""
    limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECTING)
    connections = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connections, timeout=limits, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield _Transport(session)


@dataclass(frozen=True, kw_only=True)
class _Reply:
    """What came back."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes = field(repr=False)
    http_version: str = "HTTP/1.1"

    async def read(self) -> bytes:
        return self.body


class _Exchange:
    """A request and its reply, as a context manager: there is nothing to close."""

    def __init__(self, answered: Awaitable[_Reply]) -> None:
        self._answered = answered

    async def __aenter__(self) -> _Reply:
        return await self._answered

    async def __aexit__(self, *_: object) -> None:
        return None


class _Transport:
    """A transport of DSPy's providers, on aiohttp; whole replies only."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session, self._proxies = session, dict[str, str | None]()

    def stream(self, request: Any) -> _Exchange:
        """Return a block that sends a request, and gives the reply when all of it is there."""
        return _Exchange(self._answered(request))

    async def _answered(self, request: Any) -> _Reply:
        try:
            async with self._session.request(
                request.method,
                request.url,
                headers=request.headers,
                data=request.body,
                allow_redirects=False,
                proxy=self._proxy(request.url),
            ) as answer:
                body = await answer.read()
                headers = list(answer.headers.items())
                return _Reply(status=answer.status, reason=answer.reason or "", headers=headers, body=body)
        except aiohttp.ConnectionTimeoutError:
            said = f"timed out connecting to {_host(request.url)}"
        except aiohttp.ClientConnectorError as error:
            said = f"failed to connect to {_host(request.url)}: {error.os_error}"
        except aiohttp.ClientError as error:
            said = str(error) or "server closed connection before sending response"
        raise TransportError(said)

    def _proxy(self, url: str) -> str | None:
        """Return the proxy of the environment for an address, looked up once."""
        if url not in self._proxies:
            parts = urlsplit(url)
            proxy = getproxies().get(parts.scheme) or getproxies().get("all")
            self._proxies[url] = None if proxy_bypass(parts.netloc) else proxy
        return self._proxies[url]


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _of(provider: str, value: str | None) -> dict[str, str] | None:
    return {provider: value} if value else None
