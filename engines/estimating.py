"""What a call will take, estimated before it is made from the calls of the same model and purpose before it."""

from __future__ import annotations

import threading

from dspy.lm15 import Request

from .meter import Promise

__all__ = ["Estimate", "size_of"]


class Estimate:
    """Learns from each answer; thread-safe.

    The input is counted in bytes of UTF-8 and taken at the most tokens per byte seen so far. The reply is
    taken at the request's own limit, or where it has none at the longest reply so far; the price at the
    dearest per token so far.
    """

    def __init__(self) -> None:
        self._lock, self._known = threading.Lock(), False
        self._density, self._longest, self._dearest = 0.0, 0, 0.0

    def of(self, request: Request) -> Promise | None:
        """Return what a request will take at most; ``None`` as long as nothing is known."""
        with self._lock:
            if not self._known:
                return None
            limit = request.config.max_tokens
            reply = self._longest if limit is None else limit
            tokens = self._density * size_of(request) + reply
            return Promise(tokens=tokens, cost=tokens * self._dearest)

    def learn(self, size: int, input_tokens: int, output_tokens: int, cost: float | None) -> None:
        """Take in what a request of ``size`` bytes took."""
        with self._lock:
            self._known = True
            self._density = max(self._density, input_tokens / max(1, size))
            self._longest = max(self._longest, output_tokens)
            self._dearest = max(self._dearest, (cost or 0.0) / max(1, input_tokens + output_tokens))


def size_of(request: Request) -> int:
    """Return the bytes of a request's texts."""
    system = request.system
    parts = [system] if isinstance(system, str) else [part.text for part in system or ()]
    parts += [message.text or "" for message in request.messages]
    return sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
