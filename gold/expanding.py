"""A row of another layout as rows of the judge: one response in, its sentences out.

What the other layout is, and which of its parts concern the judge, is the
judge's to say (``Judge.expand``). This module brings cells of any file format
into JSON values first, adds a second rater's labels, and keeps file and line in
messages. A row without any part that concerns the judge gives no rows: that is
counted by the caller, and is no error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import GoldError
from .goldrows import all_ratings, cell, prepared
from .joining import with_second
from .readers import Reading
from .rowtypes import Row

if TYPE_CHECKING:
    from ..programs.judge import Judge


def expand_row(judge: Judge, reading: Reading, number: int) -> list[Row]:
    """Return the judge's own rows of the row at place ``number``, prepared; none if nothing in it concerns it."""
    line, raw = reading.rows[number]
    if judge.expand is not None:
        whole = _whole(raw, reading)
        parts = judge.expanded(whole, path=reading.path, line=line)
        if not (len(parts) == 1 and parts[0] is whole):
            if number in reading.second:
                whole = _rated(judge, whole, reading, number)
                parts = judge.expanded(whole, path=reading.path, line=line)
            return [prepared(judge, part) for part in parts]
    row = prepared(judge, raw, reading.kind)
    return [with_second(judge, row, reading, number) if number in reading.second else row]


def nothing_for(judge: Judge, rows: int, path: str) -> GoldError:
    """Return the error of a source in which no row holds anything for the judge, or for the generator."""
    if judge.document:
        return GoldError(
            f"none of the {rows} documents has words to write from",
            path=path,
            hint="give documents with sentences",
        )
    return GoldError(
        f"none of the {rows} rows holds anything that judge {judge.name} judges",
        path=path,
        hint="give other rows, or the judge whose rows these are",
    )


def _whole(raw: Mapping[str, Any], reading: Reading) -> Row:
    """Return a row of another layout with JSON values: cells of text files read, absent cells left out."""
    row = dict(raw)
    ratings = all_ratings(row, reading.kind)
    if reading.kind != "json":
        row = {key: value for key, value in row.items() if value not in (None, "")}
    if reading.kind == "text":
        row = {key: _structured(value) for key, value in row.items()}
    return {**row, "ratings": ratings} if ratings else row


def _structured(value: Any) -> Any:
    read = cell(value)
    return read if isinstance(read, list | dict) else value


def _rated(judge: Judge, row: Row, reading: Reading, number: int) -> Row:
    line, other = reading.second[number]
    key = next((name for name in other if name in row and name != "ratings"), None)
    if key is None:
        raise GoldError(
            "the second rater's labels are missing",
            path=reading.second_path,
            line=line,
            hint="write the row's number and its labels under the name they have in the first file",
        )
    # read it once by itself, so that a fault is reported in the second rater's file
    judge.expanded({**row, key: other[key]}, path=reading.second_path, line=line)
    pair = {"first": row[key], "second": other[key], **(row.get("ratings") or {})}
    return {**row, "ratings": {rater: value for rater, value in pair.items() if value is not None}}
