"""Web applications on a port, until Ctrl-C or SIGTERM."""

import asyncio
import signal
import socket
from typing import Any

from ..errors import JuristError, UsageError
from .printing import remark

_DRAIN = 25
"""Seconds that what is in flight may take after a signal, as for all paid work."""


def listen(app: Any, host: str, port: int, what: str) -> None:
    """Serve an application until a signal, and say where it is."""
    try:
        import uvicorn
    except ImportError as error:
        raise JuristError("uvicorn is not installed", hint="pip install 'jurist[serve]'") from error
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"port {port} of {host} cannot be used: {error.strerror}", hint="name another with --port"
        ) from error
    remark(f"{what} http://{host}:{port}/ (Ctrl-C ends it)")
    settings = uvicorn.Config(
        _ending(app), lifespan="off", log_level="warning", timeout_graceful_shutdown=_DRAIN
    )
    server = uvicorn.Server(settings)
    # When all is drained uvicorn raises the signal again, and SIGTERM would then end us before the summing up.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with listening:
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:  # the way to end it
            return
        finally:
            signal.signal(signal.SIGTERM, before)


def _ending(app: Any) -> Any:
    """Return an application that says so to whoever is still waiting when the time after a signal is over."""

    async def answered(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            head = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 503, "headers": head})
            await send({"type": "http.response.body", "body": b'{"detail": "the server was stopped"}'})

    return answered
