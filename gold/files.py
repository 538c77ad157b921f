"""Rows of files and their places, and the text and the JSON that files hold."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import pydantic

from ..errors import GoldError, system_message
from ..text.replies import ContradictionError, said_once

_Value = TypeVar("_Value")
Row: TypeAlias = dict[str, Any]
"""A row of a file, as it was read: column -> value."""
Kind: TypeAlias = Literal["json", "text", "columns"]
"""The kind of a row's values: JSON values; the text of CSV cells; typed columns, where absent is ``None``."""

_TEXT_HINT = "give a text file in UTF-8 (from Excel: save it as .xlsx or CSV UTF-8)"
ROW_HINT = "give a file with at least one row"
"""The next step where a file has no row."""
_DECODER = json.JSONDecoder(object_pairs_hook=said_once)
"""The decoder of all JSON; to make one takes as long as to read a small row."""
CELL_LIMIT = 128 * 1024 * 1024
"""Bytes of a line, and characters of a cell: those of a cell that is never closed are all that follow it."""


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
"""Rows, or the errors of rows that cannot be read, with their places."""


def validate_row(kind: pydantic.TypeAdapter[_Value], row: Row, place: Place, *, hint: str) -> _Value:
    """Return a row as a value of a type.

    Raises:
        GoldError: it is none; the message is that of its first fault.
    """
    try:
        return kind.validate_python(row)
    except pydantic.ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = ".".join(map(str, fault["loc"]))
        raise place.wrong(fault["msg"], field, hint=hint) from error


def read_utf8(file: Path, path: str) -> str:
    """Return the text that a file holds, in UTF-8 with or without a byte order mark; messages call it ``path``."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise GoldError(
            f"the file cannot be read: {system_message(error)}", path=path, hint="check it"
        ) from error
    text = data.decode("utf-8-sig", "surrogateescape")
    fault = find_text_fault(text, Place(path, 1))
    if fault:
        raise fault
    return text


def find_text_fault(text: str, place: Place) -> GoldError | None:
    """Return the fault of a text's characters, after decoding with ``surrogateescape``; ``None`` without one."""
    position = text.find("\0")
    message = "the file holds a NUL character: it is not text"
    if position < 0:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            position = error.start
            column = position - text.rfind("\n", 0, position)
            message = f"byte 0x{ord(text[position]) & 0xFF:02x} at column {column} is not UTF-8"
        else:
            return None
    line = (place.line or 1) + text.count("\n", 0, position)
    return replace(place, line=line).wrong(message, hint=_TEXT_HINT)


def parse_json(text: str, place: Place) -> Any:
    """Return the JSON value that a text is.

    Raises:
        GoldError: it is no JSON, is nested too deeply, or says two values of one name.
    """
    try:
        return _DECODER.decode(text)
    except ContradictionError as error:
        raise place.wrong(str(error), hint="keep one of the two") from error
    except json.JSONDecodeError as error:
        place_of_fault = replace(place, line=(place.line or 1) + error.lineno - 1)
        hint = "write one JSON object per line, or one JSON array of objects"
        raise place_of_fault.wrong(f"broken JSON at column {error.colno}: {error.msg}", hint=hint) from error
    except (ValueError, RecursionError) as error:
        message = "the JSON is nested too deeply, or holds an integer of thousands of digits"
        raise place.wrong(message, hint="flatten the row, or write the integer as a string") from error
