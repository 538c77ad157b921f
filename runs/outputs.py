"""The file that a run writes: JSONL or CSV, in the order of the input; who may write it."""

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Generic, TextIO, TypeVar

from ..errors import CheckpointError, GoldError, UsageError, as_data, system_message, writing_standard_output
from ..gold.scanning import scan
from ..gold.tables import escape_cell, unescape_cell
from ..gold.writing import of_table, write_jsonl
from ..keeping.locking import lock_output
from ..programs.options import JUDGE_OPTIONS
from .lines import JsonObject, read_line

Item = TypeVar("Item")

FORMATS = (".jsonl", ".csv")
_OTHER_FORMATS = (
    ".parquet",
    ".tsv",
    ".xlsx",
    ".xls",
    ".json",
    ".ndjson",
    ".gz",
    ".zip",
    ".arrow",
    ".feather",
)
_TEXT_COLUMNS = (
    "id",
    "case",
    "source",
    "group",
    "status",
    "label",
    "reasoning",
    "error_kind",
    "error",
    "judge",
    "artifact",
    "model",
    "judge_model",
    *JUDGE_OPTIONS,
    "adapter",
)
"""Columns of ours that hold texts."""


def checkpoint_of(output: Path) -> Path:
    """Return the folder beside an output that holds what an unfinished run of it has paid for."""
    return output.with_name(f".{output.name}.jurist")


def part_of(output: Path) -> Path:
    """Return the file beside an output in which it is written until it is whole."""
    return output.with_name(f".{output.name}.part")


def rejected_of(output: Path) -> Path:
    """Return the file beside an output for the rows that cannot be used."""
    return output.with_name(f"{output.stem}.rejected.jsonl")


def left_out_of(output: Path) -> Path:
    """Return the file beside an output for its earlier lines on rows that the input lacks."""
    return output.with_name(f"{output.stem}.left-out.jsonl")


def earlier_files_of(output: Path) -> list[Path]:
    """Return the files with verdicts of earlier starts: an output, and the file of rows that the input lacked."""
    if not output.is_file():
        return []
    return [path for path in (output, left_out_of(output)) if path.is_file()]


def keep_left_out(output: Path, earlier_files: Sequence[Path], is_left_out: Callable[[str], bool]) -> int:
    """Write the earlier lines on cases that the input lacks to a file of their own, and return how many there are.

    They were paid for. When the input has their rows again, they are read from there; without such lines the file is
    removed. It is called before the output is replaced.

    Args:
        output: the output.
        earlier_files: the files that had its lines when the run began (:func:`earlier_files_of`).
        is_left_out: says whether a case, by its id, is in no row of the input.
    """
    lines: list[JsonObject] = []
    for path in earlier_files:
        for _, line in lines_in(path):
            key, _ = read_line(line)
            if is_left_out(key.case_id):
                lines.append(line)
    if lines:
        write_jsonl(lines, left_out_of(output))
    elif left_out_of(output) in earlier_files:
        left_out_of(output).unlink()
    return len(lines)


def shards_of(output: Path) -> Path:
    """Return the folder beside an output that holds the shards of an unfinished run on several workers."""
    return output.with_name(f".{output.name}.shards")


def batches_of(output: Path) -> Path:
    """Return the folder of the batches of an output, which is there as long as some are under way."""
    return checkpoint_of(output) / "batches"


@contextmanager
def only_process(output: Path) -> Iterator[None]:
    """Keep other processes off the batches of an output."""
    with lock_output(batches_of(output) / "batches") as free:
        if not free:
            busy = f"another process is working on the batches of {as_data(output)}"
            raise CheckpointError(busy, hint="wait until it has ended")
        yield


def check_no_batches(output: Path, *, forget: bool) -> None:
    """Refuse an output whose batches are under way; with ``forget``, remove these batches."""
    folder = batches_of(output)
    if folder.exists() and not forget:
        raise CheckpointError(
            f"batches of {as_data(output)} are under way",
            hint=f"jurist batch collect {as_data(output)} gets what they bring; --fresh forgets them",
        )
    if folder.exists():
        with only_process(output):
            shutil.rmtree(folder)


