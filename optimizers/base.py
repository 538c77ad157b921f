"""The one interface of optimizers: a job in, a result out, however a budget, Ctrl-C or a crash ends it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

import dspy

from ..arguments.compile import SearchOptions
from ..cases import Case
from ..engines.channel import CallContext
from ..errors import BudgetExhausted, OptimizerError, StopRequested
from ..evaluation.scale import resolve
from ..evaluation.votes import Sampling
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.verdicts import FIRST, Verdict, with_readable_adapter
from ..text.templates import CHAT
from .board import Board
from .candidate import DEFAULT_SETTING, Candidate, Setting

Ending = Literal["finished", "budget", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something to show."""

    # a ``phase`` begins, an optimizer's ``step`` ended, a ``candidate`` is new, or a ``note``
    kind: Literal["phase", "step", "candidate", "note"]
    text: str  # in words, one line
    calls: int = 0  # spent so far
    best: float | None = None  # the value of the judge's metric that it speaks of
    phase: str = ""  # what begins: ``splitting``, ``optimizing`` or ``proving``
    expected: int | None = None  # the calls of this phase at most, where they are known
    job: Job | None = None  # the job that begins, with its context and parts


Sink = Callable[[Event], None]


class Job(SearchOptions):
    """What an optimizer works on."""

    judge: Judge  # the judge, with its objective's metric
    # may be learned from, shown to a proposer, and put into prompts as demonstrations
    train: tuple[Case, ...]
    dev: tuple[Case, ...]  # it chooses by; never shown to a proposer, never in a prompt
    judge_lm: dspy.LM  # answers as the judge
    proposer_lm: dspy.LM  # writes prompts
    context: CallContext  # the ledger, meter and journal of the job
    frozen_lm: dspy.LM | None = None  # answers the program's frozen steps; ``None`` without any
    sampling: Sampling = field(default_factory=Sampling)  # samples and votes per case
    finds_adapter: bool = False  # whether it is found out first in which prompt format replies can be read
    sink: Sink = lambda event: None  # receives events

    @property
    def basic_adapter(self) -> str:
        """The adapter of the basic prompt: the one that was named, else the judge's own."""
        return self.adapter or self.judge.default_adapter

    @property
    def calls_per_case(self) -> int:
        """The calls of one case of one prompt: predictors, those of frozen steps too, x samples."""
        return self.judge.calls * self.sampling.samples

    def labelled_train(self) -> list[Case]:
        """Return the training cases with at least one gold label, of which there must be some."""
        cases = [case for case in self.train if case.known]
        if not cases:
            raise OptimizerError("no labelled training case", hint="give gold with more rows")
        return cases

    def asker(self, program: dspy.Module, setting: Setting = DEFAULT_SETTING) -> Asker:
        """Return what asks ``program`` as this job asks; a setting changes the form, and how votes are counted."""
        return Asker(
            judge=self.judge,
            program=program,
            lm=self.judge_lm,
            frozen_lm=self.frozen_lm,
            sampling=self.sampling_under(setting),
            adapter=setting.form or self.basic_adapter,
            concurrency=self.concurrency,
            probabilities="tokens",
            apart=self._groups,
        )

    @cached_property
    def _groups(self) -> dict[str, frozenset[str]]:
        """The cases of train of the group of each: none of them says anything of another that is honest."""
        members = defaultdict[str, set[str]](set)
        for case in self.train:
            members[case.group].add(case.id)
        return {case.id: frozenset(members[case.group]) for case in self.train if case.group}

    def sampling_under(self, setting: Setting) -> Sampling:
        """Return samples and threshold under a setting."""
        if setting == setting.asking:
            return self.sampling
        return replace(self.sampling, threshold=setting.threshold, weights=setting.weights)

    def note(
        self, text: str, best: float | None = None, kind: Literal["step", "candidate", "note"] = "note"
    ) -> None:
        """Send an event; what is maximised of an error is its negative, and shown is the error."""
        if best is not None:
            best = resolve(self.judge.metric, self.judge.comparison).oriented(best)
        self.sink(Event(kind=kind, text=text, calls=self.context.meter.calls, best=best))


class Optimizer(Protocol):
    """Improves a prompt. Its settings are its constructor's, frozen and named."""

    @property
    def name(self) -> str:
        """The name used by ``--optimizer``."""

    def minimum(self, job: Job) -> int:
        """Return the fewest judge and proposer calls that are worth starting with."""

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Improve on ``start`` until done; the board chooses. May be ended by an exception at any call."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What an optimizer leaves."""

    best: Candidate
    board: Board  # has it and all others
    ending: Ending
    adapter: str = CHAT  # of the basic prompt of the job, which may be found out at its beginning
    reason: str = ""  # why it ended so, in words
    stop: BaseException | None = None  # what ended it early, for whoever cannot go on without the rest


def optimize(optimizer: Optimizer, job: Job) -> Result:
    """Run an optimizer on a job; the basic prompt is always the first candidate."""
    left, needed = job.context.meter.left(), optimizer.minimum(job)
    if left is not None and left < needed:
        raise OptimizerError(
            f"{optimizer.name} needs at least {needed} calls here and the budget leaves {left} beside the proof",
            hint=f"raise --max-calls to {job.context.meter.short(needed)} or more, or use fewer rows or samples",
        )
    board = Board(job.judge, job.asker, job.context)
    text, calls = f"optimizing: {optimizer.name}", job.context.meter.calls
    job.sink(Event(kind="phase", text=text, calls=calls, phase="optimizing", job=job))
    ending: Ending = "finished"
    stop: BaseException | None = None
    try:
        if (
            job.adapter is None
            and job.basic_adapter == CHAT
            and job.finds_adapter
            and job.judge.role == "judge"
        ):
            job, board = _readable(job, board)
        if not getattr(optimizer, "races", False):  # a race scores the basic prompt as far as it needs it
            board.score(board.basic, job.dev)
            job.note("basic prompt scored on dev", board.value(board.basic, job.dev))
        optimizer.run(job, board, board.basic)
    except (StopRequested, KeyboardInterrupt) as asked:
        ending, stop = "interrupted", asked
    except BudgetExhausted as over:
        ending, stop = "budget", over
    reason = str(stop or "") or ("stopped by Ctrl-C" if stop else "")
    best = board.best(job.dev) or board.basic
    return Result(best=best, board=board, ending=ending, adapter=job.basic_adapter, reason=reason, stop=stop)


def _readable(job: Job, board: Board) -> tuple[Job, Board]:
    """Return a job whose replies can be read, by those to a few cases: the same, or one that asks for JSON."""
    cases, other = job.dev[:FIRST], replace(job, adapter="json")
    forms = [(job, board), (other, Board(other.judge, other.asker, other.context))]

    def ask(form: tuple[Job, Board]) -> list[Verdict]:
        _, tried = form
        tried.score(tried.basic, cases)
        return tried.verdicts(tried.basic, cases)

    form, why = with_readable_adapter(forms, ask)
    if why:
        job.note(why)
    return form
