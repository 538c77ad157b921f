"""Work that is paid for, and can be continued: every paid answer is kept until the work has ended in a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..engines.channel import CallContext
from ..engines.journal import Journal
from ..engines.ledger import Ledger
from ..engines.meter import Budget, Meter
from ..errors import BudgetExhausted, StoppedError
from .checkpoints import Checkpoint

__all__ = ["Paying", "Work", "paying"]

P = TypeVar("P", bound="Paying")


class Work(Protocol):
    """What can be paid for and continued: an experiment, or the rows of a table."""

    @property
    def budget(self) -> Budget:
        """Hard limits for everything together."""
        ...

    @property
    def contexts(self) -> int:
        """How many ledgers and journals it needs."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same work when it is started again, as JSON values."""
        ...


class Paying:
    """Work with its contexts: one shared meter, and a ledger and a journal for each. Made by :func:`paying`.

    Attributes:
        unfinished: set where something failed that another start could still get: the checkpoint then stays.
    """

    def __init__(self, work: Work, checkpoint: Checkpoint, ledger: Ledger | None = None) -> None:
        self.checkpoint, self.unfinished = checkpoint, False
        meter = Meter(work.budget)
        self.contexts = tuple(
            CallContext(
                ledger=ledger or Ledger(),
                meter=meter,
                journal=Journal(checkpoint.folder / f"journal-{number}.jsonl"),
            )
            for number in range(work.contexts)
        )
        self.paid_before = self.kept

    @property
    def kept(self) -> int:
        """How many answers are in the journals."""
        return sum(len(context.journal) for context in self.contexts)

    def stopped(self, why: str, hint: str = "") -> StoppedError:
        """Return the error that says where everything is kept."""
        if not self.kept:
            return StoppedError(f"{why}; nothing was paid", hint="start again")
        return StoppedError(
            f"{why}; {self.kept} paid answers are kept in {self.checkpoint.folder}",
            hint=f"{hint}add --resume to go on without paying again",
        )


@contextmanager
def paying(
    work: Work, root: Path, make: Callable[[Checkpoint], P], *, resume: bool = False, fresh: bool = False
) -> Iterator[P]:
    """Open the checkpoint of some work; it is removed when the block ends well, or when nothing was paid.

    Args:
        work: what is paid for.
        root: the folder of all checkpoints.
        make: gives what the block works with, in a checkpoint.
        resume: continue an unfinished run of the same work.
        fresh: forget an unfinished run of the same work.

    Raises:
        CheckpointError: there is an unfinished run and neither was asked for, or nothing can be written.
        StoppedError: Ctrl-C or a limit ended the block.
    """
    new = not root.parent.exists()
    checkpoint = Checkpoint.open(root, work.fingerprint(), resume=resume, fresh=fresh)
    run = make(checkpoint)
    ended = False
    try:
        yield run
        ended = not run.unfinished
    except BudgetExhausted as stop:
        raise run.stopped(str(stop), "raise the limit and ") from stop
    except KeyboardInterrupt:
        raise run.stopped("stopped by Ctrl-C") from None
    finally:
        for context in run.contexts:
            context.journal.close()
        if ended or not run.kept:
            checkpoint.remove()
            if new:
                with suppress(OSError):  # something else was put there meanwhile
                    root.parent.rmdir()
        checkpoint.release()
