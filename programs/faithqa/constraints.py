"""Constraints as values: anchored in the query's words, compared with each other, and written as lines.

A query that lacks what it speaks of has no constraints of its own: it is refused, and the missing parts are named.
What a response to it should do is always the same (section 5.2), see :func:`constraints_of`.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

import pydantic

from ...signatures.faithqa import Category, Constraint
from ...text.escaping import one_line
from ...text.terms import terms
from .scoring import PRIORITY

MISSING: Final = "missing"
"""The category of an item that is no constraint: its text names what the query lacks."""


class Item(pydantic.BaseModel):
    """What a query is mapped to: one of its constraints, or something that it speaks of and does not bring."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")

    category: Category | Literal["missing"]
    anchor: str = ""
    text: str


_LINE: Final = re.compile(r"^(?P<n>\d+)\. (?P<category>\w+): (?P<text>.*) \[(?P<anchor>[^\[\]]*)\]$")
_TEXT, _CATEGORY, _PRIORITY = 0.5, 0.3, 0.2  # what parts of two constraints weigh when they are compared


def similarity(gold: Item, other: Item) -> float:
    """Return how far two items are the same, in [0, 1].

    Constraints: half for the words of their anchors (Dice), 0.3 for the category, 0.2 for the priority; 0 if their
    anchors share no word. Missing parts are the same or not.
    """
    if gold.category == MISSING or other.category == MISSING:
        return float(gold.category == other.category and _folded(gold.text) == _folded(other.text))
    one, two = set(terms(gold.anchor)), set(terms(other.anchor))
    shared = 2 * len(one & two) / (len(one) + len(two)) if one or two else float(gold.anchor == other.anchor)
    if not shared:
        return 0.0
    same = _CATEGORY * (gold.category == other.category)
    return _TEXT * shared + same + _PRIORITY * (PRIORITY[gold.category] == PRIORITY[other.category])


def anchored(constraints: Iterable[Constraint], query: str) -> list[Constraint]:
    """Return the constraints whose anchors stand in the query; capitals and spaces do not matter."""
    words = _folded(query)
    return [one for one in constraints if one.anchor.strip() and _folded(one.anchor) in words]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def missing_of(items: Iterable[Item]) -> list[str]:
    """Return what is missing."""
    return [item.text for item in items if item.category == MISSING]


def constraints_of(items: Sequence[Item]) -> tuple[Constraint, ...]:
    """Return what a response has to meet: the constraints, or, of a query that lacks parts, what section 5.2 asks.

    Such a response says what is missing, asks for it or declines, and makes nothing up.
    """
    parts = " and the ".join(missing_of(items))
    if not parts:
        return tuple(Constraint.model_validate(item.model_dump()) for item in items)
    return (
        Constraint(category="subject", anchor="", text=f"the response says that the {parts} is missing"),
        Constraint(
            category="action", anchor="", text=f"it asks for the {parts}, or declines to go on without it"
        ),
        Constraint(
            category="other",
            anchor="",
            text=f"it does not make up the {parts}, nor put another task in the place of the one that was set",
        ),
    )


def line_of(constraint: Constraint) -> str:
    """Return a constraint on one line: ``time: it was published after 1980 [after 1980]``."""
    anchor = one_line(constraint.anchor).replace("[", "(").replace("]", ")")
    return f"{constraint.category}: {one_line(constraint.text)} [{anchor}]"


def lines_of(constraints: Iterable[Constraint]) -> str:
    """Return constraints as numbered lines."""
    return "\n".join(f"{number}. {line_of(one)}" for number, one in enumerate(constraints, 1))


def parse_lines(text: str) -> dict[int, Constraint]:
    """Return the constraints of numbered lines by their numbers; other lines, as users may write, are left out."""
    found: dict[int, Constraint] = {}
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        if match and match["category"] in PRIORITY:
            fields: dict[str, Any] = {name: match[name] for name in ("category", "anchor", "text")}
            found[int(match["n"])] = Constraint(**fields)
    return found
