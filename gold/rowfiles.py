"""Rows from the bytes of one file: JSONL, a JSON array, CSV or Parquet, told apart by content.

Every row comes with its place: the 1-based line it starts on, or its 1-based
record number where lines mean nothing (Parquet, an array on one line). This
module knows no judge: it does not know which columns matter.
"""

import csv
import io
import itertools
import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, BinaryIO

from ..errors import GoldError
from .columns import OnBad, refuse
from .decoding import Rejoined, check_packed, unreadable
from .jsonrows import json_rows
from .rowtypes import Found, Kind, Row, Rows, Table

_BOM = b"\xef\xbb\xbf"
_JSON_NAMES = {".json", ".jsonl", ".ndjson"}
_HEAD = 65536
_CELL = 128 * 1024 * 1024
"""Characters that a CSV cell may have: those of a cell that is never closed are all that follow it."""
_BATCH = 256
"""Rows of Parquet that are in memory at once."""
_ROW = 256
"""Bytes that a row takes beside its values."""
_WIDEST = 1 << 20
"""Bytes that rows of Parquet may take on average: a small file can expand to any size."""
_WHOLE = 1 << 30
"""Bytes that all rows of Parquet may take where they are read at once; a stream has no such limit."""


def parse(data: bytes, path: str, on_bad: OnBad = refuse) -> Table:
    """Return the rows of a file's content."""
    kind, found = scan(io.BytesIO(data), path, most=_WHOLE)
    rows: Rows = []
    for line, row in found:
        if isinstance(row, GoldError):
            on_bad(row, None)
        else:
            rows.append((line, row))
    return Table(rows=rows, kind=kind)


def scan(stream: BinaryIO, path: str, *, most: float = math.inf) -> tuple[Kind, Iterator[Found]]:
    """Return the rows of a stream, each read when it is asked for, and what is wrong with those that are broken.

    Memory stays flat, but for a JSON array, which is read whole.
    """
    head = stream.read1(_HEAD)  # type: ignore[attr-defined]
    if head[:4] == b"PAR1":
        return "columns", _parquet(_seekable(stream, head), path, most)
    check_packed(head, path)
    while not (start := head.removeprefix(_BOM).lstrip()[:1]):
        more = stream.read1(_HEAD)  # type: ignore[attr-defined]
        if not more:
            raise GoldError("the file is empty", path=path, hint="give a file with at least one row")
        head += more
    whole, json = io.BufferedReader(Rejoined(head, stream)), PurePath(path).suffix.lower() in _JSON_NAMES
    if start in b"{[" or json:
        # only \n ends a line of JSONL: others may stand inside a value
        lines = io.TextIOWrapper(whole, encoding="utf-8-sig", errors="surrogateescape", newline="\n")
        return "json", json_rows(lines, path, array=start == b"[")
    lines = io.TextIOWrapper(whole, encoding="utf-8-sig", errors="surrogateescape", newline="")
    return "text", _csv_rows(lines, path)


def _seekable(stream: BinaryIO, head: bytes) -> BinaryIO:
    """Return a stream from its beginning, as a temporary file if it is a pipe: Parquet is read from its end."""
    if stream.seekable():
        stream.seek(0)
        return stream
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - it is gone with the last row that is read from it
    copy.write(head)
    shutil.copyfileobj(stream, copy)
    copy.seek(0)
    return copy


def _csv_rows(lines: Iterator[str], path: str) -> Iterator[Found]:
    csv.field_size_limit(max(csv.field_size_limit(), _CELL))
    records = _records(lines, path)
    first_line, header = next(records, (1, None))
    if isinstance(header, GoldError):
        raise header
    if header is None:
        raise GoldError("the file has no header", path=path, hint="name the columns in the first line")
    names, any_row = _names(header, path, first_line), False
    for line, cells in records:
        any_row = True
        if isinstance(cells, GoldError):
            yield line, cells
        elif len(cells) != len(names):
            said = f"the row has {len(cells)} cells, the header has {len(names)}"
            hint = "put cells that hold commas, quotes or line breaks in double quotes"
            yield line, GoldError(said, path=path, line=line, hint=hint)
        else:
            yield line, {name: cell for name, cell in zip(names, cells, strict=True) if name}
    if not any_row:
        raise GoldError(
            "the file has a header and no rows", path=path, hint="give a file with at least one row"
        )


def _names(header: list[str], path: str, line: int) -> list[str]:
    names = [name.strip() for name in header]
    twice = sorted(name for name, count in Counter(names).items() if name and count > 1)
    if twice:
        said, hint = "two columns have this name", "rename one of them"
        raise GoldError(said, path=path, line=line, field=twice[0], hint=hint)
    return names


def _records(lines: Iterator[str], path: str) -> Iterator[tuple[int, list[str] | GoldError]]:
    """Return the cells of each record that is not blank, or what is wrong with it."""
    blank: list[str] = []
    for header in lines:
        blank.append(header)
        if header.strip():
            break
    if not blank:  # half of a byte order mark is no text
        return
    # spreadsheets of many countries write ';' between cells
    delimiter = max(",;\t", key=lambda mark: _cells(blank[-1], mark))
    reader = csv.reader(itertools.chain(blank, lines), delimiter=delimiter, strict=True)
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            hint = "double every quote inside a quoted cell and close every quoted cell"
            yield line, GoldError(f"broken CSV: {error}", path=path, line=line, hint=hint)
        else:
            if any(cell.strip() for cell in cells):
                yield line, next(filter(None, (unreadable(cell, path, line) for cell in cells)), cells)
        line = reader.line_num + 1


def _cells(header: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([header], delimiter=delimiter), []))
    except csv.Error:
        return 0


def _parquet(stream: BinaryIO, path: str, most: float) -> Iterator[Found]:
    import pyarrow

    number, taken = 0, 0
    try:
        for batch in _batches(stream):
            size = _expanded(batch)
            taken += size
            if size > batch.num_rows * _WIDEST or taken > most:
                what = f"it expands to {taken / 2**20:,.0f} MiB in the first {number + batch.num_rows} rows"
                raise GoldError(what, path=path, hint="give a file of fewer or shorter rows")
            for row in _plain(batch):
                number += 1
                yield number, _not_text(path, number) if row is None else row
    except (pyarrow.ArrowException, OSError) as error:
        raise GoldError(f"broken Parquet: {error}", path=path, hint="write the file again") from error
    if not number:
        raise GoldError("the file has no rows", path=path, hint="give a file with at least one row")


def _batches(stream: BinaryIO) -> Iterator[Any]:
    """Return the rows in batches whose repeated texts are in memory once."""
    import pyarrow.parquet
    import pyarrow.types as kinds

    file = pyarrow.parquet.ParquetFile(stream)
    texts = [one.name for one in file.schema_arrow if kinds.is_string(one.type) or kinds.is_binary(one.type)]
    stream.seek(0)
    yield from pyarrow.parquet.ParquetFile(stream, read_dictionary=texts).iter_batches(batch_size=_BATCH)


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


def _plain(batch: Any) -> Iterator[Row | None]:
    """Return the rows of a batch; ``None`` for one whose text is not UTF-8."""
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for place in range(batch.num_rows):
            try:
                yield batch.slice(place, 1).to_pylist()[0]
            except UnicodeDecodeError:
                yield None


def _not_text(path: str, number: int) -> GoldError:
    hint = "write the column as UTF-8 text"
    return GoldError("a cell of the row is not UTF-8", path=path, line=number, hint=hint)
