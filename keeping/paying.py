"""The life cycle of paid work: it starts, is stopped or killed, goes on where it was, and ends.

Work that is started again is found by its fingerprint, and its calls are answered from its journals as far as they go;
a call that was sent and never answered counts as spent. After the first signal that stops it no further call is sent;
replies in flight may arrive for a bounded time, and the work then ends as at a limit. A second signal, or the end of
that time, ends it at once.
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
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, Self

import orjson

from ..engines.channel import CallContext
from ..engines.journal import Journal
from ..engines.kept_answers import FinishedJob, KeptAnswers
from ..engines.ledger import FirstReplies, Ledger, Spend, oldest
from ..engines.meter import Budget, Meter
from ..engines.pace import Pace
from ..errors import (
    BudgetExhausted,
    CheckpointError,
    Interrupted,
    ModelError,
    StoppedError,
    StopRequested,
    as_data,
    begin_paid_work,
    signal_name,
)
from ..text.files import data_file, hide_from_git
from .locking import release_lock, take_lock
from .trust import to_stderr


@dataclass(frozen=True, kw_only=True)
class Start:
    """The settings with which work is started."""

    # the folder of all checkpoints; ``None`` keeps nothing, so that nothing can be continued
    root: Path | None = None
    resume: bool = False  # continue an unfinished run of the same work
    fresh: bool = False  # forget an unfinished run of the same work
    # keep the answers of the work when it is finished, and use those that finished work has kept
    reuses: bool = False
    # let these count towards the limits, as the work plans its steps by the calls that are left
    counts_kept: bool = False
    # called before anything is asked; an exception that it raises ends the work
    on_open: Callable[["PaidAnswers"], None] = lambda paid: None
    # called once, with what was spent so far, when the first replies have come
    on_first_replies: Callable[[Spend], None] | None = None
    first_replies: int = 20  # the number of these replies


@dataclass(frozen=True, kw_only=True)
class PaidAnswers:
    """The answers that were paid before this start of work."""

    by_role: Mapping[str, int]  # role -> their number
    # when the oldest of those was kept that finished work has paid, in UTC; empty where the same work was interrupted
    kept_since: str = ""
    is_whole: bool = False  # whether they are all that the work asks for


class Work(Protocol):
    """Work that is paid for and can be continued."""

    @property
    def budget(self) -> Budget:
        """Hard limits for everything together."""

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of the models' parts in it, such as ``judge``: each has its own ledger and journal."""

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this work when it is started again, as JSON values."""


_LOCK = "lock"
_FRESH = "fresh"
"""The file in the folder of unfinished work that was begun to use no earlier answers."""


def checkpoint_folder(root: Path, fingerprint: Mapping[str, object]) -> Path:
    """Return the folder of the checkpoint of work with a fingerprint; it need not exist."""
    return root / hashlib.sha256(_checkpoint_json(fingerprint).encode()).hexdigest()[:16]


def kept_answers_file(root: Path) -> Path:
    """Return the file with the answers of finished work, in the folder of all checkpoints; it need not exist."""
    return root / "answers.sqlite"


class Checkpoint:
    """The folder of unfinished work, named by its fingerprint, and locked for this process until :meth:`release`."""

    def __init__(
        self, root: Path, fingerprint: Mapping[str, object], *, resume: bool, fresh: bool = False
    ) -> None:
        self.folder = checkpoint_folder(root, fingerprint)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free, self._lock = take_lock(self.folder / _LOCK)
            if not free:
                raise CheckpointError(
                    f"another process is working on this job in {as_data(self.folder)}",
                    hint="wait until it has ended, or end it first",
                )
            if fresh:
                self._forget()
            if not resume and any(map(_has_begun, self.folder.rglob("journal-*.sqlite"))):
                self.release()
                raise CheckpointError(
                    f"an unfinished run of this job is kept in {as_data(self.folder)}",
                    hint="add --resume to continue it without paying again, or --fresh to forget it",
                )
            self.keep("job.json", fingerprint)
            hide_from_git(self.folder)
            fresh_mark = self.folder / _FRESH
            if fresh:
                fresh_mark.touch()
            elif not resume:
                fresh_mark.unlink(missing_ok=True)
            self.asks_anew = fresh_mark.exists()
            """Whether the unfinished run was begun to use no earlier answers."""
        except OSError as error:
            raise CheckpointError(
                f"{as_data(root)}: cannot be written: {error.strerror}",
                hint="name another folder with --store",
            ) from error

    def _forget(self) -> None:
        """Remove the files of an unfinished run, except the lock, which this process holds."""
        for entry in list(self.folder.iterdir()):
            if entry.name == _LOCK:
                continue
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def journal(self, number: int = 0) -> Path:
        """Return the path of the journal of a role; ``number`` is its place among the roles."""
        return self.folder / f"journal-{number}.sqlite"

    @property
    def kept_answers(self) -> Path:
        """The file with the answers of finished work, of all jobs."""
        return kept_answers_file(self.folder.parent)

    def keep(self, name: str, content: object) -> None:
        """Write a JSON file into the checkpoint."""
        (self.folder / name).write_text(_checkpoint_json(content) + "\n", encoding="utf-8")

    def release(self) -> None:
        """Unlock the folder, so that another process can continue the job; the end of this process does so too."""
        release_lock(self._lock, lambda: None)
        self._lock = None

    def remove(self) -> None:
        """Remove the folder, as the job has ended."""
        release_lock(self._lock, lambda: shutil.rmtree(self.folder))
        self._lock = None
        with suppress(OSError):  # another job's checkpoint is there, or that job has just removed the folder
            self.folder.parent.rmdir()


def _has_begun(path: Path) -> bool:
    """Say whether the journal in a file has a request that was sent."""
    journal = Journal(path)
    has_begun = journal.begun
    journal.close()
    return has_begun


def _checkpoint_json(value: object) -> str:
    """Return a value as JSON with sorted keys, for files of a checkpoint and for the hash of a fingerprint."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=2)


