"""Reading a check from the words of a constraint, in English and Chinese.

The rules are narrow on purpose: what they do not recognise is no check, and is judged like any other constraint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from .checks import SCRIPTS, Check, Counted, Edge, Formed, Initials, Mentions, Within, Written
from .measures import CHINESE_NUMBER, NUMBER, Unit, as_number

__all__ = ["check_of", "read_check"]

_QUOTED: Final = r"[\"“‘「『']([^\"”’」』']+)[\"”’」』']"
_UNITS: Final[dict[str, Unit]] = {
    "word": "word",
    "line": "line",
    "stanza": "stanza",
    "paragraph": "paragraph",
    "sentence": "sentence",
    "item": "item",
    "bullet": "item",
    "bullet point": "item",
    "字": "word",
    "词": "word",
    "行": "line",
    "节": "stanza",
    "段": "paragraph",
    "句": "sentence",
    "条": "item",
}
_UNIT: Final = r"(words?|lines?|stanzas?|paragraphs?|sentences?|items?|bullet points?|bullets?)"

_Bounds = Literal["exact", "most", "least", "below", "above", "about"]
_OPERATORS: Final[Sequence[tuple[_Bounds, str]]] = (
    (
        "most",
        r"at most|no(?:t)? more than|no longer than|up to|a maximum of|maximum|within|不超过|至多|最多|不多于",
    ),
    ("least", r"at least|no fewer than|no less than|not less than|a minimum of|minimum|至少|不少于|最少"),
    ("below", r"fewer than|less than|shorter than|under|below|少于|低于"),
    ("above", r"more than|longer than|over|above|多于|超过"),
    ("about", r"about|around|approximately|roughly|大约|大概|约"),
    ("exact", r"exactly|precisely|only|just|正好|恰好|只有|只用|仅|共"),
)
_OPERATOR: Final = "|".join(rf"(?P<{name}>{words})" for name, words in _OPERATORS)
_COUNT: Final = re.compile(
    rf"(?:(?<![\w-])(?:{_OPERATOR})\s+)?(?<![\w-])(?P<number>{NUMBER})"
    rf"(?:(?: to |-| and |–)(?P<upper>{NUMBER}))?[ -]"
    rf"(?P<unit>{_UNIT})\b(?P<after> or (?:fewer|less|more))?(?! (?:of|from) (?:the|an?|its|each)\b)",
    re.IGNORECASE,
)
_ZH_COUNT: Final = re.compile(
    rf"(?:{_OPERATOR})?(?:为|用|由|是|有)?(?P<number>{CHINESE_NUMBER})(?:[到至-](?P<upper>{CHINESE_NUMBER}))?"
    r"个?(?P<unit>[字词行节段条]|句)(?:话|诗)?(?P<after>以内|之内|以下|以上)?"
)
# The number of a part of the answer (its reasons, its title) is not that of the answer.
_OF_A_PART: Final = re.compile(
    r"\b(?:reasons?|explanation|title|quot\w+|headline)\b|理由|原因|标题|引文|解释|题目", re.IGNORECASE
)
_SCOPE: Final = re.compile(
    r"\b(?P<which>each|every|no|the last|a last|the final|a final|the first|an opening|the opening)"
    r" (?P<unit>word|line|stanza|paragraph|sentence|item)\b",
    re.IGNORECASE,
)
_PER: Final = re.compile(
    r"\b(?:per|in each|in every|a) (?P<unit>line|stanza|paragraph|sentence|item)\b", re.IGNORECASE
)
_ZH_SCOPE: Final = re.compile(r"(?P<which>每一?|最后一|第一)个?(?P<unit>[字词行节段句])(?:话|诗)?")

_LANGUAGES: Final = {
    "中文": "Chinese", "汉语": "Chinese", "英文": "English", "英语": "English", "日文": "Japanese", "日语": "Japanese",
    "韩文": "Korean", "韩语": "Korean", "俄文": "Russian", "俄语": "Russian", "法文": "French", "法语": "French",
    "德文": "German", "德语": "German", "西班牙文": "Spanish", "西班牙语": "Spanish",
}  # fmt: skip
_FORMED: Final[Sequence[tuple[str, str]]] = (
    (
        "bulleted list",
        r"\bbullet(?:ed|-point)?[ -]list|\b(?:as|in|using|with) bullet(?:s|ed points| points)\b|项目符号|无序列表",
    ),
    ("numbered list", r"\bnumbered list|编号列表|带编号"),
    ("JSON", r"\bJSON\b"),
    (
        "no numbers",
        r"\b(?:no|any|without) (?:numbers|digits|figures)\b"
        r"|(?:不(?:要|得|能)?|没有)(?:使用|用|出现|包含)(?:任何)?数字",
    ),
    (
        "no dialogue",
        r"\b(?:no|any|without) dialogues?\b|(?:不(?:要|得|能|可)?|没有)(?:使用|用|出现|有)?(?:任何)?对话",
    ),
    ("upper case", r"\b(?:capital letters|upper ?case|all caps)\b"),
    ("lower case", r"\b(?:lower ?case|small letters)\b"),
)
_NEGATION: Final = re.compile(
    r"\b(?:not|without|avoid\w*|never|no|exclud\w*|cannot|don't|leave out)\b"
    r"|不[要得能可]|没有|避免|禁止|不(?=出现|使用|包含|提)",
    re.IGNORECASE,
)
_USE: Final = re.compile(
    r"\b(?:word|words|name|names|term|terms|phrase|letter|letters|contain\w*|includ\w*|mention\w*|us(?:e|es|ing)|appear\w*|"
    r"occurs?)\b|出现|使用|包含|提到|用到|含有",
    re.IGNORECASE,
)


def check_of(text: str, anchor: str) -> Check | None:
    """Return the check that a constraint states, or ``None`` if a program cannot verify it.

    Args:
        text: what the response must do, in the constraint's own words.
        anchor: the words of the query that it comes from; read where ``text`` does not say it itself.
    """
    if _OF_A_PART.search(text):
        return None
    return read_check(text) or read_check(anchor)


def read_check(text: str) -> Check | None:
    """Return the check that a text states, or ``None``."""
    scope, rest = _scoped(text)
    check = (
        _acrostic(text) or _edge(rest) or _mentions(rest) or _formed(rest) or _counted(rest) or _written(rest)
    )
    if check is None or isinstance(check, Initials) or scope is None:
        return check
    if isinstance(check, Counted) and check.unit == scope[1]:
        return check
    return Within(scope[0], scope[1], check)


def _scoped(text: str) -> tuple[tuple[Literal["each", "first", "last"], Unit] | None, str]:
    """Return which units a text speaks of, and the text without saying so."""
    found = _SCOPE.search(text) or _ZH_SCOPE.search(text)
    if found is None:
        per = _PER.search(text)
        if per is None or not _COUNT.search(text[: per.start()]):
            return None, text
        return ("each", _UNITS[per["unit"].lower()]), text[: per.start()] + text[per.end() :]
    said = found["which"].lower()
    rest = text[: found.start()] + text[found.end() :]
    if said == "no":  # no line longer than six words: each line at most six
        rest = re.sub(r"\b(?:longer|more) than\b", "at most", rest, flags=re.IGNORECASE)
        if rest == text[: found.start()] + text[found.end() :]:
            return None, text
    which: Literal["each", "first", "last"] = (
        "last"
        if re.search("last|final|最后", said)
        else "first"
        if re.search("first|opening|第一", said)
        else "each"
    )
    return (which, _UNITS[found["unit"].lower()]), rest


def _acrostic(text: str) -> Initials | None:
    found = re.search(rf"\bacrostic (?:of|on|for)(?: the (?:word|name))? (?:{_QUOTED}|([A-Z]{{2,}})\b)", text)
    if found:
        return Initials(found[1] or found[2])
    spelled = re.search(r"\bbegin(?:s|ning)? with ((?:[A-Z], )+(?:and )?[A-Z])\b", text)
    return Initials(re.sub(r"[^A-Z]|\band\b", "", spelled[1])) if spelled else None


def _edge(text: str) -> Edge | None:
    if re.search(
        r"\bends? (?:with|in|on) a question\b|以问句结(?:尾|束)|结尾(?:必须|要)?是(?:一个)?问句", text
    ):
        return Edge("end", ("?", "？"), "mark")
    found = re.search(
        rf"\b(?P<how>begin\w*|start\w*|end\w*) (?:with|in) (?:the |an? )?"
        rf"(?P<kind>letter|word|vowel)(?: (?:{_QUOTED}|([\w-]+)))?",
        text,
        re.IGNORECASE,
    )
    if found:
        at: Literal["start", "end"] = "end" if found["how"].lower().startswith("end") else "start"
        if found["kind"].lower() == "vowel":
            return Edge(at, tuple("aeiou"))
        wanted = found[3] or found[4]
        if not wanted or (found["kind"].lower() == "letter" and len(wanted) != 1):
            return None
        return Edge(at, (wanted,), "letter" if found["kind"].lower() == "letter" else "word")
    chinese = re.search(rf"以{_QUOTED}(?:字|词)?(?:作为|为)?(?P<how>开头|开始|结尾|结束)", text)
    if chinese:
        return Edge("start" if chinese["how"] in ("开头", "开始") else "end", (chinese[1],), "word")
    return None


def _mentions(text: str) -> Mentions | None:
    words = tuple(re.findall(_QUOTED, text))
    outside = re.sub(_QUOTED, "", text)
    if not words or not _USE.search(outside):
        return None
    return Mentions(words, wanted=not _NEGATION.search(outside))


def _formed(text: str) -> Formed | None:
    for form, pattern in _FORMED:
        if re.search(pattern, text, re.IGNORECASE):
            negated = form == "no numbers" or form == "no dialogue" or not _NEGATION.search(text)
            return Formed(form) if negated else None
    return None


def _counted(text: str) -> Counted | None:
    found = _COUNT.search(text) or _ZH_COUNT.search(text)
    if found is None or (found.re is _COUNT and not _about_length(text, found)):
        return None
    number, unit = as_number(found["number"]), _UNITS[found["unit"].lower().rstrip("s")]
    if number is None:
        return None
    if found["upper"]:
        return Counted(unit, number, as_number(found["upper"]))
    after = found["after"] or ""
    if re.search("fewer|less|以内|之内|以下", after):
        return Counted(unit, 0, number)
    if re.search("more|以上", after) or found["least"]:
        return Counted(unit, number)
    if found["most"]:
        return Counted(unit, 0, number)
    if found["below"]:
        return Counted(unit, 0, number - 1)
    if found["above"]:
        return Counted(unit, number + 1)
    if found["about"]:
        return Counted(unit, number - number // 10, number + number // 10)
    return Counted(unit, number, number)


def _about_length(text: str, found: re.Match[str]) -> bool:
    """Whether a number of units is how long the answer is, and not how many of them it speaks of."""
    if any(found[name] for name, _ in _OPERATORS):
        return True
    before = text[: found.start()].strip().lower()
    return (
        not before
        or re.search(r"\b(?:in|with|of|is|has|have|be|using|use|contains?|answer|between)$|:$", before)
        is not None
    )


def _written(text: str) -> Written | None:
    names = "|".join(SCRIPTS)
    found = re.search(
        rf"\b(?:answer\w*|repl\w+|respon\w+|writ\w+|text|poem|story|it|is|be)\b(?: \w+){{0,3}}? in ({names})\b(?! \w)",
        text,
    )
    if found:
        return Written(found[1])
    chinese = re.search(rf"用({'|'.join(_LANGUAGES)})", text)
    return Written(_LANGUAGES[chinese[1]]) if chinese else None
