"""The file that a run writes: JSONL, CSV or Parquet, in the order of the input or as lines come; who may write it."""

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ..errors import CheckpointError, GoldError, UsageError, why
from ..gold.files import scan
from ..gold.sheets import plain, safe
from ..keeping.locking import alone

FORMATS = (".jsonl", ".csv", ".parquet")
_OTHERS = (".tsv", ".xlsx", ".xls", ".json", ".ndjson", ".gz", ".zip", ".arrow", ".feather")
_FLAT = (".csv", ".parquet")
_NUMBERS = ("row", "part", "drawn", "saved", "inconsistent", "reasked", "extra", "duplicated")
_TEXTS = (
    *("id", "case", "source", "group", "status", "label", "reasoning", "error"),
    *("judge", "artifact", "model", "judge_model", "strictness", "adapter"),
)
_GROUP = 1024
"""Rows of Parquet that are written at once."""


def checkpoint_of(output: Path) -> Path:
    """Return the folder beside an output that holds what an unfinished run of it has paid for."""
    return output.with_name(f".{output.name}.jurist")


def part_of(output: Path) -> Path:
    """Return the file beside an output in which it is written until it is whole."""
    return output.with_name(f".{output.name}.part")


def rejected_of(output: Path) -> Path:
    """Return the file beside an output for the rows that cannot be used."""
    return output.with_name(f"{output.stem}.rejected.jsonl")


def shards_of(output: Path) -> Path:
    """Return the folder beside an output that holds the shards of an unfinished run on several workers."""
    return output.with_name(f".{output.name}.shards")


@contextmanager
def claimed(
    output: Path, sources: Sequence[str], *, going_on: bool, rival: Path | None = None
) -> Iterator[None]:
    """Hold an output during a block, from before it is read until the last line is written."""
    check_name(output)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with _alone(output):
            _check_free(output, sources, going_on=going_on)
            if (other := rival or shards_of(output)).exists():
                hint = "go on as it was begun, with --engine ray or without, and --resume"
                raise CheckpointError(f"an unfinished run of {output} is kept in {other}", hint=hint)
            yield
    except OSError as error:
        hint = "name a file that can be written, or make room and start again with --resume"
        raise UsageError(f"{output}: {why(error)}", hint=hint) from error


def _check_free(output: Path, sources: Sequence[str], *, going_on: bool) -> None:
    for beside in (part_of(output), rejected_of(output), checkpoint_of(output), shards_of(output)):
        if beside.is_symlink():
            hint = "remove it, or name another output"
            raise UsageError(f"{beside} is a symbolic link, through which nothing is written", hint=hint)
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint="name a file")
    for source in sources:
        read = Path(source).resolve()
        if read in (output.resolve(), *output.resolve().parents) and (read.is_dir() or read.is_file()):
            raise UsageError(f"{output} is part of the input {source}", hint="name an output elsewhere")
    new = not output.exists()
    output.open("ab").close()  # before anything is asked
    if new:
        output.unlink()
    if output.is_file() and output.stat().st_size and not going_on:
        raise UsageError(f"{output} exists", hint="add --resume to continue it, or name another file")


@contextmanager
def _alone(output: Path) -> Iterator[None]:
    """Keep other runs off the output: a second one would pay for the same rows. Devices are nobody's."""
    if output.exists() and not output.is_file():
        yield
        return
    with alone(output) as free:
        if not free:
            raise CheckpointError(
                f"another process is writing {output}",
                hint="wait until it has ended, or name another output file",
            )
        yield


def check_name(path: Path) -> None:
    """Refuse the name of another format, as a run writes what the name says; without a suffix it is JSONL."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the name {str(path)!a} is not UTF-8", hint="name another output") from error
    suffix = path.suffix.lower()
    if suffix in _OTHERS:
        raise UsageError(f"{path}: a run writes no {suffix[1:]}", hint=f"use {', '.join(FORMATS)}")


def flat(path: Path) -> bool:
    """Whether a file of this name has columns, which have to be known when it is begun."""
    return path.suffix.lower() in _FLAT


class Lines:
    """A file of lines, or a stream; as it is here of JSONL."""

    def __init__(self, stream: TextIO, *, owned: bool = False) -> None:
        self._stream, self._owned = stream, owned
        self.left_out = dict[
            str, None
        ]()  # columns that came too late for a file whose columns were known by then

    def write(self, line: str) -> None:
        """Take a line, as JSON; whoever reads the file sees it at once, if its format allows."""
        self._stream.write(line + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Write what is left."""
        if self._owned:
            self._stream.close()


