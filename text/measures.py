"""What a text is made of: its words, lines, stanzas, paragraphs, sentences and list items, in English and Chinese.

These are the units in which people state conditions on a text's form, and compare answers.
"""

import re
import unicodedata
from typing import Final, Literal

from .ranking import CJK
from .sentences import split

Unit = Literal["word", "line", "stanza", "paragraph", "sentence", "item"]
"""A unit in which a condition may be stated."""

_WORD: Final = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
_BREAK: Final = re.compile(r"\n[ \t]*\n")
_MARKER: Final = r"[-*+•‣▪●]|\(?(?:\d{1,3}|[一二三四五六七八九十]{1,3})[.)、．）]"
_ITEM: Final = re.compile(rf"^[ \t]*(?P<marker>{_MARKER})[ \t]*(?=\S)")

_ENGLISH: Final = {
    word: number
    for numbers, words in (
        (range(20), "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
         "fifteen sixteen seventeen eighteen nineteen"),
        (range(20, 100, 10), "twenty thirty forty fifty sixty seventy eighty ninety"),
        ((1, 12), "single dozen"),
    )
    for number, word in zip(numbers, words.split(), strict=True)
}  # fmt: skip
_CHINESE: Final = {digit: number for number, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_PLACES: Final = {"十": 10, "百": 100, "千": 1000}

_ONE_WORD: Final = "|".join(sorted(_ENGLISH, key=len, reverse=True))
NUMBER: Final = (
    rf"(?:\d+|(?:an? |one |two |three )?hundred(?: and {_ONE_WORD})?|(?:{_ONE_WORD})(?:-(?:{_ONE_WORD}))?)"
)
"""A pattern of the numbers that :func:`as_number` reads, in digits or English words."""
_CHINESE_DIGITS: Final = f"[{''.join(_CHINESE)}{''.join(_PLACES)}]"
CHINESE_NUMBER: Final = rf"(?:(?<!\d)\d+|(?<!{_CHINESE_DIGITS}){_CHINESE_DIGITS}+)"
"""The same in digits or Chinese characters."""


def parts(text: str, unit: Unit) -> list[str]:
    """Return the text's parts of one kind, in order, without white space around them."""
    # A word stands between spaces and holds a letter or digit; every Chinese character is one. Lines are those that are
    # not blank, stanzas stand between blank lines, and so do paragraphs, unless a text has no blank line: then its
    # lines are its paragraphs. Items are the lines that begin with a bullet or a number.
    match unit:
        case "word":
            return [word for word in _WORD.findall(text) if letters(word)]
        case "line":
            return [line.strip() for line in text.splitlines() if line.strip()]
        case "stanza":
            return [block.strip() for block in _BREAK.split(text) if block.strip()]
        case "paragraph":
            return parts(text, "stanza" if _BREAK.search(text.strip()) else "line")
        case "sentence":
            return [one.text for one in split(text) if letters(one.text)]
        case "item":
            return [_ITEM.sub("", line) for line in parts(text, "line") if _ITEM.match(line)]


def letters(text: str) -> str:
    """Return the text's letters and digits, without case, width, and anything between them."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in plain if character.isalnum())


def as_number(text: str) -> int | None:
    """Return the number that a text writes in digits, English words or Chinese characters; ``None`` for no number."""
    said = text.strip().casefold().replace(",", "")
    if said.isascii() and said.isdigit():
        return int(said)
    if said and all(character in _CHINESE or character in _PLACES for character in said):
        return _from_chinese(said)
    return _from_english(re.split(r"[-\s]+", said.replace(" and ", " ")))


def _from_english(words: list[str]) -> int | None:
    total = 0
    for word in words:
        if word in ("a", "an") and len(words) > 1:
            continue
        if word == "hundred":
            total = max(total, 1) * 100
        elif word in _ENGLISH:
            total += _ENGLISH[word]
        else:
            return None
    return total if any(word not in ("a", "an") for word in words) else None


def _from_chinese(said: str) -> int:
    if not any(character in _PLACES for character in said):
        return int("".join(str(_CHINESE[character]) for character in said))
    total, digit = 0, 0
    for character in said:
        if character in _PLACES:
            total, digit = total + (digit or 1) * _PLACES[character], 0
        else:
            digit = _CHINESE[character]
    return total + digit
