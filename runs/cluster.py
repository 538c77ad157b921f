"""The shards of a run on the workers of a Ray cluster, each in a process of its own.

Ray starts the workers, tells how far they are, and begins those anew that have died. Rows, calls and answers never go
through it: a worker reads the input, and writes its lines and its journal, where all machines see them. So what was
paid for outlives a worker, the driver and the cluster.
"""

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from signal import SIGINT
from time import monotonic
from typing import Any, TypeAlias

from ..engines.meter import Amount, Meter
from ..errors import JuristError, StoppedError, StopRequested, as_command, signal_name, why
from ..keeping.stopping import GRACE, stopping
from .changes import Changes
from .runner import Plan
from .summary import Summary

Work: TypeAlias = Callable[[Callable[[Plan], None], Callable[[], None]], Summary]
"""Judges one shard; takes what :func:`~jurist.runs.runner.run_judge` calls with its plan, and after each row."""
Found: TypeAlias = Summary | JuristError
"""How a shard ended, or why it could not be judged."""
_STARTS = 4
"""How often a shard is begun whose worker dies."""
_ADDRESS = re.compile(r"\[?([^/\]]+?)\]?:(\d+)")
"""A host and a port; what else Ray takes for an address, it checks itself."""
_KNOCK = 5.0  # seconds in which a cluster answers
_LOOK = 0.5  # seconds between two looks at how far the workers are
_THREADS = 4  # of a worker: one judges, the others answer what it is asked meanwhile


@contextmanager
def cluster() -> Iterator[int]:
    """Connect to Ray as its own programs do (RAY_ADDRESS, a cluster of this machine, else a new local one).

    Gives the number of CPUs that it has. A cluster that is begun here tells nobody of its use, and ends with the block.
    """
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
    works: Sequence[Work], *, on_begin: Callable[[Plan], None], on_row: Callable[[], None]
) -> list[Found]:
    """Judge shards, each on a worker of the cluster that is connected; return how each of them ended.

    Signals stop the workers as they stop a run here: what is in flight may arrive, for a bounded time. A worker that
    dies is begun anew.
    """
    fleet, meter = _Fleet(works), Meter()
    try:
        with stopping(meter):
            fleet.begin(on_begin)
            fleet.wait(on_row)
    except KeyboardInterrupt:
        again = Meter()
        fleet.stop(meter.signal or SIGINT)
        try:
            with stopping(again):
                fleet.wait(on_row, until=monotonic() + GRACE)
        except KeyboardInterrupt:
            fleet.stop(again.signal or SIGINT)
    finally:
        fleet.kill()
    return fleet.found


