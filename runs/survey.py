"""What the input holds: counted before anything is asked where it can be read twice, else while it is judged."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter

from ..cases import Case
from ..errors import GoldError, UsageError, suggest_name
from ..gold.documents import nothing_for
from ..gold.new_rows import BadRow, Source
from ..gold.rejects import Rejects
from ..gold.shared import empty_inputs_of
from ..programs.judge import MISSING
from ..text.wording import strings
from .lines import RowKey
from .shards import WHOLE, Shard
from .state import RunState

_AT_ONCE = 1000
"""Rows that are noted together."""
_ALL_LACK = 100
"""Rows at the beginning that all lack a field, after which no more are read."""
_KEPT_CASES = 10_000
_KEPT_CHARACTERS = 16 * 1024**2
"""The largest input whose cases are kept until they are judged; of a larger one each row is read twice."""
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
    # the cases of an input that was read as a whole; ``None`` where they are too many to be kept
    kept_cases: list[Case] | None = None

    def all(self, state: RunState) -> None:
        """Read the whole input once."""
        cases: list[Case] = []
        characters = 0
        is_small = True
        for case in self.found(state):
            if not is_small:
                continue
            cases.append(case)
            characters += sum(map(len, strings(case.source_row)))
            if len(cases) > _KEPT_CASES or characters > _KEPT_CHARACTERS:
                is_small = False
                cases = []
        if is_small:
            self.kept_cases = cases

    def found(self, state: RunState) -> Iterator[Case]:
        """Yield the cases as rows are read for the first time: they are counted and noted, and bad rows set aside."""
        noted: list[RowKey] = []
        for case in self.source.rows():
            if isinstance(case, BadRow):
                self.rejects.add(case.error, case.content)
                self._check_fields()
                continue
            if case is None:
                self.beside += 1
                continue
            self._note_columns(case)
            if not self.shard.has(case.id):
                self.elsewhere += 1
                continue
            noted.append(RowKey(case.row_number, case.part, case.id))
            self._count(case)
            if len(noted) >= _AT_ONCE:
                state.add_rows(noted)
                noted = []
            yield case
        state.add_rows(noted)
        self.whole = True
        if not self.rows and not self.elsewhere:
            raise self.rejects.first or nothing_for(self.source.judge, self.beside, self.source.name)

    def _note_columns(self, case: Case) -> None:
        """Note the columns of a case's row that are new."""
        for name in case.row:
            if name not in self.columns and name not in self.source.judged_columns:
                self.columns[name] = None
        for name in case.source_row:
            if name not in self.columns:
                self.columns[name] = None

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

    def again(self) -> Iterator[Case]:
        """Return the cases once more, without those that were added meanwhile: nobody has agreed to pay for them."""
        if self.kept_cases is not None:
            return iter(self.kept_cases)
        return islice(self._cases_of_shard(), self.rows)

    def _cases_of_shard(self) -> Iterator[Case]:
        """Yield the cases that are judged here, as rows are read."""
        for case in self.source.rows():
            if isinstance(case, Case) and self.shard.has(case.id):
                yield case

    @property
    def empty(self) -> bool:
        """Whether all rows are judged elsewhere."""
        return self.whole and not self.rows

    def _count(self, case: Case) -> None:
        self.rows += 1
        self.blank += bool(empty_inputs_of(case))
        place = bisect_left(self.shown, case.id, key=attrgetter("id"))
        is_shown = place < len(self.shown) and self.shown[place].id == case.id
        if place < _SHOWN and not is_shown:
            self.shown.insert(place, case)
            del self.shown[_SHOWN:]
