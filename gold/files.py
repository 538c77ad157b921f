"""Rows of one file, streamed: JSONL, a JSON array, CSV, TSV or Parquet, told apart by content; Excel by its name."""

import csv
import io
import itertools
import json
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar

import pydantic

from ..errors import GoldError, choices, why
from ..programs.records import join_cells
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
BOOKS = {".xlsx", ".xlsm"}
"""Suffixes of Excel workbooks."""
_JSON_NAMES = {".json", ".jsonl", ".ndjson"}
_CELL = 128 * 1024 * 1024
"""Bytes of a line, and characters of a CSV cell: those of a cell that is never closed are all that follow it."""
_COLUMNS = 16_384
"""Columns of a table, as many as Excel has: work on a row grows with them."""
_PEEKED = 50
"""Rows of a sheet by which a table is told from a cover."""
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
    """Return a row as a value of a type."""
    try:
        return kind.validate_python(row)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise place.wrong(first["msg"], ".".join(map(str, first["loc"])), hint=hint) from error


def scan(stream: BinaryIO, path: str, sheet: str = "", notes: list[str] | None = None) -> Rows:
    """Yield the rows of a stream as they are asked for; only a JSON array or table is read whole.

    Args:
        stream: the bytes.
        path: what messages call them; its suffix tells Excel and JSON.
        sheet: the sheet of a workbook; default: the first one that is a table.
        notes: takes what a user should know of how they are read.
    """
    source = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[type-var]
    head, suffix = source.peek(4)[:4], PurePath(path).suffix.lower()
    if head == b"PAR1":
        return _parquet(source, path)
    if suffix in BOOKS:
        return _table(_workbook(source, path, sheet, [] if notes is None else notes), path, title=1)
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
    """Return the fault of a text's characters, after decoding with ``surrogateescape``."""
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
    """Yield the items of an array, by their numbers, or what the one object holds that is laid out over lines."""
    first, line = next(lines)
    text = line + "".join(line for _, line in lines)
    if error := unreadable(text, Place(path, first)):
        raise error
    value = parse_json(text, Place(path, first))
    if not value:
        raise GoldError("the array is empty", path=path, hint=_SOME)
    items = value if isinstance(value, list) else _rows_of_table(value) or [value]
    for number, item in enumerate(items, 1):
        yield Place(path, number), _object(item, Place(path, number))


def _json_lines(lines: Numbered, path: str) -> Rows:
    """Yield the object of each line; a table that is the only line gives its rows."""
    table: list[Row] | None = None
    first: tuple[Place, Row | GoldError] = Place(path), {}
    filled = (pair for pair in lines if pair[1].strip())
    for count, (number, line) in enumerate(filled):
        place = Place(path, number)
        try:
            row = unreadable(line, place) or _object(parse_json(line.rstrip("\r\n"), place), place)
        except GoldError as error:
            row = error
        if table is not None:  # more lines follow: the first one was a row like them
            yield first
            table = None
        if count == 0 and not isinstance(row, GoldError):
            table = _rows_of_table(row)
        if table is None:
            yield place, row
        else:
            first = place, row
    for number, item in enumerate(table or (), 1):
        yield Place(path, number), item


def _rows_of_table(value: Row) -> list[Row] | None:
    """Return the rows of a table written as one object, as pandas' to_json does; ``None`` if it is no table."""
    names, data = value.get("columns"), value.get("data")
    if {"columns", "data"} <= value.keys() <= {"columns", "index", "data"} and isinstance(names, list):
        if isinstance(data, list) and all(isinstance(row, list) and len(row) == len(names) for row in data):
            return [join_cells(names, row) for row in data]
        return None
    if value.keys() == {"schema", "data"} and isinstance(data, list):
        return data if all(isinstance(row, dict) for row in data) else None
    held = list(value.values())
    if len(held) < 2:
        return None
    # one row of a judge of sentences has two lists: the sentences, and their labels
    if len(held) > 2 and all(isinstance(column, list) for column in held):
        return _from_columns(value, [range(len(column)) for column in held])
    if not all(isinstance(part, dict) and part for part in held):
        return None
    if all(key.isdecimal() for key in value):  # index -> column -> cell
        return held
    if all(key.isdecimal() for part in held for key in part):  # column -> index -> cell
        return _from_columns(value, [part.keys() for part in held])
    return None


