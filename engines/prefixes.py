"""How much of a prompt other requests share: what a provider that caches only up to a mark is worth marking.

Anthropic writes a marked beginning at 1.25 of the price of input and reads it again at a tenth, for some minutes. So a
beginning is worth a mark where the requests of late repeat it: a prompt's instruction and its fixed demonstrations do,
rows that are chosen for each case hardly do.
"""

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dspy.lm15 import Request

_LEAST_BYTES: Final = 3 * 1024
"""Bytes of the fewest tokens that Anthropic caches (1,024 or more); it ignores a mark on less."""
_RECENT: Final = 32
"""The requests of one shape by which it is seen what they share."""
_MOST_SHAPES: Final = 256
_USES_OF_ALL: Final = 2
"""The mean uses of all that stands before the case, from which on it is marked: written once, read once is cheaper."""
_USES_OF_PART: Final = 8
"""The same of a shorter beginning, behind which rows may be chosen for each case."""


@dataclass(frozen=True, kw_only=True)
class _Sent:
    """One request: digests of its beginnings, the shortest first, and of all of it."""

    beginnings: Sequence[bytes]
    whole: bytes


class SharedPrefixes:
    """The common beginnings of recent requests to one endpoint: the system text, alone and with messages after it."""

    def __init__(self) -> None:
        self._recent: dict[tuple[bytes, int], deque[_Sent]] = {}

    def shared_parts(self, request: Request) -> int:
        """Take note of a request; return how many of its parts to mark: 0 none, 1 the system's text, 2 a message more.

        The last message holds the case and is never among them.
        """
        system = request.system
        if system is not None and not isinstance(system, str):
            system = "".join(part.text for part in system)
        parts = [system or "", *(f"{message.role}\n{message.text or ''}" for message in request.messages)]
        digests, sizes = _beginnings_of(parts)
        sent = _Sent(beginnings=digests[:-1], whole=digests[-1])
        recent = self._requests_like(sent)
        others = [other for other in recent if other.whole != sent.whole]
        if len(others) == len(recent):  # a request that is sent again shares with nobody
            recent.append(sent)
        for number in range(len(sent.beginnings), 0, -1):
            place = number - 1
            if sizes[place] < _LEAST_BYTES:
                break
            if not any(other.beginnings[place] == sent.beginnings[place] for other in others):
                continue
            variety = len({other.beginnings[place] for other in recent})
            uses = _USES_OF_ALL if number == len(sent.beginnings) else _USES_OF_PART
            if variety == 1 or len(recent) >= uses * variety:
                return number
        return 0

    def _requests_like(self, sent: _Sent) -> deque[_Sent]:
        """Return the requests of late with the same system's text and as many messages."""
        shape = (sent.beginnings[0], len(sent.beginnings))
        if shape not in self._recent and len(self._recent) >= _MOST_SHAPES:
            self._recent.clear()
        return self._recent.setdefault(shape, deque(maxlen=_RECENT))


def _beginnings_of(parts: Sequence[str]) -> tuple[list[bytes], list[int]]:
    """Return the digest and the bytes of each beginning of some texts, the shortest first."""
    hashed, size = hashlib.blake2b(digest_size=16), 0
    digests, sizes = list[bytes](), list[int]()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
        size += len(encoded)
        digests.append(hashed.digest())
        sizes.append(size)
    return digests, sizes
