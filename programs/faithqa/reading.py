"""Reading a check from the words of a constraint, in English and Chinese.

The rules are narrow on purpose: what they do not recognise is no check, and is judged like any other constraint.
"""

import re
from typing import Any, Final, Literal

from ...text.measures import CHINESE_NUMBER, NUMBER, Unit, as_number
from ...text.tables import filled, table
from .checks import Check, Counted, Edge, Formed, Initials, Mentions, Within, Written

_DATA: Final[dict[str, Any]] = table(__package__, "forms")
_QUOTED: Final = r"[\"“‘「『']([^\"”’」』']{1,200})[\"”’」』']"
_UNITS: Final[dict[str, Unit]] = _DATA["units"]
_WORDS: Final = {
    "operator": "|".join(rf"(?P<{name}>{words})" for name, words in _DATA["operators"].items()),
    "number": NUMBER,
    "zh_number": CHINESE_NUMBER,
    "quoted": _QUOTED,
    "language": "|".join(_DATA["scripts"]),
    "zh_language": "|".join(_DATA["languages"]),
}
_CASED: Final = ("acrostic", "spelled", "written")  # these speak of capitals
_PATTERNS: Final = {
    name: re.compile(filled(pattern, _WORDS), 0 if name in _CASED else re.IGNORECASE)
    for name, pattern in _DATA["patterns"].items()
}
_NEGATION: Final = re.compile(_DATA["negation"], re.IGNORECASE)
_PLAIN_BAN: Final = ("no numbers", "no dialogue")  # forms that are put as a ban


def _said(name: str, text: str) -> re.Match[str] | None:
    return _PATTERNS[name].search(text)


def check_of(text: str, anchor: str) -> Check | None:
    """Return the check that a constraint states, or ``None`` if a program cannot verify it."""
    if re.search(_DATA["of_a_part"], text, re.IGNORECASE):
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
    found = _said("scope", text)
    if found is None:
        per = _said("per", text)
        if per is None or not _said("count", text[: per.start()]):
            return None, text
        return ("each", _UNITS[per["unit"].lower()]), text[: per.start()] + text[per.end() :]
    which, unit = (found["which"] or found["zh_which"]).lower(), found["unit"] or found["zh_unit"]
    rest = text[: found.start()] + text[found.end() :]
    if which == "no":  # no line longer than six words: each line at most six
        rest, changed = re.subn(r"\b(?:longer|more) than\b", "at most", rest, flags=re.IGNORECASE)
        if not changed:
            return None, text
    if re.search("last|final|最后", which):
        return ("last", _UNITS[unit.lower()]), rest
    return ("first" if re.search("first|opening|第一", which) else "each", _UNITS[unit.lower()]), rest


def _acrostic(text: str) -> Initials | None:
    if found := _said("acrostic", text):
        return Initials(found[1] or found[2])
    spelled = _said("spelled", text)
    return Initials(re.sub(r"[^A-Z]|\band\b", "", spelled[1])) if spelled else None


def _edge(text: str) -> Edge | None:
    if _said("question", text):
        return Edge("end", ("?", "？"), "mark")
    found = _said("edge", text)
    if found is None:
        return None
    if found["zh_how"]:
        return Edge("start" if found["zh_how"] in ("开头", "开始") else "end", (found[5],), "word")
    at: Literal["start", "end"] = "end" if found["how"].lower().startswith("end") else "start"
    kind, wanted = found["kind"].lower(), found[3] or found[4]
    if kind == "vowel":
        return Edge(at, tuple("aeiou"))
    if not wanted or (kind == "letter" and len(wanted) != 1):
        return None
    return Edge(at, (wanted,), "letter" if kind == "letter" else "word")


def _mentions(text: str) -> Mentions | None:
    words = tuple(re.findall(_QUOTED, text))
    outside = re.sub(_QUOTED, "", text)
    if not words or not re.search(_DATA["use"], outside, re.IGNORECASE):
        return None
    return Mentions(words, wanted=not _NEGATION.search(outside))


def _formed(text: str) -> Formed | None:
    for form, pattern in _DATA["forms"].items():
        if re.search(pattern, text, re.IGNORECASE):
            return Formed(form) if form in _PLAIN_BAN or not _NEGATION.search(text) else None
    return None


def _counted(text: str) -> Counted | None:
    found, chinese = _said("count", text), _said("zh_count", text)
    if found is not None and not _about_length(text, found):
        return None
    said = found or chinese
    number = as_number(said["number"]) if said else None
    if said is None or number is None:
        return None
    unit = _UNITS[said["unit"].lower().rstrip("s")]
    if said["upper"]:
        return Counted(unit, number, as_number(said["upper"]))
    return Counted(unit, *_bounds(said, number))


def _bounds(said: re.Match[str], number: int) -> tuple[int, int | None]:
    after = said["after"] or ""
    if said["most"] or re.search("fewer|less|以内|之内|以下", after):
        return 0, number
    if said["least"] or re.search("more|以上", after):
        return number, None
    if said["below"]:
        return 0, number - 1
    if said["above"]:
        return number + 1, None
    slack = number // 10 if said["about"] else 0
    return number - slack, number + slack


def _about_length(text: str, found: re.Match[str]) -> bool:
    """Whether a number of units is how long the answer is, and not how many of them it speaks of."""
    before = text[: found.start()].strip()
    return any(found[name] for name in _DATA["operators"]) or not before or bool(_said("length", before))


def _written(text: str) -> Written | None:
    found = _said("written", text)
    return Written(found[1] or _DATA["languages"][found[2]]) if found else None