class _Fleet:
    """The workers of some shards."""

    def __init__(self, works: Sequence[Work]) -> None:
        self._ray: Any = import_module("ray")
        self._kind = self._ray.remote(num_cpus=1, max_concurrency=_THREADS)(_Worker)
        self._works, self._signal, self._going = works, SIGINT.value, False
        self._workers: dict[int, Any] = {}
        self._ends: dict[Any, int] = {}
        self._found: dict[int, Found] = {}
        self._starts, self._rows = [0] * len(works), [0] * len(works)
        for shard in range(len(works)):
            self._start(shard)

    @property
    def found(self) -> list[Found]:
        """How each shard ended; those that had no time to say so were stopped."""
        why = f"stopped by {signal_name(self._signal)}"
        return [
            self._found.get(shard) or StoppedError(why, signal=self._signal)
            for shard in range(len(self._works))
        ]

    def _start(self, shard: int) -> None:
        worker = self._workers[shard] = self._kind.remote(str(Path.cwd()))
        self._starts[shard] += 1
        if self._going:
            worker.go.remote()
        self._ends[worker.judge.remote(self._works[shard])] = shard

    def begin(self, on_begin: Callable[[Plan], None]) -> None:
        """Let the workers ask, once all have planned and somebody has agreed; if one cannot, nobody does."""
        plans = [self._asked(worker.plan.remote()) for worker in self._workers.values()]
        if not all(plans):
            self.stop(self._signal)
            return
        try:
            on_begin(_whole(plans))
        except JuristError:  # they leave nothing behind
            self.stop(self._signal)
            self.wait(lambda: None, until=monotonic() + GRACE)
            raise
        self._going = True
        for worker in self._workers.values():
            worker.go.remote()

    def wait(self, on_row: Callable[[], None], until: float = float("inf")) -> None:
        """Wait until all shards have ended, or until a time."""
        while self._ends and monotonic() < until:
            ended, _ = self._ray.wait(list(self._ends), timeout=_LOOK)
            self._count(on_row)
            for end in ended:
                self._end(end)

    def _count(self, on_row: Callable[[], None]) -> None:
        for shard in set(self._ends.values()):
            rows = self._asked(self._workers[shard].rows.remote()) or 0
            for _ in range(rows - self._rows[shard]):
                on_row()
            self._rows[shard] = max(rows, self._rows[shard])

    def _end(self, end: Any) -> None:
        shard = self._ends.pop(end)
        found = self._asked(end)
        if found is not None:
            self._found[shard] = found
        elif self._starts[shard] < _STARTS:
            self._ray.kill(self._workers[shard])  # if it was out of reach only
            self._start(shard)
        else:
            hint = "see Ray's logs for the reason, and add --resume"
            self._found[shard] = JuristError(
                f"the worker of shard {shard + 1} died {_STARTS} times", hint=hint
            )

    def _asked(self, reply: Any) -> Any:
        """Return what a worker says; ``None`` if it has died."""
        try:
            return self._ray.get(reply)
        except self._ray.exceptions.RayActorError:
            return None

    def stop(self, signal: int) -> None:
        """Tell the workers to stop; those that have died are not begun anew."""
        self._signal, self._starts = signal, [_STARTS] * len(self._works)
        for worker in self._workers.values():
            worker.stop.remote(signal)

    def kill(self) -> None:
        """End the processes of the workers."""
        for worker in self._workers.values():
            self._ray.kill(worker)


class _Worker:
    """Judges one shard in a thread of a Ray actor, whose other threads say how far it is."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._planned, self._going = threading.Event(), threading.Event()
        self._plan: Plan | None = None
        self._rows, self._signal = 0, 0

    def judge(self, work: Work) -> Found:
        """Judge the shard to its end."""
        try:
            os.chdir(self._folder)
            with as_command("run"):
                return work(self._begin, self._step)
        except JuristError as error:
            return error
        except OSError as error:
            hint = "work in a folder that all machines of the cluster share"
            return JuristError(f"{self._folder}: {error.strerror or error}", hint=hint)
        finally:
            self._planned.set()

    def _begin(self, plan: Plan) -> None:
        self._plan = replace(plan, trouble=Plan.trouble)  # of this process: it cannot go to another one
        self._planned.set()
        self._going.wait()
        self._check()

    def _step(self) -> None:
        self._rows += 1
        self._check()

    def _check(self) -> None:
        if self._signal:
            raise StopRequested(self._signal)

    def plan(self) -> Plan | None:
        """Return the plan, once it is there; ``None`` if the work has ended without."""
        self._planned.wait()
        return self._plan

    def go(self) -> None:
        """Let it ask."""
        self._going.set()

    def rows(self) -> int:
        """Return how many rows it has judged."""
        return self._rows

    def stop(self, signal: int) -> None:
        """Let it begin no further row."""
        self._signal = signal
        self._going.set()


def _whole(plans: Sequence[Plan]) -> Plan:
    """Return the plan of all shards together."""
    return Plan(
        rows=sum(plan.rows or 0 for plan in plans),
        to_ask=sum(plan.to_ask or 0 for plan in plans),
        shown=[case for plan in plans for case in plan.shown],
        spent=sum((plan.spent for plan in plans), Amount()),
        changes=Changes.merged([plan.changes for plan in plans]),
    )
