"""The end of a search: the few best prompts are scored on all of dev, with calls that were kept back for it.

What a search leaves are prompts that were scored on different cases, few of
them on many. Before anything is chosen, the best few and the basic prompt, with
which they are compared, are scored on the whole of dev, also where the budget
ended the search. All optimizers here share this; they differ in how they search.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import BudgetExhausted
from .base import Job
from .board import Board, Candidate


class Finalists:
    """The prompts that a search leaves for the choice, and the calls kept back for them.

    At most a third of the calls that are left is kept back, but one pass over dev at least. Calls are given back as
    the search itself scores prompts on dev; one pass stays, for the prompt that it leaves half scored.
    """

    def __init__(self, job: Job, board: Board, count: int, source: str = "") -> None:
        self._job, self._board, self._count, self._source = job, board, count, source
        self._before, self._pass = job.context.meter.held, len(job.dev) * job.calls_per_case
        places = count + (not board.scored(board.basic, job.dev))
        self._most, left = places * self._pass, job.context.meter.left()
        if left is not None:
            self._most = min(self._most, max(self._pass, left // 3))

    def keep(self) -> None:
        """Keep back what the finalists still need: those that would be it now, and others for the places left."""
        board, dev = self._board, self._job.dev
        first = self._first()
        open_ = sum(len(dev) - board.met(one, dev) for one in [board.basic, *first])
        open_ += (self._count - len(first)) * len(dev)
        wanted = max(self._pass, open_ * self._job.calls_per_case)
        self._job.context.meter.hold(self._before + min(self._most, wanted))

    def _first(self) -> list[Candidate]:
        """Return the prompts that could be best: of the highest gain and its error together.

        Those that were never scored come last: they are paid for, and whatever is left is spent on them.
        """
        board = self._board
        able = [one for one in board.candidates.values() if one.id != board.basic.id]
        if self._source:
            able = [one for one in able if one.source == self._source]
        last = able[-1:] if self._source else []
        ids = {one.id for one in able} - {one.id for one in last}
        found = [one for one in board.by_gain() if one.id in ids]
        found.sort(key=lambda one: -round(one.gain + one.doubt, 9))
        new = ids - {one.id for one in found}
        first = [*last, *(board.candidates[one.id] for one in found)]
        return [*first, *(one for one in able if one.id in new)][: self._count]

    @contextmanager
    def after(self) -> Iterator[None]:
        """Keep calls back while the block searches, then score the finalists, however the budget ended it."""
        ended: BudgetExhausted | None = None
        try:
            self.keep()
            yield
        except BudgetExhausted as stop:
            ended = stop
        finally:
            self._job.context.meter.hold(self._before)
        self._score()
        if ended is not None:
            raise self._truthful(ended)

    def _score(self) -> None:
        """Score the basic prompt and the best few on all of dev, and then whatever is chosen by that."""
        board, dev = self._board, self._job.dev
        board.score(board.basic, dev)
        for one in self._first():
            board.score(one, dev)
        while (best := board.best(dev)) is not None and not board.scored(best, dev):
            board.score(best, dev)

    def _truthful(self, ended: BudgetExhausted) -> BudgetExhausted:
        """Return the end of a search that met its limit on calls, saying what is left of those kept back."""
        left = self._job.context.meter.left()
        if ended.limit == "calls" and left:
            later = f", but for {self._before} that are kept for what follows" if self._before else ""
            ended.args = (
                f"the calls for the search are spent, of a budget of {ended.allowed:g} calls{later}; "
                f"{left} that were kept for the finalists were not needed",
            )
        elif ended.limit == "calls":
            ended = BudgetExhausted(ended.limit, ended.allowed, kept=self._before)
        return ended
