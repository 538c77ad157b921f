"""What a query sets and what it lacks, where its words leave little doubt; English and Chinese (data/filler.toml).

Few and right: conditions put in other words are not found.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from ...text.tables import table
from ...text.wording import is_chinese

_LABEL: Final = re.compile(
    r"^[ \t]*(?P<name>query|article|response|问题|文章|回答)[ \t]*(?P<number>\d*)[ \t]*[:：]", re.I | re.M
)
_PARTS: Final = {"问题": "query", "文章": "article", "回答": "response"}
_CLAUSE: Final = re.compile(r"[^\0,.;:?!，。；：？！\n]+")
_HEAD: Final = re.compile(
    r"(?:\s|(?:and|or|the|of|about|it|that|which|must|on|to|for|have|has|be|set)\b|请|并|关于|的|要求)+", re.I
)
_TAIL: Final = re.compile(r"(?:\s|\b(?:and|or|that|which|of|the|to|set)|的)+$", re.I)


@dataclass(frozen=True)
class Condition:
    """A condition that a query sets: its category and the words of the query that set it, from ``start`` on."""

    category: str
    anchor: str
    start: int


def instruction_of(query: str) -> str:
    """Return what a query asks, without the material that it brings along under labels."""
    first = _LABEL.search(query)
    return query[: first.start()].strip() if first else query.strip()


def missing_parts(query: str) -> list[str]:
    """Return what stands in a query as an empty label, or is left out of numbered ones."""
    labels = list(_LABEL.finditer(query))
    ends = [*(label.start() for label in labels[1:]), len(query)]
    missing, numbers = set(), set()
    for label, end in zip(labels, ends, strict=False):
        name = _PARTS.get(label["name"], label["name"].lower())
        numbers |= {int(label["number"])} if label["number"] else set()
        if not query[label.end() : end].strip():
            missing.add(f"{name} {label['number']}".strip())
    gaps = set(range(1, max(numbers, default=0) + 1)) - numbers
    return sorted(missing | {f"article {number}" for number in gaps})


def conditions(query: str) -> list[Condition]:
    """Return the conditions of a query in its order: what the rules read, and the subject or quality that is left."""
    asked = instruction_of(query)
    left, found = asked, list[Condition]()
    for category, pattern in _rules("chinese" if is_chinese(asked) else "english"):
        for match in pattern.finditer(left):
            start, anchor = _trimmed(match)
            if anchor and "\0" not in match[0]:
                found.append(Condition(category, anchor, start))
                left = left[: match.start()] + "\0" * len(match[0]) + left[match.end() :]
    for clause in _CLAUSE.finditer(left):
        start, anchor = _trimmed(clause)
        if len(anchor) > 1:
            subject = not any(one.category == "subject" for one in found)
            found.append(Condition("subject" if subject else "qualifier", anchor, start))
    return sorted(found, key=lambda one: one.start)


def elements(query: str) -> dict[str, list[str]]:
    """Return the core elements of a query: subject, action, and the context of place and time."""
    found = conditions(query)
    of = {"subject": ("subject",), "action": ("action",), "context": ("location", "time")}
    return {name: [one.anchor for one in found if one.category in kinds] for name, kinds in of.items()}


def answerable(query: str) -> bool:
    """Whether a query asks for something and lacks nothing."""
    return bool(conditions(query)) and not missing_parts(query)


def _trimmed(match: re.Match[str]) -> tuple[int, str]:
    """Return where the words of a match begin and what they are, without those at its edges that set nothing."""
    head = _HEAD.match(match[0])
    start = head.end() if head else 0
    return match.start() + start, _TAIL.sub("", match[0][start:])


@cache
def _rules(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = table(__package__, "filler")["condition"]
    return tuple((row["category"], re.compile(row[language])) for row in rows)
