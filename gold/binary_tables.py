"""Tables in files that are no text: Parquet, and sheets of Excel workbooks."""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Protocol

from ..errors import GoldError, suggest_name
from ..programs.records import join_cells
from ..text.turns import as_text
from .files import CELL_LIMIT, ROW_HINT, Place, Rows
from .tables import Record

BOOKS = {".xlsx", ".xlsm"}
"""Suffixes of Excel workbooks."""
_ROWS_OF_TABLE = 50
"""The rows of a sheet that are read to tell a table from a cover sheet."""
_BATCH = 256
"""Rows of Parquet that are in memory at once."""


class _Sheet(Protocol):
    """The members of a sheet of ``openpyxl`` that are used."""

    title: str

    def iter_rows(self, *, max_row: int | None = None, values_only: bool) -> Iterator[Sequence[object]]:
        """Yield the values of each row."""


def iterate_parquet(stream: BinaryIO, path: str) -> Rows:
    """Yield the rows of a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        file = pyarrow.parquet.ParquetFile(_make_seekable(stream))
        labels = _read_class_labels(file.schema_arrow.metadata)
        for batch in file.iter_batches(batch_size=_BATCH):
            columns = [column.to_pylist() for column in batch.columns]
            for cells in zip(*columns, strict=True):
                number += 1
                row = join_cells(batch.schema.names, cells)
                for name, names_of_labels in labels.items():
                    row[name] = _name_class_label(row.get(name), names_of_labels)
                yield Place(path, number, "columns"), row
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise GoldError(f"broken Parquet: {error}", path=path, hint="write the file again") from error
    if not number:
        raise GoldError("the file has no rows", path=path, hint=ROW_HINT)


def _read_class_labels(metadata: Mapping[bytes, bytes] | None) -> dict[str, list[str]]:
    """Return column -> the label names that its numbers stand for, from the metadata that ``datasets`` writes."""
    labels: dict[str, list[str]] = {}
    try:
        info = json.loads((metadata or {}).get(b"huggingface", b"{}"))
        for name, kind in info.get("info", {}).get("features", {}).items():
            if kind.get("_type") == "ClassLabel":
                labels[name] = list(kind["names"])
    except (AttributeError, KeyError, TypeError, ValueError):  # another program's metadata
        return {}
    return labels


def _name_class_label(value: object, names: Sequence[str]) -> object:
    """Return the name of a class label by its number; ``None`` for -1, and any other value as it is."""
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return None if value == -1 else value


def _make_seekable(stream: BinaryIO) -> BinaryIO:
    """Return a stream that can be read from its end, which a pipe cannot."""
    if stream.seekable():
        return stream
    return io.BytesIO(stream.read())


def iterate_sheet_records(stream: BinaryIO, path: str, sheet_name: str, notes: list[str]) -> Iterator[Record]:
    """Yield the cells of one sheet of an Excel workbook, as a CSV of it would have them.

    Args:
        stream: the workbook.
        path: what messages call it.
        sheet_name: the sheet; empty: the first one that is a table.
        notes: takes the choice of a sheet among several.
    """
    import openpyxl

    # The library raises any of these for a broken archive, and for one with a password.
    library_errors = (EOFError, LookupError, OSError, RuntimeError, SyntaxError, ValueError)
    try:
        source = _make_seekable(stream)
        _check_cell_sizes(source, path)
        book = openpyxl.load_workbook(source, read_only=True, data_only=True)
        sheets = book.worksheets
        for sheet in sheets:
            sheet.reset_dimensions()  # programs that stream rows out write those of an empty sheet
        chosen = _choose_sheet(sheets, sheet_name, path)
        if len(sheets) > 1 and not sheet_name:
            notes.append(_sheet_note(chosen, sheets, path))
        yield from _iterate_filled_rows(chosen)
    except (zipfile.BadZipFile, zlib.error, *library_errors) as error:
        hint = "save it again as .xlsx or CSV"
        raise GoldError(f"broken workbook: {error}", path=path, hint=hint) from error


def _sheet_note(chosen: _Sheet, sheets: Sequence[_Sheet], path: str) -> str:
    """Return the note that one of several sheets was read, and the reference of another one."""
    unread_titles: list[str] = []
    for sheet in sheets:
        if sheet is not chosen:
            unread_titles.append(sheet.title)
    return f"the sheet {chosen.title!r} of {len(sheets)} sheets was read; {path}#{unread_titles[0]} names another"


def _iterate_filled_rows(sheet: _Sheet) -> Iterator[Record]:
    """Yield the cells of each row that is not blank, in as many columns as the first row below a title has."""
    width = 0
    for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
        cells: list[str] = []
        for value in values:
            cells.append("" if value is None else str(as_text(value)))
        if not any(cell.strip() for cell in cells):
            continue
        while cells and not cells[-1]:  # programs leave empty columns behind
            cells.pop()
        if width <= 1:  # a row of one cell is a title, and tells no width
            width = len(cells)
        yield number, cells + [""] * (width - len(cells))


def _choose_sheet(sheets: Sequence[_Sheet], sheet_name: str, path: str) -> _Sheet:
    """Return the sheet that is named, else the first one that is a table: a cover sheet is none."""
    if not sheet_name:
        return _find_table_sheet(sheets)
    titles: list[str] = []
    for sheet in sheets:
        if sheet.title == sheet_name:
            return sheet
        titles.append(sheet.title)
    raise GoldError(f"there is no sheet {sheet_name!r}", path=path, hint=suggest_name(sheet_name, titles))


def _find_table_sheet(sheets: Sequence[_Sheet]) -> _Sheet:
    """Return the first sheet with two rows of several cells; the first sheet if none has."""
    for sheet in sheets:
        wide_rows = 0
        for values in sheet.iter_rows(max_row=_ROWS_OF_TABLE, values_only=True):
            filled_cells = len(values) - values.count(None)
            if filled_cells > 1:
                wide_rows += 1
            if wide_rows > 1:
                return sheet
    return sheets[0]


def _check_cell_sizes(stream: BinaryIO, path: str) -> None:
    """Refuse a workbook with a cell that would fill the memory: the library reads cells whole."""
    with zipfile.ZipFile(stream) as archive:
        for part in archive.infolist():
            if part.file_size > CELL_LIMIT:
                with archive.open(part) as content:
                    _check_texts_between_tags(content, path)
    stream.seek(0)


def _check_texts_between_tags(content: Any, path: str) -> None:
    """Refuse XML with a text, or a tag, of more characters than a cell may have.

    Raises:
        GoldError: there is one.
    """
    length = 0
    while block := content.read(CELL_LIMIT // 128):
        # Blocks are far shorter than the limit, so only a text that goes on over the end of a block can be too long:
        # ``length`` counts it up to the first tag of this block, and anew from the last tag on.
        start, tag, _ = block.partition(b"<")
        length += len(start)
        if length > CELL_LIMIT:
            message = f"a cell has more than {CELL_LIMIT // 1024**2} MiB"
            raise GoldError(message, path=path, hint="remove what is in it, or save the rest as CSV")
        if tag:
            length = len(block) - 1 - block.rfind(b"<")
