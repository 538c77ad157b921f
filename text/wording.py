"""What counts as a word: the one measure of length that generation, statistics and the offline engine share.

A word is a number (``1,250.5``) or a run of letters, with the apostrophes and hyphens inside it; a Chinese or Japanese
character counts as one word, because there are no spaces to count by. Scores weigh sentences by the words of
:mod:`jurist.papers.cognibench.words` instead, which are the paper's. It knows nothing of sentences, judges or models.
"""

import re

from .terms import CJK

_CHARACTER = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"[{CJK}]|\d+(?:[.,:]\d+)*|[^\W\d_{CJK}]+(?:['’\-][^\W\d_{CJK}]+)*")


def count_words(text: str) -> int:
    """Return the number of words of a text; each Chinese or Japanese character is one."""
    return sum(1 for _ in _WORD.finditer(text))


def chinese_share(text: str) -> float:
    """Return the share of the words of a text that are Chinese or Japanese characters, 0 to 1."""
    return len(_CHARACTER.findall(text)) / max(1, count_words(text))


def is_chinese(text: str) -> bool:
    """Say whether at least half of the words of a text are Chinese or Japanese characters."""
    return chinese_share(text) >= 0.5
