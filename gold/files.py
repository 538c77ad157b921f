"""Rows of one file, streamed: JSONL, a JSON array, CSV, TSV or Parquet, told apart by content; Excel by its name."""

import csv
import io
import itertools
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar

import pydantic

from ..errors import GoldError, why
from ..programs.records import row_of
from ..text.replies import ContradictionError, said_once
from ..text.turns import as_text

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["json", "text", "columns"]
"""What values are: JSON values; the text of CSV cells; typed columns, where absent is ``None``."""
Numbered: TypeAlias = Iterator[tuple[int, str]]
"""Lines of a text with their numbers."""
Record: TypeAlias = tuple[int, list[str] | GoldError]
"""The line that a record of a table starts on, and its cells, or what is wrong with them."""

_SAVE = "give a text file in UTF-8 (from Excel: save it as .xlsx or CSV UTF-8)"
_SOME = "give a file with at least one row"
_BOOKS = {".xlsx", ".xlsm"}
_JSON_NAMES = {".json", ".jsonl", ".ndjson"}
_CELL = 128 * 1024 * 1024
"""Bytes of a line, and characters of a CSV cell: those of a cell that is never closed are all that follow it."""
_BATCH = 256
"""Rows of Parquet that are in memory at once."""


@dataclass(frozen=True)
class Place:
    """Where a row stands: the file as the user named it, and the 1-based line (or record number), if one is known."""

    path: str
    line: int | None = None
    kind: Kind = "json"  # how the values of the row are to be understood

    def wrong(self, message: str, field: str = "", *, hint: str) -> GoldError:
        """Return the error that the row, or a field (column) of it, has."""
        return GoldError(message, path=self.path, line=self.line, field=field, hint=hint)


Rows: TypeAlias = Iterator[tuple[Place, Row | GoldError]]
"""Rows, or what is wrong with them, with their places."""


def validated(kind: pydantic.TypeAdapter[T], row: Row, place: Place, *, hint: str) -> T:
    """Return what a row is as a value of a type."""
    try:
        return kind.validate_python(row)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise place.wrong(first["msg"], ".".join(map(str, first["loc"])), hint=hint) from error


def scan(stream: BinaryIO, path: str) -> Rows:
    """Yield the rows of a stream as they are asked for; only a JSON array is read whole."""
    source = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[type-var]
    head, suffix = source.peek(4)[:4], PurePath(path).suffix.lower()
    if head == b"PAR1":
        return _parquet(source, path)
    if suffix in _BOOKS:
        return _table(_workbook(source, path), path, title=1)
    if head.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        hint = "unpack it; rows of jurist run may come packed: zcat F | jurist run ... --input -"
        raise GoldError("the file is packed", path=path, hint=hint)
    lines = _lines(source, path)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        raise GoldError("the file is empty", path=path, hint=_SOME)
    start, rest = first[1].strip(), itertools.chain([first], lines)
    if start[0] in "{[" or suffix in _JSON_NAMES:
        return (_whole_json if start[0] == "[" or start == "{" else _json_lines)(rest, path)
    return _table(_csv(rest, path), path, title=2)


