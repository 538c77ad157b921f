"""How fast an endpoint is asked: no faster than it was said, and than it bears."""

import logging
import math
import threading
import time

_LOOK = 0.02  # seconds between two looks whether there is room for one more
_log = logging.getLogger("jurist")


class Pace:
    """How one endpoint is asked. Thread-safe."""

    # Half as many are in flight after a refusal, one more after each round of answers (additive increase,
    # multiplicative decrease). Where what left after that is refused too, and nothing is answered, none leaves as long
    # as the endpoint asked to wait. Requests a minute are spread evenly.

    def __init__(self, requests: int | None = None) -> None:
        self._seconds = 60 / requests if requests else 0.0  # from one request to the next
        self._next, self._closed, self._cut = 0.0, 0.0, 0.0
        self.limit, self._flying = math.inf, 0
        self._bears = True  # whether anything that left since the last refusal was answered
        self._lock = threading.Lock()

    def booked(self) -> float:
        """Take the next place in the row of requests, and return the seconds until then."""
        if not self._seconds:
            return 0.0
        with self._lock:
            now = time.monotonic()
            place = max(now, self._next)
            self._next = place + self._seconds
            return place - now

    def busy(self) -> float:
        """Return the seconds after which to look again, 0 if a request may leave now."""
        with self._lock:
            wait = self._closed - time.monotonic()
            return wait if wait > 0 else _LOOK if self._flying >= self.limit else 0.0

    def begin(self) -> float:
        """Take note that a request leaves; return when."""
        with self._lock:
            self._flying += 1
            return time.monotonic()

    def end(self) -> None:
        """Take note that a request is over."""
        with self._lock:
            self._flying -= 1

    def answered(self, begun: float) -> None:
        """Learn from an answer to what left at ``begun``."""
        if self.limit < math.inf:
            with self._lock:
                self.limit += 1 / self.limit
                self._bears = self._bears or begun >= self._cut

    def refused(self, begun: float, seconds: float) -> None:
        """Ask for less: a request that left at ``begun`` came too soon, and ``seconds`` is what was asked to wait.

        Those that left before the last time say nothing new. The request itself waits in any case.
        """
        with self._lock:
            now = time.monotonic()
            if begun < self._cut:
                return
            if not self._bears:
                self._closed = max(self._closed, now + seconds)
            self._bears = False
            if self.limit == math.inf:
                _log.warning("rate limited by the endpoint: reducing concurrency")
            self.limit, self._cut = max(1.0, min(self.limit, self._flying) / 2), now
