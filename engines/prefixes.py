"""How much of a prompt other requests share: what a provider that caches only up to a mark is worth marking."""

import hashlib
from dataclasses import dataclass
from typing import Final

from dspy.lm15 import Request

_LEAST_BYTES: Final = 3 * 1024
"""Bytes of the fewest tokens that Anthropic caches (1,024 or more); it ignores a mark on less."""
_MOST: Final = 4096
"""Beginnings that are remembered; those that one request alone has are forgotten first."""
_SHARE: Final = 0.5
"""The share of the requests with one beginning that must go on alike for the mark to stand further down."""


@dataclass(kw_only=True)
class _Beginning:
    """A beginning of prompts, by how many requests in a row had it with something else behind it."""

    requests: int
    last: bytes  # digest of the last request with it: one that is sent again shares with nobody


class SharedPrefixes:
    """The beginnings of the prompts of one endpoint: the system's text, and that with messages after it."""

    def __init__(self) -> None:
        self._beginnings: dict[bytes, _Beginning] = {}

    def shared_parts(self, request: Request) -> int:
        """Take note of a request; return how many of its parts to mark: 0 none, 1 the system's text, 2 a message more.

        The last message holds the case and is never among them, nor are rows that are chosen for each case.
        """
        system = (
            request.system
            if isinstance(request.system, str | None)
            else "".join(part.text for part in request.system)
        )
        parts = [system or "", *(f"{message.role}\n{message.text or ''}" for message in request.messages)]
        digests, sizes = [], []
        hashed, size = hashlib.blake2b(digest_size=16), 0
        for part in parts:
            encoded = part.encode("utf-8", "surrogatepass")
            hashed.update(len(encoded).to_bytes(8, "big") + encoded)
            size += len(encoded)
            digests.append(hashed.digest())
            sizes.append(size)
        whole = digests.pop()
        counts = [self._count(digest, whole) for digest in digests]
        marked, before = 0, counts[0]
        for number, (count, size) in enumerate(zip(counts, sizes[:-1], strict=True), 1):
            if count < 2 or count < _SHARE * before:
                break
            before = count
            if size >= _LEAST_BYTES:
                marked = number
        return marked

    def _count(self, digest: bytes, whole: bytes) -> int:
        """Return how many requests had a beginning, with this one."""
        beginning = self._beginnings.get(digest)
        if beginning is None:
            if len(self._beginnings) >= _MOST:
                self._forget()
            self._beginnings[digest] = _Beginning(requests=1, last=whole)
            return 1
        if beginning.last != whole:
            beginning.requests += 1
            beginning.last = whole
        return beginning.requests

    def _forget(self) -> None:
        """Forget what one request alone had, or all where that is little."""
        shared = {digest: each for digest, each in self._beginnings.items() if each.requests > 1}
        self._beginnings = shared if len(shared) < _MOST // 2 else {}