def lines_to(place: Path | TextIO, name: str = "", columns: Sequence[str] = ()) -> Lines:
    """Return what writes lines, by the name of the output."""
    if not isinstance(place, Path):
        return Lines(place)
    kind = {".csv": _CsvLines, ".parquet": _ParquetLines}.get(Path(name or place.name).suffix.lower())
    return kind(place, columns) if kind else Lines(place.open("w", encoding="utf-8"), owned=True)


class _Flat(Lines):
    """Lines as cells: the columns are those of the first line, and those of the rows."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns, self.names = columns, list[str]()
        self.left_out = dict[str, None]()

    def cells(self, line: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(line)
        if not self.names:
            self.names = list(dict.fromkeys((*found, *self._columns)))
        self.left_out.update(dict.fromkeys(found.keys() - set(self.names)))
        return {name: _cell(name, found.get(name)) for name in self.names}


def _cell(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = isinstance(value, str) and name != "value"  # which may be of any type
    return value if text else json.dumps(value, ensure_ascii=False)


class _CsvLines(_Flat):
    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        super().__init__(columns)
        self._file = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file)

    def write(self, line: str) -> None:
        new, cells = not self.names, self.cells(line)
        if new:
            self._writer.writerow(self.names)
        self._writer.writerow(safe(cell) if isinstance(cell, str) else cell for cell in cells.values())
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class _ParquetLines(_Flat):
    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        super().__init__(columns)
        self._path = path
        self._rows: list[dict[str, Any]] = []
        self._writer: Any = None
        path.open("wb").close()  # it cannot be written is said before anything is asked

    def write(self, line: str) -> None:
        self._rows.append(self.cells(line))
        if len(self._rows) >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow
        import pyarrow.parquet

        if self._writer is None:
            numbers = dict.fromkeys(_NUMBERS, pyarrow.int64()) | {"identical": pyarrow.bool_()}
            schema = pyarrow.schema([(name, numbers.get(name, pyarrow.string())) for name in self.names])
            self._writer = pyarrow.parquet.ParquetWriter(self._path, schema)
        columns = {name: [_typed(name, row[name]) for row in self._rows] for name in self.names}
        self._writer.write_table(pyarrow.table(columns, schema=self._writer.schema))
        self._rows = []

    def close(self) -> None:
        if self._rows:
            self._flush()
        if self._writer is not None:
            self._writer.close()


def _typed(name: str, cell: Any) -> Any:
    if cell is None or isinstance(cell, str) or name in _NUMBERS or name == "identical":
        return cell
    return json.dumps(cell)


class Order:
    """Writes lines in the order of the input, or as they come."""

    def __init__(self, lines: Lines, *, ordered: bool = True) -> None:
        self._lines, self._ordered, self._next = lines, ordered, 0
        self._waiting = dict[int, str | None]()

    def give(self, number: int, line: str | None) -> None:
        """Take the line of a row, as JSON, or that it has none; each number, from 0 in the order of the input, once."""
        self._waiting[number] = line
        if not self._ordered:
            self._next = number
        while self._next in self._waiting:
            self._write(self._next)
            self._next += 1

    def flush(self) -> None:
        """Write the lines that wait for rows that never came, in their order."""
        for number in sorted(self._waiting):
            self._write(number)

    def _write(self, number: int) -> None:
        if (line := self._waiting.pop(number)) is not None:
            self._lines.write(line)


def lines_in(path: Path) -> Iterator[tuple[int, Any]]:
    """Return number and content of each line, ``None`` if it is no JSON, but not of one torn by a kill."""
    with path.open("rb") as file:
        if not flat(path):
            for number, data in enumerate(file, 1):
                if data.endswith(b"\n"):
                    yield number, _json(data)
            return
        for place, row in scan(file, str(path)):
            if isinstance(row, GoldError):
                raise row
            yield place.line or 0, {name: _value(name, cell) for name, cell in row.items()}


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _value(name: str, cell: Any) -> Any:
    """Return the value that a cell was made of, of a column of ours."""
    if not isinstance(cell, str):
        return cell
    if name in ("reasoning", "error") or (name in _TEXTS and cell):
        return plain(cell)
    try:
        return json.loads({"True": "true", "False": "false", "": "null"}.get(cell, cell))
    except (ValueError, RecursionError):
        return cell
