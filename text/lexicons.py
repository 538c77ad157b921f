"""Small word lists, English and Chinese: what kind of wording a sentence uses. The lists are in data/lexicons.toml."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from .tables import table

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_DATA: Final = table(__package__, "lexicons")

STOP_WORDS: Final = frozenset(_DATA["stop_words"].split())
NUMBER_WORDS: Final = {
    **{word: str(i) for i, word in enumerate(_DATA["digits"].split())},
    **{digit: str(i) for i, digit in enumerate(_DATA["chinese_digits"])},
    "两": "2",
}
CUSTOMER_WORDS: Final = frozenset(_DATA["customer"].split())
AGENT_WORDS: Final = frozenset(_DATA["agent"].split())
REPORTING: Final[str] = _DATA["reporting"]
LEXICONS: Final[dict[str, str]] = _DATA["kinds"]
ANTONYMS: Final = tuple(tuple(pair.split("/")) for pair in _DATA["opposites"].split())

_Names: TypeAlias = defaultdict[str, set[str]]
_Pairs: TypeAlias = list[tuple[str, str]]


@lru_cache(maxsize=1)
def _entries() -> tuple[_Names, _Names, _Pairs, _Pairs]:
    """Return the lexicons of words, of their beginnings, of phrases, and of what is not written in Latin letters."""
    exact, prefixes, phrases, wide = _Names(set), _Names(set), _Pairs(), _Pairs()
    for name, entries in LEXICONS.items():
        for entry in (" ".join(raw.split()) for raw in entries.split("|")):
            if not entry:
                continue
            if not entry.isascii() or not entry[0].isalpha():
                wide.append((entry, name))
            elif " " in entry:
                phrases.append((f" {entry} ", name))
            elif entry.endswith("*"):
                prefixes[entry[:-1]].add(name)
            else:
                exact[entry].add(name)
    return exact, prefixes, phrases, wide


@lru_cache(maxsize=65536)
def lexicons_of(word: str) -> frozenset[str]:
    """Return the names of the lexicons that hold one Latin word (lower case)."""
    exact, prefixes, _, _ = _entries()
    starts = (prefixes.get(word[:end], ()) for end in range(2, len(word) + 1))
    return frozenset(exact.get(word, ())).union(*starts)


@lru_cache(maxsize=4096)
def profile(lowered: str) -> Mapping[str, int]:
    """Count the matches of every lexicon in a text already in lower case (cached)."""
    _, _, phrases, wide = _entries()
    counts: Counter[str] = Counter()
    words = _WORD.findall(lowered.replace("’", "'"))
    for word in words:
        counts.update(lexicons_of(word))
    line = f" {' '.join(words)} "
    counts.update(name for phrase, name in phrases if phrase in line)
    if not lowered.isascii() or "%" in lowered:
        for entry, name in wide:
            if entry in lowered:
                counts[name] += lowered.count(entry)
    return counts


def hits(name: str, lowered: str) -> int:
    """Count the matches of one lexicon in a text already in lower case."""
    return profile(lowered).get(name, 0)
