"""Rows of any source one after the other, so that memory stays flat however many there are.

A source is what :func:`jurist.gold.readers.read` takes; what is read whole there because it has to be joined (gold
with a card, the authors' own files) is read whole here, too.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from ..errors import GoldError, why
from .authors import is_cognibench
from .hubsets import hub_name, stream_hub
from .readers import Reading, data_files, read
from .rowfiles import scan
from .rowtypes import Kind, Row

Placed: TypeAlias = tuple[str, Kind, int, Row | GoldError]
"""The file, how its values are to be understood, the line (or record number), and the row or what is wrong with it."""


def can_be_read_again(source: str | Path) -> bool:
    """Whether reading a source takes nothing away from it: a pipe is read once."""
    return str(source) != "-" and not _is(Path(source), Path.is_fifo)


def stream(source: str | Path) -> Iterator[Placed]:
    """Return the rows of a source as they are read; those of a folder by the names of its files."""
    name, path = str(source), Path(source)
    if name == "-":
        yield from _scanned(sys.stdin.buffer, "<stdin>")
    elif hub := hub_name(name):
        for number, row in stream_hub(*hub, name):
            yield name, "columns", number, row
    elif files := data_files(path) if _is(path, Path.is_dir) else []:
        for file in files:
            yield from _file(file)
    elif name and (_is(path, Path.is_file) or _is(path, Path.is_fifo)):
        yield from _file(path)
    else:
        yield from _whole(read(source))


def _is(path: Path, what: Callable[[Path], bool]) -> bool:
    try:
        return what(path)
    except OSError:  # a name that no file can have
        return False


def _file(path: Path) -> Iterator[Placed]:
    name = str(path)
    try:
        with path.open("rb") as file:
            for number, placed in enumerate(_scanned(file, name)):
                if number == 0 and isinstance(placed[3], dict) and is_cognibench(placed[3]):
                    yield from _whole(read(path))
                    return
                yield placed
    except OSError as error:
        said = f"the file cannot be read: {why(error)}"
        raise GoldError(said, path=name, hint="check it") from error


def _scanned(file: object, name: str) -> Iterator[Placed]:
    kind, found = scan(file, name)  # type: ignore[arg-type]
    for line, row in found:
        yield name, kind, line, row


def _whole(reading: Reading) -> Iterator[Placed]:
    for line, row in reading.rows:
        yield reading.path, reading.kind, line, row
