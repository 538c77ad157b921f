"""Reading a model's reply to a single-choice or true-or-false question: an answer, or none; never a default.

A reply counts if it names exactly one option, by its letter or by its words, or one of the two truth values. Where
it argues first, what it states as its answer counts ("the answer is B", 答案是B), else its last line if that is one
option alone. A reply that names several and settles on none has no answer.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, Literal

from ...text.measures import letters

Letter = Literal["A", "B", "C", "D"]
_STATED: Final = re.compile(
    r"(?:(?:answer|option|choice)(?: is| would be|:| =)++|i (?:choose|pick|select)"
    r"|答案(?:是|为|应为|应该是|:)*+|(?:应)?选择?|正确(?:的)?选项(?:是|为|:)*+)"
    r"[\s:*_\"'“(\[【（]*+(?:(?:option |choice |选项)[*_\"'“(\[【（]*+)?(?P<said>[a-d])(?![a-z0-9'’])",
    re.IGNORECASE,
)
_ALONE: Final = re.compile(
    r"[\s*_\"'“(\[【（]*+(?:(?:option |choice |选项)[*_(]*+)?(?P<said>[a-d])[\s*_\"'”)\]】）.。:、,]*$",
    re.IGNORECASE,
)
_LEADING: Final = re.compile(
    r"[\s*_(\[【（]*(?P<said>[A-D])[\s*_]*[)\]】）.。:、,][*_]*\s*(?P<rest>.*)", re.DOTALL
)
_CAPITAL: Final = re.compile(r"(?<![A-Za-z0-9])[A-D](?![A-Za-z0-9'’])")
_TRUE: Final = r"true|correct|right|yes|正确|对的?|是的?|属实"
_FALSE: Final = (
    r"false|incorrect|wrong|no|untrue|(?:not|isn['’]t) (?:true|correct|right)"
    r"|不正确|错误?的?|不对|不是|不属实|否"
)
_TRUTH: Final = re.compile(
    rf"(?:(?<![a-z])(?P<no>{_FALSE})(?![a-z]))|(?:(?<![a-z不])(?P<yes>{_TRUE})(?![a-z]))", re.IGNORECASE
)
_TRUTH_STATED: Final = re.compile(
    rf"(?:(?:answer|verdict|(?<![a-z])judg[a-z]+|statement|response|it)(?: is| would be|:)++[\s:*_\"'“(]*+"
    rf"|(?:答案|判断)[是为\s:*_\"'“(]*)(?:(?P<no>{_FALSE})|(?P<yes>{_TRUE}))(?![a-z])",
    re.IGNORECASE,
)


def read_choice(reply: str, options: Sequence[str]) -> Letter | None:
    """Return the letter that a reply chooses, or ``None``."""
    text = unicodedata.normalize("NFKC", reply).strip()
    stated = {match["said"].upper() for match in _STATED.finditer(text)}
    if stated:
        return _only(stated)
    for line in (text, _last(text)):
        alone = _ALONE.match(line)
        if alone:
            return _only({alone["said"].upper()})
    leading = _LEADING.match(text)
    if leading and not _CAPITAL.search(leading["rest"].replace(leading["said"], "")):
        return _only({leading["said"]})
    quoted = {letter for letter, option in zip("ABCD", options, strict=True) if _holds(text, option)}
    if quoted:
        return _only(quoted)
    return _only(set(_CAPITAL.findall(text))) if _bare(text) else None


def read_truth(reply: str) -> bool | None:
    """Return whether a reply calls the answer correct, or ``None``."""
    text = unicodedata.normalize("NFKC", reply).strip()
    for found in (_truths(_TRUTH_STATED, text), _truths(_TRUTH, text), _truths(_TRUTH, _last(text))):
        if len(found) == 1:
            return next(iter(found))
    return None


def _truths(pattern: re.Pattern[str], text: str) -> set[bool]:
    return {match["yes"] is not None for match in pattern.finditer(text)}


def _last(text: str) -> str:
    return text.splitlines()[-1] if text else ""


def _holds(text: str, option: str) -> bool:
    return letters(option) in letters(text) if letters(option) else False


def _bare(text: str) -> bool:
    """Whether a reply is a few words about a letter, not a text in which an A may be an article."""
    return len(re.sub(r"\W+", "", text)) <= 12


def _only(found: set[str]) -> Letter | None:
    letter = next(iter(found), None)
    return letter if len(found) == 1 and letter in ("A", "B", "C", "D") else None  # type: ignore[return-value]
