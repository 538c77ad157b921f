"""What all of DSPy's optimizers need to work here: a budget, silence, a guard, and an honest end.

The optimizer searches with calls kept back for the end. Then, however the
search ended, the best few prompts by the record are scored on the whole of dev,
and the board decides; DSPy's own choice, which some of its optimizers get wrong
or lose, is never asked for.
"""

from __future__ import annotations

import dataclasses
import io
import logging
import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import dspy
from dspy.lm15 import Request, Response
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError, ContextWindowExceededError, LMError

from ..cases import Case
from ..engines.adapters import ChatAdapter
from ..engines.draws import current_draw, drawing
from ..engines.failures import fatal, model_error
from ..errors import JuristError
from .base import Event, Job
from .board import Board, Candidate
from .drawing import draw
from .finalists import Finalists
from .recorder import CarriedError, Judging, Prefetch, Recorder

_S = TypeVar("_S")

_NEVER = 10**9
_DOWN = 3  # proposals in a row that failed, each tried several times, or that cannot be used
_LOGGERS = ("dspy", "gepa", "optuna")


@dataclass(frozen=True, kw_only=True)
class SearchBudget:
    """What a search may spend."""

    left: int | None  # calls, ``None`` without a limit
    run: int  # calls that one case takes: predictors x samples
    predictors: int  # of the program

    def pays(self, calls: int) -> bool:
        """Say whether so many calls can be paid."""
        return self.left is None or calls <= self.left

    def largest(self, shapes: Iterable[_S], calls: Callable[[_S], int], least: _S) -> _S:
        """Return the first of ``shapes``, the most wanted first, whose calls can be paid; ``least`` if none can."""
        return next((shape for shape in shapes if self.pays(calls(shape))), least)

    @classmethod
    def of(cls, job: Job, left: int | None) -> SearchBudget:
        """Return the budget of a job with so many calls left."""
        predictors = len(job.judge.basic().predictors())
        return cls(left=left, run=job.calls_per_case, predictors=predictors)


class DspyOptimizer(ABC):
    """The base of DSPy's optimizers; a subclass is a frozen dataclass of settings."""

    name: str  # the optimizer's
    finalists: int  # prompts that are scored on all of dev at the end
    # exceptions with which this optimizer is known to end without returning what it found
    defects: ClassVar[tuple[type[Exception], ...]] = ()

    @abstractmethod
    def smallest(self, job: Job, budget: SearchBudget) -> int:
        """Return the calls of the smallest search, beside those that score two prompts on dev."""

    @abstractmethod
    def compile(self, recorder: Recorder, student: Judging, budget: SearchBudget) -> None:
        """Run DSPy's optimizer on a fresh student, within a budget."""

    def minimum(self, job: Job) -> int:
        """Return the calls of the smallest search and of two prompts on dev."""
        return 2 * len(job.dev) * job.calls_per_case + self.smallest(job, SearchBudget.of(job, left=0))

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Search from ``start``; return the best candidate on the board."""
        finalists = Finalists(job, board, self.finalists, self.name)
        quiet = _Quiet()
        recorder = Recorder(
            job=dataclasses.replace(job, sink=quiet.through(job.sink)),
            board=board,
            start=start,
            source=self.name,
        )
        with finalists.after():
            try:
                with quiet.streams(), _settings(job, recorder, finalists):
                    budget = SearchBudget.of(job, job.context.meter.left())
                    self.compile(recorder, recorder.student(), budget)
            except CarriedError as carried:
                raise carried.error from carried
            except (Stopped, AdapterParseError, LMError, *self.defects) as defect:
                _note_end(job, board, self.name, defect)
        best = board.best(job.dev) or start
        job.note(f"{self.name}: best on dev {board.name(best)}", board.value(best, job.dev), kind="step")
        return best


class Stopped(BaseException):
    """Ends a search from within, past code that catches every ``Exception``; what was found so far is kept."""


class Proposals:
    """Counts the proposals of one search that cannot be used: DSPy goes on without them and says so nowhere."""

    def __init__(self, job: Job, name: str) -> None:
        self._job, self._name = job, name
        self._lost, self._row = 0, 0

    def good(self) -> None:
        """Take note that a proposal can be used."""
        self._row = 0

    def lost(self, why: str) -> None:
        """Tell that a proposal cannot be used."""
        self._lost, self._row = self._lost + 1, self._row + 1
        self._job.note(f"{self._name}: an unusable proposal: {why}")
        if self._row >= _DOWN:
            raise Stopped(f"{self._lost} proposals were unusable, the last {self._row} in a row: {why}")


def pool(job: Job, name: str, size: int | None = None) -> list[Case]:
    """Return labelled training cases in an order drawn by the job's seed, stratified.

    DSPy's demonstration optimizers have no seed of their own: the order of their training set is their seed.
    """
    cases = job.labelled_train()
    return draw(cases, size or len(cases), job.judge.answer, random.Random(f"{name}/{job.seed}"))


def _note_end(job: Job, board: Board, name: str, defect: BaseException) -> None:
    """Tell why DSPy's optimizer ended before its end."""
    if isinstance(defect, Stopped):
        job.note(f"{name} ended early: {defect}")
        return
    lost = _lm_error(defect)
    if lost is not None and not any(one.source == name for one in board.candidates.values()):
        raise model_error(lost) from defect  # there was nothing to try
    job.note(f"{name} ended early: {type(defect).__name__}: {defect}"[:300])


