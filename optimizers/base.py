"""The one interface of optimizers: a job in, a result out, however a budget, Ctrl-C or a crash ends it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, Protocol, Self, runtime_checkable

import dspy

from ..cases import Case
from ..engines.channel import CallContext
from ..errors import BudgetExhausted, OptimizerError, StopRequested
from ..evaluation.scale import resolve
from ..evaluation.votes import Sampling
from ..programs.asking import Asker
from ..programs.generator import Generator
from ..programs.judge import Judge
from ..programs.languages import case_texts
from ..programs.own_answer import OwnAnswer
from ..programs.questions import Questions
from ..programs.settings import FOR_SEARCHES, AskSettings
from ..programs.state import PromptState
from ..programs.verdict_sources import FIRST_CASES, check_readable, with_readable_adapter
from ..programs.verdicts import Verdict
from ..text.templates import CHAT
from ..text.wording import Language, main_language
from .board import Board
from .candidate import DEFAULT_SETTING, Candidate, Setting
from .settings import SettingValue, change_fields, list_settings

Ending = Literal["finished", "budget", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """A line of progress, for whoever shows it.

    Attributes:
        kind: a ``phase`` begins, an optimizer's ``step`` ended, a ``candidate`` is new, or a ``note``.
        text: one line of words.
        calls: the calls spent so far.
        best: the value of the judge's metric that the line is about.
        phase: the phase that begins: ``splitting``, ``optimizing`` or ``proving``.
        expected: the most calls of the phase, where they are known.
        job: the job that begins, with its context and parts.
    """

    kind: Literal["phase", "step", "candidate", "note"]
    text: str
    calls: int = 0
    best: float | None = None
    phase: str = ""
    expected: int | None = None
    job: Job | None = None


Sink = Callable[[Event], None]


FOR_DECISION_MODELS: Final = (
    "The judge's model is a decision model: it reads one question and its choices, writes nothing, and sees no "
    "examples. Write one short, plain question about the input, of at most 40 words, and below it, if that helps, a "
    "line for each label that describes it, in the form LABEL: words. Do not ask for reasons, steps or a format."
)
"""What a proposer has to know of an instruction for a decision model."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The work of an optimizer: a judge, the cases to learn from and to choose by, and the models.

    Attributes:
        judge: the judge, with the metric that is maximised.
        train: cases that may be learned from, shown to a proposer, and put into prompts as demonstrations.
        dev: cases that the choice is made by; they are never shown to a proposer and stand in no prompt.
        judge_lm: the model that answers as the judge.
        proposer_lm: the model that writes prompts.
        context: the ledger, meter and journal of the job.
        frozen_lm: the model that answers the program's frozen steps; ``None`` where it has none.
        settings: how the judge is asked.
        seed: of every random choice.
        words: whether a rule of words may decide, alone or with the replies.
        questions: whether a prompt may ask questions beside the judge's own, whose answers decide.
        own_questions: these questions, where the user named them; empty where a proposer writes them.
        own_answer: how the model may be asked for its own answer to the task first; ``None`` where it may not.
        reads_instructions: whether the words of an instruction can change an answer of the judge's model.
        decides: whether the judge's model is a decision model: it reads a question, and no demonstrations.
        tokens_per_row: the most tokens that a row of a chosen prompt may take; ``None`` where nobody named a limit.
        finds_adapter: whether the job first finds out in which adapter replies can be read.
        requests_per_call: how many requests a call of the judge is on average: above 1 where a decision model is asked
            more questions than one request takes.
        sink: receives events.
    """

    judge: Judge
    train: tuple[Case, ...]
    dev: tuple[Case, ...]
    judge_lm: dspy.LM
    proposer_lm: dspy.LM
    context: CallContext
    frozen_lm: dspy.LM | None = None
    settings: AskSettings = FOR_SEARCHES
    seed: int = 0
    words: bool = True
    questions: bool = True
    own_questions: Questions = ()
    own_answer: OwnAnswer | None = None
    reads_instructions: bool = True
    decides: bool = False
    tokens_per_row: float | None = None
    finds_adapter: bool = False
    requests_per_call: float = 1.0
    sink: Sink = lambda event: None

    @property
    def basic_adapter(self) -> str:
        """The adapter of the basic prompt: the one that was named, else the judge's own."""
        return self.settings.adapter_of(self.judge)

    @property
    def shows_demonstrations(self) -> bool:
        """Whether a prompt of the judge may show demonstrations: gold makes them, and the model reads them."""
        return self.judge.has_examples and not self.decides

    @property
    def proposer_note(self) -> str:
        """A note for proposers on the judge's model; empty where a prompt is an ordinary one."""
        return FOR_DECISION_MODELS if self.decides else ""

    @property
    def generator(self) -> Generator | None:
        """The judge as a generator, whose prompts write; ``None`` for a judge that judges."""
        return self.judge if isinstance(self.judge, Generator) else None

    @cached_property
    def language(self) -> Language:
        """The language of most of the texts to learn from: in it a proposer is asked for prompts of writers."""
        return main_language(case_texts(self.train))

    @property
    def calls_per_case(self) -> int:
        """The calls of one case of one prompt: predictors, those of frozen steps too, x samples."""
        return self.judge.calls * self.settings.sampling.samples

    def calls_under(self, setting: Setting) -> int:
        """Return the most calls of one case under a setting: one more where the model answers the task first."""
        return self.calls_per_case + int(setting.own_answer is not None)

    def labelled_train(self) -> list[Case]:
        """Return the training cases with at least one gold label. Raises ``OptimizerError`` if there is none."""
        cases = [case for case in self.train if case.labels]
        if not cases:
            raise OptimizerError("no labelled training case", hint="give gold with more rows")
        return cases

    def asker(self, program: dspy.Module, setting: Setting = DEFAULT_SETTING) -> Asker:
        """Return the asker of ``program`` for this job; a setting changes the adapter and the count of votes."""
        return Asker(
            judge=self.judge,
            program=program,
            lm=self.judge_lm,
            frozen_lm=self.frozen_lm,
            settings=replace(
                self.settings,
                sampling=self.sampling_under(setting),
                adapter=setting.form or self.basic_adapter,
                words=setting.words,
                asks_model=setting.asks_model,
                own_answer=setting.own_answer,
            ),
            hidden_rows=self._groups,
        )

    @cached_property
    def _groups(self) -> dict[str, frozenset[str]]:
        """Training case -> the training cases of its group: none of them is an honest example for another."""
        members = defaultdict[str, set[str]](set)
        for case in self.train:
            members[case.group].add(case.id)
        return {case.id: frozenset(members[case.group]) for case in self.train if case.group}

    def sampling_under(self, setting: Setting) -> Sampling:
        """Return the samples and the threshold of a candidate with this setting."""
        if setting == setting.of_request:
            return self.settings.sampling
        return replace(self.settings.sampling, threshold=setting.threshold, weights=setting.weights)

    def note(
        self, text: str, best: float | None = None, kind: Literal["step", "candidate", "note"] = "note"
    ) -> None:
        """Send an event; ``best`` is a value of the objective, and an error is shown without its minus sign."""
        if best is not None:
            best = resolve(self.judge.metric, self.judge.comparison).oriented(best)
        self.sink(Event(kind=kind, text=text, calls=self.context.meter.calls, best=best))


