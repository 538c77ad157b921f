"""Reports as values: sections with tables, plots, lines, changed texts and cases. :mod:`.page` makes a page of one."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NotRequired, TypeAlias, TypedDict

from ..text.images import ImageError, ImageReference
from .table import Table

Tone: TypeAlias = Literal["good", "bad", "open"]
"""The tone of an outcome: ``good``, something was shown; ``bad``, something is wrong; ``open``, nothing was shown."""
KindTone: TypeAlias = Tone | Literal["plain"]
"""The tone of what became of a unit: ``plain`` for a verdict, which is neither right nor wrong in itself."""
Change: TypeAlias = Literal["same", "added", "removed"]
_CHANGES: tuple[Change, ...] = ("same", "added", "removed")


class Word(NamedTuple):
    """A run of words in the comparison of two versions of a text."""

    text: str
    change: Change


@dataclass(frozen=True, kw_only=True)
class Changes:
    """A text, or a list of texts, before and after."""

    title: str  # the name of the text
    words: tuple[Word, ...]  # the whole comparison, in order
    examples: tuple[str, ...] = ()  # texts that were added without change, such as demonstrations

    @property
    def rewritten(self) -> bool:
        """Whether so little stayed that the page shows both texts beside each other instead of marking words."""
        letters = dict.fromkeys(_CHANGES, 0)
        for word in self.words:
            letters[word.change] += len(word.text)
        return 2 * letters["same"] < max(letters["added"], letters["removed"]) and min(letters.values()) > 0


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A drawing, and what it shows in words and figures."""

    title: str  # its heading
    description: str  # a sentence on what is drawn
    svg: str  # an element of SVG, in which every text is escaped
    table: Table  # the same figures


class UnitEntry(TypedDict):
    """A unit of a case, as the texts that the page shows."""

    text: str  # the unit's text; empty if it is one of the inputs, which are shown anyway
    gold: str  # the gold label
    said: list[str]  # the value that each system gave; empty if it gave none
    # the categories of gold and of each system's value, by which the page filters; left out if they are the texts
    names: NotRequired[list[str]]
    sure: list[float | None]  # how sure each system was, 0 to 1
    became: str  # the name of one of :attr:`Cases.kinds`


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
    kinds: list[str]  # names of :attr:`Cases.kinds`, at least one
    inputs: list[list[str]]  # a name and a text each, or a name, the address of an image, and "image"
    units: list[UnitEntry]
    notes: list[AnswerNote]


@dataclass(frozen=True, kw_only=True)
class Cases:
    """Cases that the page shows, searches and filters."""

    systems: tuple[str, ...]  # the names of the judging systems, such as ``basic`` and ``compiled``
    # (name, tone, meaning) of the outcomes that a case can have, such as ``corrected``, in display order
    kinds: tuple[tuple[str, KindTone, str], ...]
    units: Mapping[str, int]  # kind -> number of units with this outcome; empty where units are not counted
    cases: Sequence[CaseEntry] = field(repr=False)
    note: str = ""  # a note above the cases; may be empty


class Link(NamedTuple):
    """A line about some cases that links to them."""

    text: str
    # the filters in the link's address: ``kind``, ``gold``, ``by`` and ``said``, ``group``
    filters: Mapping[str, str]


Part: TypeAlias = Table | Changes | Cases | Link | Plot | str
"""A part of a section; texts that follow each other are the lines of one list."""


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading."""

    name: str  # one word, for the address and the list of sections
    title: str  # the heading
    parts: Sequence[Part] = ()  # its content, in order
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


_SHOWN_BYTES = 300_000
"""The most bytes of an image that a page holds; of a larger one it shows type, size and hash."""


def readable_input(name: str, value: object) -> list[str]:
    """Return an input for a page: its name and text, or its name, the address of an image, and the word ``image``."""
    if isinstance(value, ImageReference):
        with suppress(ImageError):  # its file is gone: the page shows what is known of it
            address = value.address()
            if address.startswith("data:") and len(address) <= _SHOWN_BYTES * 4 / 3:
                return [name, address, "image"]
    return [name, readable_text(value)]


def readable_text(value: object, indent: int | None = 1) -> str:
    """Return a value for people to read: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=indent)
