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
from .goldrows import all_ratings, cell, label_keys, make_case, prepared
from .readers import Reading
from .rowtypes import Kind, Place, Row

if TYPE_CHECKING:
    from ..programs.judge import Judge

__all__ = ["expand_row", "nothing_for"]


def expand_row(judge: Judge, reading: Reading, number: int) -> list[Row]:
    """Return the judge's own rows of the row at place ``number``, prepared; none if nothing in it concerns it.

    Where there is a second rater, its ratings are ``first`` (its own labels) and ``second``.

    Raises:
        GoldError: the row, or the second rater's, does not fit its layout, with its place.
    """
    line, raw = reading.rows[number]
    place, kind = Place(reading.path, line), reading.kind
    rows = _parts(judge, raw, kind, place)
    ratings = raw.get("ratings") or {}
    if number not in reading.second or not isinstance(ratings, Mapping):
        return rows
    for row in rows:  # a row that is not the judge's says so itself, before its second rater is missed
        make_case(judge, row, place)
    at, other = reading.second[number]
    second = Place(reading.second_path, at)
    names = [*label_keys(judge), *(raw if judge.expand else ())]
    own, theirs = (next((name for name in names if name in held), "") for held in (raw, other))
    if not theirs:
        said, hint = (
            "the second rater's labels are missing",
            "write the row's number and its labels, as in gold.jsonl",
        )
        raise second.wrong(said, hint=hint)
    # read it once by itself, so that a fault is reported in the second rater's file
    plain = {name: value for name, value in raw.items() if name not in (own, "ratings")}
    for row in _parts(judge, {**plain, theirs: other[theirs]}, kind, second):
        make_case(judge, row, second)
    pair = {"first": raw.get(own), "second": other[theirs], **ratings}
    both = {**raw, "ratings": {rater: value for rater, value in pair.items() if value is not None}}
    return _parts(judge, both, kind, place)


def _parts(judge: Judge, raw: Row, kind: Kind, place: Place) -> list[Row]:
    """Return the judge's own rows of a row, prepared."""
    if judge.expand is not None:
        whole = _whole(raw, kind)
        parts = judge.expanded(whole, path=place.path, line=place.line)
        if not (len(parts) == 1 and parts[0] is whole):
            return [prepared(judge, part) for part in parts]
    return [prepared(judge, raw, kind)]


def nothing_for(judge: Judge, rows: int, path: str) -> GoldError:
    """Return the error of a source in which no row holds anything for the judge."""
    return GoldError(
        f"none of the {rows} rows holds anything that judge {judge.name} judges",
        path=path,
        hint="give other rows, or the judge whose rows these are",
    )


def _whole(raw: Mapping[str, Any], kind: Kind) -> Row:
    """Return a row of another layout with JSON values: cells of text files read, absent cells left out."""
    row = dict(raw)
    ratings = all_ratings(row, kind)
    if kind != "json":
        row = {key: value for key, value in row.items() if value not in (None, "")}
    if kind == "text":
        row = {key: _structured(value) for key, value in row.items()}
    return {**row, "ratings": ratings} if ratings else row


def _structured(value: Any) -> Any:
    read = cell(value)
    return read if isinstance(read, list | dict) else value
