"""New rows to judge, streamed in their order; two rows with equal inputs are two cases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from ..cases import Case
from ..errors import GoldError, system_message
from ..programs.judge import Judge
from ..programs.records import each_record, is_table
from .documents import nothing_for, read_for
from .files import Kind, Place, Row, Rows
from .mapping import RowMapping
from .rows import cases_of_row, input_columns, without_ratings
from .shared import empty_inputs_of, group_of
from .sources import can_be_read_again, open_rows


@dataclass(frozen=True, kw_only=True)
class BadRow:
    """A row that cannot be used."""

    row: int  # its number in the source, from 1
    error: GoldError  # what is wrong with it
    content: Row | None  # the row; ``None`` if it could not be read


StreamedRow: TypeAlias = Case | BadRow | None
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
        for number, (place, content) in enumerate(self._placed_rows(), 1):
            if isinstance(content, GoldError):
                yield BadRow(row=number, error=content, content=None)
                continue
            try:
                cases = self._cases_of(content, place, number)
            except GoldError as error:
                yield BadRow(row=number, error=error, content=content)
                continue
            yield from cases
            if not cases:
                yield None

    @cached_property
    def judged_columns(self) -> frozenset[str]:
        """The columns that do not travel with a verdict: inputs, id, and a group that the judge reads."""
        columns = set(input_columns(self.judge))
        columns.add("id")
        if "group" in self.judge.row_model.model_fields:
            columns.add("group")
        return frozenset(columns)

    def _cases_of(self, content: Row, place: Place, number: int) -> list[Case]:
        """Return the cases in a row of the source; ``number`` is that of the row.

        Raises:
            GoldError: the row cannot be used.
        """
        cases: list[Case] = []
        for item in self.mapping.items(self.judge, content, place):
            row = self.mapping.row(self.judge, item)
            try:
                # Nobody asks how people rated new rows: ratings of another judge's labels are no fault.
                item_cases = cases_of_row(self.judge, without_ratings(row), place)
            except GoldError as error:
                raise self.mapping.with_source_column(self.judge, error, item) from error
            for case in item_cases:
                group, part = group_of(self.judge, case), len(cases) + 1
                case = replace(case, group=group, row=row, source_row=content, row_number=number, part=part)
                cases.append(case)
        for case in cases:
            if len(case.inputs) > 1 and len(case.inputs) == len(empty_inputs_of(case)):
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
    return [row for row in rows if isinstance(row, Case)]
