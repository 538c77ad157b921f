"""A table as a value: a title, columns and rows of cells. How it looks is a matter of its renderers."""

import re
from collections.abc import Iterator, Sequence
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

    def column(self, place: int) -> Iterator[str]:
        """Yield the name of a column and its cells."""
        yield self.columns[place].name
        yield from (row[place] for row in self.rows)


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    layout: Layout = "columns",
    opens: str = "",
) -> Table:
    """Return a table of any values; a column whose cells are all numbers is one of numbers."""
    cells = tuple(tuple(_cell(value) for value in row) for row in rows)
    names = [_cell(name) for name in columns]
    kinds = [_kind([row[place] for row in cells]) for place in range(len(names))]
    return Table(
        title=_cell(title),
        columns=tuple(Column(name, kind) for name, kind in zip(names, kinds, strict=True)),
        rows=cells,
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
    filled = [cell for cell in cells if cell not in _EMPTY]
    return "number" if filled and all(_NUMBER.fullmatch(cell) for cell in filled) else "text"
