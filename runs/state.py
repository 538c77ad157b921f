"""What a run knows besides its output: the verdict of each case, and the rows it has seen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from types import TracebackType
from typing import Any

from ..engines.database import Database
from ..gold.writing import json_line

Seen = tuple[int, int, str]
"""The number of a row, which of its cases, and the case's id."""
_AT_ONCE = 512
"""Verdicts that are handed to the operating system together."""
_TABLES = """
CREATE TABLE IF NOT EXISTS verdicts (
    case_id TEXT PRIMARY KEY, row INTEGER, status TEXT, said TEXT, new INTEGER
);
CREATE TABLE IF NOT EXISTS seen (row INTEGER, part INTEGER, case_id TEXT, PRIMARY KEY (row, part));
DELETE FROM seen;
UPDATE verdicts SET new = 0 WHERE new;
"""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was said of a case."""

    row: int  # the number of the row for which it was asked
    status: str  # verdict, abstained or failed
    said: Mapping[str, Any]  # what a line says of it, whatever row it is about
    new: bool  # whether it was asked in this start


class RunState(Database):
    """The database of a run."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, "PRAGMA synchronous=NORMAL; PRAGMA temp_store=FILE;" + _TABLES)
        self._kept = dict[str, Known]()
        # by their hashes the cases of this start: what is not marked was never met, what is marked may have been
        self._met = bytearray(2**20)
        self._old = self.knows_old

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._end()
        finally:
            super().__exit__(kind, error, trace)

    def load(self, lines: Iterable[tuple[Seen, Known]]) -> None:
        """Take over what an output says; what is known is left as it is."""
        with self.used(), self.together():
            for seen, known in lines:
                self._old = True
                self.all("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, 0)", *_stored(seen[2], known))

    @property
    def knows_old(self) -> bool:
        """Whether an earlier start said anything."""
        return bool(self.first("SELECT 1 FROM verdicts WHERE NOT new LIMIT 1"))

    def see(self, rows: Iterable[Seen]) -> None:
        """Note rows of the input."""
        self.many("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", rows)

    def known(self, case_id: str) -> Known | None:
        """Return what was said of a case, in this start or an earlier one."""
        if case_id in self._kept or not (self._old or self._met[hash(case_id) % len(self._met)]):
            return self._kept.get(case_id)
        for row, status, said, new in self.all(
            "SELECT row, status, said, new FROM verdicts WHERE case_id = ?", case_id
        ):
            return Known(row=row, status=status, said=json.loads(said), new=bool(new))
        return None

    def keep(self, case_id: str, known: Known) -> None:
        """Keep what was said of a case; what a kill loses of it is in the journal of the calls, or in the output."""
        self._kept[case_id] = known
        self._met[hash(case_id) % len(self._met)] = True
        if len(self._kept) >= _AT_ONCE:
            self._end()

    def to_ask(self) -> int:
        """Return how many different cases there are to ask about, of the rows that were seen."""
        query = (
            "SELECT count(DISTINCT case_id) FROM seen WHERE case_id NOT IN "
            "(SELECT case_id FROM verdicts WHERE status != 'failed')"
        )
        return int(self.first(query))

    def _end(self) -> None:
        """Hand to the operating system what was kept since the last time."""
        kept, self._kept = self._kept, {}
        self.many("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, 1)", starmap(_stored, kept.items()))


def _stored(case_id: str, known: Known) -> tuple[str, int, str, str]:
    return case_id, known.row, known.status, json_line(known.said)
