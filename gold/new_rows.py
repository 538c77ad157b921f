"""New rows to judge, streamed in their order; two rows with equal inputs are two cases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ..cases import Case
from ..errors import GoldError, system_message
from ..programs.judge import Judge
from ..programs.records import each_record, is_table
from .documents import nothing_for, read_for
from .files import Kind, Place, Row, Rows
from .mapping import RowMapping
from .rows import input_columns, normalise
from .shared import empty_inputs, grouped
from .sources import can_be_read_again, open_rows


@dataclass(frozen=True, kw_only=True)
class NewRow:
    """A case to judge."""

    row: int  # the number of its row in the source, from 1
    part: int  # the number of the case in its row, from 1: a row may hold several
    case: Case  # what is judged
    id: object = None  # the row's own id; ``None`` without a column ``id``
    # the other columns, which travel with the verdict: no inputs, no id, and no group that the judge reads
    columns: Mapping[str, object] = field(default_factory=dict)
    source_row: Mapping[str, object] = field(default_factory=dict)  # the row as the source has it


@dataclass(frozen=True, kw_only=True)
class BadRow:
    """A row that cannot be used."""

    row: int  # its number in the source, from 1
    error: GoldError  # what is wrong with it
    content: Row | None  # the row; ``None`` if it could not be read


StreamedRow: TypeAlias = NewRow | BadRow | None
"""``None`` is a row without a case for the judge."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source of new rows for a judge."""

    name: str  # what :func:`jurist.gold.sources.open_rows` takes; documents for a judge of documents
    judge: Judge  # whose rows they are
    # the judge's names for the columns and labels of the source
    mapping: RowMapping = field(default_factory=RowMapping)
    # the rows themselves, as :func:`jurist.programs.records.each_record` takes them; ``name`` is then what
    # messages call them
    records: object = None
    # notes on how the rows were read, for a user; complete when all rows are read
    notes: list[str] = field(default_factory=list, compare=False)

    @property
    def can_be_read_again(self) -> bool:
        """Whether :meth:`rows` yields the rows each time that it is called: a pipe or a generator is read once."""
        if self.records is None:
            return can_be_read_again(self.name)
        return isinstance(self.records, Sequence) or is_table(self.records)

    def rows(self) -> Iterator[StreamedRow]:
        """Yield the cases of each row, or why it cannot be used, in the order of the source."""
        judged_columns = self._judged_columns()
        for number, (place, content) in enumerate(self._placed_rows(), 1):
            if isinstance(content, GoldError):
                yield BadRow(row=number, error=content, content=None)
                continue
            try:
                cases = self._cases_of(content, place)
            except GoldError as error:
                yield BadRow(row=number, error=error, content=content)
                continue
            for part, (case, row) in enumerate(cases, 1):
                columns: dict[str, object] = {}
                for name, value in row.items():
                    if name not in judged_columns:
                        columns[name] = value
                yield NewRow(
                    row=number,
                    part=part,
                    case=grouped(self.judge, case),
                    id=row.get("id"),
                    columns=columns,
                    source_row=content,
                )
            if not cases:
                yield None

    def _judged_columns(self) -> set[str]:
        """Return the columns that do not travel with a verdict: inputs, id, and a group that the judge reads."""
        columns = set(input_columns(self.judge))
        columns.add("id")
        if "group" in self.judge.row_model.model_fields:
            columns.add("group")
        return columns

    def _cases_of(self, content: Row, place: Place) -> list[tuple[Case, Row]]:
        """Return the cases in a row of the source, each with its own row under the judge's names.

        Raises:
            GoldError: the row cannot be used.
        """
        cases: list[tuple[Case, Row]] = []
        for item in self.mapping.items(self.judge, content, place):
            row = self.mapping.row(self.judge, item)
            cases.extend((case, row) for case, _ in normalise(self.judge, row, place))
        for case, _ in cases:
            if len(case.inputs) > 1 and len(case.inputs) == len(empty_inputs([case])):
                raise place.wrong("all inputs are empty", hint="fill them in, or remove the row")
        return cases

    def _placed_rows(self) -> Rows:
        """Yield the rows of the source, or what is wrong with them, with their places."""
        if self.records is not None:
            yield from self._placed_records()
        elif self.judge.document:
            yield from read_for(self.judge, self.name).rows
        else:
            reading = open_rows(self.name)
            yield from reading.rows
            for note in reading.notes:
                if note not in self.notes:
                    self.notes.append(note)

    def _placed_records(self) -> Rows:
        """Yield the user's own records with their places."""
        kind: Kind = "json"
        if is_table(self.records):
            kind = "columns"
        try:
            for line, row in enumerate(each_record(self.records, self.name), 1):
                yield Place(self.name, line, kind), row
        except OSError as error:  # raised by the user's own generator: no file of this program is meant
            message = f"reading them raised {type(error).__name__}: {system_message(error)}"
            hint = "mend what gives the rows, and go on with --resume"
            raise GoldError(message, path=self.name, hint=hint) from error


def read_rows(source: str | Path, judge: Judge) -> list[Case]:
    """Return the cases of all rows of a source; labels are optional, and a row may hold several cases or none.

    Raises:
        GoldError: a row cannot be used, or no row holds a case for the judge.
    """
    rows = list(Source(name=str(source), judge=judge).rows())
    for row in rows:
        if isinstance(row, BadRow):
            raise row.error
    if not any(rows):
        raise nothing_for(judge, len(rows), str(source))
    cases = []
    for row in rows:
        if isinstance(row, NewRow):
            cases.append(row.case)
    return cases
