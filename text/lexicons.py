"""Small word lists, English and Chinese: what kind of wording a sentence uses. The lists are in data/lexicons.toml."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Final, TypeVar

from .tables import table

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
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


def by_length(
    size: Callable[[K], int], *, limit: int, keep: int
) -> Callable[[Callable[[K], V]], Callable[[K], V]]:
    """Cache a function of one argument: many of those up to ``limit`` long, and only a few longer ones."""

    def decorate(function: Callable[[K], V]) -> Callable[[K], V]:
        short, long = lru_cache(maxsize=keep)(function), lru_cache(maxsize=4)(function)

        @wraps(function)
        def cached(key: K) -> V:
            return short(key) if size(key) <= limit else long(key)

        return cached

    return decorate


@dataclass(frozen=True, kw_only=True)
class _Table:
    exact: dict[str, frozenset[str]]
    prefixes: dict[str, frozenset[str]]
    phrases: tuple[tuple[str, str], ...]
    wide: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1)
def _table() -> _Table:
    exact: dict[str, set[str]] = defaultdict(set)
    prefixes: dict[str, set[str]] = defaultdict(set)
    phrases, wide = [], []
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
    return _Table(
        exact={word: frozenset(names) for word, names in exact.items()},
        prefixes={word: frozenset(names) for word, names in prefixes.items()},
        phrases=tuple(phrases),
        wide=tuple(wide),
    )


@lru_cache(maxsize=65536)
def lexicons_of(word: str) -> frozenset[str]:
    """Return the names of the lexicons that hold one Latin word (lower case)."""
    table = _table()
    found = set(table.exact.get(word, ()))
    for end in range(2, len(word) + 1):
        found |= table.prefixes.get(word[:end], frozenset())
    return frozenset(found)


@by_length(str.__len__, limit=4000, keep=8192)
def profile(lowered: str) -> Mapping[str, int]:
    """Count the matches of every lexicon in a text already in lower case (cached)."""
    table = _table()
    counts: Counter[str] = Counter()
    words = _WORD.findall(lowered.replace("’", "'"))
    for word in words:
        counts.update(lexicons_of(word))
    line = f" {' '.join(words)} "
    counts.update(name for phrase, name in table.phrases if phrase in line)
    if not lowered.isascii() or "%" in lowered:
        for entry, name in table.wide:
            if entry in lowered:
                counts[name] += lowered.count(entry)
    return counts


def hits(name: str, lowered: str) -> int:
    """Count the matches of one lexicon in a text already in lower case."""
    return profile(lowered).get(name, 0)
