"""Tables: the cells of CSV, and rows of cells by the names in a header."""

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ..errors import GoldError
from ..programs.records import join_cells
from .files import CELL_LIMIT, ROW_HINT, Place, Rows, find_text_fault

NumberedLines: TypeAlias = Iterator[tuple[int, str]]
"""Lines of a text with their numbers."""
Record: TypeAlias = tuple[int, list[str] | GoldError]
"""The line that a record of a table starts on, and its cells, or the error of the record."""
_MOST_COLUMNS = 16_384
"""Columns of a table, as many as Excel has: work on a row grows with them."""
_LINES_BELOW_TITLE = 3
"""Records below a title among which the header is looked for."""
_RISKY = r"\s*['=+\-@＝＋－＠]|[\t\r\n]"
"""The beginning of a text that a spreadsheet program would run."""


def escape_cell(text: str) -> str:
    """Return a text as a cell holds it: with an apostrophe where a spreadsheet program would run the text."""
    if re.match(_RISKY, text):
        return "'" + text
    return text


def unescape_cell(cell: str) -> str:
    """Return the text that a cell holds: the inverse of :func:`escape_cell`."""
    return cell.removeprefix("'")


def iterate_table_rows(records: Iterator[Record], path: str, title_width: int) -> Rows:
    """Yield records as rows, by the names in the header, which is the first record but for a title.

    Args:
        records: of the table.
        path: what messages call it.
        title_width: cells that a record has at least of which only the first is filled, so that it is a title.
    """
    header_record, records = _find_header(records, title_width)
    names = _read_names(header_record, path)
    is_empty = True
    for line, cells in records:
        is_empty = False
        place = Place(path, line, "text")
        if isinstance(cells, GoldError):
            yield place, cells
            continue
        if not _count_filled(cells[len(names) :]):  # some programs end each row by a comma
            cells = cells[: len(names)]
        if len(cells) != len(names):
            message = f"the row has {len(cells)} cells, the header has {len(names)}"
            hint = "put cells that hold commas, quotes or line breaks in double quotes"
            yield place, place.wrong(message, hint=hint)
        else:
            row = join_cells(names, cells)
            row.pop("", None)  # a column without a name
            yield place, row
    if is_empty:
        raise GoldError("the file has a header and no rows", path=path, hint=ROW_HINT)


def _find_header(records: Iterator[Record], title_width: int) -> tuple[Record | None, Iterator[Record]]:
    """Return the header of a table, ``None`` without any record, and the records below it.

    A first record of a lone text is a title where one of the next records has several cells: that is the header.
    """
    first = next(records, None)
    if first is None or not _may_be_title(first, title_width):
        return first, records
    below = list(itertools.islice(records, _LINES_BELOW_TITLE))
    for place, (_, cells) in enumerate(below):
        if isinstance(cells, list) and _count_filled(cells) > 1:
            return below[place], itertools.chain(below[place + 1 :], records)
    return first, itertools.chain(below, records)


def _may_be_title(record: Record, title_width: int) -> bool:
    """Whether only the first cell of a record is filled, of ``title_width`` cells or more."""
    _, cells = record
    if isinstance(cells, GoldError) or len(cells) < title_width:
        return False
    return bool(cells[0].strip()) and _count_filled(cells) == 1


def _read_names(header: Record | None, path: str) -> list[str]:
    """Return the names of the columns in a header.

    Raises:
        GoldError: there is no header, it is broken, or it has too many columns.
    """
    if header is None:
        raise GoldError("the file has no header", path=path, hint="name the columns in the first line")
    _, cells = header
    if isinstance(cells, GoldError):
        raise cells
    if len(cells) > _MOST_COLUMNS:
        message = f"the header has {len(cells):,} columns, more than {_MOST_COLUMNS:,}"
        raise GoldError(message, path=path, hint="write one row per line, and the columns that are needed")
    return [cell.strip() for cell in cells]


def _count_filled(cells: Sequence[str]) -> int:
    """Return how many cells hold more than white space."""
    filled = 0
    for cell in cells:
        if cell.strip():
            filled += 1
    return filled


def iterate_csv_records(lines: NumberedLines, path: str) -> Iterator[Record]:
    """Yield the cells of each record that is not blank, or its error."""
    csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))
    line, header = next(lines)
    # spreadsheets of many countries write ';' between cells; what a quoted name holds is no delimiter
    delimiter = max(",;\t", key=re.sub(r'"[^"]*"', "", header).count)
    texts = itertools.chain([header], (text for _, text in lines))
    lines_before_header = line - 1
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
            if _count_filled(cells):
                yield line, _find_fault_of_cells(cells, place) or cells
        line = lines_before_header + reader.line_num + 1


def _find_fault_of_cells(cells: Sequence[str], place: Place) -> GoldError | None:
    """Return the fault of the first cell whose characters cannot be read; ``None`` without one."""
    for cell in cells:
        fault = find_text_fault(cell, place)
        if fault:
            return fault
    return None