class PaidJob:
    """Work that was started, with what its calls share; made by :func:`paying`."""

    def __init__(self, work: Work, checkpoint: Checkpoint | None, start: Start | None = None) -> None:
        self.checkpoint = checkpoint
        self.meter = Meter(work.budget)
        self._kept_answers: KeptAnswers | None = None
        if checkpoint is not None and start is not None and start.reuses:
            self._kept_answers = _open_kept_answers(checkpoint.kept_answers, anew=checkpoint.asks_anew)
        first_replies = self._first_replies(start)
        paces: dict[str, Pace] = {}  # one for each endpoint, whoever asks it
        learnt = {address: terms for address, (terms, _) in _learnt_terms().items()}
        self.contexts: dict[str, CallContext] = {}
        paid: dict[str, int] = {}
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
                kept_answers=self._kept_answers,
                counts_kept=start is not None and start.counts_kept,
                first_replies=first_replies,
            )
            paid[role] = len(journal)
        self.paid = PaidAnswers(by_role=paid)
        """The answers that an earlier start paid for, or those of the same work when it was finished."""
        if self._kept_answers is not None and checkpoint is not None and not any(paid.values()):
            finished = self._kept_answers.find_job(checkpoint.folder.name)
            if finished is not None:
                self.paid = PaidAnswers(
                    by_role=finished.answers, kept_since=finished.kept_since, is_whole=True
                )
        self.unfinished = False
        """Whether the work has to be continued though it came to its end, as rows failed."""
        self.on_stop: Callable[[], str] = lambda: ""
        """Called when the work is stopped; returns a phrase for the message, such as where a file was kept."""

    def _first_replies(self, start: Start | None) -> FirstReplies | None:
        """Return the counter that tells when the first replies have come; ``None`` if nobody wants to hear it."""
        if start is None or start.on_first_replies is None:
            return None
        on_first_replies = start.on_first_replies
        return FirstReplies(start.first_replies, lambda: on_first_replies(self.ledger.spend()))

    @property
    def ledger(self) -> Ledger:
        """The ledger of this start, over all roles."""
        return Ledger.merged([context.ledger for context in self.contexts.values()])

    @property
    def answer_count(self) -> int:
        """The number of paid answers in the journals."""
        return sum(len(context.journal) for context in self.contexts.values())

    def spend(self) -> dict[str, Any]:
        """Return the spend of all starts, as JSON values; ``lost`` counts calls that this start did not use."""
        kept = self.meter.kept
        return {
            "calls": self.meter.calls - kept.calls,
            "tokens": round(self.meter.tokens - kept.tokens),
            "cost": round(self.meter.cost - kept.cost, 6),
            "lost": self.meter.outstanding.calls,
            "by_purpose": self.ledger.to_json(),
        }

    @property
    def no_answer_words(self) -> str:
        """A phrase with the failure of the last call, if no call was answered and no signal came; else empty."""
        if self.answer_count or self.meter.signal:
            return ""
        for context in self.contexts.values():
            if context.breaker.last_failure:
                return f"no call was answered: {context.breaker.last_failure}"
        return ""

    def step_before_resuming(self, signal: int | None) -> str:
        """Return what to do before stopped work can go on, as an imperative clause; empty after a signal."""
        if self.no_answer_words:
            return "check the model's address and its server, raise the limit"
        if signal:
            return ""
        return "raise the limit"

    def _stopped_error(self, reason: str, signal: int | None = None) -> StoppedError | Interrupted:
        """Return the error that ends stopped work: its message says what is kept, and its hint how to go on."""
        reasons = [reason]
        if self.no_answer_words:
            reasons.append(self.no_answer_words)
        first_step = self.step_before_resuming(signal)
        if first_step:
            first_step += " and "
        if self.checkpoint and self._has_begun:
            reasons += [
                self.on_stop(),
                f"{self.answer_count} paid answers are kept in {self.checkpoint.folder}",
            ]
            hint = f"{first_step}add --resume to go on without paying again"
        else:
            if self._has_begun:
                reasons.append("nothing is kept")
            else:
                reasons.append("no model was asked, nothing was paid and nothing is kept")
            hint = f"{first_step}run the same command again"
        message = "; ".join(filter(None, reasons))
        if signal is not None:
            return Interrupted(message, hint=hint, signal=signal)
        return StoppedError(message, hint=hint)

    def _with_kept_answers(self, error: ModelError) -> ModelError:
        """Return the error of a model that ends the work; if answers were paid, it says that they are kept."""
        if not (self.checkpoint and self.answer_count):
            return error
        kept = f"{self.answer_count} paid answers are kept in {self.checkpoint.folder}"
        message = f"{error.message.removesuffix('.')}; {kept}"
        hint = error.hint
        if "--resume" not in hint:
            hint = ", then ".join(filter(None, [hint, "add --resume to go on without paying again"]))
        return type(error)(message, hint=hint)

    @property
    def _has_begun(self) -> bool:
        """Whether anything was sent."""
        return any(context.journal.begun for context in self.contexts.values())

    def _close(self, *, ended: bool, stopped: bool) -> None:
        """Close the journals, remember the terms of endpoints, and remove or release the checkpoint.

        Args:
            ended: whether the work is complete.
            stopped: whether a limit or a signal stopped it.
        """
        if ended:
            self._keep_answers()
        if self._kept_answers is not None:
            if self._kept_answers.problem:
                to_stderr(
                    f"answers of earlier runs were not used: {self._kept_answers.problem}; remove the file"
                )
            self._kept_answers.close()
        for context in self.contexts.values():
            context.journal.close()
            changed_terms: dict[str, str] = {}
            for address, terms in context.terms.items():
                if terms.json_if_changed:
                    changed_terms[address] = terms.json_if_changed
            _keep_terms(changed_terms)
        if self.checkpoint is None:
            return
        # Without any answer, as with a wrong key, there is nothing to continue. But a stopped job may have requests in
        # flight that are paid for.
        can_go_on = self.answer_count or (stopped and self._has_begun)
        if ended or not can_go_on:
            self.checkpoint.remove()
        self.checkpoint.release()

    def _keep_answers(self) -> None:
        """Keep the answers of finished work for later work, if it asked an endpoint; say so where that fails."""
        kept_answers, checkpoint = self._kept_answers, self.checkpoint
        spend = self.ledger.spend()
        if kept_answers is None or checkpoint is None or not (self.answer_count or spend.reused):
            return
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        answers: dict[str, int] = {}
        for role, context in self.contexts.items():
            answers[role] = len(context.journal) + context.ledger.spend().reused
        job = FinishedJob(kept_since=oldest(spend.reused_since, now), answers=answers)
        journals = [context.journal for context in self.contexts.values()]
        try:
            kept_answers.keep(checkpoint.folder.name, job, journals, now)
        except CheckpointError as error:  # the work is done: there is nothing to go on with
            to_stderr(f"the answers are not kept for a later run: {error.message}")
        except OSError as error:
            to_stderr(f"the answers are not kept for a later run: {error}")


