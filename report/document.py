"""A report as a value: sections of tables, lines, changed texts and cases. :mod:`.page` shows it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NotRequired, TypeAlias, TypedDict

from .table import Table

Tone: TypeAlias = Literal["good", "bad", "open"]
"""What an outcome is to people: something was shown, something is wrong, or nothing is shown."""
Change: TypeAlias = Literal["same", "added", "removed"]
_CHANGES: tuple[Change, ...] = ("same", "added", "removed")


class Word(NamedTuple):
    """A run of words of a text that was changed."""

    text: str
    change: Change


@dataclass(frozen=True, kw_only=True)
class Changes:
    """A text, or a list of texts, before and after."""

    title: str  # which text
    words: tuple[Word, ...]  # all of it
    examples: tuple[str, ...] = ()  # texts that were added to it as they are, such as demonstrations

    @property
    def rewritten(self) -> bool:
        """Whether so little stayed that marked words cannot be read, and both texts stand beside each other."""
        letters = dict.fromkeys(_CHANGES, 0)
        for word in self.words:
            letters[word.change] += len(word.text)
        return 2 * letters["same"] < max(letters["added"], letters["removed"]) and min(letters.values()) > 0


class UnitEntry(TypedDict):
    """A unit of a case, in the words of the page."""

    text: str  # empty where it is one of the inputs
    gold: str
    said: list[str]  # by each system
    # the names under which gold and what each system said are counted
    names: NotRequired[list[str]]
    sure: list[float | None]  # how sure each system was, 0 to 1
    became: str  # a kind of :attr:`Cases.kinds`


class AnswerNote(TypedDict):
    """A system's answer to a whole case."""

    system: str
    status: str
    reasoning: str
    error: str


class CaseEntry(TypedDict):
    """A case as JSON values, for the script of the page."""

    id: str
    group: str
    source: str
    kinds: list[str]  # at least one
    inputs: list[list[str]]  # pairs of a name and a text
    units: list[UnitEntry]
    notes: list[AnswerNote]


@dataclass(frozen=True, kw_only=True)
class Cases:
    """Cases to be read, searched and filtered."""

    systems: tuple[str, ...]  # who judged, such as ``basic`` and ``compiled``
    # (name, tone, what it means) of what can have become of a case, in the order in which they are read
    kinds: tuple[tuple[str, Tone, str], ...]
    units: Mapping[str, int]  # kind -> units that it happened to; empty where that is not counted
    cases: Sequence[CaseEntry] = field(repr=False)
    note: str = ""  # what has to be said beside them; empty if nothing


class Link(NamedTuple):
    """A line that opens the cases that it counts."""

    text: str
    # the fields of the page's address: ``kind``, ``gold``, ``by`` and ``said``, ``group``
    filters: Mapping[str, str]


Part: TypeAlias = Table | Changes | Cases | Link | str
"""What a section has; texts that follow each other are the lines of one list."""


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading."""

    name: str  # one word, for the address and the list of sections
    title: str  # the heading
    parts: Sequence[Part] = ()  # what is in it
    intro: str = ""  # one or two sentences for people who are not statisticians; may be empty
    folded: bool = False  # whether only its heading is seen until somebody opens it


@dataclass(frozen=True, kw_only=True)
class Document:
    """A report."""

    subject: str  # what it is about, such as ``fect@2``
    about: str  # one line on its origin
    headline: str  # the outcome in a few words
    tone: Tone  # what kind of outcome it is
    lead: Sequence[str] = ()  # what the outcome rests on, and what has to be known of it; one statement each
    front: Sequence[Section] = ()  # what the first screen answers, beside each other
    sections: Sequence[Section]  # in the order in which they are read; those without a part are left out


def readable_text(value: object, indent: int | None = 1) -> str:
    """Return a value for people to read: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=indent)
