"""Words, sentences and numbers of English, Chinese and mixed text, without any model or download.

English words are lower-cased and cut to a stem by a few suffix rules; a run of Chinese or
Japanese characters becomes its overlapping character pairs, because it has no spaces to split
at. Other scripts are split at their word characters and not stemmed further. The rules are
crude on purpose: they only have to be the same for the claim and for the evidence.
"""

import math
import re
from functools import lru_cache

from .lexicons import NUMBER_WORDS, STOP_WORDS
from .ranking import CJK

_TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|[{CJK}]+|[^\W\d_{CJK}]+(?:['’][^\W\d_{CJK}]+)?")
_CJK_CHAR = rf"[{CJK}]"  # compiled by the module re at its first use: most texts are in ASCII
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"[A-Z][\w'’&-]*[A-Za-z0-9]|[A-Z]{2,}")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=\S)|(?<=[。！？；])|\n+")
_MARKER = re.compile(r"\[\[\s*##|##\s*\]\]")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_VOWEL = re.compile(r"[aeiouy]")
_CJK_STOP_CHARACTERS = frozenset(
    "的了是在和与及也就都而或于被把对为以之其这那他她它们我你您吗呢吧啊呀着过地得个"
)


def is_cjk(text: str) -> bool:
    """Return whether more than a fifth of the first 2,000 characters are Chinese or Japanese."""
    head = text[:2000]
    return not head.isascii() and len(re.findall(_CJK_CHAR, head)) * 5 > len(head.strip())


def count_tokens(text: str) -> int:
    """Return an estimate of a text's tokens: one per CJK character, one per four other characters, rounded up."""
    wide = 0
    if not text.isascii():
        wide = len(re.findall(_CJK_CHAR, text))
    return wide + math.ceil((len(text) - wide) / 4)


def _strip_inflection(word: str) -> str:
    """Return an English word without the endings -s, -ing and -ed."""
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "ches", "shes", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix in ("ing", "ed"):
        base = word[: -len(suffix)]
        if word.endswith(suffix) and len(base) > 2 and _VOWEL.search(base):
            # "stopped" comes from "stop"; l, s and z may be doubled in the word itself.
            is_doubled = len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz"
            return base[:-1] if is_doubled else base
    return word


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the crude stem of an English word in lower case; other words come back unchanged."""
    if len(word) < 4 or not word.isascii():
        return word
    word = _strip_inflection(word)
    for suffix, shortest_base in (("ment", 5), ("ness", 4), ("ly", 4)):
        if word.endswith(suffix) and len(word) - len(suffix) >= shortest_base:
            word = word[: -len(suffix)]
    if word.endswith(("tion", "sion")) and len(word) > 6:
        word = word[:-3]
    if word.endswith("at") and len(word) > 6:  # "creation" and "create" both end here
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if word.endswith("y") and len(word) > 3:
        word = word[:-1] + "i"
    return word


@lru_cache(maxsize=65536)
def _terms_of_token(token: str) -> tuple[str, ...]:
    """Return the terms of one token: none for a word that says nothing, several for a run of characters."""
    if token[0].isdigit():
        return (_plain_number(token),)
    if not token.isascii() and re.match(_CJK_CHAR, token):
        return _cjk_terms(token)
    word = token.lower().replace("’", "'").removesuffix("'s").split("'")[0]
    if word in STOP_WORDS or len(word) < 2:
        return ()
    return (stem(word),)


def _cjk_terms(token: str) -> tuple[str, ...]:
    """Return the pairs of adjacent characters in a run, without pairs that hold a stop character."""
    if len(token) == 1:
        return () if token in _CJK_STOP_CHARACTERS else (token,)
    pairs: list[str] = []
    for start in range(len(token) - 1):
        pair = token[start : start + 2]
        if _CJK_STOP_CHARACTERS.isdisjoint(pair):
            pairs.append(pair)
    return tuple(pairs)


def terms(text: str) -> list[str]:
    """Return the content terms of a text in order: stems, character pairs and plain numbers."""
    result: list[str] = []
    for token in _TOKEN.findall(text):
        result.extend(_terms_of_token(token))
    return result


def _plain_number(token: str) -> str:
    """Return a number without separators, leading zeros of an integer, and trailing zeros of a fraction."""
    plain = token.replace(",", "").rstrip(".")
    if "." in plain:
        return plain.rstrip("0").rstrip(".")
    return plain.lstrip("0") or "0"


def numbers(text: str) -> set[str]:
    """Return the numbers that a text has in digits, without separators: ``{"1965", "2.6"}``."""
    return {_plain_number(token) for token in _NUMBER.findall(text)}


def number_words(text: str) -> set[str]:
    """Return the numbers that a text has in words, as digits: English ones up to twelve, and Chinese digits."""
    lowered = text.lower()
    words = set(re.findall(r"[a-z]+", lowered))
    words.update(lowered)  # each character, for Chinese digits
    return {NUMBER_WORDS[word] for word in words if word in NUMBER_WORDS}


def latin_names(text: str) -> set[str]:
    """Return the names in a text, in lower case: capitalised words that do not open a sentence.

    In Chinese or Japanese text these are all Latin words, which are nearly always names there.
    """
    if is_cjk(text):
        return {word.lower() for word in re.findall(r"[A-Za-z][\w-]+", text)}
    names = set()
    for match in _NAME.finditer(text):
        if _opens_sentence(text, match.start()) and not match.group().isupper():
            continue
        word = match.group().lower().replace("’", "'").removesuffix("'s")
        if word not in STOP_WORDS and len(word) > 1:
            names.add(word)
    return names


def _opens_sentence(text: str, start: int) -> bool:
    """Return whether a word may be the first of a sentence, by the three characters in front of it."""
    prefix = text[max(0, start - 3) : start].rstrip()
    if not prefix or prefix[-1] in ".!?:;\"'(“-*":
        return True
    return "\n" in text[max(0, start - 2) : start]


def sentences(text: str) -> list[str]:
    """Return the pieces of a text between sentence ends and line breaks, without empty ones."""
    return [piece.strip() for piece in _SENTENCE_END.split(text) if piece and piece.strip()]


def neutralise(text: str) -> str:
    """Return a text with an adapter's field markers visibly broken, and without the characters that XML forbids."""
    text = _FORBIDDEN.sub(" ", text).replace("]]>", "]]＞")
    return _MARKER.sub(lambda marker: marker[0].replace("#", "＃"), text)


def shorten(text: str, limit: int) -> str:
    """Return a text on one line of at most ``limit`` characters, ending in an ellipsis if it was cut."""
    flat = " ".join(text[: limit * 4].split())
    if len(flat) <= limit:
        return flat
    return flat[: limit - 1].rstrip() + "…"
