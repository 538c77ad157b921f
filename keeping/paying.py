"""The one life cycle of work that is paid for: it begins, is killed or stopped, goes on, and ends.

Whatever compiles, chooses, compares, generates, assesses or runs opens :func:`paying`. It gives one meter, so that
one budget holds over all of it, and for each role (a judge, a contender, a generator) a ledger and a journal, in a
checkpoint that is found again by the work's fingerprint. A work that is started again is answered from its journals
as far as they go; what was sent and never answered counts as spent. The checkpoint goes when the work has ended with
nothing left to ask again.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT
from typing import Any, Protocol

from ..engines.channel import CallContext
from ..engines.journal import Journal
from ..engines.ledger import Ledger
from ..engines.meter import Budget, Meter
from ..engines.pace import Pace
from ..engines.tracing import span
from ..errors import BudgetExhausted, StoppedError, StopRequested, signal_name
from .checkpoints import Checkpoint
from .stopping import stopping


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


class Work(Protocol):
    """What can be paid for and continued."""

    @property
    def budget(self) -> Budget:
        """Hard limits for everything together."""

    @property
    def roles(self) -> tuple[str, ...]:
        """Who is called: each has a ledger and a journal of its own. All different."""

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same work when it is started again, as JSON values."""


class PaidJob:
    """Open work. Made by :func:`paying`."""

    def __init__(self, work: Work, checkpoint: Checkpoint | None) -> None:
        self.checkpoint, self.meter = checkpoint, Meter(work.budget)
        paces: dict[str, Pace] = {}  # one for each endpoint, whoever asks it
        self.contexts = {
            role: CallContext(
                ledger=Ledger(),
                meter=self.meter,
                journal=Journal(checkpoint.journal(number) if checkpoint else None),
                paces=paces,
            )
            for number, role in enumerate(work.roles)
        }
        self.paid = {role: len(one.journal) for role, one in self.contexts.items()}
        self.unfinished = False
        self.on_stop: Callable[[], str] = lambda: ""

    @property
    def ledger(self) -> Ledger:
        """What this start has spent, over all roles."""
        return Ledger.merged([one.ledger for one in self.contexts.values()])

    @property
    def kept(self) -> int:
        """How many answers are in the journals."""
        return sum(len(one.journal) for one in self.contexts.values())

    def spend(self) -> dict[str, Any]:
        """Return what all starts have spent, as JSON values.

        ``lost`` are calls of interrupted starts that this one had no use for: no answer came, or it was not needed.
        """
        return {
            "calls": self.meter.calls,
            "tokens": self.meter.tokens,
            "cost": round(self.meter.cost, 6),
            "lost": self.meter.outstanding.calls,
            "by_purpose": self.ledger.to_json(),
        }

    @property
    def silence(self) -> str:
        """What the last call failed of, where a limit came before any answer; else empty."""
        last = next((one.breaker.last for one in self.contexts.values() if one.breaker.last), "")
        return f"no call was answered: {last}" if last and not (self.kept or self.meter.signal) else ""

    def _stopped(self, why: str, signal: int | None = None) -> StoppedError:
        """Return the error that says what is kept, and how to go on."""
        limit = "" if signal else "raise the limit and "
        if self.silence:
            why, limit = (
                f"{why}; {self.silence}",
                "check the model's address and its server, raise the limit and ",
            )
        if self.checkpoint is None:
            return StoppedError(f"{why}; nothing is kept", hint=f"{limit}start again", signal=signal)
        if not self._begun:
            return StoppedError(f"{why}; nothing was paid", hint=f"{limit}start again", signal=signal)
        said = "; ".join(part for part in (why, self.on_stop()) if part)
        return StoppedError(
            f"{said}; {self.kept} paid answers are kept in {self.checkpoint.folder}",
            hint=f"{limit}add --resume to go on without paying again",
            signal=signal,
        )

    @property
    def _begun(self) -> bool:
        return any(one.journal.begun for one in self.contexts.values())

    def _close(self, *, ended: bool, stopped: bool) -> None:
        for one in self.contexts.values():
            one.journal.close()
        # A job that never got an answer, as its key is wrong, leaves nothing to go on with. One that was stopped has
        # sent what may be paid for.
        if self.checkpoint and (ended or not (self.kept or (stopped and self._begun))):
            self.checkpoint.remove()
        if self.checkpoint:
            self.checkpoint.release()


@contextmanager
def paying(work: Work, start: Start) -> Iterator[PaidJob]:
    """Open work; its checkpoint is removed when the block ends well and nothing failed, or when nothing was paid.

    Within the block SIGINT, SIGTERM and SIGHUP stop the work; see :mod:`.stopping`.
    """
    new = start.root is not None and not start.root.parent.exists()
    checkpoint = None
    if start.fresh:  # before anything is forgotten, as whoever is asked may say no
        start.on_open(dict.fromkeys(work.roles, 0))
    if start.root is not None:
        checkpoint = Checkpoint.open(start.root, work.fingerprint(), resume=start.resume, fresh=start.fresh)
    job = PaidJob(work, checkpoint)
    ended = stopped = False
    try:
        with span(f"jurist {type(work).__name__.strip('_').lower()}"), _stops_said(job):
            if not start.fresh:
                start.on_open(job.paid)
            with stopping(job.meter):
                yield job
        ended = not job.unfinished
    except StoppedError:
        stopped = True
        raise
    finally:
        job._close(ended=ended, stopped=stopped)
        if new and start.root is not None:
            with suppress(OSError):  # the checkpoint is there, or something else was put there meanwhile
                start.root.parent.rmdir()


@contextmanager
def _stops_said(job: PaidJob) -> Iterator[None]:
    """Make one error of all the ways in which work is stopped."""
    try:
        yield
    except StopRequested as stop:
        raise job._stopped(str(stop), stop.signal) from stop
    except BudgetExhausted as stop:
        raise job._stopped(str(stop)) from stop
    except KeyboardInterrupt:
        number = job.meter.signal or SIGINT
        raise job._stopped(f"stopped by {signal_name(number)}", number) from None
