"""Columns under the names that a judge knows, and what becomes of the rows that it cannot use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from ..errors import GoldError, UsageError
from .rowtypes import Row

__all__ = ["Rejects", "column_names", "renamed"]


def column_names(pairs: Sequence[str]) -> dict[str, str]:
    """Return ``["answer=response"]`` as the name that each column of the file is to have.

    Raises:
        UsageError: one is not of the form COLUMN=FIELD, or two give the same name.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        column, equals, field = (part.strip() for part in pair.partition("="))
        if not (column and equals and field):
            raise UsageError(f"--column {pair!r} renames nothing", hint="write it as --column COLUMN=FIELD")
        if column in found or field in found.values():
            raise UsageError(f"--column {pair!r} names a column twice", hint="give each name once")
        found[column] = field
    return found


def renamed(
    row: Mapping[str, Any], names: Mapping[str, str], *, path: str = "", line: int | None = None
) -> Row:
    """Return a row whose columns are called as ``names`` says; a column that had such a name gives way.

    Raises:
        GoldError: the row has no such column.
    """
    for column in names:
        if column not in row:
            have = ", ".join(map(repr, list(row)[:8])) or "nothing"
            hint = f"the row has {have}; correct --column"
            raise GoldError("there is no such column", path=path, line=line, field=column, hint=hint)
    taken = set(names.values())
    return {names.get(key, key): value for key, value in row.items() if key in names or key not in taken}


class Rejects:
    """A file of the rows that could not be used, one JSON line each, with the reason; none without such rows.

    Args:
        path: the file, which is written anew; ``None`` counts only.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self.count = path, 0
        self.first: GoldError | None = None
        self._file: TextIO | None = None

    def add(self, error: GoldError, row: Mapping[str, Any] | None) -> None:
        """Write why a row could not be used, and the row as far as it could be read."""
        self.count += 1
        self.first = self.first or error
        if self.path is None:
            return
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8", errors="backslashreplace")
        said = {"source": error.source, "field": error.field, "reason": error.reason, "hint": error.hint}
        self._file.write(json.dumps({**said, "row": row}, ensure_ascii=False, default=str) + "\n")

    def __enter__(self) -> Rejects:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        elif self.path is not None:  # of an earlier start, when there were such rows
            self.path.unlink(missing_ok=True)
