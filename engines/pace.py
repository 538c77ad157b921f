"""The pace of requests to an endpoint: no faster than the user allows, and than the endpoint accepts."""

import logging
import math
import threading
import time
from typing import Final

_LEAST_PATIENCE: Final = 60.0
"""Seconds that requests are waited for at least, however small the patience: many rate limits are per minute."""
_LONGEST_CLOSING: Final = 2.0
"""Seconds for which a refusal stops all requests, at most, unless the endpoint asked for more."""
_LOOK_INTERVAL: Final = 0.02
"""Seconds until a request that has no room looks again whether there is room."""
_FIRST_RETURN: Final = 0.5
"""Seconds until the first request to an endpoint that went away, as its server was restarted or the network failed."""
_log = logging.getLogger("jurist")


class Pace:
    """Decides when a request to one endpoint may leave, and how many are in flight. Thread-safe."""

    # A refusal means here that the endpoint says a request came too soon (HTTP 429). It halves the requests that may be
    # in flight, and each round of answers allows one more (additive increase, multiplicative decrease). If requests
    # that left under the lower limit are refused too, and none of them is answered, no request leaves for as long as
    # the endpoint asked to wait. A refused request is sent again, however often it was refused, until the endpoint has
    # answered no request for a time. Requests a minute are spread evenly.

    # An endpoint is away if it has answered and cannot be reached now. It gets one request at a time until it answers.
    # Of the requests with a setting that the endpoint has not accepted yet, one is sent at a time: if the endpoint
    # refuses the setting, it would refuse the others as well.

    def __init__(self, requests_a_minute: int | None = None, patience: float = 0.0) -> None:
        self._lock = threading.Lock()
        self.longest_wait = max(patience, _LEAST_PATIENCE)
        """Seconds without any answer until a refused request is given up."""
        self.last_answer = 0.0
        """When the endpoint last answered; 0.0 if never, and negative if only in an earlier process."""

        self._accepted_settings = set[str]()
        """Settings of requests that the endpoint did not refuse for a setting."""
        self._is_probing = False
        """Whether a request with a setting that is not among these is in flight."""

        self._patience = patience
        """Seconds for which an endpoint that is away is waited for."""
        self._away_since = 0.0
        """When the endpoint went away; 0.0 while it is there."""

        self._interval = 60 / requests_a_minute if requests_a_minute else 0.0
        """Seconds from one request to the next, by the requests a minute; 0.0 without a limit."""
        self._next_slot = 0.0
        """The time of the next free slot: slots are an interval apart."""
        self._closed_until = 0.0
        """The time until which no request leaves."""

        self.limit = math.inf
        """The requests that may be in flight."""
        self._in_flight = 0
        self._limited_at = 0.0
        """When the limit was last lowered."""
        self._answered_since_limited = True
        """Whether the endpoint has answered a request that left since then."""

    def take_slot(self) -> float:
        """Take the next free slot, and return the seconds until it."""
        if not self._interval:
            return 0.0
        with self._lock:
            clock = time.monotonic()
            slot = max(clock, self._next_slot)
            self._next_slot = slot + self._interval
            return slot - clock

    def seconds_until_look(self, settings: frozenset[str] = frozenset()) -> float:
        """Return 0.0 if a request with these settings may leave now, else the seconds until it asks here again."""
        with self._lock:
            closed = self._closed_until - time.monotonic()
            if closed > 0:
                return closed
            limit = 1 if self._away_since else self.limit
            if self._in_flight >= limit or (self._is_probing and self._is_new(settings)):
                return _LOOK_INTERVAL
            return 0.0

    def _is_new(self, settings: frozenset[str]) -> bool:
        """Say whether one of these settings is not among the accepted ones."""
        return not settings <= self._accepted_settings

    def begin(self, settings: frozenset[str] = frozenset()) -> float:
        """Count a request that leaves now, and return the time."""
        with self._lock:
            self._in_flight += 1
            if self._is_new(settings):
                self._is_probing = True
            return time.monotonic()

    def end(self, settings: frozenset[str] = frozenset(), *, shows_settings: bool = True) -> None:
        """Count a request that is over; ``shows_settings``: it was not refused for one of its settings."""
        with self._lock:
            self._in_flight -= 1
            if self._is_new(settings):
                self._is_probing = False
            if shows_settings:
                self._accepted_settings |= settings

    def note_answer(self, begun: float) -> None:
        """Learn from an answer to a request that left at ``begun``."""
        self.last_answer = time.monotonic()
        if self._away_since:
            self._away_since = 0.0
            _log.warning("the endpoint answers again")
        if self.limit < math.inf:
            with self._lock:
                self.limit += 1 / self.limit
                self._answered_since_limited = self._answered_since_limited or begun >= self._limited_at

    def note_earlier_answer(self) -> None:
        """Note that the endpoint has answered an earlier process."""
        if not self.last_answer:
            self.last_answer = -1.0

    @property
    def has_answered(self) -> bool:
        """Whether the endpoint has answered this job, in this process or an earlier one."""
        return self.last_answer != 0.0

    @property
    def is_away(self) -> bool:
        """Whether the endpoint has answered, and cannot be reached now."""
        return self._away_since > 0

    def note_absence(self, begun: float) -> float | None:
        """Note that the endpoint could not be reached by a request that left at ``begun``.

        Returns:
            The seconds until the request may be sent again; ``None`` if waiting is of no use. That is so if the
            endpoint has never answered, as its address may be wrong, if it has answered another request since, and if
            its absence has lasted longer than the patience.
        """
        with self._lock:
            clock = time.monotonic()
            if not self.has_answered or self.last_answer > begun:
                return None
            if not self._away_since and self._patience:
                self._away_since = clock
                _log.warning("the endpoint is away: waited for, %g s at most (--patience)", self._patience)
            rest = self._away_since + self._patience - clock
            if rest <= 0:
                return None
            wait = min(rest, max(_FIRST_RETURN, (clock - self._away_since) / 2))
            self._closed_until = max(self._closed_until, clock + wait)
            return wait

    def has_patience(self, first_begun: float, requested_wait: float | None) -> bool:
        """Say whether a refused request is sent again, after the seconds that the endpoint asked it to wait.

        It is, while the last answer to any request, or its own first attempt at ``first_begun``, is not long ago.
        """
        waited = time.monotonic() - max(self.last_answer, first_begun)
        return waited < self.longest_wait + (requested_wait or 0.0)

    def note_refusal(self, begun: float, pause: float, requested_wait: float | None) -> None:
        """Halve the requests that may be in flight, as one that left at ``begun`` was refused.

        ``pause`` are the seconds that this request waits, and ``requested_wait`` those that the endpoint asked for.
        """
        # The pause grows each time that this request is refused, so others need not wait as long.
        closing = 0.0
        if requested_wait is not None:
            closing = min(pause, max(requested_wait, _LONGEST_CLOSING))
        with self._lock:
            clock = time.monotonic()
            if begun < self._limited_at:  # it left before the limit was lowered, and says nothing new
                return
            if not self._answered_since_limited:
                self._closed_until = max(self._closed_until, clock + closing)
            self._answered_since_limited = False
            if self.limit == math.inf:
                _log.warning("the endpoint is asked too much: reducing concurrency")
            self.limit = max(1.0, min(self.limit, self._in_flight) / 2)
            self._limited_at = clock
