"""The sentences of a response that a list of strings names: :class:`~jurist.programs.answers.sentences.Listed`.

Only the standard library: exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...text.ranking import CJK
from ...text.replies import is_empty_word, undecorated
from .portable import READERS, RENDERERS, shown

_QUOTES: Final = frozenset("\"'`´‘’‚‛“”„‟«»‹›<「」『』〝〞＂＇")  # a prompt may show ``<`` as ``‹``
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_LIST_MARKER: Final = re.compile(r"^(?:[-*•]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+")
_WORD: Final = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_LEAST: Final = 4  # letters or digits of a part of a sentence
_LEAST_SHARE: Final = 8  # and one in so many of those of the sentence


def listed(
    items: Sequence[Any], sentences: Sequence[str], clear: str, named_label: str
) -> tuple[tuple[str | None, ...], list[str]]:
    """Return the label of each sentence, and the strings that name none: then only the named ones have a label."""
    named, lost = _Response(sentences).find(items)
    rest = None if lost else clear
    return tuple(named_label if place in named else rest for place in range(len(sentences))), lost


def as_compared(text: str) -> str:
    """Return ``text`` as it is compared: NFKC, lower case, plain dashes, no white space, no quotation marks."""
    plain = unicodedata.normalize("NFKC", text).translate(_DASHES).casefold()
    return "".join(char for char in plain if char not in _QUOTES and not char.isspace())


def distinct_lines(sentences: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences on one line each, no two alike: one that occurs again gets its number."""
    lines: list[str] = []
    plain = [shown(text) for text in sentences]
    taken, times = {as_compared(line) for line in plain}, Counter[str]()
    for line in plain:
        key = as_compared(line)
        times[key] += 1
        if times[key] > 1:
            number = times[key]
            while as_compared(f"{line} ({number})") in taken:
                number += 1
            line = f"{line} ({number})"
            taken.add(as_compared(line))
        lines.append(line)
    return tuple(lines)


class _Response:
    """A response in which returned strings are looked up."""

    def __init__(self, sentences: Sequence[str]) -> None:
        lines = [shown(text) for text in sentences]
        self.keys = [as_compared(line) for line in lines]
        self.bare = [as_compared(_LIST_MARKER.sub("", line)) for line in lines]
        self.words = [_words_of(line) for line in lines]
        self.marked = {as_compared(line): place for place, line in enumerate(distinct_lines(sentences))}

    def find(self, items: Sequence[Any]) -> tuple[set[int], list[str]]:
        """Return the places of the named sentences, and the strings that name none."""
        named: set[int] = set()
        lost: list[str] = []
        mentions: Counter[str] = Counter()
        for item in items:
            places = self._places_named(item, mentions)
            named |= places
            if not places:
                lost.append(str(item))
        if len(items) == len(lost) == 1 and is_empty_word(lost[0]):
            return set(), []
        return named, lost

    def _places_named(self, item: Any, mentions: Counter[str]) -> set[int]:
        texts = list(undecorated(item)) if isinstance(item, str) else []
        if not any(
            texts
        ):  # without any text nothing is named, not even a line of nothing but quotation marks
            return set()
        for text in texts:
            if places := self._line(as_compared(text), mentions):
                return places
        return self._part(texts[0])

    def _line(self, key: str, mentions: Counter[str]) -> set[int]:
        """Return the place of the line that is this text."""
        same = [place for place, other in enumerate(self.keys) if other == key]
        if not same:
            return {self.marked[key]} if key in self.marked else set()
        mentions[key] += 1
        return {same[min(mentions[key], len(same)) - 1]}

    def _part(self, text: str) -> set[int]:
        """Return the place of the one line that this text is without its list marker, or a part of, in whole words."""
        key, words = as_compared(text), _words_of(text)
        places = {place for place, other in enumerate(self.bare) if key == other}
        length = sum(map(len, words))
        if not places and length >= _LEAST and not is_empty_word(text):
            for place, sentence in enumerate(self.words):
                long_enough = length * _LEAST_SHARE >= sum(map(len, sentence))
                if long_enough and _stands_in(words, sentence):
                    places.add(place)
        return places if len(places) == 1 else set()


def _words_of(text: str) -> list[str]:
    """Return the words of a text as they are compared; each Chinese or Japanese character is one."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _stands_in(words: Sequence[str], sentence: Sequence[str]) -> bool:
    """Return whether words stand in a sentence, one after the other."""
    # A zero byte is part of no word.
    return f"\0{chr(0).join(words)}\0" in f"\0{chr(0).join(sentence)}\0"


def _read(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    items = reply.get(rule["field"])
    if not isinstance(items, list | tuple):
        raise ValueError(f"{rule['field']} is no list")
    return list(listed(items, texts, rule["not_listed"], rule["listed"])[0])


READERS["listed"] = _read
RENDERERS["lines"] = lambda texts, places, labels: "\n".join(distinct_lines(texts))