class _GivesBack(BaseCallback):
    """Gives back what the finalists need no more, before it is asked whether an evaluation can be paid."""

    def __init__(self, finalists: Finalists) -> None:
        self._finalists = finalists

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Keep back what is still needed."""
        self._finalists.keep()


def _lm_error(error: BaseException | None) -> LMError | None:
    """Return the failed call behind an exception, if there is one."""
    for _ in range(16):
        if error is None or isinstance(error, LMError):
            return error
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def _settings(job: Job, recorder: Recorder, finalists: Finalists) -> Iterator[None]:
    drawn = drawing(sample=job.seed)  # of proposals: not all of DSPy's optimizers have a seed
    try:
        with _context(job, [_GivesBack(finalists), Prefetch(recorder)]):
            yield
    finally:
        current_draw.reset(drawn)


def _context(job: Job, callbacks: list[BaseCallback]) -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = dspy.context(
        lm=job.judge_lm,
        adapter=Lenient(),
        callbacks=callbacks,
        disable_history=True,
        track_usage=False,
        trace=None,
        max_errors=_NEVER,
        num_threads=1,
    )
    return context


def proposer(job: Job) -> dspy.LM:
    """Return the proposer's model with a guard: its lasting failures end the work, whoever would swallow them."""
    return job.proposer_lm.copy(engine=_Guard(job.proposer_lm.engine))


class _Guard:
    """An engine whose fatal and repeated failures cannot be taken for a missing proposal.

    A prompt that is too long says nothing of the next one, which may be shorter.
    """

    def __init__(self, inner: Any) -> None:
        self._inner, self._failed = inner, 0

    def __deepcopy__(self, memo: dict[int, Any]) -> _Guard:
        return self

    def complete(self, request: Request) -> Response:
        try:
            response: Response = self._inner.complete(request)
        except LMError as error:
            self._failed += not isinstance(error, ContextWindowExceededError)
            if fatal(error) or self._failed >= _DOWN:
                raise CarriedError(model_error(error)) from error
            raise
        except JuristError as error:
            raise CarriedError(error) from error
        self._failed = 0
        return response


class Lenient(ChatAdapter):
    """An adapter for proposals in words: an unusable reply is an empty proposal, and the others are kept.

    DSPy asks for several proposals at once and loses all of them, and the search, if one cannot be parsed.
    """

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the fields of a reply; empty ones if it has none and all of them are text."""
        try:
            return super().parse(signature, completion)
        except AdapterParseError:
            if any(info.annotation is not str for info in signature.output_fields.values()):
                raise
            return dict.fromkeys(signature.output_fields, "")


class _Nowhere(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


class _Quiet:
    """Keeps what DSPy prints, draws and logs off the terminal, and lets our own events through."""

    def __init__(self) -> None:
        self._out: Any = None
        self._err: Any = None

    @contextmanager
    def streams(self) -> Iterator[None]:
        loggers = [logging.getLogger(name) for name in _LOGGERS]
        before = [(logger.level, logger.handlers, logger.propagate) for logger in loggers]
        self._out, self._err = sys.stdout, sys.stderr
        try:
            for logger in loggers:
                logger.setLevel(logging.CRITICAL + 1)
                logger.handlers, logger.propagate = [logging.NullHandler()], False
            with redirect_stdout(_Nowhere()), redirect_stderr(_Nowhere()):
                yield
        finally:
            for logger, (level, handlers, propagate) in zip(loggers, before, strict=True):
                logger.setLevel(level)
                logger.handlers, logger.propagate = handlers, propagate
            self._out = self._err = None

    def through(self, sink: Callable[[Event], None]) -> Callable[[Event], None]:
        def on_event(event: Event) -> None:
            with redirect_stdout(self._out), redirect_stderr(self._err):
                sink(event)

        return on_event
