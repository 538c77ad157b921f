"""The rows of one input parted among several runs by the hash of what is judged, and their lines put together again.

Shards may be judged on the workers of a Ray cluster, each in a process of its own. Rows, calls and answers never go
through Ray: what was paid for outlives a worker, the driver and the cluster.
"""

import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from signal import SIGINT
from socket import create_connection
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, TypeAlias

from ..engines.meter import Meter
from ..errors import (
    Interrupted,
    JuristError,
    StopRequested,
    UsageError,
    as_data,
    importing_extra,
    signal_name,
    system_message,
)
from ..gold.writing import json_line
from ..keeping.paying import GRACE, SignalStop
from .lines import OF_RUN
from .outputs import OrderedLines, check_name, is_csv, lines_in, part_of, publish, writing
from .summary import Summary

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
            raise UsageError(f"{as_data(output)}: a shard is written as JSONL", hint=hint)
        return output.with_name(f"{output.stem}-{self.number}-of-{self.of}{output.suffix}")


WHOLE = Shard(1, 1)
"""A run that has no others beside it."""


def join(shards: Sequence[Path], output: Path) -> int:
    """Write the lines of all shards into one file, in the order of the input; return how many there are."""
    check_name(output)
    _check_all(shards)
    part, number = part_of(output), 0
    try:
        with writing(output):
            file = part.open("w", encoding="utf-8")
        with file, closing(OrderedLines(file, json_line, output)) as order:
            for number, line in enumerate(_merged(shards), 1):
                order.give(number - 1, line)
        publish(part, output)
    finally:
        part.unlink(missing_ok=True)
    return number


def _check_all(shards: Sequence[Path]) -> None:
    """Refuse anything but each of n shards once."""
    numbered = []
    for path in shards:
        name_match = _NAMED.search(path.name)
        if name_match is None:
            raise UsageError(
                f"{as_data(path)} is not named as a shard", hint="give files such as out-1-of-4.jsonl"
            )
        if not path.is_file():
            raise UsageError(f"{as_data(path)} does not exist", hint="run that shard first")
        numbered.append(Shard(int(name_match[1]), int(name_match[2])))
    of = numbered[0].of
    missing = [number for number in range(1, of + 1) if Shard(number, of) not in numbered]
    if missing:
        raise UsageError(f"shard {missing[0]} of {of} is missing", hint="name the files of all shards")
    if len(numbered) != of:
        raise UsageError("a shard is given twice, or is of another run", hint="name the file of each once")


