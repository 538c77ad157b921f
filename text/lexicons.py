"""Small word lists, English and Chinese, that name the kinds of wording in a sentence (data/lexicons.toml)."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from .tables import read_table

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_DATA: Final = read_table(__package__, "lexicons")

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


@dataclass(frozen=True, kw_only=True)
class _Entries:
    """The entries of all lexicons, by how they are found in a text, each with the name of its lexicon."""

    words: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    prefixes: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    # (phrase, lexicon), with a space on both sides
    phrases: list[tuple[str, str]] = field(default_factory=list)
    # (entry, lexicon): signs and other scripts
    substrings: list[tuple[str, str]] = field(default_factory=list)


@lru_cache(maxsize=1)
def _entries() -> _Entries:
    """Return the entries of all lexicons."""
    entries = _Entries()
    for name, listing in LEXICONS.items():
        for spaced_entry in listing.split("|"):
            entry = " ".join(spaced_entry.split())
            if entry:
                _add_entry(entries, entry, name)
    return entries


def _add_entry(entries: _Entries, entry: str, name: str) -> None:
    """Add an entry of a lexicon where it is looked for by its form."""
    if not entry.isascii() or not entry[0].isalpha():
        entries.substrings.append((entry, name))
    elif " " in entry:
        entries.phrases.append((f" {entry} ", name))
    elif entry.endswith("*"):
        entries.prefixes[entry[:-1]].add(name)
    else:
        entries.words[entry].add(name)


@lru_cache(maxsize=65536)
def lexicons_of(word: str) -> frozenset[str]:
    """Return the names of the lexicons that hold one Latin word (lower case)."""
    entries = _entries()
    names = set(entries.words.get(word, ()))
    for end in range(2, len(word) + 1):
        names.update(entries.prefixes.get(word[:end], ()))
    return frozenset(names)


@lru_cache(maxsize=4096)
def profile(lowered: str) -> Mapping[str, int]:
    """Return lexicon -> the number of its matches in a text that is in lower case (cached)."""
    entries = _entries()
    counts: Counter[str] = Counter()
    words = _WORD.findall(lowered.replace("’", "'"))
    for word in words:
        counts.update(lexicons_of(word))
    line = f" {' '.join(words)} "
    for phrase, name in entries.phrases:
        if phrase in line:
            counts[name] += 1
    if not lowered.isascii() or "%" in lowered:
        for entry, name in entries.substrings:
            if entry in lowered:
                counts[name] += lowered.count(entry)
    return counts


def hits(name: str, lowered: str) -> int:
    """Return the number of matches of one lexicon in a text that is in lower case."""
    return profile(lowered).get(name, 0)
