"""How connections are let in and let go: half-sent requests end, and at a signal everything that was sent is answered.

Imported only where a server is started: uvicorn belongs to the extra ``serve``.
"""

import asyncio
import resource
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 20.0
"""Seconds within which a request must have arrived whole, from its first byte or from the connection on."""

DRAIN = 25
"""Seconds that what is in flight may take after a signal, as for all paid work."""

_QUIET = 0.25  # seconds without a new request after which nobody is thought to be on the way any more
_LAST_CALL = 3.0  # seconds after a signal in which requests that are on the way are still let in
_SPARE = 64  # open files that are not for connections: the journal, models, libraries
# connections that asyncio accepts before it looks at those it has; more are on the way to us meanwhile
_IN_A_ROW = 8
_BACKLOG = 1024  # connections that the kernel holds until they are accepted


class Connection(H11Protocol):
    """A connection that ends if its request does not arrive whole in time, or when others need its place."""

    _overdue: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Make room by ending the connection that has waited longest for its request."""
        super().connection_made(transport)
        self._watch()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE
        if len(self.connections) > max(most, _SPARE):
            own = [other for other in self.connections if isinstance(other, Connection)]
            waiting = {other._overdue.when(): other for other in own if other._overdue}
            longest = waiting[min(waiting)]
            longest._rest()  # it is gone only a moment later, and the next one must not choose it again
            longest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read, and see whether the request is whole."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        self._rest()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Let the time run while a request is awaited, and only then."""
        if self.cycle is not None and not (self.cycle.more_body or self.cycle.response_complete):
            self._rest()
        elif self._overdue is None:
            self._overdue = self.loop.call_later(PATIENCE, self.transport.abort)

    def on_response_complete(self) -> None:
        """Leave what follows to uvicorn's own time for idle connections."""
        self._rest()
        super().on_response_complete()
        if not self.cycle.response_complete:  # the next request has come with this one
            self._watch()

    def _rest(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None


class Server(uvicorn.Server):
    """A server that, when it is told to end, still takes what is on the way, and says so to each client."""

    def __init__(self, settings: uvicorn.Config, app: Any) -> None:
        super().__init__(settings)
        self.app = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, with room for more than are accepted in a row."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what is on the way, then what is in flight."""
        self.server_state.default_headers.append((b"connection", b"close"))
        self.app.state.ending = True
        loop = asyncio.get_running_loop()
        end, before = loop.time() + _LAST_CALL, -1
        state = self.server_state
        while loop.time() < end and before != (before := state.total_requests + len(state.tasks)):
            await asyncio.sleep(_QUIET)
        await super().shutdown(sockets)


def run_server(app: Any, listening: socket.socket) -> None:
    """Serve an application at a socket until SIGINT or SIGTERM; ``KeyboardInterrupt`` says that it has ended."""
    settings = uvicorn.Config(
        _told(app),
        http=Connection,
        ws="none",
        lifespan="off",
        log_level="warning",
        backlog=_IN_A_ROW,
        timeout_graceful_shutdown=DRAIN,
    )
    Server(settings, app).run(sockets=[listening])


def _told(app: Any) -> Any:
    """Return an application that says so to whoever is still waiting when the time after a signal is over."""

    async def answered(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            head = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 503, "headers": head})
            await send({"type": "http.response.body", "body": b'{"detail": "the server was stopped"}'})

    return answered
