"""What the input holds: counted before anything is asked where it can be read twice, else while it is judged."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter

from ..cases import Case
from ..errors import GoldError, UsageError, suggest_name
from ..gold.documents import nothing_for
from ..gold.new_rows import BadRow, NewRow, Source
from ..gold.rejects import Rejects
from ..gold.shared import empty_inputs
from ..programs.judge import MISSING
from .lines import RowKey
from .shards import WHOLE, Shard
from .state import RunState

_AT_ONCE = 1000
"""Rows that are noted together."""
_ALL_LACK = 100
"""Rows at the beginning that all lack a field, after which no more are read."""
_SHOWN = 256
"""Different cases by which a prompt is measured: those whose ids, which are hashes, come first."""


@dataclass(kw_only=True)
class Survey:
    """The findings in the input so far."""

    source: Source  # the input
    rejects: Rejects  # takes the rows that cannot be used
    shard: Shard = WHOLE  # which of the cases are judged here; the first counts the rest of the input
    rows: int = 0  # cases to judge: mostly one a row
    elsewhere: int = 0  # cases that other shards judge
    blank: int = 0  # cases to judge in which an input of text is empty
    beside: int = 0  # rows in which nothing concerns the judge
    whole: bool = False  # whether that is all there is
    shown: list[Case] = field(default_factory=list)  # a few cases, of all that was read
    # names of the rows' columns, those that are not judged first, in the order in which they came
    columns: dict[str, None] = field(default_factory=dict)

    def all(self, state: RunState) -> None:
        """Read the whole input once."""
        for _ in self.found(state):
            pass

    def found(self, state: RunState) -> Iterator[NewRow]:
        """Return the rows as they are read for the first time: they are counted and noted, and bad ones set aside."""
        noted: list[RowKey] = []
        for row in self.source.rows():
            if isinstance(row, BadRow):
                self.rejects.add(row.error, row.content)
                self._check_fields()
                continue
            if row is None:
                self.beside += 1
                continue
            self.columns.update(dict.fromkeys(row.columns))
            self.columns.update(dict.fromkeys(row.source_row))
            if not self.shard.has(row.case.id):
                self.elsewhere += 1
                continue
            noted.append(RowKey(row.row, row.part, row.case.id))
            self._count(row)
            if len(noted) >= _AT_ONCE:
                state.add_rows(noted)
                noted = []
            yield row
        state.add_rows(noted)
        self.whole = True
        if not self.rows and not self.elsewhere:
            raise self.rejects.first or nothing_for(self.source.judge, self.beside, self.source.name)

    def _check_fields(self) -> None:
        """End the reading where the first rows all lack the same field: their columns have other names."""
        first, nothing_usable = self.rejects.first, not (self.rows or self.elsewhere or self.beside)
        if first is None or not nothing_usable or self.rejects.count != _ALL_LACK:
            return
        for problem in self.rejects.problems():
            if problem.reason == MISSING and problem.rows == _ALL_LACK:
                raise GoldError(
                    f"the first {_ALL_LACK} rows all lack the field {first.field!r}",
                    path=self.source.name,
                    hint=first.hint,
                )

    def check_kept(self, names: Iterable[str]) -> None:
        """Refuse columns that no row has; all rows were read."""
        for name in names:
            if name not in self.columns:
                raise UsageError(f"no row has a column {name!r}", hint=suggest_name(name, self.columns))

    def again(self) -> Iterator[NewRow]:
        """Return the rows once more, and none that were added meanwhile: nobody has counted these, or agreed to pay."""
        return islice(self._rows_of_shard(), self.rows)

    def _rows_of_shard(self) -> Iterator[NewRow]:
        """Yield the rows that are judged here, as they are read."""
        for row in self.source.rows():
            if isinstance(row, NewRow) and self.shard.has(row.case.id):
                yield row

    @property
    def empty(self) -> bool:
        """Whether all rows are judged elsewhere."""
        return self.whole and not self.rows

    def _count(self, row: NewRow) -> None:
        self.rows += 1
        self.blank += bool(empty_inputs([row.case]))
        place = bisect_left(self.shown, row.case.id, key=attrgetter("id"))
        is_shown = place < len(self.shown) and self.shown[place].id == row.case.id
        if place < _SHOWN and not is_shown:
            self.shown.insert(place, row.case)
            del self.shown[_SHOWN:]
