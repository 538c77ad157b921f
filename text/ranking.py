"""Which of some kept rows are most like a row: BM25 over what is judged, without near copies of it.

Written with the standard library, because exports carry this source along and have to find the same rows.
"""

import base64
import math
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

ALIKE = 0.6
"""The similarity from which two texts are near copies; unrelated texts of one kind have up to about 0.5."""
SHINGLE = 5
AT_ONCE = 100
"""Texts that are embedded by one request."""
SHORT = 20
"""Letters and digits below which only equal texts are near copies."""
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # without spaces between words
_ANY_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_BETWEEN = re.compile(r"[\W_]+")
_RISES, _LENGTH = 1.5, 0.75  # BM25's k1 and b
_LONGEST = 20_000  # characters of a text that are embedded
_FIRST = 10  # the first of a ranking counts 1 / 10, the next 1 / 11


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; of Chinese and Japanese its characters."""
    return _ANY_WORD.findall(text.lower())


def letters(text: str) -> str:
    """Return the letters and digits of a text, without case, width, and anything between them."""
    return _BETWEEN.sub("", unicodedata.normalize("NFKC", text).casefold())


def folded(text: str) -> str:
    """Return the letters and digits of a text; of a text without any, the text itself in NFKC."""
    return letters(text) or unicodedata.normalize("NFKC", text).casefold()


def near(first: str, second: str) -> bool:
    """Whether texts of letters and digits are near copies by their shingles; never if one is twice as long."""
    short, long = sorted(map(len, (first, second)))
    if first == second or short < max(SHORT, long / 2):
        return first == second
    mine, theirs = (
        {text[at : at + SHINGLE] for at in range(len(text) - SHINGLE + 1)} for text in (first, second)
    )
    return len(mine & theirs) >= ALIKE * len(mine | theirs)


def embeddable(text: str) -> str:
    """Return what of a text is embedded: endpoints refuse an empty one, and one that is much too long."""
    return text[:_LONGEST].strip() or "-"


def packed(vector: Sequence[float]) -> str:
    """Return a vector made of length 1, in half precision, as text."""
    length = math.hypot(*vector) or 1.0
    halves = struct.pack(f"<{len(vector)}e", *(number / length for number in vector))
    return base64.b64encode(halves).decode()


def unpacked(text: str) -> Sequence[float]:
    """Return the vector that :func:`packed` gave."""
    halves = base64.b64decode(text)
    return struct.unpack(f"<{len(halves) // 2}e", halves)


class Ranking:
    """Kept rows: their inputs, the fields they are compared by, and how much of the room each takes."""

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], fields: Sequence[str], sizes: Sequence[float]
    ) -> None:
        self.rows, self.fields, self.sizes = rows, fields, sizes

    def nearest(
        self,
        row: Mapping[str, Any],
        shown: int,
        room: float,
        apart: Collection[int] = (),
        likeness: Sequence[float] | None = None,
    ) -> list[int]:
        """Return the places of up to ``shown`` rows that fit into the room together, the most alike last."""
        # Where it is known how alike vectors of the rows are (their ``likeness``), that ranking counts as much as
        # BM25's. Left out are rows ``apart``, the row itself, and its near copies: rows of which all inputs are.
        wanted, scores = set(words(self.text_of(row))), dict.fromkeys(range(len(self.rows)), 0.0)
        for word in sorted(wanted & self._index.keys()):
            held = self._index[word]
            weight = math.log(1 + (len(self.rows) - len(held) + 0.5) / (len(held) + 0.5))
            for place, count, longer in held:
                scores[place] += weight * count / (count + _RISES * (1 - _LENGTH + _LENGTH * longer))
        own = {name: folded(str(value)) for name, value in row.items()}
        chosen, ranked = list[int](), sorted(scores, key=lambda place: (-round(scores[place], 9), place))
        if likeness is not None:
            alike = sorted(scores, key=lambda place: (-round(likeness[place], 6), place))
            orders = [{place: at for at, place in enumerate(order)} for order in (ranked, alike)]
            ranked.sort(key=lambda place: -sum(1 / (_FIRST + order[place]) for order in orders))
        for place in ranked:
            if len(chosen) == shown:
                break
            kept = sorted(self._letters[place].items(), key=lambda item: len(item[1]))
            if (
                place in apart
                or self.sizes[place] > room
                or all(near(own.get(name, ""), text) for name, text in kept)
            ):
                continue
            chosen.append(place)
            room -= self.sizes[place]
        return chosen[::-1]

    def text_of(self, row: Mapping[str, Any]) -> str:
        """Return the text by which a row is compared."""
        return "\n".join(str(row.get(name, "")) for name in self.fields)

    @cached_property
    def _index(self) -> dict[str, list[tuple[int, int, float]]]:
        """Word -> place, how often it stands there, and how much longer than the mean that row is."""
        counted = [Counter(words(self.text_of(row))) for row in self.rows]
        mean = sum(counts.total() for counts in counted) / max(1, len(counted)) or 1.0
        index: dict[str, list[tuple[int, int, float]]] = {}
        for place, counts in enumerate(counted):
            for word, count in counts.items():
                index.setdefault(word, []).append((place, count, counts.total() / mean))
        return index

    @cached_property
    def _letters(self) -> list[dict[str, str]]:
        return [{name: folded(str(value)) for name, value in row.items()} for row in self.rows]
