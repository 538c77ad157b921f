"""How fast an endpoint is asked: no faster than the user allows, and than the endpoint bears."""

import logging
import math
import threading
import time
from typing import Final

_LEAST_PATIENCE: Final = 60.0
"""Seconds that an endpoint may ask to wait, at least: the window of many limits is a minute."""
_LONGEST_CLOSING: Final = 2.0
"""Seconds for which no request leaves after a refusal, at most, unless the endpoint asked for more."""
_LOOK: Final = 0.02
"""Seconds between two looks whether there is room for one more request."""
_FIRST_RETURN: Final = 0.5
"""Seconds after which an endpoint that went away is looked for, at first."""
_log = logging.getLogger("jurist")


class Pace:
    """How one endpoint is asked. Thread-safe."""

    # Half as many are in flight after a refusal, one more after each round of answers (additive increase,
    # multiplicative decrease). Where what left after that is refused too, and nothing is answered, none leaves as long
    # as the endpoint asked to wait. Requests a minute are spread evenly. A request that came too soon is sent again
    # until the endpoint has answered nothing for a time, however often it was refused.

    # An endpoint that has answered, and where nobody is now, gets one request at a time until it answers again.
    # A request with a setting that the endpoint has not taken yet goes alone: others would only be refused as well.

    def __init__(self, requests: int | None = None, patience: float = 0.0) -> None:
        self._lock = threading.Lock()
        self.longest_wait = max(patience, _LEAST_PATIENCE)
        """Seconds that an endpoint which answers is waited for, where it says that requests come too soon."""
        self.last_answer = 0.0
        """When it last answered; 0 if it never has, and negative if it has answered an earlier process only."""

        self._accepted_settings = set[str]()
        """Settings that the endpoint has taken, or has not refused."""
        self._is_probing = False
        """Whether a request with another setting is on its way."""

        self._patience = patience
        """Seconds for which an endpoint is waited for where nobody is there."""
        self._away_since = 0.0
        """Since when nobody is there; 0 while somebody is."""

        self._interval = 60 / requests if requests else 0.0
        """Seconds from one request to the next."""
        self._next_slot = 0.0
        """When the next request may leave, by the interval."""
        self._closed_until = 0.0
        """Until when no request leaves."""

        self.limit = math.inf
        """The requests that may be in flight."""
        self._in_flight = 0
        self._limited_at = 0.0
        """When the limit was last lowered."""
        self._bears_limit = True
        """Whether any request that left since then was answered."""

    def seconds_to_slot(self) -> float:
        """Take the next place in the row of requests, and return the seconds until then."""
        if not self._interval:
            return 0.0
        with self._lock:
            clock = time.monotonic()
            slot = max(clock, self._next_slot)
            self._next_slot = slot + self._interval
            return slot - clock

    def seconds_to_look(self, settings: frozenset[str] = frozenset()) -> float:
        """Return the seconds after which to look again, 0 if a request with these settings may leave now."""
        with self._lock:
            closed = self._closed_until - time.monotonic()
            if closed > 0:
                return closed
            limit = 1 if self._away_since else self.limit
            if self._in_flight >= limit or (self._is_probing and self._is_new(settings)):
                return _LOOK
            return 0.0

    def _is_new(self, settings: frozenset[str]) -> bool:
        """Say whether there is a setting among them that the endpoint has not taken yet."""
        return not settings <= self._accepted_settings

    def begin(self, settings: frozenset[str] = frozenset()) -> float:
        """Take note that a request leaves; return when."""
        with self._lock:
            self._in_flight += 1
            if self._is_new(settings):
                self._is_probing = True
            return time.monotonic()

    def end(self, settings: frozenset[str] = frozenset(), *, shows_settings: bool = True) -> None:
        """Take note that a request is over, and whether that shows what the endpoint makes of its settings."""
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
                self._bears_limit = self._bears_limit or begun >= self._limited_at

    def note_earlier_answer(self) -> None:
        """Take note that the endpoint has answered an earlier process."""
        if not self.last_answer:
            self.last_answer = -1.0

    @property
    def has_answered(self) -> bool:
        """Whether the endpoint has answered this job, in this process or an earlier one."""
        return self.last_answer != 0.0

    @property
    def is_away(self) -> bool:
        """Whether nobody is there."""
        return self._away_since > 0

    def note_absence(self, begun: float) -> float | None:
        """Take note that a request that left at ``begun`` met nobody; return the seconds until the next.

        ``None`` if waiting is of no use: where the endpoint never answered, as its address may be wrong, where it has
        answered others since, and at the end of the patience.
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
        """Say whether a request that came too soon is sent again, after the seconds that it was told to wait.

        It is as long as the endpoint answers, or as its first attempt at ``first_begun`` is not long ago.
        """
        waited = time.monotonic() - max(self.last_answer, first_begun)
        return waited < self.longest_wait + (requested_wait or 0.0)

    def note_refusal(self, begun: float, pause: float, requested_wait: float | None) -> None:
        """Let fewer be in flight: a request that left at ``begun`` came too soon.

        ``pause`` are the seconds that this request waits, and ``requested_wait`` those that the endpoint asked for.
        """
        # The pause of a request grows with its refusals, which says less about when the endpoint takes others.
        closing = 0.0
        if requested_wait is not None:
            closing = min(pause, max(requested_wait, _LONGEST_CLOSING))
        with self._lock:
            clock = time.monotonic()
            if begun < self._limited_at:  # it left before the limit was lowered, and says nothing new
                return
            if not self._bears_limit:
                self._closed_until = max(self._closed_until, clock + closing)
            self._bears_limit = False
            if self.limit == math.inf:
                _log.warning("the endpoint is asked too much: reducing concurrency")
            self.limit = max(1.0, min(self.limit, self._in_flight) / 2)
            self._limited_at = clock
