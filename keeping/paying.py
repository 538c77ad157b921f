"""The one life cycle of work that is paid for: it begins, is killed or stopped, goes on, and ends.

A work that is started again is found by its fingerprint, and answered from its journals as far as they go; what was
sent and never answered counts as spent. Of the signals that stop it the first one lets no further call begin; those in
flight may arrive, for a bounded time, and the work then ends as at a limit. The second one, or the end of that time,
ends it at once.
"""

import hashlib
import json
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, Self

import orjson

from ..engines.channel import CallContext
from ..engines.journal import Journal
from ..engines.ledger import FirstReplies, Ledger, Spend
from ..engines.meter import Budget, Meter
from ..engines.pace import Pace
from ..errors import BudgetExhausted, CheckpointError, StoppedError, StopRequested, signal_name
from .locking import given_back, taken
from .trust import data_file


@dataclass(frozen=True, kw_only=True)
class Start:
    """How work is started."""

    # the folder of all checkpoints; ``None`` keeps nothing, so that nothing can be continued
    root: Path | None = None
    resume: bool = False  # continue an unfinished run of the same work
    fresh: bool = False  # forget an unfinished run of the same work
    # called with role -> answers that an earlier start paid for, before anything is asked. What it raises
    # ends the work
    on_open: Callable[[Mapping[str, int]], None] = lambda paid: None
    # called once, with what was spent so far, when the first replies have come
    on_first_replies: Callable[[Spend], None] | None = None
    first_replies: int = 20  # how many these are


