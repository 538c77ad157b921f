"""Which constraints code marks, and how: only those that nobody could read or count in another way.

Satisfaction is the model's to judge (section 4.2), but models fail on numbers of words and on letters at line ends
(section 8); what they see as well as code does (forms, languages) is left to them. A constraint is code's if its whole
text matches a pattern of ``data/forms.toml``; a response is marked if all ways of counting agree: with and without what
may be a title or a remark, by blank lines or by all, with compounds as one word or as several.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ...signatures.faithqa import Mark
from ...text.measures import CHINESE_NUMBER, NUMBER, Unit, as_number, letters, parts
from ...text.tables import filled, table

_DATA: Final[dict[str, Any]] = table(__package__, "forms")
_LONGEST: Final = 300  # characters of what is read as a constraint or as a refusal


@dataclass(frozen=True)
class Finding:
    """What was found in a text."""

    holds: bool | None  # ``None`` if it can be taken in two ways
    evidence: str
    lacking: bool = False  # not met because there is less than was asked, rather than something else


def refused(response: str) -> bool:
    """Say whether a response does no more than decline."""
    text = " ".join(response.replace("’", "'").split()).lower()
    return len(text) <= _LONGEST and re.fullmatch(_DATA["refusal"], text) is not None


Check: TypeAlias = Callable[[str], Finding]


def marked(constraint: str, response: str) -> tuple[Mark, str] | None:
    """Return the mark that code gives and its evidence, or ``None`` where the model is asked."""
    check = read_check(constraint)
    if check is None:
        return None
    found = [check(text) for text in _readings(response)]
    if len({one.holds for one in found}) > 1 or found[0].holds is None:
        return None
    mark: Mark = "satisfied" if found[0].holds else "omitted" if found[0].lacking else "misinterpreted"
    return mark, found[0].evidence


def read_check(constraint: str) -> Check | None:
    """Return the check that the whole of a constraint states, or ``None``."""
    text = " ".join(unicodedata.normalize("NFC", constraint).split()).strip(" .。").lower()
    for name, pattern in _PATTERNS.items() if len(text) <= _LONGEST else ():
        if found := pattern.fullmatch(text):
            check = _CHECKS[name.removeprefix("zh_")](found)
            return _of_each(found, check) if check else None
    return None


def _readings(text: str) -> Iterator[str]:
    """Yield a text, and the same without a first line that may be a title and a last one that may be a remark."""
    text = text.strip()
    yield text
    first, _, rest = text.partition("\n")
    apart = rest.startswith("\n") and re.search(r"\S\n\S", rest) and not re.search(r"[.!?。！？,，]$", first)
    if rest.strip() and (apart or re.match(r"#|\*\*|.*[:：]\s*$", first)):
        yield rest.strip()
    before, _, last = text.rpartition("\n")
    if before.strip() and re.match(r"[(（\[*_]|.*\b(?:count|total|words)\b|.*字数", last, re.IGNORECASE):
        yield before.strip()


def _of_each(found: re.Match[str], check: Check) -> Check:
    """Return the check of the whole text, or that of each of its lines, sentences, ..., if the constraint says so."""
    each = found.groupdict().get("each")
    if each is None:
        return check
    unit: Unit = _DATA["units"][each]

    def of_each(text: str) -> Finding:
        units = [check(part) for part in parts(text, unit)]
        if not units:
            return Finding(False, f"no {unit}", lacking=True)
        for one in units:
            if not one.holds:
                return Finding(one.holds, f"a {unit} with {one.evidence}", one.lacking)
        return Finding(True, f"{len(units)} of {len(units)} {unit}s")

    return of_each


def _counts(text: str, unit: Unit) -> set[int]:
    """Return how many units a text has, in each way of counting them; the usual one is among them."""
    counts = {len(parts(text, unit))}
    match unit:
        case "word":
            counts.add(len(parts(re.sub(r"[-–—/]", " ", text), "word")))
            if re.search("[\u4e00-\u9fff]", text):  # Chinese counts may take marks for characters
                counts.add(len("".join(text.split())))
        case "sentence":
            ends = re.split(r"[.!?…]+[\"”’)\]]*(?:\s+|$)|[。！？…]+[”’」』）]*", text)
            counts.add(sum(bool(letters(one)) for one in ends))
        case "paragraph":
            counts |= {len(parts(text, "stanza"))}
    return counts


def _counted(found: re.Match[str]) -> Check | None:
    number, upper = as_number(found["number"]), as_number(found.groupdict().get("upper") or "")
    if number is None:
        return None
    unit: Unit = _DATA["units"][re.sub("s$", "", found["unit"])]
    after = found["after"] or ""
    low, high = number, float(number if upper is None else upper)
    if found["most"] or re.search("fewer|less|以内|之内|以下", after):
        low = 0
    elif found["least"] or re.search("more|以上", after):
        high = float("inf")
    elif found["below"]:
        low, high = 0, number - 1
    elif found["above"]:
        low, high = number + 1, float("inf")

    def check(text: str) -> Finding:
        usual, sure = len(parts(text, unit)), {low <= count <= high for count in _counts(text, unit)}
        evidence = f"{usual} {unit}{'' if usual == 1 else 's'}"
        return Finding(sure.pop() if len(sure) == 1 else None, evidence, lacking=usual < low)

    return check


def _mentions(wanted: bool) -> Callable[[re.Match[str]], Check]:
    def of(found: re.Match[str]) -> Check:
        words = re.findall(_DATA["words"]["quoted"], found[0])

        def check(text: str) -> Finding:
            text = text.lower()
            whole = [re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None for word in words]
            within = [
                word in text for word in words
            ]  # a Chinese word has no boundary that a program could see
            whole = [
                held or (part and not word.isascii())
                for held, part, word in zip(whole, within, words, strict=True)
            ]
            sure, open_ = (all(whole), all(within)) if wanted else (not any(within), not any(whole))
            shown = ", ".join(word for word, held in zip(words, whole, strict=True) if held)
            return Finding(sure if sure == open_ else None, f"found: {shown or 'none'}", lacking=wanted)

        return check

    return of


def _edge(found: re.Match[str]) -> Check | None:
    quoted = re.findall(_DATA["words"]["quoted"], found[0])
    wanted = quoted[0] if quoted else found["bare"]
    at_end = found["how"] in ("end", "结尾", "结束")
    if not letters(wanted):
        return None

    def check(text: str) -> Finding:
        if "letter" in found[0] or not wanted.isascii():
            plain = letters(text)
            holds = plain.endswith(letters(wanted)) if at_end else plain.startswith(letters(wanted))
            return Finding(holds, f"{plain[-8:] if at_end else plain[:8]!r}")
        words, size = [letters(word) for word in parts(text, "word")], len(wanted.split())
        said = words[-size:] if at_end else words[:size]
        return Finding(said == [letters(word) for word in wanted.split()], f"{' '.join(said)!r}")

    return check


def _without_letter(found: re.Match[str]) -> Check:
    letter = next(one for one in (*re.findall(_DATA["words"]["quoted"], found[0]), found["bare"]) if one)
    return lambda text: Finding(letter not in text.lower(), f"{text.lower().count(letter)} of {letter!r}")


_CHECKS: Final[dict[str, Callable[[re.Match[str]], Check | None]]] = {
    "count": _counted,
    "ban": _mentions(wanted=False),
    "use": _mentions(wanted=True),
    "letter": _without_letter,
    "edge": _edge,
}
_WORDS: Final = {
    **_DATA["words"],
    "a_number": NUMBER,
    "zh_number": CHINESE_NUMBER,
}
_PATTERNS: Final = {name: re.compile(filled(pattern, _WORDS)) for name, pattern in _DATA["patterns"].items()}
