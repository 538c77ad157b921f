"""Passages of a text: whole sentences, as many as a number of words allows."""

from collections.abc import Iterator
from typing import Final

from .sentences import split
from .wording import count_words

WORDS: Final = 120
"""Words of a passage, unless another limit is asked for."""


def passages(text: str, words: int = WORDS) -> Iterator[str]:
    """Yield a text in passages of whole sentences, of at most ``words`` words each; a longer sentence is one alone."""
    start = end = length = 0
    for sentence in split(text):
        size = count_words(sentence.text)
        if length and length + size > words:
            yield text[start:end]
            start = sentence.start
            length = 0
        length += size
        end = sentence.end
    if length:
        yield text[start:end]