@runtime_checkable
class Optimizer(Protocol):
    """Improves a prompt.

    An optimizer is a frozen dataclass that inherits from this class: its fields are its settings, which ``--set``
    changes and the card keeps. It gives ``name``, :meth:`minimum` and :meth:`run`; all other members have a default.
    """

    name: str
    """The name used by ``--optimizer``."""

    @property
    def searches(self) -> bool:
        """Whether it may take more calls than :meth:`minimum`."""
        return True

    @property
    def races(self) -> bool:
        """Whether it scores the basic prompt itself, as far as it needs; others find it scored on all of dev."""
        return False

    @property
    def shows_nearest_rows(self) -> bool:
        """Whether its prompts show, with each call, the labelled rows most like the row that is judged."""
        return False

    @property
    def asks_questions(self) -> bool:
        """Whether it tries prompts that ask questions beside the judge's own."""
        return False

    @property
    def tries_own_answer(self) -> bool:
        """Whether it tries prompts below whose task the model's own answer stands."""
        return False

    @property
    def most_demonstrations(self) -> int:
        """The most demonstrations that it may put into a prompt."""
        return 0

    @abstractmethod
    def minimum(self, job: Job) -> int:
        """Return the fewest judge and proposer calls that are worth starting with."""

    @abstractmethod
    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Improve on ``start`` until done; the board chooses. May be ended by an exception at any call."""

    def least_cases(self, job: Job) -> int:
        """Return the number of cases after which it may be done at the earliest."""
        return len(job.train) + len(job.dev)

    def expected_calls(self, job: Job) -> int | None:
        """Return the calls that a search is expected to take; ``None`` where nothing is known of it."""
        return None

    def most_calls(self, job: Job) -> int | None:
        """Return the most calls that a search can take; ``None`` where only a budget ends it."""
        return None

    def other_adapters(self, job: Job) -> Sequence[str]:
        """Return the adapters, beside that of the job, with which it may ask prompts."""
        return ()

    def settings(self) -> dict[str, SettingValue]:
        """Return every setting by name, the defaults included, as JSON values."""
        return list_settings(self)

    def with_settings(self, settings: Mapping[str, object]) -> Self:
        """Return the optimizer with some settings changed, which are given as values or as text.

        Raises:
            OptimizerError: it has no setting of a name, or a value is unusable.
        """
        return change_fields(self, self.settings(), settings, self.name)


@runtime_checkable
class MinimalOptimizer(Protocol):
    """An optimizer with no other members than those without a default."""

    @property
    def name(self) -> str:
        """The name used by ``--optimizer``."""
        ...

    def minimum(self, job: Job) -> int:
        """Return the fewest judge and proposer calls that are worth starting with."""

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Improve on ``start`` until done."""