def _from_columns(columns: Mapping[str, Any], indices: Sequence[Collection[Any]]) -> list[Row] | None:
    """Return the rows of columns that all have the same index of two entries or more; ``None`` if they have not."""
    index = list(indices[0])
    if len(index) < 2 or any(list(other) != index for other in indices):
        return None
    return [{name: cells[at] for name, cells in columns.items()} for at in index]


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
    if len(header) > _COLUMNS:
        message = f"the header has {len(header):,} columns, more than {_COLUMNS:,}"
        raise GoldError(message, path=path, hint="write one row per line, and the columns that are needed")
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
            row = join_cells(names, cells)
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
        labels = _class_labels(file.schema_arrow.metadata)
        for batch in file.iter_batches(batch_size=_BATCH):
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                row = join_cells(batch.schema.names, cells)
                for name, names in labels.items():
                    row[name] = _class_label(row.get(name), names)
                yield Place(path, number, "columns"), row
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise GoldError(f"broken Parquet: {error}", path=path, hint="write the file again") from error
    if not number:
        raise GoldError("the file has no rows", path=path, hint=_SOME)


def _class_labels(metadata: Mapping[bytes, bytes] | None) -> dict[str, list[str]]:
    """Return column -> names of its numbers, where a file of ``datasets`` says so of class labels."""
    try:
        about = json.loads((metadata or {}).get(b"huggingface", b"{}"))
        features = about.get("info", {}).get("features", {}).items()
        return {name: list(kind["names"]) for name, kind in features if kind.get("_type") == "ClassLabel"}
    except (AttributeError, KeyError, TypeError, ValueError):  # another program's metadata
        return {}


def _class_label(value: Any, names: Sequence[str]) -> Any:
    """Return the name of a class label; -1 is none."""
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return None if value == -1 else value


def _seekable(stream: BinaryIO) -> BinaryIO:
    """Return a stream that can be read from its end, which a pipe cannot."""
    return stream if stream.seekable() else io.BytesIO(stream.read())


def _workbook(stream: BinaryIO, path: str, wanted: str, notes: list[str]) -> Iterator[Record]:
    """Yield the cells of one sheet of an Excel workbook, as a CSV of it would have them."""
    import openpyxl

    # a broken archive, or one with a password, raises any of these in the library
    broken = (EOFError, LookupError, OSError, RuntimeError, SyntaxError, ValueError)
    try:
        source = _seekable(stream)
        _check_cells(source, path)
        book = openpyxl.load_workbook(source, read_only=True, data_only=True)
        sheets = book.worksheets
        for sheet in sheets:
            sheet.reset_dimensions()  # programs that stream rows out write those of an empty sheet
        chosen = _chosen_sheet(sheets, wanted, path)
        if len(sheets) > 1 and not wanted:
            others = [sheet.title for sheet in sheets if sheet is not chosen]
            named = f"{path}#{others[0]} names another"
            notes.append(f"the sheet {chosen.title!r} of {len(sheets)} sheets was read; {named}")
        width = 0
        for number, cells in enumerate(chosen.iter_rows(values_only=True), 1):
            row = ["" if value is None else str(as_text(value)) for value in cells]
            if any(cell.strip() for cell in row):
                while row and not row[-1]:  # programs leave empty columns behind
                    row.pop()
                width = width if width > 1 else len(row)  # the first row may be a title
                yield number, row + [""] * (width - len(row))
    except (zipfile.BadZipFile, zlib.error, *broken) as error:
        hint = "save it again as .xlsx or CSV"
        raise GoldError(f"broken workbook: {error}", path=path, hint=hint) from error


def _chosen_sheet(sheets: Sequence[Any], wanted: str, path: str) -> Any:
    """Return the sheet that is named, else the first one that is a table: a cover sheet is none."""
    if wanted:
        for sheet in sheets:
            if sheet.title == wanted:
                return sheet
        raise GoldError(
            f"there is no sheet {wanted!r}",
            path=path,
            hint=choices(wanted, [sheet.title for sheet in sheets]),
        )
    for sheet in sheets:
        rows = 0
        for cells in sheet.iter_rows(max_row=_PEEKED, values_only=True):
            rows += sum(value is not None for value in cells) > 1
            if rows > 1:
                return sheet
    return sheets[0]


def _check_cells(stream: BinaryIO, path: str) -> None:
    """Refuse a workbook with a cell that would fill the memory: the library reads cells whole."""
    with zipfile.ZipFile(stream) as archive:
        for part in archive.infolist():
            if part.file_size <= _CELL:
                continue
            with archive.open(part) as content:
                length = 0
                while block := content.read(_CELL // 128):
                    # what is longer than a block is seen at its ends
                    start, tag, _ = block.partition(b"<")
                    length += len(start)
                    if length > _CELL:
                        message = f"a cell has more than {_CELL // 1024**2} MiB"
                        raise GoldError(
                            message, path=path, hint="remove what is in it, or save the rest as CSV"
                        )
                    if tag:
                        length = len(block) - 1 - block.rfind(b"<")
    stream.seek(0)
