"""Rows from the bytes of one file: JSONL, a JSON array, CSV or Parquet, told apart by content.

Every row comes with its place: the 1-based line it starts on, or its 1-based
record number where lines mean nothing (Parquet, an array on one line). This
module knows no judge: it does not know which columns matter.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

from ..errors import GoldError

__all__ = ["Kind", "Row", "Rows", "Table", "parse", "parse_json", "text_of"]

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[tuple[int, Row]]
"""Rows with the line (or record number) each starts on."""
Kind: TypeAlias = Literal["json", "text", "columns"]
"""What values are: JSON values; the text of CSV cells; typed columns, where absent is ``None``."""

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_PACKED = {b"\x1f\x8b": "a gzip file", b"PK\x03\x04": "a zip archive or an Excel workbook", b"%PDF": "a PDF"}
_JSON_NAMES = {".json", ".jsonl", ".ndjson"}
_STRING_OR_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?')


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of one file.

    Attributes:
        rows: (line, row) in file order.
        kind: how the values are to be understood.
    """

    rows: Rows
    kind: Kind


def parse(data: bytes, path: str) -> Table:
    """Return the rows of a file's content.

    Args:
        data: the bytes of the file.
        path: its name, for messages; a ``.json`` name makes other content an error.

    Raises:
        GoldError: the content is empty, not UTF-8, or broken, with its line.
    """
    if data[:4] == b"PAR1":
        return Table(rows=_parquet(data, path), kind="columns")
    text = text_of(data, path)
    start = text.lstrip()[:1]
    if not start:
        raise GoldError("the file is empty", path=path, hint="give a file with at least one row")
    if start in "{[" or PurePath(path).suffix.lower() in _JSON_NAMES:
        return Table(rows=_json_rows(text, path), kind="json")
    return Table(rows=_csv_rows(text, path), kind="text")


def text_of(data: bytes, path: str) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Raises:
        GoldError: it is something else, with the line and byte to blame.
    """
    for magic, what in _PACKED.items():
        if data.startswith(magic):
            raise GoldError(
                f"this is {what}, not rows", path=path, hint="unpack it, or export it as CSV or JSONL"
            )
    if data.startswith(_UTF16):
        raise GoldError("the file is UTF-16, not UTF-8", path=path, line=1, hint="save the file as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # error.object lacks the byte order mark that the codec has already taken off
        line = error.object[: error.start].count(b"\n") + 1
        offset = len(data) - len(error.object) + error.start
        value = error.object[error.start]
        raise GoldError(
            f"byte 0x{value:02x} at offset {offset} is not UTF-8",
            path=path,
            line=line,
            hint="save the file as UTF-8",
        ) from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise GoldError(
            "the file holds a NUL character: it is not text", path=path, line=line, hint="export it again"
        )
    return text


def parse_json(text: str, path: str, *, first_line: int = 1) -> Any:
    """Return one JSON value.

    Raises:
        GoldError: the text is not JSON, with the line.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _broken(error.msg, path, first_line + error.lineno - 1, error.colno) from error
    except ValueError as error:
        raise _too_long(text, path, first_line) from error
    except RecursionError as error:
        raise GoldError(
            "the JSON is nested too deeply", path=path, line=first_line, hint="flatten the row"
        ) from error


def _broken(message: str, path: str, line: int, column: int) -> GoldError:
    hint = "write one JSON object per line, or one JSON array of objects"
    return GoldError(f"broken JSON at column {column}: {message}", path=path, line=line, hint=hint)


def _too_long(text: str, path: str, first_line: int) -> GoldError:
    """Return the error of an integer that Python refuses to read: it says neither which nor where."""
    limit = sys.get_int_max_str_digits()
    long = (one for one in _STRING_OR_NUMBER.finditer(text) if one[0].isdigit() and len(one[0]) > limit)
    found = next(long, None)
    line = first_line + (text.count("\n", 0, found.start()) if found else 0)
    return GoldError(
        f"an integer has more than {limit} digits", path=path, line=line, hint="write it as a string"
    )


