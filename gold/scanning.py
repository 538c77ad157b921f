"""Rows of one file, streamed: JSONL, a JSON array, CSV, TSV or Parquet, told apart by content; Excel by its name."""

import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, BinaryIO

from ..errors import GoldError
from ..programs.records import join_cells
from .binary_tables import BOOKS, iterate_parquet, iterate_sheet_records
from .files import CELL_LIMIT, ROW_HINT, Place, Row, Rows, find_text_fault, parse_json
from .tables import NumberedLines, iterate_csv_records, iterate_table_rows

_JSON_SUFFIXES = {".json", ".jsonl", ".ndjson"}


def scan(stream: BinaryIO, path: str, sheet: str = "", notes: list[str] | None = None) -> Rows:
    """Yield the rows of a stream as they are asked for; only a JSON array or table is read whole.

    Args:
        stream: the bytes.
        path: what messages call them; its suffix tells Excel and JSON.
        sheet: the sheet of a workbook; default: the first one that is a table.
        notes: takes what a user should know of how they are read.

    Raises:
        GoldError: the file is empty, packed or broken. An error of one row is yielded in its place.
    """
    source = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[type-var]
    head = source.peek(4)[:4]
    suffix = PurePath(path).suffix.lower()
    if head == b"PAR1":
        return iterate_parquet(source, path)
    if suffix in BOOKS:
        if notes is None:
            notes = []
        return iterate_table_rows(iterate_sheet_records(source, path, sheet, notes), path, title_width=1)
    if head.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        hint = "unpack it; rows of jurist run may come packed: zcat F | jurist run ... --input -"
        raise GoldError("the file is packed", path=path, hint=hint)
    lines = _iterate_lines(source, path)
    first = next(_skip_blank_lines(lines), None)
    if first is None:
        raise GoldError("the file is empty", path=path, hint=ROW_HINT)
    start = first[1].strip()
    all_lines = itertools.chain([first], lines)
    if start[0] == "[" or start == "{":
        return _iterate_items(all_lines, path)
    if start[0] == "{" or suffix in _JSON_SUFFIXES:
        return _iterate_json_lines(all_lines, path)
    return iterate_table_rows(iterate_csv_records(all_lines, path), path, title_width=2)


def _iterate_lines(stream: BinaryIO, path: str) -> NumberedLines:
    """Yield the lines of a stream with their numbers, from 1."""
    number = 0
    coding = "utf-8-sig"
    while line := stream.readline(CELL_LIMIT):
        if len(line) == CELL_LIMIT:  # a line that never ends would fill the memory
            message = f"the line has more than {CELL_LIMIT // 1024**2} MiB"
            raise Place(path, number + 1).wrong(message, hint="write one row per line")
        text = line.decode(coding, "surrogateescape")
        parts: Iterable[str] = [text] if text else []
        if "\r" in text:  # spreadsheets end lines by a carriage return alone in their CSV for Macintosh
            parts = io.StringIO(text, newline="")
        for part in parts:
            number += 1
            yield number, part
        coding = "utf-8"


def _skip_blank_lines(lines: NumberedLines) -> NumberedLines:
    """Yield the lines that hold more than white space."""
    for number, line in lines:
        if line.strip():
            yield number, line


def _iterate_items(lines: NumberedLines, path: str) -> Rows:
    """Yield the items of an array, by their numbers, or the rows of the one object that is laid out over lines."""
    first_number, first_line = next(lines)
    text = first_line + "".join(line for _, line in lines)
    place = Place(path, first_number)
    fault = find_text_fault(text, place)
    if fault:
        raise fault
    value = parse_json(text, place)
    if not value:
        raise GoldError("the array is empty", path=path, hint=ROW_HINT)
    items = value
    if not isinstance(value, list):
        items = _rows_of_table(value) or [value]
    for number, item in enumerate(items, 1):
        item_place = Place(path, number)
        yield item_place, _as_row(item, item_place)


def _iterate_json_lines(lines: NumberedLines, path: str) -> Rows:
    """Yield the object of each line; a table that is the only line gives its rows."""
    filled_lines = _skip_blank_lines(lines)
    place, row = _parse_json_line(next(filled_lines), path)
    table = None if isinstance(row, GoldError) else _rows_of_table(row)
    if table is None:
        yield place, row
    else:
        second_line = next(filled_lines, None)
        if second_line is None:
            for number, table_row in enumerate(table, 1):
                yield Place(path, number), table_row
            return
        yield place, row  # more lines follow: the first one is a row like them
        yield _parse_json_line(second_line, path)
    for line in filled_lines:
        yield _parse_json_line(line, path)


def _parse_json_line(numbered_line: tuple[int, str], path: str) -> tuple[Place, Row | GoldError]:
    """Return the object of a line, or the error of the line, with its place."""
    number, line = numbered_line
    place = Place(path, number)
    fault = find_text_fault(line, place)
    if fault:
        return place, fault
    try:
        return place, _as_row(parse_json(line.rstrip("\r\n"), place), place)
    except GoldError as error:
        return place, error


def _as_row(item: object, place: Place) -> Row | GoldError:
    """Return a JSON value as a row, or the error that it is no object."""
    if isinstance(item, dict):
        return item
    return place.wrong(f"a row must be a JSON object, got {type(item).__name__}", hint="write {...}")


def _rows_of_table(value: Row) -> list[Row] | None:
    """Return the rows of a table written as one object, as pandas' to_json does; ``None`` if it is no table."""
    names = value.get("columns")
    data = value.get("data")
    if {"columns", "data"} <= value.keys() <= {"columns", "index", "data"} and isinstance(names, list):
        return _join_named_cells(names, data)
    if value.keys() == {"schema", "data"} and isinstance(data, list):
        if not _are_all(dict, data):
            return None
        return data
    parts = list(value.values())
    if len(parts) < 2:
        return None
    # one row of a judge of sentences has two lists: the sentences, and their labels
    if len(parts) > 2 and _are_all(list, parts):
        return _rows_of_columns(value)
    if not _are_all(dict, parts) or not all(parts):
        return None
    if _are_numbers(value):  # index -> column -> cell
        return parts
    if all(map(_are_numbers, parts)):  # column -> index -> cell
        return _rows_of_columns(value)
    return None


def _are_all(kind: type, values: Sequence[object]) -> bool:
    """Whether all values are of a type."""
    return all(isinstance(value, kind) for value in values)


def _are_numbers(names: Mapping[str, Any]) -> bool:
    """Whether all names in an object are whole numbers."""
    return all(name.isdecimal() for name in names)


def _join_named_cells(names: list[str], rows: object) -> list[Row] | None:
    """Return rows of lists of cells by the names of columns; ``None`` unless each has a cell for each name."""
    if not isinstance(rows, list):
        return None
    joined_rows: list[Row] = []
    for cells in rows:
        if not isinstance(cells, list) or len(cells) != len(names):
            return None
        joined_rows.append(join_cells(names, cells))
    return joined_rows


def _rows_of_columns(columns: Mapping[str, Any]) -> list[Row] | None:
    """Return the rows of columns that all have the same index of two entries or more; ``None`` if they have not.

    Args:
        columns: name -> a list of cells, or index -> cell.
    """
    indices: list[list[Any]] = []
    for cells in columns.values():
        if isinstance(cells, list):
            indices.append(list(range(len(cells))))
        else:
            indices.append(list(cells))
    index = indices[0]
    if len(index) < 2 or indices.count(index) < len(indices):
        return None
    rows: list[Row] = []
    for entry in index:
        rows.append({name: cells[entry] for name, cells in columns.items()})
    return rows
