"""New rows to judge: every row of the source is a case of its own, in its order, equal ones too."""

from __future__ import annotations

from pathlib import Path

from ..cases import Case
from ..errors import GoldError
from ..programs.judge import Judge
from ..reading.goldrows import make_case, prepared
from ..reading.readers import read

__all__ = ["read_cases"]


def read_cases(source: str | Path, judge: Judge) -> list[Case]:
    """Read rows; labels are optional.

    Args:
        source: what :func:`jurist.reading.readers.read` takes.
        judge: whose rows they are.

    Raises:
        GoldError: the source or one of its rows cannot be used, with file, line and field.
    """
    reading = read(source)
    if not reading.rows:
        raise GoldError("there are no rows", path=reading.path, hint="give at least one row")
    return [
        make_case(judge, prepared(judge, row, reading.kind), path=reading.path, line=line)
        for line, row in reading.rows
    ]
