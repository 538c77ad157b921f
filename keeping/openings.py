"""How often sealed rows have been opened: a ledger of the user's, counted by row and labelled question.

A proof seals the rows that it opens. From then on a row is opened whenever a prompt that was never tried on it is
scored on it for a choice or a proof: trying the same prompt again selects nothing, and opens nothing. Which rows are
the same, and which labels ask the same, says :mod:`jurist.keeping.same_rows`; the store, the judge's name, the seed and
the shares change nothing.

The ledger is ``openings.jsonl`` in the user's data home: hashes and no text, one opening a line; rows that a line
before holds already are named by their hash. Whoever deletes it starts to count anew, which is said; another user, or
another machine, counts for itself.
"""

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import orjson

from ..cases import Case
from .same_rows import RowMarks, marks_of, same_question, same_rows
from .trust import data_file, to_stderr


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What is known of one row."""

    before: int  # how often it has been opened; 0 if it is not sealed
    # which opening scoring it with certain prompts is: the one in which the last of them was tried on it,
    # or the next one
    number: int


@dataclass(frozen=True, kw_only=True)
class _Line:
    prompts: frozenset[str]
    rows: str
    marks: RowMarks


@dataclass(frozen=True, kw_only=True)
class Openings:
    """The openings that are known."""

    path: Path = field(default_factory=lambda: data_file("openings.jsonl"))  # the file
    # takes the line that says that there is none yet, that some cannot be read, or that it cannot be
    # written
    say: Callable[[str], None] = to_stderr

    def of(self, cases: Sequence[Case], prompts: Collection[str] = ()) -> tuple[Opened, ...]:
        """Return what is known of each row."""
        lines = list(self._lines())
        if not lines or not cases:
            return (Opened(before=0, number=1),) * len(cases)
        sets = {line.rows: line.marks for line in lines}
        mine = marks_of(cases)
        held = {
            name: {pair.here for pair in pairs}
            if pairs and same_question(known, mine, pairs)
            else frozenset()
            for (name, known), pairs in zip(sets.items(), same_rows([*sets.values()], mine), strict=True)
        }
        wanted = frozenset(prompts) or None
        return tuple(
            _counted([line.prompts for line in lines if place in held[line.rows]], wanted)
            for place in range(len(cases))
        )

    def note(self, what: str, cases: Sequence[Case], prompts: Collection[str] = ()) -> None:
        """Add an opening of these rows, before anything of it is shown."""
        marks = orjson.dumps(marks_of(cases).to_json())
        rows = hashlib.sha256(marks).hexdigest()[:16]
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "what": what,
            "prompts": sorted(prompts),
            "rows": rows,
        }
        if not self.path.exists():
            self.say(
                f"openings of sealed tests are counted in {self.path}, which is new: none is known from before"
            )
        elif rows in {one.rows for one in self._lines(quiet=True)}:
            marks = b""
        text = json.dumps(line)
        if marks:
            text = f'{text[:-1]}, "marks": {marks.decode("ascii")}}}'
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # one write: lines of several processes do not mix; a newline first: one that was cut off stays alone
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, ("\n" + text).encode("utf-8"))
            finally:
                os.close(descriptor)
        except OSError as error:
            self.say(f"this opening is not counted: {self.path} cannot be written ({error.strerror})")

    def _lines(self, *, quiet: bool = False) -> Iterator[_Line]:
        """Yield every opening; what was cut off, or written by an earlier format, is none, and that is said."""
        sets: dict[str, RowMarks] = {}
        unread = 0
        try:
            texts = self.path.read_bytes().split(b"\n")
        except OSError:
            return
        for text in filter(None, texts):
            try:
                data = orjson.loads(text)
                rows = str(data["rows"])
                if rows not in sets:
                    sets[rows] = RowMarks.from_json(data["marks"])
                yield _Line(prompts=frozenset(map(str, data["prompts"])), rows=rows, marks=sets[rows])
            except (ValueError, TypeError, KeyError):
                unread += 1
        if unread and not quiet:
            self.say(
                f"{unread} of the lines in {self.path} cannot be read (cut off, or of an earlier format): what they "
                "tell of is not counted"
            )


def _counted(lines: Sequence[frozenset[str]], wanted: frozenset[str] | None) -> Opened:
    """Return how many of the lines opened a row, and which opening trying these prompts on it is."""
    tried: set[str] = set()
    before, number = 0, None
    for prompts in lines:
        if not prompts or not prompts <= tried:
            before += 1
        tried |= prompts
        if number is None and wanted is not None and wanted <= tried:
            number = before
    return Opened(before=before, number=number or before + 1)
