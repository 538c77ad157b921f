"""What a reply to a closed question says: which of four options it chooses, or whether it calls an answer correct.

Prompts ask for the answer alone, so that is what is read: a reply of which the whole, the first sentence or the last
line is the answer and nothing else, in English or Chinese. What is hedged, denied or explained in other words is never
taken for an answer; nor is a reply whose first sentence and last line say different things.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeVar

from ...text.ranking import letters

Letter: TypeAlias = Literal["A", "B", "C", "D"]
T = TypeVar("T")

_MARKS: Final = re.compile(r"[*_\"“”'‘()\[\]{}【】「」《》`]")
_LEAD: Final = (
    r"(?:i (?:think|believe|choose|pick) |so |therefore )?"
    r"(?:(?:the |my |this )?(?:final |correct |right |given )?(?:answer|option|choice|verdict|judge?ment|statement)"
    r"(?: is|:)? ?|(?:it|this|that) ?i?s |option |"
    "选择?|(?:这个|该)?(?:答案|判断|结论|选项)(?:应该)?(?:是|为)?:?|这是?|应该选)?"
)
_TRUE: Final = re.compile(
    rf"{_LEAD}(?:true|correct|right|accurate|yes|yes, it is|正确的?|对的?|是的?|属实|准确|没错)"
)
_FALSE: Final = re.compile(
    rf"{_LEAD}(?:false|incorrect|wrong|untrue|inaccurate|no|no, it is not|not (?:true|correct|right|accurate)"
    "|错误的?|错的?|不正确的?|不对的?|不是|否|不属实|有误)"
)
_CHOICE: Final = re.compile(rf"{_LEAD}([a-d])(?:[.):、,] ?|$)(.*)")
_END: Final = re.compile(r"(?<=[.!?。！？\n])\s*")


def read_truth(reply: str) -> bool | None:
    """Return whether a reply calls the answer correct, or ``None``."""

    def truth(text: str) -> bool | None:
        return True if _TRUE.fullmatch(text) else False if _FALSE.fullmatch(text) else None

    return _agreed(reply, truth)


def read_choice(reply: str, options: Sequence[str]) -> Letter | None:
    """Return the letter of the one option that a reply chooses, by its letter or by its words, or ``None``."""
    words = [letters(option) for option in options]

    def letter(text: str) -> Letter | None:
        found: Any = _CHOICE.fullmatch(text)
        named = found and found[1].upper()
        if named and letters(found[2]) in ("", words["ABCD".index(named)]):
            return named  # type: ignore[no-any-return]
        same: list[Any] = [
            name for name, option in zip("ABCD", words, strict=True) if option == letters(text)
        ]
        return same[0] if len(same) == 1 else None

    whole = _CHOICE.fullmatch(next(_texts(reply), ""))
    if whole and letters(whole[2]) in words and not letter(whole[0]):  # another option's words
        return None
    return _agreed(reply, letter)


def _agreed(reply: str, read: Callable[[str], T | None]) -> T | None:
    """Return what a whole reply says, or else what its first sentence and its last line say, if they do not differ."""
    texts = list(_texts(reply))
    if not texts or texts[0].endswith("?"):
        return None
    whole, *ends = (read(text.rstrip(" .!。！")) for text in texts)
    said = {one for one in ends if one is not None}
    return whole if whole is not None else said.pop() if len(said) == 1 else None


def _texts(reply: str) -> Iterator[str]:
    """Yield a reply, its first sentence and its last line, in one form of each character and without emphasis."""
    text = _MARKS.sub("", unicodedata.normalize("NFKC", reply)).strip().lower()
    if text:
        yield text
        yield _END.split(text, maxsplit=1)[0].strip()
        yield text.splitlines()[-1].strip()
