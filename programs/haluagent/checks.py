"""What code can check of a written item, so that no model is asked for it (HaluAgent section 3.1).

The supporting passage must stand in the document, the question must not give its answer away, all texts are in the
document's language, and no two answers say the same in nearly the same words.
"""

from collections.abc import Iterator, Sequence

from ...text.measures import letters
from ...text.sentences import split
from ...text.terms import content_terms, numbers
from ...text.wording import chinese_share, count_words, is_chinese

ALIKE = 0.8
"""The share of common character pairs (Jaccard) from which two texts with the same numbers are near-duplicates."""
_SHORT = 4  # words up to which an answer may be a foreign name or a number


def shingles(text: str) -> frozenset[str]:
    """Return the pairs of neighbouring characters of its letters; of a single character that one."""
    plain = letters(text)
    return frozenset(plain[place : place + 2] for place in range(max(1, len(plain) - 1))) - {""}


def alike(first: str, second: str) -> bool:
    """Say whether two texts are near-duplicates: the same letters, or the same numbers and most pairs in common."""
    if letters(first) == letters(second):
        return True
    if numbers(first) != numbers(second):
        return False
    one, two = shingles(first), shingles(second)
    return len(one & two) >= ALIKE * len(one | two)


def occurs(passage: str, document: str) -> bool:
    """Say whether every sentence of a passage stands in the document, white space aside; an empty one does not."""
    whole = "".join(document.split())
    found = ["".join(sentence.text.split()) for sentence in split(passage)]
    return bool(found) and all(sentence in whole for sentence in found)


def leaks(question: str, answer: str) -> bool:
    """Say whether a question holds its answer: word for word, or all of its words where there is a number in it.

    A comparison may name what it compares.
    """
    plain = letters(answer)
    if len(plain) > 1 and plain in letters(question):
        return True
    return bool(numbers(answer)) and set(content_terms(answer)) <= set(content_terms(question))


def problems(
    document: str, question: str, answer: str, passage: str, hallucinated: Sequence[str], place: int
) -> Iterator[str]:
    """Yield what is wrong with the hallucinated answer at ``place`` (from 0) and with what it belongs to."""
    if not occurs(passage, document):
        yield "the passage does not stand in the document word for word"
    if leaks(question, answer):
        yield "the question gives its answer away"
    if any(_foreign(text, document) for text in (question, answer, hallucinated[place])):
        yield "a text is not in the language of the document"
    if not letters(hallucinated[place]):
        yield "the hallucinated answer is empty"
    if alike(hallucinated[place], answer):
        yield "the hallucinated answer repeats the correct answer"
    if any(alike(hallucinated[place], other) for other in hallucinated[:place]):
        yield "the hallucinated answer repeats another one"


def _foreign(text: str, document: str) -> bool:
    """Whether a text is in another language; a few foreign words may be a name."""
    if is_chinese(document):
        return chinese_share(text) < 0.2 and count_words(text) > _SHORT
    return chinese_share(text) >= 0.5
