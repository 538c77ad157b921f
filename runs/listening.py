"""How a server ends: at a signal everything that was sent is answered.

Imported only where a server is started: uvicorn belongs to the extra ``serve``.
"""

import asyncio
import socket
from typing import Any

import uvicorn

DRAIN = 25
"""Seconds that what is in flight may take after a signal, as for all paid work."""

_QUIET = 0.25  # seconds without a new request after which nobody is thought to be on the way any more
_LAST_CALL = 3.0  # seconds after a signal in which requests that are on the way are still let in
_IN_A_ROW = (
    8  # connections that asyncio accepts before it looks at those it has; more are on the way to us meanwhile
)
_BACKLOG = 1024  # connections that the kernel holds until they are accepted


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
