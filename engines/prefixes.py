"""Beginnings that prompts share, for a provider that caches a prompt only up to a mark.

Anthropic writes a marked beginning at 1.25 of the price of input and reads it again at a tenth, for some minutes. So a
beginning is worth a mark if recent requests repeat it: instructions and fixed demonstrations are repeated, rows that
are chosen for each case hardly are.
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
"""The most requests of one shape that are compared: a shape is a system text and a number of messages."""
_MOST_SHAPES: Final = 256
"""The most shapes of requests that are remembered; beyond that all are forgotten."""
_LEAST_USES_OF_LONGEST: Final = 2
"""Requests per distinct beginning from which on the longest beginning, all before the case, is marked: written once and
read once, it is cheaper."""
_LEAST_USES_OF_SHORTER: Final = 8
"""Requests per distinct beginning from which on a shorter beginning is marked; the rows behind it may vary by case."""


@dataclass(frozen=True, kw_only=True)
class _SentPrompt:
    """A request that was sent, as digests."""

    beginnings: Sequence[bytes]  # of each beginning without the last message, the shortest first
    complete: bytes  # of the complete prompt


class SharedPrefixes:
    """Recent requests to one endpoint, by which it decides how much of the next request to mark."""

    def __init__(self) -> None:
        self._recent: dict[tuple[bytes, int], deque[_SentPrompt]] = {}

    def shared_parts(self, request: Request) -> int:
        """Take note of a request, and return how many of its parts are worth a mark.

        The parts are the system's text and the messages after it, so 0 means no mark, 1 the system's text alone and 3
        the system's text and two messages. The last message holds the case and is never marked.
        """
        digests, sizes = _beginnings_of(_parts_of(request))
        prompt = _SentPrompt(beginnings=digests[:-1], complete=digests[-1])
        recent = self._prompts_like(prompt)
        different_prompts = [sent for sent in recent if sent.complete != prompt.complete]
        if len(different_prompts) == len(recent):  # a request that is sent again shares with nobody
            recent.append(prompt)
        for number in range(len(prompt.beginnings), 0, -1):
            place = number - 1
            if sizes[place] < _LEAST_BYTES:
                break
            if _share_beginning(prompt, different_prompts, place) and _is_worth_a_mark(recent, number):
                return number
        return 0

    def _prompts_like(self, prompt: _SentPrompt) -> deque[_SentPrompt]:
        """Return the recent requests with the same system's text and as many messages."""
        shape = (prompt.beginnings[0], len(prompt.beginnings))
        if shape not in self._recent and len(self._recent) >= _MOST_SHAPES:
            self._recent.clear()
        return self._recent.setdefault(shape, deque(maxlen=_RECENT))


def _share_beginning(prompt: _SentPrompt, different_prompts: Sequence[_SentPrompt], place: int) -> bool:
    """Say whether a different recent request begins in the same way; ``place`` is that of the beginning."""
    beginning = prompt.beginnings[place]
    return any(sent.beginnings[place] == beginning for sent in different_prompts)


def _is_worth_a_mark(recent: Sequence[_SentPrompt], number: int) -> bool:
    """Say whether recent requests repeat their beginnings of ``number`` parts often enough."""
    distinct_beginnings = len({sent.beginnings[number - 1] for sent in recent})
    least_uses = _LEAST_USES_OF_SHORTER
    if number == len(recent[-1].beginnings):
        least_uses = _LEAST_USES_OF_LONGEST
    return distinct_beginnings == 1 or len(recent) >= least_uses * distinct_beginnings


def _parts_of(request: Request) -> list[str]:
    """Return the texts of a request in the order in which a provider reads them: the system's, then each message."""
    system = request.system
    if system is not None and not isinstance(system, str):
        system = "".join(part.text for part in system)
    parts = [system or ""]
    for message in request.messages:
        parts.append(f"{message.role}\n{message.text or ''}")
    return parts


def _beginnings_of(parts: Sequence[str]) -> tuple[list[bytes], list[int]]:
    """Return the digest and the bytes of each beginning of some texts, the shortest first."""
    hashed = hashlib.blake2b(digest_size=16)
    digests, sizes = list[bytes](), list[int]()
    size = 0
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
        size += len(encoded)
        digests.append(hashed.digest())
        sizes.append(size)
    return digests, sizes
