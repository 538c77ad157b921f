"""Writing files whole or not at all, and values as lines of JSON. It knows no judge."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from errno import EACCES, EISDIR
from os import W_OK, access, strerror
from pathlib import Path
from tempfile import TemporaryFile
from uuid import UUID

import orjson

from ..errors import GoldError, UsageError, as_data, system_message
from ..text.escaping import well_formed


def check_files(*paths: str | Path | None, hint: str = "name a file that can be written") -> None:
    """Find out whether files can be written, before what goes into them is paid for. Nothing is made."""
    for name in paths:
        if name is None or name == "-":
            continue
        path = Path(name)
        try:
            if path.is_dir():
                raise IsADirectoryError(EISDIR, strerror(EISDIR))
            if not path.exists():
                folder = next(parent for parent in path.absolute().parents if parent.exists())
                TemporaryFile(dir=folder).close()
            elif not access(path, W_OK):
                raise PermissionError(EACCES, strerror(EACCES))
        except OSError as error:
            raise UsageError(f"{as_data(path)}: {system_message(error)}", hint=hint) from error


def write_jsonl(rows: Iterable[Mapping[str, object]], path: str | Path) -> int:
    """Write rows as JSONL in UTF-8, whole or not at all, and return how many there are."""
    lines = [json_text(dict(row)) + "\n" for row in rows]
    write_whole("".join(lines), Path(path))
    return len(lines)


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON on one line, or indented, readable where UTF-8 can hold it."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can carry
        text = json.dumps(value, indent=indent)
    return text


def of_table(text: str) -> str:
    """Return a text with U+FFFD for what a table cannot hold, or cannot be read again with."""
    return well_formed(text).replace("\0", "\ufffd")


def json_line(value: object) -> str:
    """Return a value as JSON on one line, without its end; a number that JSON does not have becomes null."""
    # Dates, decimals, durations, bytes and values of numpy, which cells of tables hold, become texts or numbers.
    try:
        return orjson.dumps(value, default=_of_cell).decode()
    except TypeError:  # whole numbers of more than 64 bits, and halves of surrogate pairs, which stay escapes
        text = json.dumps(value, default=_of_cell)
        return json.dumps(json.loads(text, parse_constant=lambda name: None), separators=(",", ":"))


def _of_cell(value: object) -> object:
    """Return a value of a table that JSON does not have as a text or a number."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta | UUID):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def write_whole(text: str | bytes, path: Path) -> None:
    """Write bytes, or text in UTF-8 with its own line ends; another file of that name is replaced at once or kept."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            part.write_bytes(text)
        else:
            part.write_bytes(text.encode("utf-8"))
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        hint = "name a file in a folder that can be written"
        raise GoldError(f"cannot write: {system_message(error)}", path=str(path), hint=hint) from error
