"""What a reply to a closed question says: which of four options it chooses, or whether it calls an answer correct.

Read clause by clause, in English and Chinese. A negated or corrected option is never taken for the one that is chosen,
and what is hedged ("partly true", 不完全正确), doubly negated ("not incorrect") or contradicts itself is no answer.
Where a reply states its answer ("the answer is B", 答案：B), that counts; else all of its clauses must agree, or its
last line be the answer alone.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from ...text.measures import letters

Letter: TypeAlias = Literal["A", "B", "C", "D"]
_Sense: TypeAlias = bool | Literal["unclear"] | None
"""What a clause says of the answer; ``None`` if nothing."""

_MARKS: Final = re.compile(r"[*_\"“”‘()\[\]{}【】「」《》`]|(?<![a-z])'|'(?![a-z])")
_ASIDE: Final = re.compile(r"\(([^()]*\s[^()]*)\)")
_CLAUSES: Final = re.compile(r"([.!?;,\n。、]|\bbut\b|\bhowever\b|但是?)")

_POSITIVE: Final = r"(?:true|correct|right|accurate|yes)"
_NEGATIVE: Final = r"(?:false|incorrect|wrong|untrue|inaccurate)"
_ABOUT_ANOTHER: Final = re.compile(  # an attribute of what is named next, and no verdict
    r"\b(?:true|correct|right|accurate|wrong|false)\s+(?:answer|year|date|name|one|figure|number|value|place|option|choice|"
    r"statement|fact|version|person)\b|\bright (?:now|away|after|before|here|there|side|bank|hand)\b"
)
_HEDGED: Final = re.compile(
    r"\b(?:perhaps|maybe|possibly|probably|likely|might|may|could|should|partially|partly|mostly|largely|almost|nearly|"
    r"hardly|barely|scarcely|half|somewhat|if|unless|whether|depends|unclear|unsure|doubts?|"
    r"neither|either|or|except|in part|used to|once|ruled|to be)\b"
)
_NOT: Final = re.compile(r"\b(?:not|never|no|nor|cannot|without)\b|n't\b")
_DENIED: Final = re.compile(
    rf"(?:\b(?:not|never|cannot be)|n't(?: be)?) (?:at all |even )?{_POSITIVE}\b"
    rf"|\b(?:do not|don't|does not|cannot|can't) (?:think|believe|find|consider) (?:[a-z]+ ){{0,4}}{_POSITIVE}\b"
)
_STATES: Final = re.compile(
    r"\b(?:answer|verdict|judge?ment|conclusion)\b[\s:=-]*(?:(?:is|was|would be)\b)?[\s:=-]*(.+)"
)

_STATES_HAN: Final = re.compile(r"(?:答案|判断|结论)(?:应该)?[是为:]*(.+)")
_HEDGED_HAN: Final = re.compile(
    "不完全|不太|不够|部分|基本|大致|大体|几乎|可能|也许|或|大概|不一定|未必|不确定|难以|无法|如果|若|是否|还是|既|半|与否|是不是|不知道|不能说|不清楚"
)
_ABOUT_ANOTHER_HAN: Final = re.compile(
    "正确的?(?:答案|年份|时间|日期|说法|名字|数字|选项)?(?:应该)?(?:是|应是|应为|为)(?![的对错正不]).*"
)
_NO_FAULT_HAN: Final = re.compile("没有?错误?|无误")
_TRUE_HAN: Final = re.compile("√|正确|对的|属实|准确|^(?:对|是|是的)$")
_FALSE_HAN: Final = re.compile("不正确|不对|不属实|不准确|错误|有误|错的|^(?:错了?|否|不|不是)$")
_DENIED_HAN: Final = re.compile("(?:不认为|不觉得|不相信|并非|不是)[^不非没错]{0,8}?(?:正确|对的|属实|准确)")
_NOT_WRONG_HAN: Final = re.compile("(?:不|非|未).{0,3}(?:错|有误|不)")

_CHOSEN: Final = re.compile(
    r"\b(?:answer|option|choice|choose|pick|select|go for|correct|right)\b|答案|选|正确", re.IGNORECASE
)
_EXCLUDED: Final = re.compile(
    r"\b(?:not|cannot|wrong|incorrect|false|neither|none|never|ruled? out|excluded?|eliminated?)\b|n't\b"
    "|不是|不对|不选|不正确|错|排除|都不",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\b(?:if|whether|might|may|could|either|unless)\b|如果|若|可能|也许", re.IGNORECASE
)
_LETTER: Final = re.compile(  # an A that begins a clause and stands before a noun is an article
    r"(?<![A-Za-z0-9])(?:(?<!^)A|A(?! (?!(?:is|and|or|can|cannot|was|isn't|should|must|seems)\b)[a-z])|[B-D])"
    r"(?![A-Za-z0-9'])"
)
_SMALL: Final = re.compile(
    r"\b(?:answer|option|choice)(?: is| would be| should be|:| )*([a-d])$", re.IGNORECASE
)
_ALONE: Final = re.compile(r"(?:option |choice |选项)?([a-d])[.:)、。]?", re.IGNORECASE)
_LEADING: Final = re.compile(r"([A-D])\s*[).:、,。]\s*(.+)", re.DOTALL)


def read_truth(reply: str) -> bool | None:
    """Return whether a reply calls the answer correct, or ``None``."""
    text = _plain(reply).lower()
    stated: list[_Sense] = []
    every: list[_Sense] = []
    for clause in _clauses(text):
        states = _STATES.search(clause) or _STATES_HAN.search(clause)
        sense = _sense(clause)
        if states and sense != "unclear" and (rest := _sense(states[1])) is not None:
            stated.append(rest)
        every.append(sense)
    for senses in (stated, every, [_sense(_last(text))]):
        said = {sense for sense in senses if sense is not None}
        if len(said) == 1 and "unclear" not in said:
            return bool(said.pop())
        if stated and senses is stated:
            return None
    return None


def read_choice(reply: str, options: Sequence[str]) -> Letter | None:
    """Return the letter of the one option that a reply chooses, by its letter or by its words, or ``None``."""
    text = _plain(reply)
    for line in (text, _last(text)):
        if alone := _ALONE.fullmatch(line):
            return _letter({alone[1].upper()})
    leading = _LEADING.fullmatch(text)
    if leading and not _LETTER.search(leading[2].replace(leading[1], "")):
        return _letter({leading[1]})
    chosen: set[str] = set()
    excluded: set[str] = set()
    named: set[str] = set()
    for clause in _clauses(text):
        found = set(_LETTER.findall(clause)) or {small.upper() for small in _SMALL.findall(clause)}
        if _EXCLUDED.search(clause):
            excluded |= found
        elif _OPEN.search(clause) and found:
            return None
        elif _CHOSEN.search(clause) and found:
            chosen |= found
        else:
            named |= found
    if chosen:
        return _letter(chosen)
    if _EXCLUDED.search(text):
        return None
    plain = letters(text)
    quoted = {
        letter
        for letter, option in zip("ABCD", map(letters, options), strict=True)
        if option and option in plain
    }
    # A few words about a letter choose it; in a longer text an A may be an article.
    return _letter(quoted or (named if len(re.sub(r"\W+", "", text)) <= 12 else set()))


def _plain(reply: str) -> str:
    """Return a reply without quotes, brackets and emphasis, in one form of each character."""
    text = unicodedata.normalize("NFKC", reply).replace("’", "'")
    return _MARKS.sub("", _ASIDE.sub(r", \1,", text)).strip()


def _clauses(text: str) -> Iterator[str]:
    """Yield the clauses of a text that are no questions."""
    parts = _CLAUSES.split(text)
    for clause, end in zip(parts[::2], [*parts[1::2], ""], strict=True):
        if clause.strip() and end != "?":
            yield clause.strip()


def _last(text: str) -> str:
    return text.splitlines()[-1].strip(" .!。") if text and not text.endswith("?") else ""


def _sense(clause: str) -> _Sense:
    """Return what a clause says of the answer."""
    return (
        _sense_han(re.sub(r"\s", "", clause))
        if re.search("[\u4e00-\u9fff]", clause)
        else _sense_latin(clause)
    )


def _sense_latin(clause: str) -> _Sense:
    if clause == "no":
        return False
    clause = _ABOUT_ANOTHER.sub(lambda found: found[0].split()[-1], clause)
    positive, negative = (len(re.findall(rf"\b{words}\b", clause)) for words in (_POSITIVE, _NEGATIVE))
    if not positive and not negative:
        return None
    if _HEDGED.search(clause) or (negative and positive + negative > 1):
        return "unclear"
    negated = len(_NOT.findall(clause))
    if negative:
        return "unclear" if negated else False
    if not negated:
        return True
    return False if negated == 1 and _DENIED.search(clause) else "unclear"


def _sense_han(clause: str) -> _Sense:
    if _HEDGED_HAN.search(clause) or _NOT_WRONG_HAN.search(clause):
        return "unclear"
    clause = _ABOUT_ANOTHER_HAN.sub("", clause)
    denied = _DENIED_HAN.sub("×", clause)
    praised = _NO_FAULT_HAN.sub("√", denied)
    false = denied != clause or bool(_FALSE_HAN.search(praised))
    true = bool(_TRUE_HAN.search(_FALSE_HAN.sub("×", praised)))
    return "unclear" if true and false else True if true else False if false else None


def _letter(found: set[str]) -> Letter | None:
    letter = next(iter(found), None)
    return letter if len(found) == 1 and letter in ("A", "B", "C", "D") else None  # type: ignore[return-value]
