"""What rows are before any judge sees them."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..errors import GoldError

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[tuple[int, Row]]
"""Rows with the line (or record number) each starts on."""
Found: TypeAlias = tuple[int, Row | GoldError]
"""A row, or what is wrong with it, with the line (or record number) it starts on."""
Kind: TypeAlias = Literal["json", "text", "columns"]
"""What values are: JSON values; the text of CSV cells; typed columns, where absent is ``None``."""


@dataclass(frozen=True)
class Place:
    """Where a row stands: the file as the user named it, and the 1-based line (or record number), if one is known."""

    path: str
    line: int | None = None

    def wrong(self, message: str, field: str = "", *, hint: str) -> GoldError:
        """Return the error that the row, or a field (column) of it, has."""
        return GoldError(message, path=self.path, line=self.line, field=field, hint=hint)


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of one file."""

    rows: Rows  # (line, row) in file order
    kind: Kind  # how the values are to be understood
