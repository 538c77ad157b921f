"""Scores by words: every word carries the label of its sentence, so long sentences count for more.

CogniBench (section 4.1) scores words: recall is the words in hallucinated sentences that were detected over the
words in all hallucinated sentences, and precision and F1 are made likewise. So a row by words is the row with
each unit repeated as often as it has words, and every metric, bound, interval and permutation test of this package
applies to it as it is. Counts of independent units (McNemar) do not.

What a word is: every Chinese character (Han) is one, and so is every run of other characters without white space
in which there is a letter or a digit. For text without Han these are the words that splitting at white space
gives, without lone punctuation. A unit without any word counts as one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...errors import JuristError
from ...evaluation.rows import Row

_HAN = r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")


def count_words(text: str) -> int:
    """Return the number of words of a text, at least 1."""
    words = sum(any(map(str.isalnum, word)) for word in _WORD.findall(text))
    return max(1, words)


def by_words(rows: Iterable[Row], texts: Mapping[str, Sequence[str]]) -> tuple[Row, ...]:
    """Return the rows with every unit repeated for each of its words."""
    return tuple(_repeated(row, texts.get(row.id, ())) for row in rows)


def _repeated(row: Row, texts: Sequence[str]) -> Row:
    if len(texts) != len(row.gold):
        raise JuristError(
            f"case {row.id!r} has {len(row.gold)} units and {len(texts)} texts", hint="give one text a unit"
        )
    counts = [count_words(text) for text in texts]
    return replace(row, gold=_times(row.gold, counts), predicted=_times(row.predicted, counts))


def _times(labels: Sequence[str | None], counts: Sequence[int]) -> tuple[str | None, ...]:
    return tuple(label for label, count in zip(labels, counts, strict=True) for _ in range(count))
