"""Passages of a text: whole sentences, as many as a limit of words or characters allows."""

from collections.abc import Callable, Iterator
from typing import Final

from .sentences import split
from .wording import count_words

WORDS: Final = 120
"""Words of a passage, unless another limit is asked for."""


def passages(text: str, most: int = WORDS, size_of: Callable[[str], int] = count_words) -> Iterator[str]:
    """Yield a text in passages of whole sentences; a sentence that is longer than a passage may be stands alone.

    Args:
        text: the text.
        most: the largest size of a passage.
        size_of: returns the size of a sentence: its words by default, its characters with ``len``.
    """
    start = end = 0
    has_words = False
    for sentence in split(text):
        if has_words and size_of(text[start : sentence.end]) > most:
            yield text[start:end]
            start = sentence.start
            has_words = False
        has_words = has_words or bool(count_words(sentence.text))
        end = sentence.end
    if has_words:
        yield text[start:end]
