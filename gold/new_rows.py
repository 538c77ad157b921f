"""New rows to judge: every row of the source is a case of its own, in its order, equal ones too."""

from __future__ import annotations

from pathlib import Path

from ..cases import Case
from ..errors import GoldError
from ..programs.judge import Judge
from .documents import read_for
from .expanding import expand_row, nothing_for
from .goldrows import make_case

__all__ = ["read_rows"]


def read_rows(source: str | Path, judge: Judge) -> tuple[list[Case], int]:
    """Read rows; labels are optional. A row of another layout gives as many cases as concern the judge.

    Returns:
        The cases, and the number of rows in which nothing concerns the judge.

    Args:
        source: what :func:`jurist.gold.documents.read_for` takes.
        judge: whose rows they are.

    Raises:
        GoldError: the source or one of its rows cannot be used, with file, line and field.
    """
    reading = read_for(judge, source)
    if not reading.rows:
        raise GoldError("there are no rows", path=reading.path, hint="give at least one row")
    held = [
        [make_case(judge, row, path=reading.path, line=line) for row in expand_row(judge, reading, number)]
        for number, (line, _) in enumerate(reading.rows)
    ]
    cases = [case for found in held for case in found]
    if not cases:
        raise nothing_for(judge, len(held), reading.path)
    return cases, sum(not found for found in held)
