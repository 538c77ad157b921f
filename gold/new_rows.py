"""New rows to judge, streamed: every row of a source is a case of its own, in its order, equal ones too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ..cases import Case
from ..errors import GoldError, why
from ..programs.judge import Judge
from ..programs.records import each_record, is_table
from .documents import nothing_for, read_for
from .files import Kind, Place, Row, Rows
from .mapping import RowMapping
from .rows import input_columns, normalise
from .shared import empty_inputs, grouped
from .sources import can_be_read_again, opened


@dataclass(frozen=True, kw_only=True)
class NewRow:
    """A case to judge."""

    row: int  # the number of its row in the source, from 1
    part: int  # which of the cases that the row holds, from 1
    case: Case  # what is judged
    id: Any = None  # what the row calls itself; ``None`` without a column ``id``
    # the row's other columns, but for its group and those that are judged
    columns: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)  # the row as the source has it


@dataclass(frozen=True, kw_only=True)
class BadRow:
    """A row that cannot be used: its number, what is wrong, and the row as far as it could be read."""

    row: int
    error: GoldError
    content: Row | None


StreamedRow: TypeAlias = NewRow | BadRow | None
"""``None`` for a row in which nothing concerns the judge."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where new rows come from."""

    name: str  # what :func:`jurist.gold.sources.opened` takes; documents for a judge of documents
    judge: Judge  # whose rows they are
    # how its columns and labels are called by the judge
    mapping: RowMapping = field(default_factory=RowMapping)
    # the rows themselves, as :func:`jurist.programs.records.each_record` takes them; ``name`` is then what
    # messages call them
    given: Any = None
    # what a user should know of how they are read; filled when all rows are
    notes: list[str] = field(default_factory=list, compare=False)

    @property
    def can_be_read_again(self) -> bool:
        """Whether :meth:`rows` gives the rows as often as it is called: a pipe or a generator is read once."""
        if self.given is None:
            return can_be_read_again(self.name)
        return isinstance(self.given, Sequence) or is_table(self.given)

    def rows(self) -> Iterator[StreamedRow]:
        """Return the rows, in their order."""
        judged = {*input_columns(self.judge), "id"} | ({"group"} & self.judge.row_model.model_fields.keys())
        for number, (place, read) in enumerate(self._placed(), 1):
            if isinstance(read, GoldError):
                yield BadRow(row=number, error=read, content=None)
                continue
            try:
                items = self._own_rows(read, place)
                cases = [(case, item) for item in items for case, _ in normalise(self.judge, item, place)]
                if any(len(case.inputs) == len(empty_inputs([case])) > 1 for case, _ in cases):
                    raise place.wrong("all inputs are empty", hint="fill them in, or remove the row")
            except GoldError as error:
                yield BadRow(row=number, error=error, content=read)
                continue
            for part, (case, item) in enumerate(cases, 1):
                columns = {name: value for name, value in item.items() if name not in judged}
                case = grouped(self.judge, case)
                yield NewRow(row=number, part=part, case=case, id=item.get("id"), columns=columns, given=read)
            if not cases:
                yield None

    def _own_rows(self, row: Row, place: Place) -> list[Row]:
        """Return the rows that a row of the source holds, by the judge's names."""
        return [self.mapping.row(self.judge, item) for item in self.mapping.items(self.judge, row, place)]

    def _placed(self) -> Rows:
        if self.given is not None:
            kind: Kind = "columns" if is_table(self.given) else "json"
            try:
                for line, row in enumerate(each_record(self.given, self.name), 1):
                    yield Place(self.name, line, kind), row
            except OSError as error:  # of the user's own generator: it says nothing of a file of ours
                message = f"reading them raised {type(error).__name__}: {why(error)}"
                hint = "mend what gives the rows, and go on with --resume"
                raise GoldError(message, path=self.name, hint=hint) from error
        elif self.judge.document:
            yield from read_for(self.judge, self.name).rows
        else:
            reading = opened(self.name)
            yield from reading.rows
            self.notes.extend(note for note in reading.notes if note not in self.notes)


def read_rows(source: str | Path, judge: Judge) -> list[Case]:
    """Read all rows; labels are optional. A row of another layout gives as many cases as concern the judge."""
    rows = list(Source(name=str(source), judge=judge).rows())
    for row in rows:
        if isinstance(row, BadRow):
            raise row.error
    if not any(rows):
        raise nothing_for(judge, len(rows), str(source))
    return [row.case for row in rows if isinstance(row, NewRow)]
