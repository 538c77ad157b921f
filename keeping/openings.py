"""How often sealed rows have been looked at: a ledger of the user's, counted by rows and not by names.

A test is sealed when a proof opens it. From then on everything that scores one of its rows is an opening, whatever the
store, the judge's name, the shares, the seed or the order of rows, and one row in common is enough. Rows are known by
the letters and digits of their inputs: case, spaces, punctuation and zero-width characters make no other row. The
ledger is ``openings.jsonl`` in the user's data home: hashes and no text, one opening a line. Whoever deletes it starts
to count anew, which is said; another user, or another machine, counts for itself.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..cases import Case, text_hash
from ..text.folding import strings
from ..text.near import folded
from .trust import data_file, to_stderr

__all__ = ["Openings", "row_hashes"]


def row_hashes(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the hash of each row's inputs, 16 hex digits."""
    return tuple(text_hash("\n".join(map(folded, strings(case.inputs))))[:16] for case in cases)


@dataclass(frozen=True, kw_only=True)
class Openings:
    """The openings that are known.

    Attributes:
        path: the file.
        say: takes the line that says that there is none yet, or that it cannot be written.
    """

    path: Path = field(default_factory=lambda: data_file("openings.jsonl"))
    say: Callable[[str], None] = to_stderr

    def of(self, cases: Sequence[Case]) -> int:
        """Return how often any of these rows has been opened."""
        wanted = frozenset(row_hashes(cases))
        return sum(not wanted.isdisjoint(rows) for rows in self._lines())

    def sealed(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """Return those of some rows that were opened before."""
        known = frozenset(row for rows in self._lines() for row in rows)
        return tuple(case for case, row in zip(cases, row_hashes(cases), strict=True) if row in known)

    def note(self, what: str, cases: Sequence[Case]) -> None:
        """Add an opening of these rows, before anything of it is shown.

        Args:
            what: what opened them, for people who read the ledger.
            cases: the rows.
        """
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "what": what,
            "rows": row_hashes(cases),
        }
        if not self.path.exists():
            self.say(
                f"openings of sealed tests are counted in {self.path}, which is new: none is known from before"
            )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # one write: lines of several processes do not mix; a newline first: one that was cut off stays alone
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, ("\n" + json.dumps(line)).encode("utf-8"))
            finally:
                os.close(descriptor)
        except OSError as error:
            self.say(f"this opening is not counted: {self.path} cannot be written ({error.strerror})")

    def _lines(self) -> Iterator[Collection[str]]:
        """Yield the rows of every opening; a line that was cut off is none."""
        with suppress(OSError), self.path.open(encoding="utf-8", errors="replace") as file:
            for text in file:
                with suppress(ValueError, TypeError, KeyError):
                    yield frozenset(map(str, json.loads(text)["rows"]))
