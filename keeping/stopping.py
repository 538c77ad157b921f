"""Signals that stop paid work without losing what it has paid for.

The first one lets no further call begin; the calls in flight may arrive, for a bounded time, and the work then ends as
at a limit. The second one, or the end of that time, ends it at once.
"""

import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any, Self

from ..engines.meter import Meter
from ..errors import signal_name

GRACE = 25.0
"""Seconds for which calls in flight are waited for: less than the 30 after which Kubernetes kills a process."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """Lets signals stop the calls of a meter within a ``with`` block; says whether one has, and which."""

    def __init__(self, meter: Meter) -> None:
        self.signal: int | None = None
        self._meter = meter
        self._asked, self._over = threading.Event(), threading.Event()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Install the handlers, where this thread may."""
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in _SIGNALS:
            # None is a handler that was not installed from Python: whose it is, nobody knows.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._handle)
        if self._before:
            # Begun now, as a handler may interrupt whoever holds the locks that beginning a thread takes.
            threading.Thread(target=self._wait, name="jurist-stopping", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        """Put the handlers of before back."""
        self._over.set()
        self._asked.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Stop the work; at once, if it was asked to stop before, or if nothing is in flight that could be lost."""
        again, self.signal = self.signal is not None, self.signal or number
        self._meter.stop(self.signal)
        self._asked.set()
        if again or not self._meter.in_flight:
            raise KeyboardInterrupt

    def _wait(self) -> None:
        """Say that the work is being stopped; ask for the end again when the time is over."""
        self._asked.wait()
        flying = self._meter.in_flight
        if self._over.is_set() or self.signal is None:
            return
        if flying:
            with suppress(OSError, ValueError):  # there may be nobody left to tell
                sys.stderr.write(
                    f"{signal_name(self.signal)}: no further call is sent; {flying} in flight may arrive within "
                    f"{GRACE:g} s (press Ctrl-C again to quit now)\n"
                )
        if not self._over.wait(GRACE):
            # to the main thread: one that waits for a reply looks up then
            signal.pthread_kill(threading.main_thread().ident or 0, self.signal)
