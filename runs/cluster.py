"""The shards of a run on the workers of a Ray cluster, each in a process of its own.

Rows, calls and answers never go through Ray: what was paid for outlives a worker, the driver and the cluster.
"""

import os
import pickle
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from signal import SIGINT
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, TypeAlias

from ..engines.meter import Amount, Meter
from ..errors import JuristError, StoppedError, StopRequested, signal_name, why
from ..keeping.stopping import GRACE, Stopping
from .runner import RunPlan
from .summary import Summary

Work: TypeAlias = Callable[[Callable[[RunPlan], None], Callable[[], None]], Summary]
"""Judges one shard; takes what :func:`~jurist.runs.runner.run_judge` calls with its plan, and after each row."""
ShardEnd: TypeAlias = Summary | JuristError
"""How a shard ended, or why it could not be judged."""

_RETRIES = 3
"""How often a shard is begun anew whose worker dies."""
_ADDRESS = re.compile(r"\[?([^/\]]+?)\]?:(\d+)")
"""A host and a port; what else Ray takes for an address, it checks itself."""
_KNOCK = 5.0  # seconds in which a cluster answers
_LOOK = 0.5  # seconds between two looks at how far the workers are
_GO, _STOP = "go", "stop"


@contextmanager
def cluster() -> Iterator[int]:
    """Connect to Ray as its own programs do, or begin a local one that tells nobody of its use; give its CPUs."""
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise JuristError("Ray is not installed", hint="pip install 'jurist[ray]'") from error
    begun = not ray.is_initialized()
    if begun:
        check_address(os.environ.get("RAY_ADDRESS", ""))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # Ray raises bare exceptions where a node does not begin
            hint = "check RAY_ADDRESS, and that RAY_AUTH_MODE and the token are the cluster's"
            raise JuristError(f"Ray cannot be used: {error}", hint=hint) from error
    try:
        yield int(ray.cluster_resources().get("CPU", 0))
    finally:
        if begun:
            ray.shutdown()


def check_address(address: str) -> None:
    """Refuse a host and port at which nobody answers: Ray itself would try for minutes."""
    if (place := _ADDRESS.fullmatch(address)) is None:
        return
    try:
        socket.create_connection((place[1], int(place[2])), timeout=_KNOCK).close()
    except (OSError, OverflowError) as error:
        hint = "start a cluster there, or correct or unset RAY_ADDRESS"
        raise JuristError(f"nobody answers at RAY_ADDRESS {address}: {why(error)}", hint=hint) from error


def judged_on_ray(
    works: Sequence[Work], folder: Path, *, on_begin: Callable[[RunPlan], None], on_row: Callable[[], None]
) -> list[ShardEnd]:
    """Judge shards, each on a worker; signals stop them as they stop a run here. Return how each of them ended."""
    with TemporaryDirectory(dir=folder.resolve(), prefix=".said-") as said:
        fleet, meter = _Fleet(works, Path(said), on_row), Meter()
        try:
            with Stopping(meter):
                fleet.begin(on_begin)
                fleet.wait()
        except KeyboardInterrupt:
            again = Meter()
            fleet.stop(meter.signal or SIGINT)
            try:
                with Stopping(again):
                    fleet.wait(until=monotonic() + GRACE)
            except KeyboardInterrupt:
                fleet.stop(again.signal or SIGINT)
        finally:
            fleet.kill()
        return fleet.found


class _Fleet:
    """The workers of some shards."""

    def __init__(self, works: Sequence[Work], said: Path, on_row: Callable[[], None]) -> None:
        self._ray: Any = import_module("ray")
        self._said, self._on_row, self._signal = said, on_row, SIGINT.value
        self._found: list[ShardEnd | None] = [None] * len(works)
        self._rows = [0] * len(works)
        judge = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(_judge)
        self._ends = {judge.remote(work, said / str(n), str(Path.cwd())): n for n, work in enumerate(works)}

    @property
    def found(self) -> list[ShardEnd]:
        """How each shard ended; those that had no time to say so were stopped."""
        stopped = StoppedError(f"stopped by {signal_name(self._signal)}", signal=self._signal)
        return [found or stopped for found in self._found]

    def begin(self, on_begin: Callable[[RunPlan], None]) -> None:
        """Let the workers ask, once all have planned and somebody has agreed; if one cannot, nobody does."""
        files = [self._said / f"{number}.plan" for number in range(len(self._found))]
        while any(not files[number].exists() for number in self._ends.values()):
            self._look()
        plans: list[RunPlan] = [pickle.loads(file.read_bytes()) for file in files if file.exists()]  # noqa: S301
        if len(plans) < len(files):
            self.stop(self._signal)
            return
        try:
            on_begin(_whole(plans))
        except JuristError:  # they leave nothing behind
            self.stop(self._signal)
            self.wait(until=monotonic() + GRACE)
            raise
        (self._said / _GO).touch()

    def wait(self, until: float = float("inf")) -> None:
        """Wait until all shards have ended, or until a time."""
        while self._ends and monotonic() < until:
            self._look()

    def _look(self) -> None:
        """Take the ends that come within a moment, and count the rows."""
        ended, _ = self._ray.wait(list(self._ends), timeout=_LOOK)
        for number, before in enumerate(self._rows):
            file = self._said / f"{number}.rows"
            self._rows[number] = max(before, file.stat().st_size if file.exists() else 0)
            for _ in range(self._rows[number] - before):
                self._on_row()
        for end in ended:
            number = self._ends.pop(end)
            try:
                self._found[number] = self._ray.get(end)
            except self._ray.exceptions.RayError:
                died = f"the worker of shard {number + 1} died {_RETRIES + 1} times"
                self._found[number] = JuristError(
                    died, hint="see Ray's logs for the reason, and add --resume"
                )

    def stop(self, signal: int) -> None:
        """Tell the workers to begin no further row."""
        self._signal = signal
        _write(self._said / _STOP, str(int(signal)).encode())

    def kill(self) -> None:
        """End the workers that have not ended."""
        for end in self._ends:
            self._ray.cancel(end, force=True)


def _judge(work: Work, own: Path, folder: str) -> ShardEnd:
    """Judge a shard to its end, on a worker."""
    go, stop = own.with_name(_GO), own.with_name(_STOP)

    def check() -> None:
        if stop.exists():
            raise StopRequested(int(stop.read_text()))

    def begin(plan: RunPlan) -> None:
        plan = replace(plan, trouble=RunPlan.trouble)  # of this process: it cannot go to another one
        _write(own.with_name(f"{own.name}.plan"), pickle.dumps(plan))
        while not go.exists():
            check()
            sleep(_LOOK / 10)

    try:
        os.chdir(folder)
        with own.with_name(f"{own.name}.rows").open("wb", buffering=0) as rows:

            def step() -> None:
                rows.write(b".")
                check()

            return work(begin, step)
    except JuristError as error:
        return error
    except OSError as error:
        hint = "work in a folder that all machines of the cluster share"
        return JuristError(f"{folder}: {error.strerror or error}", hint=hint)


def _write(path: Path, data: bytes) -> None:
    """Write a file that others see whole or not at all."""
    part = path.with_name(f".{path.name}")
    part.write_bytes(data)
    part.replace(path)


def _whole(plans: Sequence[RunPlan]) -> RunPlan:
    """Return the plan of all shards together."""
    return RunPlan(
        rows=sum(plan.rows or 0 for plan in plans),
        to_ask=sum(plan.to_ask or 0 for plan in plans),
        shown=[case for plan in plans for case in plan.shown],
        spent=sum((plan.spent for plan in plans), Amount()),
    )