@contextmanager
def claimed(
    output: Path, sources: Sequence[str], *, going_on: bool, rival: Path | None = None
) -> Iterator[None]:
    """Hold an output during a block, so that no other process writes it.

    Args:
        output: the file.
        sources: the inputs of the run, none of which the output may be.
        going_on: whether the run continues a file that is there.
        rival: the folder of an unfinished run that was begun in the other way; default: that of shards.

    Raises:
        CheckpointError: another process writes the output, or an unfinished run is kept in ``rival``.
        UsageError: the output cannot be written.
    """
    check_name(output)
    with ExitStack() as locks:
        with writing(output):
            output.parent.mkdir(parents=True, exist_ok=True)
            # a second run would pay for the same rows; devices are nobody's
            if (output.is_file() or not output.exists()) and not locks.enter_context(lock_output(output)):
                raise CheckpointError(
                    f"another process is writing {as_data(output)}",
                    hint="wait until it has ended, or name another output file",
                )
            _check_free(output, sources, going_on=going_on)
            rival = rival or shards_of(output)
            if rival.exists():
                hint = "go on as it was begun, with --engine ray or without, and --resume"
                raise CheckpointError(
                    f"an unfinished run of {as_data(output)} is kept in {as_data(rival)}", hint=hint
                )
        yield


@contextmanager
def writing(output: Path) -> Iterator[None]:
    """Raise ``UsageError`` where the block cannot write an output or a file beside it; it does nothing else."""
    try:
        yield
    except OSError as error:
        hint = "name a file that can be written, or make room and start again with --resume"
        raise UsageError(f"{as_data(output)}: {system_message(error)}", hint=hint) from error


def _check_free(output: Path, sources: Sequence[str], *, going_on: bool) -> None:
    """Refuse links beside an output, and an output that is an input, a folder, or a file not to be continued."""
    for beside in (
        part_of(output),
        rejected_of(output),
        left_out_of(output),
        checkpoint_of(output),
        shards_of(output),
    ):
        if beside.is_symlink():
            hint = "remove it, or name another output"
            raise UsageError(
                f"{as_data(beside)} is a symbolic link, through which nothing is written", hint=hint
            )
    if output.is_dir():
        raise UsageError(f"{as_data(output)} is a folder", hint="name a file")
    for source in sources:
        # unlike Path.resolve, realpath raises nothing where symbolic links lead in a circle
        source_path, output_path = Path(os.path.realpath(source)), Path(os.path.realpath(output))
        is_around = source_path == output_path or source_path in output_path.parents
        if is_around and (source_path.is_dir() or source_path.is_file()):
            raise UsageError(
                f"{as_data(output)} is part of the input {as_data(source)}", hint="name an output elsewhere"
            )
    is_new = not output.exists()
    if is_new and left_out_of(output).exists():
        raise UsageError(
            f"{as_data(left_out_of(output))} has verdicts of an earlier {output.name}, which is not there",
            hint="move or remove it, or name another output",
        )
    output.open("ab").close()  # before anything is asked
    if is_new:
        output.unlink()
    if output.is_file() and output.stat().st_size and not going_on:
        raise UsageError(
            f"{as_data(output)} exists", hint="add --resume to continue it, or name another file"
        )