def text_of(file: Path, path: str) -> str:
    """Return the text that a file holds, in UTF-8 with or without a byte order mark."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise GoldError(f"the file cannot be read: {why(error)}", path=path, hint="check it") from error
    text = data.decode("utf-8-sig", "surrogateescape")
    if wrong := unreadable(text, Place(path, 1)):
        raise wrong
    return text


def _lines(stream: BinaryIO, path: str) -> Numbered:
    number, coding = 0, "utf-8-sig"
    while line := stream.readline(_CELL):
        if len(line) == _CELL:  # a line that never ends would fill the memory
            message = f"the line has more than {_CELL // 1024**2} MiB"
            raise Place(path, number + 1).wrong(message, hint="write one row per line")
        # spreadsheets end lines by a carriage return alone in their CSV for Macintosh
        for part in io.StringIO(line.decode(coding, "surrogateescape"), newline=""):
            number += 1
            yield number, part
        coding = "utf-8"


def unreadable(text: str, place: Place) -> GoldError | None:
    """Return what is wrong with the characters of a text that was decoded with ``surrogateescape``."""
    wrong, message = text.find("\0"), "the file holds a NUL character: it is not text"
    if wrong < 0:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            wrong = error.start
            column = wrong - text.rfind("\n", 0, wrong)
            message = f"byte 0x{ord(text[wrong]) & 0xFF:02x} at column {column} is not UTF-8"
        else:
            return None
    return replace(place, line=(place.line or 1) + text.count("\n", 0, wrong)).wrong(message, hint=_SAVE)


def parse_json(text: str, place: Place) -> Any:
    """Return one JSON value."""
    try:
        return json.loads(text, object_pairs_hook=said_once)
    except ContradictionError as error:
        raise place.wrong(str(error), hint="keep one of the two") from error
    except json.JSONDecodeError as error:
        there = replace(place, line=(place.line or 1) + error.lineno - 1)
        hint = "write one JSON object per line, or one JSON array of objects"
        raise there.wrong(f"broken JSON at column {error.colno}: {error.msg}", hint=hint) from error
    except (ValueError, RecursionError) as error:
        message = "the JSON is nested too deeply, or holds an integer of thousands of digits"
        raise place.wrong(message, hint="flatten the row, or write the integer as a string") from error


def _whole_json(lines: Numbered, path: str) -> Rows:
    """Yield the items of an array, by their numbers, or the one object that is laid out over lines."""
    first, line = next(lines)
    text = line + "".join(line for _, line in lines)
    if error := unreadable(text, Place(path, first)):
        raise error
    value = parse_json(text, Place(path, first))
    if not value:
        raise GoldError("the array is empty", path=path, hint=_SOME)
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        yield Place(path, number), _object(item, Place(path, number))


def _json_lines(lines: Numbered, path: str) -> Rows:
    for number, line in lines:
        place = Place(path, number)
        if line.strip():
            try:
                yield place, unreadable(line, place) or _object(parse_json(line.rstrip("\r\n"), place), place)
            except GoldError as error:
                yield place, error


def _object(item: Any, place: Place) -> Row | GoldError:
    if isinstance(item, dict):
        return item
    return place.wrong(f"a row must be a JSON object, got {type(item).__name__}", hint="write {...}")


def _table(records: Iterator[Record], path: str, title: int) -> Rows:
    """Yield records as rows, by the names in the first one, but for titles: lone texts in ``title`` cells or more."""
    line, header = next(records, (1, None))
    if isinstance(header, list) and len(header) >= title and header[0].strip() and _filled(header) == 1:
        near = list(itertools.islice(records, 3))
        wide = (n for n, (_, found) in enumerate(near) if isinstance(found, list) and _filled(found) > 1)
        if (below := next(wide, None)) is not None:
            (line, header), near = near[below], near[below + 1 :]
        records = itertools.chain(near, records)
    if isinstance(header, GoldError):
        raise header
    if header is None:
        raise GoldError("the file has no header", path=path, hint="name the columns in the first line")
    names, empty = [name.strip() for name in header], True
    for line, cells in records:
        place, empty = Place(path, line, "text"), False
        if isinstance(cells, GoldError):
            yield place, cells
            continue
        if not any(cell.strip() for cell in cells[len(names) :]):  # some programs end each row by a comma
            cells = cells[: len(names)]
        if len(cells) != len(names):
            message = f"the row has {len(cells)} cells, the header has {len(names)}"
            hint = "put cells that hold commas, quotes or line breaks in double quotes"
            yield place, place.wrong(message, hint=hint)
        else:
            row = row_of(names, cells)
            row.pop("", None)  # a column without a name
            yield place, row
    if empty:
        raise GoldError("the file has a header and no rows", path=path, hint=_SOME)


def _filled(cells: list[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


def _csv(lines: Numbered, path: str) -> Iterator[Record]:
    """Yield the cells of each record that is not blank, or what is wrong with it."""
    csv.field_size_limit(max(csv.field_size_limit(), _CELL))
    line, header = next(lines)
    # spreadsheets of many countries write ';' between cells; what a quoted name holds is no delimiter
    delimiter = max(",;\t", key=re.sub(r'"[^"]*"', "", header).count)
    texts, before = itertools.chain([header], (text for _, text in lines)), line - 1
    reader = csv.reader(texts, delimiter=delimiter, strict=True)
    while True:
        place = Place(path, line)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            hint = "double every quote inside a quoted cell and close every quoted cell"
            yield line, place.wrong(f"broken CSV: {error}", hint=hint)
        else:
            if any(cell.strip() for cell in cells):
                yield line, next(filter(None, (unreadable(cell, place) for cell in cells)), cells)
        line = before + reader.line_num + 1


def _parquet(stream: BinaryIO, path: str) -> Rows:
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        file = pyarrow.parquet.ParquetFile(_seekable(stream))
        for batch in file.iter_batches(batch_size=_BATCH):
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                yield Place(path, number, "columns"), row_of(batch.schema.names, cells)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise GoldError(f"broken Parquet: {error}", path=path, hint="write the file again") from error
    if not number:
        raise GoldError("the file has no rows", path=path, hint=_SOME)


def _seekable(stream: BinaryIO) -> BinaryIO:
    """Return a stream that can be read from its end, which a pipe cannot."""
    return stream if stream.seekable() else io.BytesIO(stream.read())


def _workbook(stream: BinaryIO, path: str) -> Iterator[Record]:
    """Yield the cells of the first sheet of an Excel workbook, as a CSV of it would have them."""
    import openpyxl

    # a broken archive, or one with a password, raises any of these in the library
    broken = (EOFError, LookupError, OSError, RuntimeError, SyntaxError, ValueError)
    try:
        book = openpyxl.load_workbook(_seekable(stream), read_only=True, data_only=True)
        width, sheet = 0, book.worksheets[0]
        sheet.reset_dimensions()  # programs that stream rows out write those of an empty sheet
        for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
            row = ["" if value is None else str(as_text(value)) for value in cells]
            if any(cell.strip() for cell in row):
                while row and not row[-1]:  # programs leave empty columns behind
                    row.pop()
                width = width if width > 1 else len(row)  # the first row may be a title
                yield number, row + [""] * (width - len(row))
    except (zipfile.BadZipFile, zlib.error, *broken) as error:
        hint = "save it again as .xlsx or CSV"
        raise GoldError(f"broken workbook: {error}", path=path, hint=hint) from error