def _open_kept_answers(path: Path, *, anew: bool) -> KeptAnswers | None:
    """Return the answers in a file; ``None``, with a line on standard error, if it cannot be used."""
    try:
        return KeptAnswers(path, anew=anew)
    except CheckpointError as error:
        to_stderr(f"answers of earlier runs are not used: {error.message}; remove the file")
        return None


_ENDPOINTS = "endpoints.json"
_REMEMBERED_SECONDS = 7 * 86400
"""Seconds for which a refusal of an endpoint is remembered: its server may be changed to accept more."""


def _learnt_terms() -> dict[str, tuple[str, float]]:
    """Return the remembered terms of endpoints: address -> (terms as JSON, time); empty without a usable file."""
    learnt: dict[str, tuple[str, float]] = {}
    with suppress(AttributeError, OSError, TypeError, ValueError):
        entries = orjson.loads(data_file(_ENDPOINTS).read_bytes()).items()
        oldest = time.time() - _REMEMBERED_SECONDS
        for address, (terms, found_at) in entries:
            if found_at > oldest:
                learnt[address] = (terms, found_at)
        return learnt
    return {}


def _keep_terms(terms_by_address: Mapping[str, str]) -> None:
    """Write down the terms that a job has learnt, for the next one; terms that are known keep their time."""
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


