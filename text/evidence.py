"""An index of one evidence text: which term is in which sentence, and who said it."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from .lexicons import AGENT_WORDS, CUSTOMER_WORDS
from .terms import number_words, numbers, sentences, terms

Side = Literal["customer", "agent", ""]
_SIDES: Final[dict[Side, frozenset[str]]] = {"customer": CUSTOMER_WORDS, "agent": AGENT_WORDS}
_SPEAKER: Final = re.compile(
    r"^\s*<?([A-Za-z][A-Za-z ]{0,24}|[\u4e00-\u9fff]{1,6})>?\s?[:：]\s*|^\s*<(\w{2,12})>\s*"
)
_MAX_SENTENCE: Final = 600


@lru_cache(maxsize=4096)
def side_of(name: str) -> Side:
    """Return which side a speaker's name or a claim's subject belongs to, or ``""``."""
    lowered = name.lower()
    words = set(re.findall(r"[a-z]+", lowered))
    for side, side_words in _SIDES.items():
        if words & side_words:
            return side
        for word in side_words:
            if not word.isascii() and word in lowered:
                return side
    return ""


@dataclass(eq=False, kw_only=True)
class Evidence:
    """One indexed text. Compared by identity; ``index_evidence`` returns the same object for a text."""

    lines: list[str]  # the sentences, in order
    places: dict[str, list[int]]  # term -> sorted indices of the sentences that hold it
    pairs: set[tuple[str, str]]  # adjacent term pairs
    digits: set[str]  # numbers, in digits or in words
    lowered: str  # the text in lower case, for phrase look-ups
    # what each side said, as an index of its own; empty unless both sides are heard
    parts: "dict[Side, Evidence]" = field(default_factory=dict)

    def of(self, side: Side) -> "Evidence":
        """Return the text of one side, or all of it where sides are not told apart."""
        return self.parts.get(side, self)

    def weight(self, term: str) -> float:
        """Return the idf of a term among the sentences; a missing term weighs as the rarest one."""
        return math.log(1.0 + (len(self.lines) + 1.0) / (len(self.places.get(term, ())) + 0.5))

    def coverage(self, claim_terms: Collection[str]) -> float:
        """Return the idf-weighted share of a claim's terms that the text holds, in [0, 1]."""
        total = covered = 0.0
        for term in sorted(claim_terms):
            weight = self.weight(term)
            total += weight
            if term in self.places:
                covered += weight
        return covered / total if total else 0.0

    def best(self, claim_terms: Collection[str]) -> tuple[float, int]:
        """Return (coverage by the best single sentence, its index); (0, -1) when none shares a term."""
        scores: dict[int, float] = defaultdict(float)
        total = 0.0
        for term in sorted(claim_terms):
            weight = self.weight(term)
            total += weight
            for place in self.places.get(term, ()):
                scores[place] += weight
        if not scores:
            return 0.0, -1
        best_place = min(scores, key=lambda place: (-scores[place], place))
        return scores[best_place] / total, best_place


class _Line(NamedTuple):
    """A sentence, or a part of a long one."""

    side: Side  # who says it
    sentence: str
    terms: list[str]


def _read_lines(text: str) -> Iterable[_Line]:
    """Yield the sentences of a text, each said by the speaker who was named last."""
    side: Side = ""
    for line in text.splitlines():
        match = _SPEAKER.match(line[:40])
        if match:
            side = side_of(match.group(1) or match.group(2))
            line = line[match.end() :]
        for sentence in sentences(line):
            for start in range(0, len(sentence), _MAX_SENTENCE):
                piece = sentence[start : start + _MAX_SENTENCE]
                yield _Line(side, piece, terms(piece))


@lru_cache(maxsize=128)
def index_evidence(text: str) -> Evidence:
    """Index a text (cached)."""
    lines = list(_read_lines(text))
    evidence = _index_lines(lines)
    for side in _SIDES:
        lines_of_side = [line for line in lines if line.side == side]
        if lines_of_side and len(lines_of_side) < len(lines):
            evidence.parts[side] = _index_lines(lines_of_side)
    return evidence


def _index_lines(lines: list[_Line]) -> Evidence:
    """Return the index of some sentences, without its parts."""
    places: dict[str, list[int]] = defaultdict(list)
    pairs: set[tuple[str, str]] = set()
    sentences_in_order: list[str] = []
    for number, line in enumerate(lines):
        sentences_in_order.append(line.sentence)
        for term in set(line.terms):
            places[term].append(number)
        pairs.update(pairwise(line.terms))
    text = "\n".join(sentences_in_order)
    return Evidence(
        lines=sentences_in_order,
        places=dict(places),
        pairs=pairs,
        digits=numbers(text) | number_words(text),
        lowered=text.lower(),
    )


@lru_cache(maxsize=4096)
def term_set(text: str) -> frozenset[str]:
    """Return the distinct content terms of a text (cached)."""
    return frozenset(terms(text))
