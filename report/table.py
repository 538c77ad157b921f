"""A table as a value: a title, columns and rows of cells, for :mod:`~jurist.report.render` to show."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "number"]
Layout: TypeAlias = Literal["columns", "records", "counts", "facts", "commands"]

_NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?%?")
_EMPTY = ("", "-")


@dataclass(frozen=True)
class Column:
    """A column; numbers are aligned at the right, text at the left."""

    name: str
    kind: Kind = "text"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table."""

    title: str  # one line above it; may be empty
    columns: tuple[Column, ...]  # at least one
    rows: tuple[tuple[str, ...], ...]  # each with one cell a column, white space folded into single spaces
    # how it is read: in columns where they fit, or, as text, always as records, a line for each cell; a page has
    # counts the darker, the more of their row they are, and facts (names and what they are) and commands as a list
    layout: Layout = "columns"
    opens: str = ""  # of counts: who judged, if each cell of a page opens the cases that it counts

    def column(self, position: int) -> list[str]:
        """Return the name of a column, and its cells."""
        return [self.columns[position].name] + [row[position] for row in self.rows]


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    layout: Layout = "columns",
    opens: str = "",
) -> Table:
    """Return a table of any values; a column whose cells are all numbers is a column of numbers."""
    cell_rows: list[tuple[str, ...]] = []
    for row in rows:
        cell_rows.append(tuple(_cell(value) for value in row))
    table_columns: list[Column] = []
    for position, name in enumerate(columns):
        kind = _kind([row[position] for row in cell_rows])
        table_columns.append(Column(_cell(name), kind))
    return Table(
        title=_cell(title),
        columns=tuple(table_columns),
        rows=tuple(cell_rows),
        layout=layout,
        opens=opens,
    )


def _cell(value: Any) -> str:
    """Return a value on one line, without characters that steer a terminal: cells hold text from files."""
    text = str(value)
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())


def _kind(cells: Sequence[str]) -> Kind:
    """Return the kind of a column: of numbers if every cell that is not empty is a number."""
    filled = [cell for cell in cells if cell not in _EMPTY]
    if filled and all(_NUMBER.fullmatch(cell) for cell in filled):
        return "number"
    return "text"
