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
from .locking import release_lock, take_lock
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


def checkpoint_folder(root: Path, fingerprint: Mapping[str, object]) -> Path:
    """Return where the checkpoint of some work is or would be."""
    return root / hashlib.sha256(_checkpoint_json(fingerprint).encode()).hexdigest()[:16]


class Checkpoint:
    """The folder of unfinished work, named by its fingerprint without the budget, and held until it is released."""

    def __init__(
        self, root: Path, fingerprint: Mapping[str, object], *, resume: bool, fresh: bool = False
    ) -> None:
        self.folder = checkpoint_folder(root, fingerprint)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free, self._lock = take_lock(self.folder / _LOCK)
            if not free:
                raise CheckpointError(
                    f"another process is working on this job in {self.folder}",
                    hint="wait until it has ended, or end it first",
                )
            if fresh:
                self._forget()
            if not resume and any(map(_has_begun, self.folder.rglob("journal-*.sqlite"))):
                self.release()
                raise CheckpointError(
                    f"an unfinished run of this job is kept in {self.folder}",
                    hint="add --resume to continue it without paying again, or --fresh to forget it",
                )
            self.keep("job.json", fingerprint)
        except OSError as error:
            raise CheckpointError(
                f"{root}: cannot be written: {error.strerror}", hint="name another folder with --store"
            ) from error

    def _forget(self) -> None:
        """Remove all that an unfinished run left, but for the lock, which this process holds."""
        for entry in list(self.folder.iterdir()):
            if entry.name == _LOCK:
                continue
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def journal(self, number: int = 0) -> Path:
        """Return the file of the paid answers of one role of the job."""
        return self.folder / f"journal-{number}.sqlite"

    def keep(self, name: str, content: object) -> None:
        """Write a JSON file into the checkpoint."""
        (self.folder / name).write_text(_checkpoint_json(content) + "\n", encoding="utf-8")

    def release(self) -> None:
        """Let other processes continue the job; one that ends lets them anyway."""
        release_lock(self._lock, lambda: None)
        self._lock = None

    def remove(self) -> None:
        """Remove the checkpoint: the job has ended."""
        release_lock(self._lock, lambda: shutil.rmtree(self.folder))
        self._lock = None
        with suppress(OSError):  # another job's checkpoint is there, or that job has just removed the folder
            self.folder.parent.rmdir()


def _has_begun(path: Path) -> bool:
    """Say whether something was sent by the journal of that file."""
    journal = Journal(path)
    has_begun = journal.begun
    journal.close()
    return has_begun


