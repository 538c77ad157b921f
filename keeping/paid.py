"""A job that pays: how it is started, who is called in it, and what makes it the same when it is started again.

Every paid answer is in a journal, one a role, from which a job that is started again is answered as far as it
goes; so a killed job ends in the same output and pays nothing twice. The checkpoint goes when the job has ended
with nothing left to ask again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engines.channel import CallContext
from ..engines.ledger import Ledger
from ..engines.meter import Budget
from .checkpoints import Checkpoint
from .paying import Paying, paying

__all__ = ["Job", "Roles", "Start", "working"]


@dataclass(frozen=True, kw_only=True)
class Start:
    """How a job is started.

    Attributes:
        root: the folder of all checkpoints.
        resume: continue an unfinished run of the same job; a finished one is left as it is.
        fresh: forget an unfinished run of the same job, and write its output again.
        on_open: called with role -> answers that an earlier start paid for, before anything is asked. What it raises
            ends the job.
    """

    root: Path
    resume: bool = False
    fresh: bool = False
    on_open: Callable[[Mapping[str, int]], None] = lambda paid: None


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Who is called in a job.

    Attributes:
        names: such as ``generator`` and ``judge``; each has a journal of its own.
        budget: hard limits over all of them.
        print: what makes it the same job when it is started again, as JSON values.
    """

    names: tuple[str, ...]
    budget: Budget
    print: Mapping[str, Any]

    @property
    def contexts(self) -> int:
        """One journal a role."""
        return len(self.names)

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes it the same job."""
        return dict(self.print)


class Job(Paying):
    """An open job, whose contexts share one ledger too. Made by :func:`working`."""

    def __init__(self, roles: Roles, checkpoint: Checkpoint) -> None:
        self.ledger = Ledger()
        super().__init__(roles, checkpoint, self.ledger)
        self._roles = dict(zip(roles.names, self.contexts, strict=True))

    def context(self, role: str) -> CallContext:
        """Return the context of a role's calls."""
        return self._roles[role]

    @property
    def paid(self) -> dict[str, int]:
        """Role -> answers in its journal."""
        return {role: len(context.journal) for role, context in self._roles.items()}


@contextmanager
def working(roles: Roles, start: Start) -> Iterator[Job]:
    """Open a job; its checkpoint is removed when the block ends well and nothing failed, or nothing was paid.

    Raises:
        CheckpointError: there is an unfinished run and neither ``resume`` nor ``fresh``, or nothing can be written.
        StoppedError: Ctrl-C or a limit ended the block.
    """

    def make(checkpoint: Checkpoint) -> Job:
        return Job(roles, checkpoint)

    with paying(roles, start.root, make, resume=start.resume, fresh=start.fresh) as job:
        start.on_open(job.paid)
        yield job
