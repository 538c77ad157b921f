"""Words: the one measure of length that generation, statistics and the offline engine share.

A word is a number (``1,250.5``) or a run of letters, with the apostrophes and hyphens inside it; a Chinese or Japanese
character counts as one word, because there are no spaces to count by. It knows nothing of judges or models.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

from .ranking import CJK

Language: TypeAlias = Literal["en", "zh"]
"""A language in which prompts are written; every text that is not Chinese counts as English."""
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)

_REPEATED = 256
"""Texts whose normal form is remembered: rows repeat the text of their source, mostly one after the other."""
# The module re compiles these at their first use, which takes milliseconds that most commands do not need.
_CHARACTER = f"[{CJK}]"
_WORD = rf"[{CJK}]|\d+(?:[.,:]\d+)*|[^\W\d_{CJK}]+(?:['’\-][^\W\d_{CJK}]+)*"


def count_words(text: str) -> int:
    """Return the number of words of a text; each Chinese or Japanese character is one."""
    return sum(1 for _ in re.finditer(_WORD, text))


def chinese_share(text: str) -> float:
    """Return the share of the words of a text that are Chinese or Japanese characters, 0 to 1."""
    return len(re.findall(_CHARACTER, text)) / max(1, count_words(text))


def is_chinese(text: str) -> bool:
    """Return whether at least half of the words of a text are Chinese or Japanese characters."""
    return chinese_share(text) >= 0.5


def language_of(text: str) -> Language:
    """Return ``zh`` for a text of which at least half of the words are Chinese or Japanese characters, else ``en``."""
    if is_chinese(text):
        return "zh"
    return "en"


def main_language(texts: Iterable[str]) -> Language:
    """Return ``zh`` if more of the texts are Chinese than not, else ``en``."""
    chinese = total = 0
    for text in texts:
        total += 1
        if is_chinese(text):
            chinese += 1
    return "zh" if 2 * chinese > total else "en"


@lru_cache(maxsize=_REPEATED)
def normalised(text: str) -> str:
    """Return ``text`` in NFKC, case-folded, with white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=_REPEATED)
def spaced_alike(text: str) -> str:
    """Return ``text`` with white space of every kind collapsed: line ends of Windows and no-break spaces are spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def plain_spelling(name: str) -> str:
    """Return a name without capitals and signs, by which spellings are compared."""
    return re.sub(r"[\W_]+", "", name).casefold()


def strings(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value, in their order; numbers as text."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from strings(part)
    elif value is not None:
        yield str(value)