class Work(Protocol):
    """Work that is paid for and can be continued."""

    @property
    def budget(self) -> Budget:
        """Hard limits for everything together."""

    @property
    def roles(self) -> tuple[str, ...]:
        """Who is called: each has a ledger and a journal of its own. All different."""

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this work when it is started again, as JSON values."""


_LOCK = "lock"


def checkpoint_folder(root: Path, fingerprint: Mapping[str, Any]) -> Path:
    """Return where the checkpoint of some work is or would be."""
    return root / hashlib.sha256(_text(fingerprint).encode()).hexdigest()[:16]


class Checkpoint:
    """The folder of unfinished work, named by its fingerprint without the budget, and held until it is released."""

    def __init__(self, root: Path, work: Mapping[str, Any], *, resume: bool, fresh: bool = False) -> None:
        self.folder = checkpoint_folder(root, work)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free, self._lock = taken(self.folder / _LOCK)
            if not free:
                raise CheckpointError(
                    f"another process is working on this job in {self.folder}",
                    hint="wait until it has ended, or end it first",
                )
            for entry in [path for path in self.folder.iterdir() if fresh and path.name != _LOCK]:
                if entry.is_dir():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
            if not resume and any(map(_begun, self.folder.rglob("journal-*.sqlite"))):
                self.release()
                raise CheckpointError(
                    f"an unfinished run of this job is kept in {self.folder}",
                    hint="add --resume to continue it without paying again, or --fresh to forget it",
                )
            (self.folder / "job.json").write_text(_text(work) + "\n", encoding="utf-8")
        except OSError as error:
            raise CheckpointError(
                f"{root}: cannot be written: {error.strerror}", hint="name another folder with --store"
            ) from error

    def journal(self, number: int = 0) -> Path:
        """Return the file of the paid answers of one role of the job."""
        return self.folder / f"journal-{number}.sqlite"

    def keep(self, name: str, data: Any) -> None:
        """Write a JSON file into the checkpoint."""
        (self.folder / name).write_text(_text(data) + "\n", encoding="utf-8")

    def release(self) -> None:
        """Let other processes continue the job; one that ends lets them anyway."""
        given_back(self._lock, lambda: None)
        self._lock = None

    def remove(self) -> None:
        """Remove the checkpoint: the job has ended."""
        given_back(self._lock, lambda: shutil.rmtree(self.folder))
        self._lock = None
        with suppress(OSError):  # another job's checkpoint is there, or that job has just removed the folder
            self.folder.parent.rmdir()


def _begun(path: Path) -> bool:
    """Say whether something was sent by the journal of that file."""
    journal = Journal(path)
    begun = journal.begun
    journal.close()
    return begun


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=2)


class PaidJob:
    """Open work. Made by :func:`paying`."""

    def __init__(self, work: Work, checkpoint: Checkpoint | None, start: Start | None = None) -> None:
        self.checkpoint, self.meter = checkpoint, Meter(work.budget)
        told = start.on_first_replies if start else None
        first = None
        if start and told:
            first = FirstReplies(start.first_replies, lambda: told(self.ledger.spend()))
        paces: dict[str, Pace] = {}  # one for each endpoint, whoever asks it
        learnt = {place: terms for place, (terms, _) in _learnt().items()}
        self.contexts = {
            role: CallContext(
                ledger=Ledger(),
                meter=self.meter,
                journal=Journal(checkpoint.journal(number) if checkpoint else None),
                paces=paces,
                learnt=learnt,
                first_replies=first,
            )
            for number, role in enumerate(work.roles)
        }
        self.paid = {role: len(context.journal) for role, context in self.contexts.items()}
        self.unfinished = False
        self.on_stop: Callable[[], str] = lambda: ""

    @property
    def ledger(self) -> Ledger:
        """The spend of this start, over all roles."""
        return Ledger.merged([context.ledger for context in self.contexts.values()])

    @property
    def kept(self) -> int:
        """How many answers are in the journals."""
        return sum(len(context.journal) for context in self.contexts.values())

    def spend(self) -> dict[str, Any]:
        """Return the spend of all starts, as JSON values; ``lost`` counts calls that this start did not use."""
        return {
            "calls": self.meter.calls,
            "tokens": self.meter.tokens,
            "cost": round(self.meter.cost, 6),
            "lost": self.meter.outstanding.calls,
            "by_purpose": self.ledger.to_json(),
        }

    @property
    def silence(self) -> str:
        """The failure of the last call, if a limit came before any answer; else empty."""
        last = next((context.breaker.last for context in self.contexts.values() if context.breaker.last), "")
        return f"no call was answered: {last}" if last and not (self.kept or self.meter.signal) else ""

    def _stopped(self, why: str, signal: int | None = None) -> StoppedError:
        """Return the error that says what is kept, and how to go on."""
        limit = "" if signal else "raise the limit and "
        if self.silence:
            why = f"{why}; {self.silence}"
            limit = "check the model's address and its server, raise the limit and "
        if self.checkpoint and self._begun:
            why = "; ".join(part for part in (why, self.on_stop()) if part)
            kept = f"{self.kept} paid answers are kept in {self.checkpoint.folder}"
            hint = f"{limit}add --resume to go on without paying again"
        else:
            kept, hint = f"nothing {'was paid' if self.checkpoint else 'is kept'}", f"{limit}start again"
        return StoppedError(f"{why}; {kept}", hint=hint, signal=signal)

    @property
    def _begun(self) -> bool:
        return any(context.journal.begun for context in self.contexts.values())

    def _close(self, *, ended: bool, stopped: bool) -> None:
        for context in self.contexts.values():
            context.journal.close()
            _remember({place: terms.learnt for place, terms in context.terms.items() if terms.learnt})
        # A job that never got an answer, as its key is wrong, leaves nothing to go on with. One that was stopped has
        # sent what may be paid for.
        if self.checkpoint and (ended or not (self.kept or (stopped and self._begun))):
            self.checkpoint.remove()
        if self.checkpoint:
            self.checkpoint.release()


_ENDPOINTS = "endpoints.json"
_REMEMBERED = 7 * 86400
"""Seconds for which an endpoint is not asked again for what it refused: a server may be made to take more."""


def _learnt() -> dict[str, tuple[str, float]]:
    """Return the terms of endpoints that jobs found recently, and when; nothing where the file cannot be read."""
    with suppress(AttributeError, OSError, TypeError, ValueError):
        kept = orjson.loads(data_file(_ENDPOINTS).read_bytes()).items()
        since = time.time() - _REMEMBERED
        return {address: (terms, then) for address, (terms, then) in kept if then > since}
    return {}


def _remember(learnt: Mapping[str, str]) -> None:
    """Keep what a job has learnt, for the next; what was known before keeps its time."""
    kept, now = _learnt(), time.time()
    new = {address: (terms, now) for address, terms in learnt.items() if kept.get(address, ("",))[0] != terms}
    if new:
        with suppress(OSError):  # without it the next job learns it again
            file = data_file(_ENDPOINTS)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(orjson.dumps({**kept, **new}))


GRACE = 25.0
"""Seconds for which calls in flight are waited for: less than the 30 after which Kubernetes kills a process."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """Lets signals stop the calls of a meter within a ``with`` block; says whether one has, and which."""

    def __init__(self, meter: Meter) -> None:
        self.signal: int | None = None
        self._meter = meter
        self._asked, self._over = threading.Event(), threading.Event()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Install the handlers, where this thread may."""
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in _SIGNALS:
            # None is a handler that was not installed from Python: whose it is, nobody knows.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._handle)
        if self._before:
            # Begun now, as a handler may interrupt whoever holds the locks that beginning a thread takes.
            threading.Thread(target=self._wait, name="jurist-stopping", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        """Put the handlers of before back."""
        self._over.set()
        self._asked.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Stop the work; at once, if it was asked to stop before, or if nothing is in flight that could be lost."""
        again, self.signal = self.signal is not None, self.signal or number
        self._meter.stop(self.signal)
        self._asked.set()
        if again or not self._meter.in_flight:
            raise KeyboardInterrupt

    def _wait(self) -> None:
        """Say that the work is being stopped; ask for the end again when the time is over."""
        self._asked.wait()
        flying = self._meter.in_flight
        if self._over.is_set() or self.signal is None:
            return
        if flying:
            with suppress(OSError, ValueError):  # there may be nobody left to tell
                sys.stderr.write(
                    f"{signal_name(self.signal)}: no further call is sent; {flying} in flight may arrive within "
                    f"{GRACE:g} s (press Ctrl-C again to quit now)\n"
                )
        if not self._over.wait(GRACE):
            # to the main thread: one that waits for a reply looks up then
            signal.pthread_kill(threading.main_thread().ident or 0, self.signal)


@contextmanager
def paying(work: Work, start: Start) -> Iterator[PaidJob]:
    """Open work, which signals stop; its checkpoint goes when all ended well, or when nothing was paid."""
    new = start.root is not None and not start.root.parent.exists()
    checkpoint = None
    if start.fresh:  # before anything is forgotten, as whoever is asked may say no
        start.on_open(dict.fromkeys(work.roles, 0))
    if start.root is not None:
        checkpoint = Checkpoint(start.root, work.fingerprint(), resume=start.resume, fresh=start.fresh)
    job = PaidJob(work, checkpoint, start)
    ended = stopped = False
    try:
        if not start.fresh:
            start.on_open(job.paid)
        with Stopping(job.meter):
            yield job
        ended = not job.unfinished
    except (StopRequested, BudgetExhausted) as stop:
        stopped = True
        raise job._stopped(str(stop), getattr(stop, "signal", None)) from stop
    except KeyboardInterrupt:
        stopped, number = True, job.meter.signal or signal.SIGINT
        raise job._stopped(f"stopped by {signal_name(number)}", number) from None
    except StoppedError:
        stopped = True
        raise
    finally:
        job._close(ended=ended, stopped=stopped)
        if new and start.root is not None:
            with suppress(OSError):  # the checkpoint is there, or something else was put there meanwhile
                start.root.parent.rmdir()
