"""The rows of one input parted among several runs by the hash of what is judged, and their lines put together again."""

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..gold.writing import json_line
from .outputs import check_name, is_csv, lines_in, part_of, put
from .state import OF_RUN

_NAMED = re.compile(r"-(\d+)-of-(\d+)(?=\.|$)")
_Line = tuple[tuple[int, int], dict[str, Any]]


@dataclass(frozen=True)
class Shard:
    """One of several runs."""

    number: int  # which, from 1
    of: int  # how many there are

    def has(self, case_id: str) -> bool:
        """Whether a case is judged here."""
        return int(case_id, 16) % self.of == self.number - 1

    @property
    def first(self) -> bool:
        """Whether rows that no run can judge are counted here."""
        return self.number == 1

    def path(self, output: Path) -> Path:
        """Return the file of this run, by the name of the output of all: ``out-2-of-4.jsonl`` of ``out.jsonl``."""
        if is_csv(output):
            hint = f"name {output.with_suffix('.jsonl').name}, and let jurist run join write {output.name}"
            raise UsageError(f"{output}: a shard is written as JSONL", hint=hint)
        return output.with_name(f"{output.stem}-{self.number}-of-{self.of}{output.suffix}")


WHOLE = Shard(1, 1)
"""A run that has no others beside it."""


def join(shards: Sequence[Path], output: Path) -> int:
    """Write the lines of all shards into one file, in the order of the input; return how many there are."""
    check_name(output)
    _check_all(shards)
    part, number = part_of(output), 0
    try:
        with part.open("w", encoding="utf-8") as file:
            for number, line in enumerate(_merged(shards), 1):  # noqa: B007 - the number of the last one
                file.write(json_line(line) + "\n")
        put(part, output)
    finally:
        part.unlink(missing_ok=True)
    return number


def _check_all(shards: Sequence[Path]) -> None:
    """Refuse anything but each of n shards once."""
    numbered = []
    for path in shards:
        named = _NAMED.search(path.name)
        if named is None:
            raise UsageError(f"{path} is not named as a shard", hint="give files such as out-1-of-4.jsonl")
        if not path.is_file():
            raise UsageError(f"{path} does not exist", hint="run that shard first")
        numbered.append(Shard(int(named[1]), int(named[2])))
    of = numbered[0].of
    missing = [number for number in range(1, of + 1) if Shard(number, of) not in numbered]
    if missing:
        raise UsageError(f"shard {missing[0]} of {of} is missing", hint="name the files of all shards")
    if len(numbered) != of:
        raise UsageError("a shard is given twice, or is of another run", hint="name the file of each once")


def _merged(shards: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Return all lines, in the order of the input."""
    last, run = (0, 0), None
    for place, line in heapq.merge(*map(_placed, shards), key=lambda placed: placed[0]):
        if place == last:
            raise UsageError(f"row {place[0]} is in two shards", hint="give the shards of one input")
        asked = {name: line.get(name) for name in OF_RUN}
        if asked != (run := run or asked):
            hint = "give shards of one judge, model and sampling"
            raise UsageError(f"row {place[0]} was not judged as the rows before", hint=hint)
        last = place
        yield line


def _placed(path: Path) -> Iterator[_Line]:
    """Return the lines of one shard, with the number of their row and which of its cases they are about."""
    last = (0, 0)
    for number, line in lines_in(path):
        try:
            place = int(line["row"]), int(line["part"])
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}:{number}: not a line of a run", hint="name another file") from error
        if place <= last:
            hint = "run that shard again with --resume: nothing is asked again"
            raise UsageError(f"{path}:{number}: not in the order of the input", hint=hint)
        last = place
        yield place, line