def _checkpoint_json(value: object) -> str:
    """Return a value as the JSON of a checkpoint's files, by which a fingerprint is hashed too."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=2)


class PaidJob:
    """Open work. Made by :func:`paying`."""

    def __init__(self, work: Work, checkpoint: Checkpoint | None, start: Start | None = None) -> None:
        self.checkpoint = checkpoint
        self.meter = Meter(work.budget)
        first_replies = self._first_replies(start)
        paces: dict[str, Pace] = {}  # one for each endpoint, whoever asks it
        learnt = {place: terms for place, (terms, _) in _learnt_terms().items()}
        self.contexts: dict[str, CallContext] = {}
        self.paid: dict[str, int] = {}  # role -> the answers that an earlier start paid for
        for number, role in enumerate(work.roles):
            path = None
            if checkpoint is not None:
                path = checkpoint.journal(number)
            journal = Journal(path)
            self.contexts[role] = CallContext(
                ledger=Ledger(),
                meter=self.meter,
                journal=journal,
                paces=paces,
                stored_terms=learnt,
                first_replies=first_replies,
            )
            self.paid[role] = len(journal)
        self.unfinished = False
        self.on_stop: Callable[[], str] = lambda: ""

    def _first_replies(self, start: Start | None) -> FirstReplies | None:
        """Return the counter that tells when the first replies have come; ``None`` if nobody wants to hear it."""
        if start is None or start.on_first_replies is None:
            return None
        on_first_replies = start.on_first_replies
        return FirstReplies(start.first_replies, lambda: on_first_replies(self.ledger.spend()))

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
        if self.kept or self.meter.signal:
            return ""
        for context in self.contexts.values():
            if context.breaker.last_failure:
                return f"no call was answered: {context.breaker.last_failure}"
        return ""

    def _stopped(self, reason: str, signal: int | None = None) -> StoppedError:
        """Return the error that says what is kept, and how to go on."""
        reasons = [reason]
        first_step = "" if signal else "raise the limit and "
        if self.silence:
            reasons.append(self.silence)
            first_step = "check the model's address and its server, raise the limit and "
        if self.checkpoint and self._has_begun:
            reasons += [self.on_stop(), f"{self.kept} paid answers are kept in {self.checkpoint.folder}"]
            hint = f"{first_step}add --resume to go on without paying again"
        else:
            reasons.append("nothing was paid" if self.checkpoint else "nothing is kept")
            hint = f"{first_step}start again"
        return StoppedError("; ".join(filter(None, reasons)), hint=hint, signal=signal)

    @property
    def _has_begun(self) -> bool:
        """Whether anything was sent."""
        return any(context.journal.begun for context in self.contexts.values())

    def _close(self, *, ended: bool, stopped: bool) -> None:
        """Close the journals, and remove or release the checkpoint."""
        for context in self.contexts.values():
            context.journal.close()
            _keep_terms(
                {
                    place: terms.json_if_changed
                    for place, terms in context.terms.items()
                    if terms.json_if_changed
                }
            )
        if self.checkpoint is None:
            return
        # A job that never got an answer, as its key is wrong, leaves nothing to go on with. One that was stopped has
        # sent what may be paid for.
        can_go_on = self.kept or (stopped and self._has_begun)
        if ended or not can_go_on:
            self.checkpoint.remove()
        self.checkpoint.release()


_ENDPOINTS = "endpoints.json"
_REMEMBERED = 7 * 86400
"""Seconds for which an endpoint is not asked again for what it refused: a server may be made to take more."""


def _learnt_terms() -> dict[str, tuple[str, float]]:
    """Return address -> the terms of an endpoint that a job found recently, and when; none without a usable file."""
    learnt: dict[str, tuple[str, float]] = {}
    with suppress(AttributeError, OSError, TypeError, ValueError):
        entries = orjson.loads(data_file(_ENDPOINTS).read_bytes()).items()
        oldest = time.time() - _REMEMBERED
        for address, (terms, found_at) in entries:
            if found_at > oldest:
                learnt[address] = (terms, found_at)
        return learnt
    return {}


def _keep_terms(terms_by_address: Mapping[str, str]) -> None:
    """Keep the terms that a job has learnt, for the next one; those that are kept already keep their time."""
    learnt = _learnt_terms()
    found_at = time.time()
    is_new = False
    for address, terms in terms_by_address.items():
        if address not in learnt or learnt[address][0] != terms:
            learnt[address] = (terms, found_at)
            is_new = True
    if is_new:
        with suppress(OSError):  # without it the next job learns it again
            file = data_file(_ENDPOINTS)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(orjson.dumps(learnt))


GRACE = 25.0
"""Seconds for which calls in flight are waited for: less than the 30 after which Kubernetes kills a process."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """Lets signals stop the calls of a meter within a ``with`` block; says whether one has, and which."""

    def __init__(self, meter: Meter) -> None:
        self.signal: int | None = None
        self._meter = meter
        self._asked = threading.Event()
        self._over = threading.Event()
        self._earlier_handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Install the handlers, where this thread may."""
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in _SIGNALS:
            # None is a handler that was not installed from Python: whose it is, nobody knows.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._earlier_handlers[number] = signal.signal(number, self._handle)
        if self._earlier_handlers:
            # Begun now, as a handler may interrupt whoever holds the locks that beginning a thread takes.
            threading.Thread(target=self._wait, name="jurist-stopping", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        """Put the handlers of before back."""
        self._over.set()
        self._asked.set()
        for number, handler in self._earlier_handlers.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Stop the work; at once, if it was asked to stop before, or if nothing is in flight that could be lost."""
        is_second = self.signal is not None
        self.signal = self.signal or number
        self._meter.stop(self.signal)
        self._asked.set()
        if is_second or not self._meter.in_flight:
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
