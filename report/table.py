"""A table as a value: a title, columns and rows of cells, for :mod:`~jurist.report.render` to show."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["text", "number"]
Layout: TypeAlias = Literal["columns", "records", "lines", "counts", "facts", "commands"]

_NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?%?")
_EMPTY = ("", "-")


@dataclass(frozen=True)
class Column:
    """A column; numbers are aligned at the right, text at the left."""

    name: str
    kind: Kind = "text"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose cells are texts."""

    title: str  # one line above it; may be empty
    columns: tuple[Column, ...]  # at least one
    rows: tuple[tuple[str, ...], ...]  # each with one cell a column, white space folded into single spaces
    # How a table is shown. ``columns``: side by side where they fit, else as records. ``records``: as text, a line for
    # each cell. ``lines``: side by side where they fit, else as text, a line for each row that goes on, indented, where
    # it is too wide. On a page, ``counts`` shades each number by its share of its row, and ``facts`` (names with their
    # values) and ``commands`` are lists.
    layout: Layout = "columns"
    opens: str = ""  # of ``counts``: the judge whose cases open at a click on their cell; empty if none do
    criterion: str = ""  # of ``counts``: the criterion whose labels they are; empty for a judge of one
    main_rows: tuple[int, ...] = ()  # the places of rows that stand out on a page, from 0

    def column(self, position: int) -> list[str]:
        """Return the name of a column, and its cells."""
        cells = [self.columns[position].name]
        for row in self.rows:
            cells.append(row[position])
        return cells


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    layout: Layout = "columns",
    opens: str = "",
    criterion: str = "",
    main_rows: tuple[int, ...] = (),
) -> Table:
    """Return a table of any values; a column whose cells are all numbers is a column of numbers."""
    cell_rows: list[tuple[str, ...]] = []
    for row in rows:
        cells: list[str] = []
        for value in row:
            cells.append(_cell_text(value))
        cell_rows.append(tuple(cells))
    table_columns: list[Column] = []
    for position, name in enumerate(columns):
        kind = _kind([row[position] for row in cell_rows])
        table_columns.append(Column(_cell_text(name), kind))
    return Table(
        title=_cell_text(title),
        columns=tuple(table_columns),
        rows=tuple(cell_rows),
        layout=layout,
        opens=opens,
        criterion=criterion,
        main_rows=main_rows,
    )


def _cell_text(value: object) -> str:
    """Return a value on one line, without characters that steer a terminal: cells hold text from files."""
    text = str(value)
    for character in set(text):
        if not character.isprintable():
            text = text.replace(character, " ")
    return " ".join(text.split())


def _kind(cells: Sequence[str]) -> Kind:
    """Return the kind of a column: of numbers if every cell that is not empty is a number."""
    kind: Kind = "text"
    for cell in cells:
        if cell in _EMPTY:
            continue
        if not _NUMBER.fullmatch(cell):
            return "text"
        kind = "number"
    return kind
