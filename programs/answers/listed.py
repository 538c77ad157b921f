"""The sentences of a response that a list of strings names: :class:`~jurist.programs.answers.sentences.Listed`.

Only the standard library: exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final

from ...text.ranking import CJK
from ...text.replies import is_empty_word, undecorated
from .portable import READERS, RENDERERS, Reply, Rule, show_sentence

_QUOTES: Final = frozenset("\"'`´‘’‚‛“”„‟«»‹›<「」『』〝〞＂＇")  # a prompt may show ``<`` as ``‹``
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_LIST_MARKER: Final = re.compile(r"^(?:[-*•]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+")
_WORD: Final = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_PART_LENGTH: Final = 4  # the fewest letters or digits that a part of a sentence has
_PART_SHARE: Final = 8  # a part has at least one in so many of the letters and digits of its sentence


def read_list(
    items: Sequence[object], sentences: Sequence[str], unlisted_label: str, listed_label: str
) -> tuple[tuple[str | None, ...], list[str]]:
    """Return the label of each sentence, and the strings that name none: then only the named ones have a label."""
    listed_places, unknown_strings = _Response(sentences).find(items)
    labels: list[str | None] = [None if unknown_strings else unlisted_label] * len(sentences)
    for place in listed_places:
        labels[place] = listed_label
    return tuple(labels), unknown_strings


def as_compared(text: str) -> str:
    """Return ``text`` as it is compared: NFKC, lower case, plain dashes, without white space, quotation marks and
    characters that nobody sees, such as soft hyphens.
    """
    plain = unicodedata.normalize("NFKC", text).translate(_DASHES).casefold()
    compared: list[str] = []
    for char in plain:
        if char not in _QUOTES and not char.isspace() and unicodedata.category(char) != "Cf":
            compared.append(char)
    return "".join(compared)


def distinct_lines(sentences: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences on one line each, no two alike: one that occurs again gets its number."""
    plain_lines = [show_sentence(text) for text in sentences]
    keys = {as_compared(line) for line in plain_lines}
    mentions = Counter[str]()
    lines: list[str] = []
    for line in plain_lines:
        key = as_compared(line)
        mentions[key] += 1
        if mentions[key] > 1:
            number = mentions[key]
            while as_compared(f"{line} ({number})") in keys:
                number += 1
            line = f"{line} ({number})"
            keys.add(as_compared(line))
        lines.append(line)
    return tuple(lines)


class _Response:
    """A response in which returned strings are looked up."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self.keys: list[str] = []  # each line, as it is compared
        self.bare_keys: list[str] = []  # each line without its list marker
        self.words: list[list[str]] = []
        for text in sentences:
            line = show_sentence(text)
            self.keys.append(as_compared(line))
            self.bare_keys.append(as_compared(_LIST_MARKER.sub("", line)))
            self.words.append(_words_of(line))
        # of the lines as they are shown, a repeated one with its number
        self.place_of_line: dict[str, int] = {}
        for place, line in enumerate(distinct_lines(sentences)):
            self.place_of_line[as_compared(line)] = place

    def find(self, items: Sequence[object]) -> tuple[set[int], list[str]]:
        """Return the places of the sentences that strings name, and the strings that name none."""
        listed_places: set[int] = set()
        unknown_strings: list[str] = []
        mentions: Counter[str] = Counter()
        for item in items:
            places = self._places_named(item, mentions)
            listed_places |= places
            if not places:
                unknown_strings.append(str(item))
        if len(items) == len(unknown_strings) == 1 and is_empty_word(unknown_strings[0]):
            return set(), []
        return listed_places, unknown_strings

    def _places_named(self, item: object, mentions: Counter[str]) -> set[int]:
        """Return the place of the sentence that a string names; none if it names none or several."""
        if not isinstance(item, str):
            return set()
        texts = list(undecorated(item))
        # Without any text nothing is named, not even a line of nothing but quotation marks.
        if not any(texts):
            return set()
        for text in texts:
            places = self._places_of_line(as_compared(text), mentions)
            if places:
                return places
        return self._places_of_part(texts[0])

    def _places_of_line(self, key: str, mentions: Counter[str]) -> set[int]:
        """Return the place of the line that is this text."""
        equal_places: list[int] = []
        for place, line_key in enumerate(self.keys):
            if line_key == key:
                equal_places.append(place)
        if equal_places:
            mentions[key] += 1
            return {equal_places[min(mentions[key], len(equal_places)) - 1]}
        if key in self.place_of_line:
            return {self.place_of_line[key]}
        return set()

    def _places_of_part(self, text: str) -> set[int]:
        """Return the place of the one line that this text is without its list marker, or a part of, in whole words."""
        key, words = as_compared(text), _words_of(text)
        places: set[int] = set()
        for place, bare_key in enumerate(self.bare_keys):
            if bare_key == key:
                places.add(place)
        length = sum(map(len, words))
        if not places and length >= _PART_LENGTH and not is_empty_word(text):
            for place, sentence in enumerate(self.words):
                long_enough = length * _PART_SHARE >= sum(map(len, sentence))
                if long_enough and _stands_in(words, sentence):
                    places.add(place)
        if len(places) > 1:
            return set()
        return places


def _words_of(text: str) -> list[str]:
    """Return the words of a text as they are compared; each Chinese or Japanese character is one."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _stands_in(words: Sequence[str], sentence: Sequence[str]) -> bool:
    """Return whether words stand in a sentence, one after the other."""
    # A zero byte is part of no word.
    return f"\0{chr(0).join(words)}\0" in f"\0{chr(0).join(sentence)}\0"


def _read_listed(rule: Rule, reply: Reply, texts: Sequence[str], places: Sequence[int]) -> list[object]:
    items = reply.get(rule["field"])
    if not isinstance(items, list | tuple):
        raise ValueError(f"{rule['field']} is no list")
    labels, _ = read_list(items, texts, rule["not_listed"], rule["listed"])
    return list(labels)


READERS["listed"] = _read_listed
RENDERERS["lines"] = lambda texts, places, labels: "\n".join(distinct_lines(texts))
