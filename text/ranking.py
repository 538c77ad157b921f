"""The rows that are most like a row, of those that are remembered: BM25 over what is judged, without near copies.

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
from typing import TypeAlias

ALIKE = 0.6
"""The similarity from which two texts are near copies; unrelated texts of one kind have up to about 0.5."""
SHINGLE = 5
AT_ONCE = 100
"""Texts that are embedded by one request."""
SHORT = 20
"""Letters and digits below which only equal texts are near copies."""
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # without spaces between words
_ANY_WORD = rf"[{CJK}]|[^\W_{CJK}]+"  # compiled by the module re at its first use
_RISES = 1.5  # BM25's k1
_LENGTH = 0.75  # BM25's b
_LONGEST = 20_000  # characters of a text that are embedded
_FIRST = 10  # the first of a ranking counts 1 / 10, the next 1 / 11


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; of Chinese and Japanese its characters."""
    return re.findall(_ANY_WORD, text.lower())


def letters(text: str) -> str:
    """Return the letters and digits of a text, without case, width, and anything between them."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())


def folded(text: str) -> str:
    """Return the letters and digits of a text; of a text without any, the text itself in NFKC."""
    return letters(text) or unicodedata.normalize("NFKC", text).casefold()


def near(first: str, second: str) -> bool:
    """Return whether texts of letters and digits are near copies by their shingles; never if one is twice as long."""
    if first == second:
        return True
    shorter, longer = sorted((len(first), len(second)))
    if shorter < max(SHORT, longer / 2):
        return False
    first_shingles = _shingles(first)
    second_shingles = _shingles(second)
    return len(first_shingles & second_shingles) >= ALIKE * len(first_shingles | second_shingles)


def _shingles(text: str) -> set[str]:
    return {text[start : start + SHINGLE] for start in range(len(text) - SHINGLE + 1)}


def embeddable(text: str) -> str:
    """Return the part of a text that is embedded: endpoints refuse an empty text, and one that is much too long."""
    return text[:_LONGEST].strip() or "-"


def packed(vector: Sequence[float]) -> str:
    """Return a vector made of length 1, in half precision, as text."""
    length = math.hypot(*vector) or 1.0
    numbers = [number / length for number in vector]
    halves = struct.pack(f"<{len(numbers)}e", *numbers)
    return base64.b64encode(halves).decode()


def unpacked(text: str) -> Sequence[float]:
    """Return the vector that :func:`packed` gave."""
    halves = base64.b64decode(text)
    return struct.unpack(f"<{len(halves) // 2}e", halves)


Row: TypeAlias = Mapping[str, object]


class Ranking:
    """Remembered rows: their inputs, the fields they are compared by, and how much of the room each takes."""

    def __init__(self, rows: Sequence[Row], fields: Sequence[str], sizes: Sequence[float]) -> None:
        self.rows = rows
        self.fields = fields
        self.sizes = sizes

    def nearest(
        self,
        row: Row,
        limit: int,
        room: float,
        excluded: Collection[int] = (),
        likeness: Sequence[float] | None = None,
    ) -> list[int]:
        """Return the places of up to ``limit`` rows that fit into the room together, the most alike last."""
        # With ``likeness``, how alike the vectors of the rows are, that ranking counts as much as BM25's. Left out are
        # ``excluded`` rows, the row itself, and its near copies: rows of which all inputs are near.
        letters_of_row = _letters_of_inputs(row)
        chosen: list[int] = []
        for place in self._rank_places(row, likeness):
            if len(chosen) == limit:
                break
            if place in excluded or self.sizes[place] > room or self._is_near(place, letters_of_row):
                continue
            chosen.append(place)
            room -= self.sizes[place]
        return chosen[::-1]

    def _rank_places(self, row: Row, likeness: Sequence[float] | None) -> list[int]:
        """Return the places of all rows, the most alike first."""
        scores = self._scores(row)
        by_words = sorted(scores, key=lambda place: (-round(scores[place], 9), place))
        if likeness is None:
            return by_words
        by_vectors = sorted(scores, key=lambda place: (-round(likeness[place], 6), place))
        joint_scores = dict.fromkeys(scores, 0.0)
        for order in (by_words, by_vectors):
            for rank, place in enumerate(order):
                joint_scores[place] += 1 / (_FIRST + rank)
        return sorted(by_words, key=lambda place: -joint_scores[place])

    def _scores(self, row: Row) -> dict[int, float]:
        """Return the BM25 score of each row, by its place."""
        scores = dict.fromkeys(range(len(self.rows)), 0.0)
        row_words = set(words(self.text_of(row)))
        for word in sorted(row_words & self._index.keys()):
            occurrences = self._index[word]
            weight = math.log(1 + (len(self.rows) - len(occurrences) + 0.5) / (len(occurrences) + 0.5))
            for place, count, length in occurrences:
                scores[place] += weight * count / (count + _RISES * (1 - _LENGTH + _LENGTH * length))
        return scores

    def _is_near(self, place: int, letters_of_row: Mapping[str, str]) -> bool:
        """Return whether all inputs of a remembered row are near those of a row."""
        inputs = sorted(self._letters[place].items(), key=lambda item: len(item[1]))  # short ones are quick
        return all(near(letters_of_row.get(name, ""), text) for name, text in inputs)

    def text_of(self, row: Row) -> str:
        """Return the text by which a row is compared."""
        return "\n".join(str(row.get(name, "")) for name in self.fields)

    @cached_property
    def _index(self) -> dict[str, list[tuple[int, int, float]]]:
        """Word -> the place of each row that has it, how often, and the row's length over the mean length."""
        counts_of_rows: list[Counter[str]] = []
        word_total = 0
        for row in self.rows:
            counts = Counter(words(self.text_of(row)))
            counts_of_rows.append(counts)
            word_total += counts.total()
        mean = word_total / max(1, len(self.rows)) or 1.0
        index: dict[str, list[tuple[int, int, float]]] = {}
        for place, counts in enumerate(counts_of_rows):
            length = counts.total() / mean
            for word, count in counts.items():
                index.setdefault(word, []).append((place, count, length))
        return index

    @cached_property
    def _letters(self) -> list[dict[str, str]]:
        """The letters and digits of each input of the remembered rows."""
        letters_of_rows: list[dict[str, str]] = []
        for row in self.rows:
            letters_of_rows.append(_letters_of_inputs(row))
        return letters_of_rows


def _letters_of_inputs(row: Row) -> dict[str, str]:
    return {name: folded(str(value)) for name, value in row.items()}
