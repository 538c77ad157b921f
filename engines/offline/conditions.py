"""What the evidence reader sees of a query: which material is missing, and which conditions its words set.

Rules, not understanding: patterns of commands, numbers, places, times, negations and forms, English and Chinese, in
``data/conditions.toml``. It sees what is written in the usual words; a condition put another way is not found.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from ...text.measures import as_number
from ...text.tables import filled, table
from ...text.terms import CJK_STOP, is_cjk

__all__ = ["Condition", "conditions", "instruction_of", "missing_parts"]

_DATA: Final = table(__package__, "conditions")
_HEAD: Final = "@head"
_COUNTED: Final = re.compile(
    r"(?P<number>two|three|four|five|[两二三四五2345])\s*(?:given |following )?篇?(?P<what>[^\W\d_]+)"
)
_CHUNK: Final = re.compile(r"[^\x00,.;:?!()\n，。；：？！]+")
_EDGES: Final[Mapping[str, Collection[str]]] = {
    "english": frozenset(_DATA["english"]["edges"].split()),
    "chinese": CJK_STOP | {*_DATA["chinese"]["edges"]},
}


@dataclass(frozen=True)
class Condition:
    """A condition that a query sets: its category and the words of the query that set it, from ``start`` on."""

    category: str
    anchor: str
    start: int


def instruction_of(query: str) -> str:
    """Return what a query asks, without the material that it brings along under labels."""
    first = _label().search(query)
    return query[: first.start()].strip() if first else query.strip()


def missing_parts(query: str) -> list[str]:
    """Return what a query speaks of and does not bring: ``query``, ``response``, ``article`` or ``article 2``.

    A query without any labelled material needs none, unless it says that an article or a response was sent with it,
    and nothing follows.
    """
    found = list(_label().finditer(query))
    ends = [*(label.start() for label in found[1:]), len(query)][: len(found)]
    bodies = [
        (_part_name(label["name"]), label["number"] or "", query[label.end() : end].strip())
        for label, end in zip(found, ends, strict=True)
    ]
    missing = [f"{name} {number}".strip() for name, number, body in bodies if not body]
    numbers = {int(number) for name, number, _ in bodies if name == "article" and number}
    asked = instruction_of(query)
    wanted = max([*numbers, *(as_number(one["number"]) or 0 for one in _counted_articles(asked))], default=0)
    if numbers:
        missing += [f"article {number}" for number in range(1, wanted + 1) if number not in numbers]
    absent = set(_DATA["parts"]) - ({name for name, _, _ in bodies} or {"query"})
    said = _DATA["given"]["labelled" if bodies else "unlabelled"]
    return sorted({*missing, *(name for name in absent if _said(said, name, asked))})


def conditions(query: str) -> list[Condition]:
    """Return the conditions that the words of a query set, in its order; none that only its material holds."""
    asked = instruction_of(query)
    left, found = asked, list[Condition]()
    for category, patterns in _rules(_language(asked)):
        for pattern in patterns:
            spans = [one.span() for one in pattern.finditer(left)] if pattern else _chunks(left, asked)
            for start, end in spans:
                anchor = asked[start:end].strip(" ,.;")
                if anchor and "\0" not in left[start:end]:
                    found.append(Condition(category, anchor, asked.index(anchor, start)))
                    left = left[:start] + "\0" * (end - start) + left[end:]
    return sorted(found, key=lambda one: one.start)


def _chunks(left: str, asked: str) -> list[tuple[int, int]]:
    """Return what no rule has taken, without the words at its edges that set no condition: at most two."""
    language = _language(asked)
    return [span for chunk in _CHUNK.finditer(left) if (span := _trimmed(left, *chunk.span(), language))][:2]


def _trimmed(text: str, start: int, end: int, language: str) -> tuple[int, int] | None:
    least, most = _DATA[language]["subject"]
    words = list(re.finditer(_DATA[language]["word"], text[start:end]))
    while words and words[0][0].lower() in _EDGES[language]:
        words.pop(0)
    while words and words[-1][0].lower() in _EDGES[language]:
        words.pop()
    return (start + words[0].start(), start + words[-1].end()) if least <= len(words) <= most else None


def _language(text: str) -> str:
    return "chinese" if is_cjk(text) else "english"


@cache
def _rules(language: str) -> list[tuple[str, list[re.Pattern[str] | None]]]:
    """Return each rule's category and patterns, in their order; ``None`` stands for what no rule has taken."""
    return [
        (rule["category"], [_compiled(one, language) for one in rule["patterns"]])
        for rule in _DATA[language]["rules"]
    ]


def _compiled(pattern: str, language: str) -> re.Pattern[str] | None:
    if pattern == _HEAD:
        return None
    pattern = filled(pattern, _DATA[language]["words"])
    bounded = rf"(?=\b|[\"“(])(?:{pattern})" if language == "english" else pattern
    # A pattern that speaks of capitals means them.
    return re.compile(bounded, 0 if "A-Z" in pattern else re.IGNORECASE)


@cache
def _label() -> re.Pattern[str]:
    names = "|".join(_DATA["parts"].values())
    return re.compile(
        rf"^[ \t]*(?P<name>{names})[ \t]*(?P<number>\d*)[ \t]*[:：]", re.IGNORECASE | re.MULTILINE
    )


def _part_name(said: str) -> str:
    parts: dict[str, str] = _DATA["parts"]
    return next(name for name, words in parts.items() if re.fullmatch(words, said, re.IGNORECASE))


def _counted_articles(asked: str) -> list[re.Match[str]]:
    return [
        one for one in _COUNTED.finditer(asked.lower()) if re.match(_DATA["parts"]["article"], one["what"])
    ]


def _said(pattern: str, name: str, asked: str) -> bool:
    """Whether an instruction speaks of a piece of material as something that is there."""
    return re.search(filled(pattern, {"part": _DATA["parts"][name]}), asked, re.IGNORECASE) is not None
