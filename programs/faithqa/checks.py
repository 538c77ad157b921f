"""Conditions on the form of a text that a program verifies, so that no model has to count.

The paper finds that models fail on exactly these: numbers of words and letters at the ends of lines (section 8).
A check says whether a text meets it and by what evidence, or that it cannot see it. The rules that read a check from
the words of a constraint, in English and Chinese, are narrow on purpose: what they do not recognise is no check, and is
judged like any other constraint. So is what needs an ear or a judgement (rhyme, mood, being short).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from ...text.measures import CHINESE_NUMBER, NUMBER, Unit, as_number, letters, parts, plain_items
from ...text.tables import filled, table

_DATA: Final[dict[str, Any]] = table(__package__, "forms")


@dataclass(frozen=True)
class Finding:
    """What a check found."""

    holds: bool | None  # whether the text meets it; ``None`` if the check cannot see it
    evidence: str  # what was counted or found
    lacking: bool = False  # not met because there is less than was asked, rather than something else


class Check(Protocol):
    """A condition that a program can verify."""

    def verify(self, text: str) -> Finding:
        """Return whether ``text`` meets the condition."""


@dataclass(frozen=True)
class Counted:
    """The number of units lies between two bounds, both included; ``high=None`` is no upper bound."""

    unit: Unit
    low: int
    high: int | None = None

    def verify(self, text: str) -> Finding:
        """Count. A text without any list has no items to count: that is not seen."""
        count = len(parts(text, self.unit))
        if self.unit == "item" and not count:
            return Finding(None, "no list")
        holds = self.low <= count and (self.high is None or count <= self.high)
        return Finding(holds, f"{count} {self.unit}{'' if count == 1 else 's'}", lacking=count < self.low)


@dataclass(frozen=True)
class Edge:
    """The text begins or ends with one of these: letters, whole words, or a mark such as ``?``."""

    at: Literal["start", "end"]
    options: tuple[str, ...]
    kind: Literal["letter", "word", "mark"] = "letter"

    def verify(self, text: str) -> Finding:
        """Look at the first or the last letter, words or mark; punctuation and case do not count for the first two."""
        wanted = [self._units(option) for option in self.options]
        units, length = self._units(text), max(map(len, wanted))
        found = units[:length] if self.at == "start" else units[-length:]
        return Finding(found in wanted, f"{self.at}: {' '.join(found)!r}")

    def _units(self, text: str) -> list[str]:
        match self.kind:
            case "mark":
                return list(text.strip().strip("\"'”’」』)*_"))
            case "letter":
                return list(letters(text))
            case "word":
                return [letters(word) for word in parts(text, "word")]


@dataclass(frozen=True)
class Mentions:
    """Words that must all occur (``wanted``), or of which none may, as whole words in any case."""

    words: tuple[str, ...]
    wanted: bool = True

    def verify(self, text: str) -> Finding:
        """Look for each of them."""
        held = [word for word in self.words if _occurs(word, text)]
        holds = len(held) == len(self.words) if self.wanted else not held
        return Finding(holds, f"found: {', '.join(held) or 'none'}", lacking=self.wanted)


def _occurs(word: str, text: str) -> bool:
    # A Chinese word has no boundaries that a program could see.
    edge = r"\b" if word.isascii() else ""
    return re.search(f"{edge}{re.escape(word)}{edge}", text, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Initials:
    """The first letters of the lines spell a word: an acrostic."""

    word: str

    def verify(self, text: str) -> Finding:
        """Read down the lines."""
        found = "".join(letters(line)[:1] for line in parts(text, "line"))
        return Finding(found == letters(self.word), f"the lines begin with {found.upper()!r}")


@dataclass(frozen=True)
class Within:
    """Another check, of each unit of the text or of its first or last one."""

    which: Literal["each", "first", "last"]
    unit: Unit
    check: Check

    def verify(self, text: str) -> Finding:
        """Verify the units; the evidence names the first that fails. A text without any does not meet it."""
        units = parts(text, self.unit)
        if not units:
            return Finding(False, f"no {self.unit}", lacking=True)
        chosen = {"each": units, "first": units[:1], "last": units[-1:]}[self.which]
        for part in chosen:
            found = self.check.verify(part)
            if not found.holds:
                return Finding(found.holds, f"{self.unit} {part[:60]!r}: {found.evidence}", found.lacking)
        return Finding(True, f"{len(chosen)} of {len(chosen)} {self.unit}s; the last: {found.evidence}")


def _is_list(text: str, marker: int) -> bool:
    """Whether a text is a list of two items or more with this kind of marker, after one line that leads in."""
    found, lines = plain_items(text), parts(text, "line")
    return (
        found[marker] >= 2
        and found[1 - marker] == 0
        and not any(parts(line, "item") == [] for line in lines[1:])
    )


def _is_json(text: str) -> bool:
    bare = re.sub(r"^```(?:json)?\s*\n(.*)\n```\s*$", r"\1", text.strip(), flags=re.DOTALL)
    try:
        return isinstance(json.loads(bare), dict | list)
    except ValueError:
        return False


FORMS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bulleted list": lambda text: _is_list(text, 0),
    "numbered list": lambda text: _is_list(text, 1),
    "JSON": _is_json,
    "no numbers": lambda text: not re.search(_DATA["numeral"], text, re.IGNORECASE),
    "no dialogue": lambda text: not re.search(r"[“”\"「」『』]", text),
    "upper case": lambda text: text == text.upper() and text != text.lower(),
    "lower case": lambda text: text == text.lower() and text != text.upper(),
}
"""Form -> whether a text has it. Dialogue is what stands in quotation marks."""


@dataclass(frozen=True)
class Formed:
    """The text has one of :data:`FORMS`."""

    form: str

    def verify(self, text: str) -> Finding:
        """Look at the whole text."""
        holds = FORMS[self.form](text)
        return Finding(holds, self.form if holds else f"not: {self.form}", lacking="list" in self.form)


SCRIPTS: Final[Mapping[str, str]] = _DATA["scripts"]
"""Language -> the letters it is written in."""


@dataclass(frozen=True)
class Written:
    """The text is written in a language of :data:`SCRIPTS`, as far as its letters show.

    More than half of the letters must be of its script. Languages that share the Latin script are not told apart:
    a text in it is then not seen.
    """

    language: str

    def verify(self, text: str) -> Finding:
        """Count the letters of the script."""
        every = [character for character in text if character.isalpha()]
        script = SCRIPTS[self.language]
        mine = sum(re.match(script, character) is not None for character in every)
        share = mine / len(every) if every else 0.0
        evidence = f"{share:.0%} of the letters are those of {self.language}"
        if share > 0.5 and "A-Z" in script:
            return Finding(None, f"{evidence}, and of other languages")
        return Finding(share > 0.5, evidence)


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