class SignalStop:
    """Stops the calls of a meter at a signal, within a ``with`` block; ``signal`` is the one that came."""

    def __init__(self, meter: Meter) -> None:
        self.signal: int | None = None
        self._meter = meter
        self._wake_up = threading.Event()  # set by a signal, and by the end of the block
        self._has_ended = threading.Event()
        self._earlier_handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Install the handlers; only the main thread may do so."""
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in _SIGNALS:
            # A handler that is None was not installed from Python, and could not be put back.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._earlier_handlers[number] = signal.signal(number, self._handle)
        if self._earlier_handlers:
            # The thread starts now: a handler must not start one, as it may interrupt code that holds the locks for it.
            threading.Thread(target=self._wait, name="jurist-stopping", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        """Put the earlier handlers back, and let the waiting thread end."""
        self._has_ended.set()
        self._wake_up.set()
        for number, handler in self._earlier_handlers.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Stop the work; at once for a second signal, or if no call is in flight whose reply could be lost."""
        is_second = self.signal is not None
        self.signal = self.signal or number
        self._meter.stop(self.signal)
        self._wake_up.set()
        if is_second or not self._meter.in_flight:
            raise KeyboardInterrupt

    def _wait(self) -> None:
        """Wait for a signal, tell the user that calls in flight may still arrive, and end the work after that time."""
        self._wake_up.wait()
        in_flight = self._meter.in_flight
        if self._has_ended.is_set() or self.signal is None:
            return
        if in_flight:
            with suppress(OSError, ValueError):  # there may be nobody left to tell
                sys.stderr.write(
                    f"{signal_name(self.signal)}: no further call is sent; {in_flight} in flight may arrive within "
                    f"{GRACE:g} s (press Ctrl-C again to quit now)\n"
                )
        if not self._has_ended.wait(GRACE):
            # The signal goes to the main thread, as it interrupts a call that waits for a reply there.
            signal.pthread_kill(threading.main_thread().ident or 0, self.signal)


@contextmanager
def paying(work: Work, start: Start) -> Iterator[PaidJob]:
    """Start work, which limits and signals stop; its checkpoint is removed if it is complete or nothing was paid.

    Raises:
        StoppedError: a limit stopped the work.
        Interrupted: a signal stopped it.
    """
    begin_paid_work()
    is_new_store = start.root is not None and not start.root.parent.exists()
    checkpoint = None
    if start.fresh:  # first of all: a user who is asked here may say no, and then nothing is forgotten
        start.on_open(PaidAnswers(by_role=dict.fromkeys(work.roles, 0)))
    if start.root is not None:
        checkpoint = Checkpoint(start.root, work.fingerprint(), resume=start.resume, fresh=start.fresh)
    job = PaidJob(work, checkpoint, start)
    ended = stopped = False
    try:
        if not start.fresh:
            start.on_open(job.paid)
        with SignalStop(job.meter):
            yield job
        ended = not job.unfinished
    except (StopRequested, BudgetExhausted) as stop:
        stopped = True
        raise job._stopped_error(str(stop), getattr(stop, "signal", None)) from stop
    except ModelError as error:
        raise job._with_kept_answers(error) from error
    except (StoppedError, Interrupted):
        stopped = True
        raise
    except KeyboardInterrupt:
        stopped = True
        number = job.meter.signal or signal.SIGINT
        raise job._stopped_error(f"stopped by {signal_name(number)}", number) from None
    finally:
        job._close(ended=ended, stopped=stopped)
        if is_new_store and start.root is not None:
            with suppress(OSError):  # the checkpoint is there, or something else was put there meanwhile
                start.root.parent.rmdir()
