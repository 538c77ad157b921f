"""Rows of one file, streamed: JSONL, a JSON array or object, CSV, TSV, Excel or Parquet, told apart by content."""

import csv
import io
import itertools
import json
import math
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar

import pydantic

from ..errors import GoldError, why

R = TypeVar("R")
Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[tuple[int, Row]]
"""Rows with the line (or record number) each starts on."""
ReadRow: TypeAlias = tuple[int, Row | GoldError]
"""A row, or what is wrong with it, with the line (or record number) it starts on."""
Numbered: TypeAlias = Iterator[tuple[int, str]]
"""Lines of a text with their numbers."""
Kind: TypeAlias = Literal["json", "text", "columns"]
"""What values are: JSON values; the text of CSV cells; typed columns, where absent is ``None``."""
OnBad: TypeAlias = Callable[[GoldError, Mapping[str, Any] | None], None]
"""Takes what is wrong with a row and the row as far as it could be read; may raise the error."""

_SAVE = "save the file as UTF-8 (from Excel: as CSV UTF-8)"
_SOME = "give a file with at least one row"
_UNPACK = "unpack it, or export it as CSV or JSONL"
_ZIP = b"PK\x03\x04"
_NO_TEXT = {
    b"\x1f\x8b": ("this is a gzip file, not rows", _UNPACK),
    _ZIP: ("this is a zip archive, or an Excel workbook that is not named .xlsx", _UNPACK),
    b"%PDF": ("this is a PDF, not rows", _UNPACK),
    b"\xff\xfe": ("the file is UTF-16, not UTF-8", _SAVE),
    b"\xfe\xff": ("the file is UTF-16, not UTF-8", _SAVE),
}
"""What a file begins with that is no text, what it is then, and what to do."""
_BOOKS = {".xlsx", ".xlsm"}
_JSON_NAMES = {".json", ".jsonl", ".ndjson"}
_CELL = 128 * 1024 * 1024
"""Characters of a line or a CSV cell: those of a cell that is never closed are all that follow it."""
_BATCH = 256
"""Rows of Parquet that are in memory at once."""
_ROW = 256
"""Bytes that a row takes beside its values."""
_WIDEST = 1 << 20
"""Bytes that rows of Parquet may take on average: a small file can expand to any size."""
_WHOLE = 1 << 30
"""Bytes that all rows of Parquet may take where they are read at once; a stream has no such limit."""


@dataclass(frozen=True)
class Place:
    """Where a row stands: the file as the user named it, and the 1-based line (or record number), if one is known."""

    path: str
    line: int | None = None

    def wrong(self, message: str, field: str = "", *, hint: str) -> GoldError:
        """Return the error that the row, or a field (column) of it, has."""
        return GoldError(message, path=self.path, line=self.line, field=field, hint=hint)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The rows of a source, all of them."""

    name: str  # a short name: the bundled name, the file's stem, the folder's name
    path: str  # the file (or source) to name in messages
    rows: Rows  # (line or record number, row)
    kind: Kind = "json"  # how values are to be understood
    card: Mapping[str, Any] = field(default_factory=dict)  # the card of the gold set; empty if it has none
    second: Mapping[int, Row] = field(default_factory=dict)  # line of a row -> what a second rater says of it


def refuse(error: GoldError, row: Mapping[str, Any] | None) -> None:
    """Raise the error: the first bad row ends the reading."""
    raise error


def validated(kind: pydantic.TypeAdapter[R], row: Row, place: Place, *, hint: str) -> R:
    """Return what a row is as a value of a type."""
    try:
        return kind.validate_python(row)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise place.wrong(first["msg"], ".".join(map(str, first["loc"])), hint=hint) from error


def parse(data: bytes, path: str, on_bad: OnBad = refuse, name: str = "") -> Reading:
    """Return the rows of a file's content."""
    kind, read = scan(io.BytesIO(data), path, most=_WHOLE)
    rows: Rows = []
    for line, row in read:
        if isinstance(row, GoldError):
            on_bad(row, None)
        else:
            rows.append((line, row))
    return Reading(name=name, path=path, rows=rows, kind=kind)


def scan(stream: BinaryIO, path: str, *, most: float = math.inf) -> tuple[Kind, Iterator[ReadRow]]:
    """Return the rows of a stream as they are asked for, or what is wrong with them; only an array is read whole."""
    source = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[type-var]
    head = source.peek(4)
    if head[:4] == b"PAR1":
        return "columns", _parquet(source, path, most)
    if head[:4] == _ZIP and PurePath(path).suffix.lower() in _BOOKS:
        return "text", _named(_workbook(source, path), path)
    _check_text(head, path)
    text = _Lines(source, encoding="utf-8-sig", errors="surrogateescape", newline="")
    text.path = path
    lines = enumerate(text, 1)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        raise GoldError("the file is empty", path=path, hint=_SOME)
    start, rest = first[1].lstrip(), itertools.chain([first], lines)
    if start[0] in "{[" or PurePath(path).suffix.lower() in _JSON_NAMES:
        whole = start[0] == "[" or start.rstrip() == "{"
        return "json", _whole_json(rest, path) if whole else _json_lines(rest, path)
    csv.field_size_limit(max(csv.field_size_limit(), _CELL))
    return "text", _named(_records(rest, path), path)