def check_name(path: Path) -> None:
    """Refuse the name of another format, as a run writes what the name says; without a suffix it is JSONL."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the name {str(path)!a} is not UTF-8", hint="name another output") from error
    if not path.name:
        raise UsageError(f"{str(path)!r} names no file", hint="name another output")
    suffix = path.suffix.lower()
    if suffix in _OTHER_FORMATS:
        raise UsageError(f"{as_data(path)}: a run writes no {suffix[1:]}", hint=f"use {', '.join(FORMATS)}")


def is_csv(path: Path) -> bool:
    """Whether a file of this name is a table, whose columns are known only when all lines are."""
    return path.suffix.lower() == ".csv"


def publish(part: Path, output: Path) -> None:
    """Put a file of JSON lines in the place of an output, as a table where its name says so.

    Raises:
        UsageError: the output cannot be written.
    """
    with writing(output):
        _publish(part, output)


def _publish(part: Path, output: Path) -> None:
    """Do what :func:`publish` does; raises ``OSError``."""
    if not is_csv(output):
        part.replace(output)
        return
    table = part.with_name(f"{part.name}.csv")
    table.unlink(missing_ok=True)  # a kill may have left it, and through a link nothing is written
    try:
        with table.open("x", encoding="utf-8", newline="") as file:
            names: dict[str, None] = {}
            for _, line in lines_in(part):
                names.update(dict.fromkeys(line))
            writer = csv.writer(file)
            writer.writerow(map(of_table, names))
            for _, line in lines_in(part):
                writer.writerow([_output_cell(name, line.get(name)) for name in names])
        table.replace(output)
    finally:
        table.unlink(missing_ok=True)


def _output_cell(name: str, value: object) -> object:
    """Return a value of a line as a cell: a text as it is, but for ``value``, which may be of any type."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if not isinstance(value, str) or name == "value":
        value = json.dumps(value, ensure_ascii=False)
    return escape_cell(of_table(value))


class OrderedLines(Generic[Item]):
    """Writes a line for each of some items, in the order of the input.

    An item that comes before its turn waits without its line, which is made when its turn has come.
    """

    def __init__(self, stream: TextIO, line_of: Callable[[Item], str], output: Path | None = None) -> None:
        self._stream = stream
        self._output = output  # the file of the stream, which messages name; None for standard output
        self._line_of = line_of
        self._next = 0
        self._waiting: dict[int, Item | None] = {}

    def is_next(self, number: int) -> bool:
        """Say whether the line with this number, from 0 in the order of the input, is to be written now."""
        return number == self._next

    def write_next(self, line: str) -> None:
        """Write the line whose turn it is, and those that waited for it."""
        self._send(line + "\n")
        self._next += 1
        self._write_waiting()

    def give(self, number: int, item: Item | None) -> None:
        """Take an item, or ``None`` where there is no line; each number comes once, here or as the next line."""
        self._waiting[number] = item
        if number == self._next:
            self._write_waiting()

    def close(self) -> None:
        """Write the lines that still wait for earlier rows, in their order: those rows never came."""
        for number in sorted(self._waiting):
            self._write(number)
        self._flush()

    def _write_waiting(self) -> None:
        """Write the lines whose turn has come."""
        while self._next in self._waiting:
            self._write(self._next)
            self._next += 1
        self._flush()  # whoever reads the file sees the lines at once

    def _write(self, number: int) -> None:
        item = self._waiting.pop(number)
        if item is not None:
            self._send(self._line_of(item) + "\n")

    def _send(self, text: str) -> None:
        with self._writing():
            self._stream.write(text)

    def _flush(self) -> None:
        with self._writing():
            self._stream.flush()

    def _writing(self) -> AbstractContextManager[None]:
        """Return what names the file, or standard output, where it cannot be written."""
        return writing_standard_output() if self._output is None else writing(self._output)


def lines_in(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield number and content of each line; the content is ``None`` where a line is no JSON.

    A last line that a kill has torn is left out.
    """
    with path.open("rb") as file:
        if not is_csv(path):
            for number, data in enumerate(file, 1):
                if data.endswith(b"\n"):
                    yield number, _json_line(data)
            return
        for place, row in scan(file, str(path)):
            if isinstance(row, GoldError):
                raise row
            yield place.line or 0, {name: _cell_value(name, cell) for name, cell in row.items()}


def _json_line(data: bytes) -> Any:
    """Return the content of a line; ``None`` if it is no JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _cell_value(name: str, cell: object) -> Any:
    """Return the value of a cell that :func:`publish` wrote."""
    if not isinstance(cell, str):
        return cell
    if name in ("reasoning", "error_kind", "error") or (name in _TEXT_COLUMNS and cell):
        return unescape_cell(cell)
    try:
        return json.loads({"True": "true", "False": "false", "": "null"}.get(cell, cell))
    except (ValueError, RecursionError):
        return cell