@dataclass(frozen=True, kw_only=True)
class WithDefaults(Optimizer):
    """An optimizer whose class does not inherit from :class:`Optimizer`, with the defaults of all other members."""

    optimizer: MinimalOptimizer
    name: str

    def minimum(self, job: Job) -> int:
        """Return the fewest calls that are worth starting with."""
        return self.optimizer.minimum(job)

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Improve on ``start``."""
        self.optimizer.run(job, board, start)

    def settings(self) -> dict[str, SettingValue]:
        """Return the settings of the optimizer."""
        return list_settings(self.optimizer)

    def with_settings(self, settings: Mapping[str, object]) -> Self:
        """Return the optimizer with some settings changed."""
        changed = change_fields(self.optimizer, self.settings(), settings, self.name)
        return replace(self, optimizer=changed)


@dataclass(frozen=True, kw_only=True)
class Result:
    """The end of an optimization.

    Attributes:
        best: the candidate that was chosen.
        board: the board with all candidates.
        ending: how it ended.
        adapter: the adapter of the basic prompt, which may have been found out at its beginning.
        reason: why it ended before it had tried all that it could, in words.
        stop: the exception that ended it early, for whoever cannot go on without the rest.
    """

    best: Candidate
    board: Board
    ending: Ending
    adapter: str = CHAT
    reason: str = ""
    stop: BaseException | None = None


@dataclass(frozen=True, kw_only=True)
class StartingPrompt:
    """A prompt from which a search begins in place of the basic one, such as that of a version."""

    state: PromptState
    source: str  # where it is from, such as ``fect@2``
    demo_ids: tuple[str, ...] = ()  # the ids of the cases that are its demonstrations
    form: str | None = None  # its adapter; ``None`` for that of the job


def fewest_requests(optimizer: Optimizer, job: Job) -> int:
    """Return the fewest requests to judge and proposer that are worth starting with."""
    return math.ceil(optimizer.minimum(job) * job.requests_per_call)


def optimize(optimizer: Optimizer, job: Job, starting: StartingPrompt | None = None) -> Result:
    """Run an optimizer on a job; the basic prompt is always the first candidate.

    Args:
        optimizer: the optimizer.
        job: the job.
        starting: the prompt from which the search begins; default: the basic one.
    """
    calls_left = job.context.meter.calls_left()
    minimum = fewest_requests(optimizer, job)
    if calls_left is not None and calls_left < minimum:
        needed_limit = job.context.meter.limit_for_answers(minimum)
        raise OptimizerError(
            f"{optimizer.name} needs at least {minimum} calls here and the budget leaves {calls_left} beside the proof",
            hint=f"raise --max-calls to {needed_limit} or more, or use fewer rows or samples",
        )
    board = Board(job.judge, job.asker, job.context, job.tokens_per_row)
    calls = job.context.meter.calls
    job.sink(
        Event(kind="phase", text=f"optimizing: {optimizer.name}", calls=calls, phase="optimizing", job=job)
    )
    ending: Ending = "finished"
    stop: BaseException | None = None
    try:
        if job.finds_adapter and job.settings.adapter is None and job.judge.role == "judge":
            if job.basic_adapter == CHAT:
                job, board = _in_readable_adapter(job, board)
            else:
                _check_first_replies(job, board)
        if not optimizer.races:
            board.score(board.basic, job.dev)
            job.note("basic prompt scored on dev", board.value(board.basic, job.dev))
        start = board.basic
        if starting is not None:
            start = _enter_start(job, board, starting)
            if not optimizer.races:
                board.score(start, job.dev)
                job.note(f"the prompt of {starting.source} scored on dev", board.value(start, job.dev))
        optimizer.run(job, board, start)
    except (StopRequested, KeyboardInterrupt) as interruption:
        ending = "interrupted"
        stop = interruption
    except BudgetExhausted as exhausted:
        ending = "budget"
        stop = exhausted
    reason = board.stop_reason
    if stop is not None:
        reason = str(stop) or "stopped by Ctrl-C"
    best = board.best(job.dev) or board.basic
    return Result(best=best, board=board, ending=ending, adapter=job.basic_adapter, reason=reason, stop=stop)


def _enter_start(job: Job, board: Board, starting: StartingPrompt) -> Candidate:
    """Enter the prompt from which a search begins, and return it."""
    form = starting.form
    if form == job.basic_adapter:
        form = None
    return board.add(
        starting.state,
        parent=board.basic,
        source=starting.source,
        demo_ids=starting.demo_ids,
        setting=Setting(form=form),
    )


def _check_first_replies(job: Job, board: Board) -> None:
    """Refuse a model if none of its replies to a few cases can be read; these verdicts are on the board then."""
    cases = job.dev[:FIRST_CASES]
    verdicts = job.asker(job.judge.basic(), board.basic.setting.of_request).ask_all(cases)
    for case, verdict in zip(cases, verdicts, strict=True):
        board.record(board.basic, case, verdict)
    check_readable(verdicts, job.basic_adapter)


def _in_readable_adapter(job: Job, board: Board) -> tuple[Job, Board]:
    """Return the job and its board, in JSON where replies to a few cases in the chat adapter cannot be read."""
    cases = job.dev[:FIRST_CASES]
    json_job = replace(job, settings=replace(job.settings, adapter="json"))
    json_board = Board(json_job.judge, json_job.asker, json_job.context, json_job.tokens_per_row)
    verdicts: list[Verdict] = []

    def asker_of(trial: tuple[Job, Board]) -> Asker:
        trial_job, trial_board = trial
        return trial_job.asker(trial_job.judge.basic(), trial_board.basic.setting.of_request)

    def ask(trial: tuple[Job, Board]) -> list[Verdict]:
        nonlocal verdicts
        asker = asker_of(trial)
        verdicts = replace(asker, settings=replace(asker.settings, redraws=0)).ask_all(cases)
        return verdicts

    readable, reason = with_readable_adapter([(job, board), (json_job, json_board)], ask)
    _, readable_board = readable
    final_verdicts = asker_of(readable).draw_unread_again(cases, verdicts)
    for case, verdict in zip(cases, final_verdicts, strict=True):
        readable_board.record(readable_board.basic, case, verdict)
    if reason:
        job.note(reason)
    return readable