class _Lines(io.TextIOWrapper):
    """The lines of a stream, which whoever opened it closes; one that never ends is refused."""

    path = ""

    def __next__(self) -> str:  # type: ignore[override]
        line = self.readline(_CELL + 1)
        if len(line) > _CELL:
            said = f"a line has more than {_CELL // 2**20} million characters"
            raise GoldError(said, path=self.path, hint="write one row a line (JSONL), or Parquet")
        if not line:
            raise StopIteration
        return line

    def close(self) -> None:
        """Leave the stream open."""


def bytes_of(file: Path, path: str) -> bytes:
    """Return what a file holds."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise GoldError(f"the file cannot be read: {why(error)}", path=path, hint="check it") from error


def text_of(file: Path, path: str) -> str:
    """Return the text that a file holds, in UTF-8 with or without a byte order mark."""
    data = bytes_of(file, path)
    _check_text(data, path)
    text = data.decode("utf-8-sig", "surrogateescape")
    if error := unreadable(text, path, 1):
        raise error
    return text


def _check_text(head: bytes, path: str) -> None:
    for magic, (what, hint) in _NO_TEXT.items():
        if head.startswith(magic):
            raise GoldError(what, path=path, hint=hint)


def unreadable(text: str, path: str, line: int) -> GoldError | None:
    """Return what is wrong with the characters of a text that was decoded with ``surrogateescape``."""
    if "\0" in text:
        line += text.count("\n", 0, text.index("\0"))
        said = "the file holds a NUL character: it is not text"
        return GoldError(said, path=path, line=line, hint="export it again")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line += text.count("\n", 0, error.start)
        column = error.start - text.rfind("\n", 0, error.start)
        said = f"byte 0x{ord(text[error.start]) & 0xFF:02x} at column {column} is not UTF-8"
        return GoldError(said, path=path, line=line, hint=_SAVE)
    return None


class _TwiceError(ValueError):
    """A key stands twice in one object; the argument is the key."""


def _said_once(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise _TwiceError(Counter(name for name, _ in pairs).most_common(1)[0][0])
    return row


_READER = json.JSONDecoder(object_pairs_hook=_said_once)


def parse_json(text: str, path: str, *, first_line: int = 1) -> Any:
    """Return one JSON value."""
    place = Place(path, first_line)
    try:
        return _READER.decode(text)
    except json.JSONDecodeError as error:
        place = Place(path, first_line + error.lineno - 1)
        hint = "write one JSON object per line, or one JSON array of objects"
        raise place.wrong(f"broken JSON at column {error.colno}: {error.msg}", hint=hint) from error
    except _TwiceError as error:
        said, hint = "an object gives this key twice", "keep one of the two values"
        raise place.wrong(said, str(error)[:80], hint=hint) from error
    except (ValueError, RecursionError) as error:
        said = "the JSON is nested too deeply, or holds an integer of thousands of digits"
        raise place.wrong(said, hint="flatten the row, or write the integer as a string") from error


def _whole_json(lines: Numbered, path: str) -> Iterator[ReadRow]:
    """Yield the items of an array, by their numbers, or the one object that is laid out over lines."""
    first, line = next(lines)
    text = "\n" * (first - 1) + line + "".join(line for _, line in lines)
    if error := unreadable(text, path, 1):
        raise error
    value = parse_json(text, path)
    if not value:
        raise GoldError("the array is empty", path=path, hint=_SOME)
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        yield number, _object(item, Place(path, number))


def _json_lines(lines: Numbered, path: str) -> Iterator[ReadRow]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            if error := unreadable(line, path, number):
                raise error
            value = parse_json(line.rstrip("\r\n"), path, first_line=number)
            yield number, _object(value, Place(path, number))
        except GoldError as error:
            yield number, error


def _object(item: Any, place: Place) -> Row | GoldError:
    if isinstance(item, dict):
        return item
    return place.wrong(f"a row must be a JSON object, got {type(item).__name__}", hint="write {...}")


def _named(records: Iterator[tuple[int, list[str] | GoldError]], path: str) -> Iterator[ReadRow]:
    """Yield records as rows, by the names in the first one."""
    first_line, header = next(records, (1, None))
    if isinstance(header, GoldError):
        raise header
    if header is None:
        raise GoldError("the file has no header", path=path, hint="name the columns in the first line")
    names, line = [name.strip() for name in header], first_line
    if twice := sorted(name for name, count in Counter(names).items() if name and count > 1):
        said, hint = "two columns have this name", "rename one of them"
        raise Place(path, first_line).wrong(said, twice[0], hint=hint)
    for line, cells in records:
        if isinstance(cells, GoldError):
            yield line, cells
        elif len(cells) != len(names):
            said = f"the row has {len(cells)} cells, the header has {len(names)}"
            hint = "put cells that hold commas, quotes or line breaks in double quotes"
            yield line, Place(path, line).wrong(said, hint=hint)
        else:
            yield line, {name: cell for name, cell in zip(names, cells, strict=True) if name}
    if line == first_line:
        raise GoldError("the file has a header and no rows", path=path, hint=_SOME)


def _records(lines: Numbered, path: str) -> Iterator[tuple[int, list[str] | GoldError]]:
    """Yield the cells of each record that is not blank, or what is wrong with it."""
    line, header = next(lines)
    # spreadsheets of many countries write ';' between cells
    delimiter = max(",;\t", key=lambda mark: _cells(header, mark))
    texts, before = itertools.chain([header], (text for _, text in lines)), line - 1
    reader = csv.reader(texts, delimiter=delimiter, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            hint = "double every quote inside a quoted cell and close every quoted cell"
            yield line, Place(path, line).wrong(f"broken CSV: {error}", hint=hint)
        else:
            if any(cell.strip() for cell in cells):
                yield line, next(filter(None, (unreadable(cell, path, line) for cell in cells)), cells)
        line = before + reader.line_num + 1


def _cells(header: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([header], delimiter=delimiter), []))
    except csv.Error:
        return 0


def _parquet(stream: BinaryIO, path: str, most: float) -> Iterator[ReadRow]:
    import pyarrow
    import pyarrow.parquet
    import pyarrow.types as kinds

    number, taken = 0, 0
    try:
        stream = _seekable(stream)
        schema = pyarrow.parquet.ParquetFile(stream).schema_arrow
        texts = [one.name for one in schema if kinds.is_string(one.type) or kinds.is_binary(one.type)]
        stream.seek(0)
        # repeated texts are in memory once
        file = pyarrow.parquet.ParquetFile(stream, read_dictionary=texts)
        for batch in file.iter_batches(batch_size=_BATCH):
            size = _expanded(batch)
            taken += size
            if size > batch.num_rows * _WIDEST or taken > most:
                what = f"it expands to {taken / 2**20:,.0f} MiB in the first {number + batch.num_rows} rows"
                raise GoldError(what, path=path, hint="give a file of fewer or shorter rows")
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise GoldError(f"broken Parquet: {error}", path=path, hint="write the file again") from error
    if not number:
        raise GoldError("the file has no rows", path=path, hint=_SOME)


def _seekable(stream: BinaryIO) -> BinaryIO:
    """Return a stream that can be read from its end, which a pipe cannot."""
    if stream.seekable():
        return stream
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - it is gone with the last row that is read from it
    shutil.copyfileobj(stream, copy)
    copy.seek(0)
    return copy


def _workbook(stream: BinaryIO, path: str) -> Iterator[tuple[int, list[str] | GoldError]]:
    """Yield the cells of the first sheet of an Excel workbook, as a CSV of it would have them."""
    try:
        import openpyxl
    except ImportError as error:
        hint = "pip install 'jurist[excel]', or save the sheet as CSV UTF-8"
        raise GoldError("reading Excel files needs openpyxl", path=path, hint=hint) from error
    try:
        stream = _seekable(stream)
        with zipfile.ZipFile(stream) as archive:
            size = sum(one.file_size for one in archive.infolist())
        if size > _WHOLE:
            said = f"it expands to {size / 2**20:,.0f} MiB"
            raise GoldError(said, path=path, hint="save the sheet as CSV UTF-8")
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        width = 0
        for number, cells in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
            row = [_cell_text(value) for value in cells]
            width = width or len(row) - next((n for n, cell in enumerate(reversed(row)) if cell), len(row))
            if any(cell.strip() for cell in row):
                own = row if any(row[width:]) else row[:width]
                yield number, [*own, *[""] * (width - len(own))]
    except (zipfile.BadZipFile, KeyError, IndexError, ValueError, OSError, SyntaxError) as error:
        raise GoldError(
            f"broken workbook: {error}", path=path, hint="save it again as .xlsx or CSV"
        ) from error


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)


def _expanded(batch: Any) -> int:
    """Return the bytes that the rows of a batch take."""
    import pyarrow.compute
    import pyarrow.types as kinds

    size: int = _ROW * batch.num_rows
    for column in batch.columns:
        if kinds.is_dictionary(column.type):
            lengths = pyarrow.compute.binary_length(column.dictionary)
            size += pyarrow.compute.sum(lengths.take(column.indices)).as_py() or 0
        else:
            size += column.nbytes
    return size
