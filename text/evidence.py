"""An index of one evidence text: which term is in which sentence, and who said it."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

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
    for side, known in _SIDES.items():
        if words & known or any(w in lowered for w in known if not w.isascii()):
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
        """Return what one side said, or the whole where sides are not told apart."""
        return self.parts.get(side, self)

    def weight(self, term: str) -> float:
        """Return the idf of a term among the sentences; a missing term weighs as the rarest one."""
        return math.log(1.0 + (len(self.lines) + 1.0) / (len(self.places.get(term, ())) + 0.5))

    def coverage(self, wanted: Collection[str]) -> float:
        """Return the idf-weighted share of ``wanted`` that the text holds, in [0, 1]."""
        total = covered = 0.0
        for term in sorted(wanted):
            weight = self.weight(term)
            total += weight
            covered += weight if term in self.places else 0.0
        return covered / total if total else 0.0

    def best(self, wanted: Collection[str]) -> tuple[float, int]:
        """Return (coverage by the best single sentence, its index); (0, -1) when none shares a term."""
        scores: dict[int, float] = defaultdict(float)
        total = 0.0
        for term in sorted(wanted):
            weight = self.weight(term)
            total += weight
            for place in self.places.get(term, ()):
                scores[place] += weight
        if not scores:
            return 0.0, -1
        place = min(scores, key=lambda i: (-scores[i], i))
        return scores[place] / total, place


_Spoken = tuple[Side, str, list[str]]
"""Who says a sentence, the sentence, and its terms."""


def _speakers(text: str) -> Iterable[_Spoken]:
    side: Side = ""
    for line in text.splitlines():
        match = _SPEAKER.match(line[:40])
        if match:
            side = side_of(match.group(1) or match.group(2))
            line = line[match.end() :]
        for sentence in sentences(line):
            for start in range(0, len(sentence), _MAX_SENTENCE):
                piece = sentence[start : start + _MAX_SENTENCE]
                yield side, piece, terms(piece)


@lru_cache(maxsize=128)
def index_evidence(text: str) -> Evidence:
    """Index a text (cached)."""
    spoken = list(_speakers(text))
    whole = _index(spoken)
    for side in _SIDES:
        own = [line for line in spoken if line[0] == side]
        if own and len(own) < len(spoken):
            whole.parts[side] = _index(own)
    return whole


def _index(spoken: list[_Spoken]) -> Evidence:
    places: dict[str, list[int]] = defaultdict(list)
    pairs: set[tuple[str, str]] = set()
    for number, (_, _, held) in enumerate(spoken):
        for term in set(held):
            places[term].append(number)
        pairs.update(pairwise(held))
    text = "\n".join(sentence for _, sentence, _ in spoken)
    return Evidence(
        lines=[sentence for _, sentence, _ in spoken],
        places=dict(places),
        pairs=pairs,
        digits=numbers(text) | number_words(text),
        lowered=text.lower(),
    )


@lru_cache(maxsize=4096)
def term_set(text: str) -> frozenset[str]:
    """Return the distinct content terms of a text (cached)."""
    return frozenset(terms(text))
