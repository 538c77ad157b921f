"""The start and the end of connections: half-sent requests end, and at a signal everything that was sent is answered.

Imported only where a server is started: uvicorn belongs to the extra ``serve``.
"""

import asyncio
import resource
import select
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .serving import ANSWER_HEADERS

PATIENCE = 20.0
"""Seconds within which a request must have arrived whole, from its first byte or from the connection on."""

DRAIN = 25
"""Seconds that what is in flight may take after a signal, as for all paid work."""

_QUIET = 0.25  # seconds without a new request after which nobody is thought to be on the way any more
_QUIET_ROUNDS = 10  # rounds of the event loop without an unread request, after which none is on the way
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
        places = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE
        if len(self.connections) > max(places, _SPARE):
            waiting = {}
            for connection in self.connections:
                if isinstance(connection, Connection) and connection._overdue:
                    waiting[connection._overdue.when()] = connection
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

    def __init__(self, settings: uvicorn.Config, app: Any, drain: int) -> None:
        super().__init__(settings)
        self.app = app
        self.drain = drain  # seconds after a signal in which new requests are still answered

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, with room for more than are accepted in a row."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer every request that was sent before the end, then what is in flight."""
        self.server_state.default_headers.append((b"connection", b"close"))
        self.app.state.ending = True
        await self._wait_for_clients_to_leave()
        await self._wait_for_quiet()
        waiting = []
        for listening in sockets or ():
            waiting.extend(_accept_waiting(listening))
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for connection in waiting:
            await loop.connect_accepted_socket(self._new_connection, connection)
        await self._read_waiting()
        await super().shutdown(sockets)

    async def _wait_for_clients_to_leave(self) -> None:
        """Answer as before while whoever asks ``/ready`` finds other servers; a second signal ends the wait."""
        end = asyncio.get_running_loop().time() + self.drain
        while asyncio.get_running_loop().time() < end and not self.force_exit:
            await asyncio.sleep(_QUIET)

    async def _wait_for_quiet(self) -> None:
        """Let new clients in until none has come for a moment, for a few seconds at most."""
        state = self.server_state
        end = asyncio.get_running_loop().time() + _LAST_CALL
        requests_before = -1
        while asyncio.get_running_loop().time() < end:
            requests = state.total_requests + len(state.tasks)
            if requests == requests_before:
                break
            requests_before = requests
            await asyncio.sleep(_QUIET)

    def _new_connection(self) -> Connection:
        return Connection(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def _read_waiting(self) -> None:
        """Let the event loop read the requests that have arrived; closing their connections would reset them."""
        end = asyncio.get_running_loop().time() + DRAIN
        quiet_rounds = 0
        # A connection that was just accepted is listed some rounds of the event loop later.
        while quiet_rounds < _QUIET_ROUNDS and asyncio.get_running_loop().time() < end:
            quiet_rounds = 0 if self._unread() else quiet_rounds + 1
            await asyncio.sleep(0)

    def _unread(self) -> bool:
        """Whether a connection without a request under way has received bytes that nobody has read."""
        arrived = select.poll()
        for connection in self.server_state.connections:
            if not isinstance(connection, Connection):
                continue
            answered = connection.cycle is None or connection.cycle.response_complete
            descriptor = connection.transport.get_extra_info("socket").fileno()
            if answered and descriptor >= 0 and not connection.transport.is_closing():
                arrived.register(descriptor, select.POLLIN)
        return bool(arrived.poll(0))


def _accept_waiting(listening: socket.socket) -> list[socket.socket]:
    """Return the connections that the kernel holds: closing the listening socket would reset them."""
    # A busy event loop accepts few connections a round, and may leave hundreds waiting.
    accepted: list[socket.socket] = []
    while len(accepted) < _BACKLOG:
        try:
            connection, _ = listening.accept()
        except OSError:  # no connection is waiting, or no more files may be open
            break
        connection.setblocking(False)
        accepted.append(connection)
    return accepted


def run_server(app: Any, listening: socket.socket, drain: int = 0) -> None:
    """Serve an application at a socket until SIGINT or SIGTERM; ``KeyboardInterrupt`` says that it has ended.

    Args:
        app: what answers.
        listening: where.
        drain: seconds after the signal in which new requests are still answered.
    """
    settings = uvicorn.Config(
        _with_last_answer(app),
        http=Connection,
        ws="none",
        lifespan="off",
        log_level="warning",
        backlog=_IN_A_ROW,
        timeout_graceful_shutdown=DRAIN,
    )
    Server(settings, app, drain).run(sockets=[listening])


def _with_last_answer(app: Any) -> Any:
    """Return an application that says so to whoever is still waiting when the time after a signal is over."""

    async def answered(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            head = [(b"content-type", b"application/json"), *scope.get(ANSWER_HEADERS, ())]
            await send({"type": "http.response.start", "status": 503, "headers": head})
            await send({"type": "http.response.body", "body": b'{"detail": "the server was stopped"}'})

    return answered