def _merged(shards: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Return all lines, in the order of the input."""
    last = (0, 0)
    first_settings: dict[str, Any] | None = None
    for place, line in heapq.merge(*map(_placed, shards), key=lambda placed: placed[0]):
        if place == last:
            raise UsageError(f"row {place[0]} is in two shards", hint="give the shards of one input")
        settings = {name: line.get(name) for name in OF_RUN}
        first_settings = first_settings or settings
        if settings != first_settings:
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
            raise UsageError(
                f"{as_data(path)}:{number}: not a line of a run", hint="name another file"
            ) from error
        if place <= last:
            hint = "run that shard again with --resume: nothing is asked again"
            raise UsageError(f"{as_data(path)}:{number}: not in the order of the input", hint=hint)
        last = place
        yield place, line


Work: TypeAlias = Callable[[Callable[[], None]], Summary]
"""Judges one shard; takes what is called after each row."""
ShardEnd: TypeAlias = Summary | JuristError | Interrupted
"""The end of a shard, or the reason why it could not be judged."""

_RETRIES = 3
"""The most new starts of a shard whose worker dies."""
_LOOK = 0.5  # seconds between two looks at how far the workers are
_STOP = "stop"  # the file that holds the signal by which all were stopped


@contextmanager
def cluster() -> Iterator[int]:
    """Connect to Ray as its own programs do, or begin a local one that tells nobody of its use; give its CPUs."""
    with importing_extra("ray"):
        ray: Any = import_module("ray")
    begun = not ray.is_initialized()
    if begun:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            host, _, port = os.environ.get("RAY_ADDRESS", "").rpartition("/")[2].rpartition(":")
            if port.isdigit():  # Ray itself tries for minutes
                create_connection((host.strip("[]"), int(port)), timeout=5).close()
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            # Ray raises a bare Exception if a node does not start, so no narrower class catches it.
            hint = "check RAY_ADDRESS, and that RAY_AUTH_MODE and the token are the cluster's"
            raise JuristError(f"Ray cannot be used: {system_message(error)}", hint=hint) from error
    try:
        yield int(ray.cluster_resources().get("CPU", 0))
    finally:
        if begun:
            ray.shutdown()


def judged_on_ray(works: Sequence[Work], folder: Path, *, on_row: Callable[[], None]) -> list[ShardEnd]:
    """Judge shards, each on a worker; signals stop them as they stop a run here. Return how each of them ended."""
    with TemporaryDirectory(dir=folder.resolve(), prefix=".signs-") as signs:
        fleet, meter = _Fleet(works, Path(signs), on_row), Meter()
        try:
            with SignalStop(meter):
                fleet.wait()
        except KeyboardInterrupt:
            again = Meter()
            fleet.stop(meter.signal or SIGINT)
            try:
                with SignalStop(again):
                    fleet.wait(until=monotonic() + GRACE)
            except KeyboardInterrupt:
                fleet.stop(again.signal or SIGINT)
        finally:
            fleet.kill()
        return fleet.ends


class _Fleet:
    """The workers of some shards; ``signs`` is the folder in which they and the driver leave each other signs."""

    def __init__(self, works: Sequence[Work], signs: Path, on_row: Callable[[], None]) -> None:
        self._ray: Any = import_module("ray")
        self._signs = signs
        self._on_row = on_row
        self._signal = SIGINT.value
        self._rows = 0
        self._ends: list[ShardEnd | None] = [None] * len(works)
        judge = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(_judge)
        folder = str(Path.cwd())
        self._working = {}
        for number, work in enumerate(works):
            self._working[judge.remote(work, signs / str(number), folder)] = number

    @property
    def ends(self) -> list[ShardEnd]:
        """The end of each shard; those that had no time to say so were stopped."""
        stopped = Interrupted(f"stopped by {signal_name(self._signal)}", signal=self._signal)
        return [end or stopped for end in self._ends]

    def wait(self, until: float = float("inf")) -> None:
        """Wait until all shards have ended, or until a time, and count their rows."""
        while self._working and monotonic() < until:
            ended, _ = self._ray.wait(list(self._working), timeout=_LOOK)
            rows = sum(file.stat().st_size for file in self._signs.glob("*.rows"))
            for _ in range(rows - self._rows):
                self._on_row()
            self._rows = max(rows, self._rows)  # a worker that is begun anew counts from 0
            for worker in ended:
                number = self._working.pop(worker)
                try:
                    self._ends[number] = self._ray.get(worker)
                except self._ray.exceptions.RayError:
                    died = f"the worker of shard {number + 1} died {_RETRIES + 1} times"
                    hint = "see Ray's logs for the reason, and add --resume"
                    self._ends[number] = JuristError(died, hint=hint)

    def stop(self, signal: int) -> None:
        """Tell the workers to begin no further row."""
        self._signal = signal
        part = self._signs / f".{_STOP}"  # others see the file whole or not at all
        part.write_text(str(int(signal)))
        part.replace(self._signs / _STOP)

    def kill(self) -> None:
        """End the workers that have not ended."""
        for worker in self._working:
            self._ray.cancel(worker, force=True)


def _judge(work: Work, sign: Path, folder: str) -> ShardEnd:
    """Judge a shard to its end, on a worker; a file beside ``sign`` counts its rows."""
    stop = sign.with_name(_STOP)
    try:
        os.chdir(folder)
        with sign.with_name(f"{sign.name}.rows").open("wb", buffering=0) as rows:

            def step() -> None:
                rows.write(b".")
                if stop.exists():
                    raise StopRequested(int(stop.read_text()))

            return work(step)
    except (JuristError, Interrupted) as error:
        return error
    except OSError as error:
        hint = "work in a folder that all machines of the cluster share"
        return JuristError(f"{as_data(folder)}: {error.strerror or error}", hint=hint)