def _json_rows(text: str, path: str) -> Rows:
    if text.lstrip().startswith("["):
        return _objects(_array(text, path), path)
    # only \n ends a line of JSONL: str.splitlines would also cut at U+2028 inside a value
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > 1 and (whole := _one_object(lines[0][1], text, path)) is not None:
        return [(lines[0][0], whole)]
    return _objects([(n, parse_json(line, path, first_line=n)) for n, line in lines], path)


def _one_object(first_line: str, text: str, path: str) -> Row | None:
    """Return the single, indented object that a file holds, or None if it is JSONL.

    Raises:
        GoldError: there is a number in it that cannot be read.
    """
    try:
        json.loads(first_line)
    except ValueError:
        try:
            whole = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            return None
        except ValueError as error:
            raise _too_long(text, path, 1) from error
        return whole if isinstance(whole, dict) else None
    except RecursionError:
        return None
    return None


def _array(text: str, path: str) -> list[tuple[int, Any]]:
    items = parse_json(text, path)
    if not items:
        raise GoldError("the array is empty", path=path, hint="give a file with at least one row")
    lines = list(_item_lines(text, len(items)))
    return list(zip(lines if len(set(lines)) == len(lines) else range(1, len(items) + 1), items, strict=True))


def _item_lines(text: str, count: int) -> Iterator[int]:
    decoder, position, line = json.JSONDecoder(), text.index("[") + 1, 1
    counted = 0
    for _ in range(count):
        while text[position] in " \t\r\n,":
            position += 1
        line += text.count("\n", counted, position)
        counted = position
        yield line
        _, position = decoder.raw_decode(text, position)


def _objects(items: Sequence[tuple[int, Any]], path: str) -> Rows:
    for line, item in items:
        if not isinstance(item, dict):
            raise GoldError(
                f"a row must be a JSON object, got {type(item).__name__}",
                path=path,
                line=line,
                hint="write {...}",
            )
    return list(items)


def _csv_rows(text: str, path: str) -> Rows:
    old = csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        records = list(_records(text, path))
    finally:
        csv.field_size_limit(old)
    if not records:
        raise GoldError("the file has no header", path=path, hint="name the columns in the first line")
    (first_line, header), body = records[0], records[1:]
    names = [name.strip() for name in header]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise GoldError(
            "two columns have this name",
            path=path,
            line=first_line,
            field=twice[0],
            hint="rename one of them",
        )
    if not body:
        raise GoldError(
            "the file has a header and no rows", path=path, hint="give a file with at least one row"
        )
    for line, cells in body:
        if len(cells) != len(names):
            raise GoldError(
                f"the row has {len(cells)} cells, the header has {len(names)}",
                path=path,
                line=line,
                hint="put cells that hold commas, quotes or line breaks in double quotes",
            )
    return [(line, {k: v for k, v in zip(names, cells, strict=True) if k}) for line, cells in body]


def _records(text: str, path: str) -> Iterator[tuple[int, list[str]]]:
    header = text.lstrip().splitlines()[0]
    # spreadsheets of many countries write ';' between cells
    delimiter = max(",;\t", key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            hint = "double every quote inside a quoted cell and close every quoted cell"
            raise GoldError(f"broken CSV: {error}", path=path, line=line, hint=hint) from error
        if any(cell.strip() for cell in cells):
            yield line, cells
        line = reader.line_num + 1


def _parquet(data: bytes, path: str) -> Rows:
    import pyarrow
    import pyarrow.parquet

    try:
        rows = pyarrow.parquet.read_table(pyarrow.BufferReader(data)).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise GoldError(f"broken Parquet: {error}", path=path, hint="write the file again") from error
    if not rows:
        raise GoldError("the file has no rows", path=path, hint="give a file with at least one row")
    return list(enumerate(rows, 1))
