"""How fast an endpoint is asked: no faster than it was said, and than it bears."""

import logging
import math
import threading
import time

_WAIT = 60.0  # seconds that an endpoint may ask to wait, at least
_CLOSED = 2.0  # seconds for which none leaves after a refusal, at most, unless the endpoint asked for more
_LOOK = 0.02  # seconds between two looks whether there is room for one more
_AWAY = 0.5  # seconds after which somebody is looked for again, at first
_log = logging.getLogger("jurist")


class Pace:
    """How one endpoint is asked. Thread-safe."""

    # Half as many are in flight after a refusal, one more after each round of answers (additive increase,
    # multiplicative decrease). Where what left after that is refused too, and nothing is answered, none leaves as long
    # as the endpoint asked to wait. Requests a minute are spread evenly. What came too soon is sent again until the
    # endpoint has answered nothing for a time, however often it was refused.

    # An endpoint that has answered, and where nobody is now, gets one request at a time until it answers again.
    # A request with a setting that the endpoint has not taken yet goes alone: others would only be refused as well.

    def __init__(self, requests: int | None = None, patience: float = 0.0) -> None:
        self.longest_wait = max(patience, _WAIT)
        """Seconds that an endpoint which answers is waited for, where it says that requests come too soon."""
        self._tried = set[str]()  # settings that the endpoint has taken, or has not refused
        self._probing = False  # whether a request with another setting is on its way
        self._patience, self._gone = patience, 0.0  # and since when nobody is there; 0 while somebody is
        self.heard = 0.0  # when it last answered; 0 if it never has
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

    def busy(self, settings: frozenset[str] = frozenset()) -> float:
        """Return the seconds after which to look again, 0 if a request with these settings may leave now."""
        with self._lock:
            wait = self._closed - time.monotonic()
            if wait > 0:
                return wait
            most = 1 if self._gone else self.limit
            if self._flying >= most or (self._probing and not settings <= self._tried):
                return _LOOK
            return 0.0

    def begin(self, settings: frozenset[str] = frozenset()) -> float:
        """Take note that a request leaves; return when."""
        with self._lock:
            self._flying += 1
            if not settings <= self._tried:
                self._probing = True
            return time.monotonic()

    def end(self, settings: frozenset[str] = frozenset(), *, tried: bool = True) -> None:
        """Take note that a request is over, and whether that shows what the endpoint makes of its settings."""
        with self._lock:
            self._flying -= 1
            if not settings <= self._tried:
                self._probing = False
            if tried:
                self._tried |= settings

    def answered(self, begun: float) -> None:
        """Learn from an answer to what left at ``begun``."""
        self.heard = time.monotonic()
        if self._gone:
            self._gone = 0.0
            _log.warning("the endpoint answers again")
        if self.limit < math.inf:
            with self._lock:
                self.limit += 1 / self.limit
                self._bears = self._bears or begun >= self._cut

    @property
    def away(self) -> bool:
        """Whether nobody is there."""
        return self._gone > 0

    def absent(self, begun: float) -> float | None:
        """Take note that what left at ``begun`` met nobody; return the seconds to wait, ``None`` if that is no use."""
        # It is none where the endpoint never answered, as its address may be wrong, or has answered others since.
        with self._lock:
            now = time.monotonic()
            if not self.heard or self.heard > begun:
                return None
            if not self._gone and self._patience:
                self._gone = now
                _log.warning("the endpoint is away: waited for, %g s at most (--patience)", self._patience)
            left = self._gone + self._patience - now
            if left <= 0:
                return None
            wait = min(left, max(_AWAY, (now - self._gone) / 2))
            self._closed = max(self._closed, now + wait)
            return wait

    def has_patience(self, first_begun: float, asked: float | None) -> bool:
        """Say whether a request that came too soon is sent again; ``asked`` are the seconds that it was told to wait.

        It is as long as the endpoint answers, or as its first attempt at ``first_begun`` is not long ago.
        """
        waited = time.monotonic() - max(self.heard, first_begun)
        return waited < self.longest_wait + (asked or 0.0)

    def refused(self, begun: float, pause: float, asked: float | None) -> None:
        """Ask for less: a request that left at ``begun`` came too soon.

        ``pause`` are the seconds that this request waits, and ``asked`` those that the endpoint asked for, if it did.
        """
        # Those that left before the last time say nothing new. The request itself waits in any case: longer after each
        # refusal, which says less about when the endpoint takes others.
        seconds = 0.0 if asked is None else min(pause, max(asked, _CLOSED))
        with self._lock:
            now = time.monotonic()
            if begun < self._cut:
                return
            if not self._bears:
                self._closed = max(self._closed, now + seconds)
            self._bears = False
            if self.limit == math.inf:
                _log.warning("the endpoint is asked too much: reducing concurrency")
            self.limit, self._cut = max(1.0, min(self.limit, self._flying) / 2), now
