"""Connections to endpoints, one a request in flight, and what comes back over them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
from dspy.lm15 import TransportError

_CONNECTING = 10.0
"""Seconds to connect in, as of DSPy's client."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """Connections; they are closed with the generator that has opened them."""

    transport: Transport
    opened: AsyncGenerator[Transport, None]


async def opened() -> AsyncGenerator[Transport, None]:
    """Yield what carries requests; an event loop that ends closes its generators, and so the connections."""
    limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECTING)
    connections = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connections, timeout=limits, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield Transport(session)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back for a request, as DSPy's providers read it."""

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
        """Return what the body holds. Raises ``ValueError`` where that is no JSON."""
        try:
            return orjson.loads(self.body)
        except ValueError:  # what Python takes for JSON, as NaN
            return json.loads(self.body)

    def with_words(self) -> Reply:
        """Return a refusal with its words where DSPy's client looks for them: vLLM, FastAPI and Gemini have others."""
        try:
            said = self.json()
        except (RecursionError, ValueError):
            return self
        if self.status < 400 or (isinstance(said, dict) and said.get("error")):
            return self
        said = said.get("message", said) if isinstance(said, dict) else said
        words = said if isinstance(said, str) else json.dumps(said)
        return replace(self, body=json.dumps({"error": {"message": words}}).encode())

    def without_numbers(self) -> Reply:
        """Return a paid reply without what it says of its tokens, in whatever way; itself if it says nothing."""
        try:
            said = self.json()
            found = [said.pop("usage", None), *(choice.pop("logprobs", None) for choice in said["choices"])]
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            return self
        return replace(self, body=json.dumps(said).encode()) if any(found) else self


class Transport:
    """Connections of one event loop."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session, self._proxies = session, dict[str, str | None]()

    async def answered(self, sent: Any, body: bytes | None = None) -> Reply:
        """Send what DSPy has written, or another body; return the reply when all of it is there."""
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
                    body=await answer.read(),
                    reason=answer.reason or "",
                    fields=answer.headers,
                )
        except aiohttp.ConnectionTimeoutError:
            said = f"timed out connecting to {_host(sent.url)}"
        except aiohttp.ClientConnectorError as error:
            said = f"failed to connect to {_host(sent.url)}: {error.os_error}"
        except aiohttp.InvalidURL:  # which it shows, and there may be a key in it
            said = f"{_host(sent.url)}, or the proxy of the environment, is no address"
        except aiohttp.ClientResponseError as error:  # the same
            said = error.message
        except aiohttp.ClientError as error:
            said = str(error) or "server closed connection before sending response"
        raise TransportError(said)

    def _proxy(self, url: str) -> str | None:
        """Return the proxy of the environment for an address, looked up once."""
        if url not in self._proxies:
            parts = urlsplit(url)
            proxy = getproxies().get(parts.scheme) or getproxies().get("all")
            if proxy and "://" not in proxy:
                proxy = f"http://{proxy}"
            self._proxies[url] = None if proxy_bypass(parts.netloc) else proxy
        return self._proxies[url]


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]
