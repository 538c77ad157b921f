"""Asking a judge: one case or many, with samples and votes, into verdicts.

This is the one place where a program meets a model, for compiling, proving and running alike. Within a sample, units
that the reply leaves out or labels twice are asked for once more, alone; what is still missing then is abstained. An
error that every row would meet, such as a wrong key, ends the work.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import dspy
from dspy import AdapterParseError, LMError

from ..cases import Case, Values
from ..engines.adapters import predicted
from ..engines.channel import CallContext, Channel
from ..engines.draws import Draw, answers_cut_off, current_draw
from ..engines.failure_kinds import FailureKind
from ..engines.failures import FATAL, brief, jurist_error_in, kind_of, model_error
from ..engines.journal import WINDOW_FULL, StoredResponse
from ..engines.ledger import Spend
from ..engines.once import SharedAnswer, SharedAnswers
from ..errors import JudgeError, UsageError
from ..evaluation.votes import Sampling
from ..text.images import ImageError
from ..text.redaction import redact
from ..text.replies import ContradictionError
from . import offline_writers as offline_writers
from .answers.base import Inputs, Places
from .deciding import check_sampling, revote, verdict_of, votes_of
from .image_inputs import with_images
from .judge import Judge
from .own_answer import OUTPUT
from .questions import Questions, questions_of, read_answers
from .remembering import Remembered, Remembering
from .settings import AskSettings
from .stepwise import called
from .together import Gathered, asking_of, run_to_end, together
from .verdicts import (
    CUT_OFF,
    FILTERED,
    NOT_ASKED,
    REFUSED_ROW,
    TOO_LONG,
    UNREADABLE,
    UNREADABLE_IMAGE,
    OnVerdict,
    Status,
    Verdict,
)

_BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a user's own program may raise; what models and limits raise is none of these."""
_PENDING = Verdict(values=())
"""The verdict of a sample whose answer comes with a later batch."""
_AHEAD = 2_000  # cases that are embedded before the first of them is asked about, at most
_AGAIN = 4  # of so many calls, one more is kept back for units that have to be asked for again


@dataclass(frozen=True, kw_only=True)
class Asker:
    """A judge's program, ready to be asked."""

    judge: Judge
    program: dspy.Module
    lm: dspy.LM
    frozen_lm: dspy.LM | None = None  # answers the program's frozen steps; default: ``lm``
    settings: AskSettings = field(default_factory=AskSettings)  # how it is asked
    # number of the first sample; other numbers are other draws (repeats of an experiment)
    first_draw: int = 0
    # id of a case -> the remembered rows that are not shown with it, besides itself: those of its group
    hidden_rows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # the model's own answers to tasks, of a model that jurist did not connect; others have them in their job
    own_answers: SharedAnswers = field(default_factory=SharedAnswers, compare=False)

    def __post_init__(self) -> None:
        """Refuse what changes nothing: a threshold, samples that are all the same, an own answer that nobody gives."""
        check_sampling(self.judge, self.settings.sampling)
        sampling = self.settings.sampling
        if self._has_probabilities and sampling.samples > 1 and not sampling.is_panel:
            raise UsageError(
                "a decision model gives the same probabilities each time: further samples say nothing",
                hint="leave out --samples",
            )
        if self.settings.own_answer is None:
            return
        judge_words = f"judge {self.judge.name} compares with its model's own answer"
        if sampling.is_panel:
            hint = "name one --model, or compile the panel with --no-own-answer"
            raise UsageError(f"{judge_words}, and a panel has several models", hint=hint)
        if self._has_probabilities:
            hint = "name a --model that writes text, or compile it with --no-own-answer"
            raise UsageError(f"{judge_words}, and a decision model writes none", hint=hint)

    @property
    def adapter(self) -> str:
        """The name of the adapter of its prompts."""
        return self.settings.adapter_of(self.judge)

    @property
    def redraws(self) -> int:
        """The most further draws of a case; what a generator writes is never drawn again."""
        return self.settings.redraws if self.judge.role == "judge" else 0

    def ask(self, case: Case) -> Verdict:
        """Judge one case. Raises what :meth:`ask_all` raises."""
        return self.ask_all([case])[0]

    def ask_all(self, cases: Sequence[Case], on_verdict: OnVerdict | None = None) -> list[Verdict]:
        """Judge cases, several at once; ``on_verdict`` gets each one's index and verdict as they come."""
        # ``ModelError`` says that the model cannot be used at all, ``BudgetExhausted`` that a limit was reached.
        verdicts: list[Verdict] = run_to_end(self.ask_async(cases, on_verdict))
        return verdicts

    async def ask_async(self, cases: Sequence[Case], on_verdict: OnVerdict | None = None) -> list[Verdict]:
        """Judge cases inside a running event loop; see :meth:`ask_all`."""

        async def ask_one(numbered: tuple[int, Case]) -> Verdict:
            index, case = numbered
            verdict = await self.judged(case)
            if on_verdict is not None:
                on_verdict(index, verdict)
            self.note(verdict)
            return verdict

        async with self.ready():
            with embedding_errors():
                await self.embed(cases[:_AHEAD])
            return await together(list(enumerate(cases)), ask_one, concurrency=self.settings.concurrency)

    def tried_by(self, lm: dspy.LM, frozen_lm: dspy.LM) -> "Asker":
        """Return an asker of another model that asks once, to measure its prompts."""
        settings = replace(self.settings, sampling=Sampling())
        return replace(self, lm=lm, frozen_lm=frozen_lm, settings=settings)

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[None]:
        """Let :meth:`judged` ask this asker's models, in this block and the tasks that are begun in it."""
        with asking_of(self.lm, self.judge.adapter(self.adapter)):
            with embedding_errors():
                for asker, remembered in self.embedded:
                    await remembered.opened(asker.lm)
            yield

    @cached_property
    def questions(self) -> Questions:
        """The questions that its prompt asks beside the judge's own."""
        for predictor in self.program.predictors():
            questions = questions_of(predictor.signature)
            if questions:
                return questions
        return ()

    @cached_property
    def embedded(self) -> "list[tuple[Asker, Remembered]]":
        """The askers that embed rows, each with its remembered rows."""
        pairs: list[tuple[Asker, Remembered]] = []
        for predictor in self.program.predictors():
            if isinstance(predictor, Remembering) and predictor.remembered.embedder:
                pairs.append((self, predictor.remembered))
        return pairs

    async def embed(self, cases: Sequence[Case]) -> None:
        """Embed what is asked about, many rows at once, where a program compares it with remembered rows."""
        for asker, remembered in self.embedded:
            rows = _prompt_rows(asker.judge, cases, remembered.fields)
            embedder = await remembered.opened(asker.lm)
            if embedder is not None:
                await embedder.embed(remembered.texts(rows))

    async def judged(self, case: Case, usage: Spend | None = None) -> Verdict:
        """Judge one case, within :meth:`ready` and in a task of its own. Raises what :meth:`ask_all` raises."""
        usage = usage or Spend()
        if not self.settings.asks_model:
            return self._decide_without_model(case)
        hidden_rows = {case.id}.union(self.hidden_rows.get(case.id, ()))
        own_answer = await self._own_answer_to(case, usage)
        if isinstance(own_answer, Verdict):
            return verdict_of(self.judge.answer, self.settings.sampling, case, [own_answer], usage)
        units = len(self.judge.answer.units(case.inputs))
        samples: list[Verdict] = []
        redraws = self.redraws
        gathered = Gathered()
        for number in range(self.first_draw, self.first_draw + self.settings.sampling.samples):
            if samples and self._may_stop and self._may_end(samples, units, gathered):
                break
            draw = Draw(
                sample=case.draw + number,
                request_counts=Counter(),
                labels=self._labels,
                case=case.id,
                spend=usage,
                frozen_lm=self.frozen_lm,
                hidden_rows=hidden_rows,
                own_answer=own_answer,
            )
            sample = await self._draw_readable(case, draw, redraws, gathered)
            redraws -= sample.redrawn
            samples.append(sample)
            if sample.request_failed and not self.settings.sampling.is_panel:
                break
        gathered.end()
        _check_panel(samples)
        members: tuple[str, ...] = ()
        if self.settings.sampling.is_panel:
            members = getattr(getattr(self.lm, "engine", None), "members", ())
        verdict = verdict_of(self.judge.answer, self.settings.sampling, case, samples, usage, members)
        return self._decide_by_words(case, verdict)

    async def _own_answer_to(self, case: Case, usage: Spend) -> str | Verdict:
        """Return the model's own answer to the task of a case, or why there is none; empty where none is asked for.

        Cases with the same task share it, and so do all samples of a case.
        """
        own_answer = self.settings.own_answer
        if own_answer is None:
            return ""
        values = own_answer.task_values(case.inputs)
        number = case.draw + self.first_draw
        engine = getattr(self.lm, "engine", None)
        endpoint = engine.identity if isinstance(engine, Channel) else ""
        model = (endpoint, self.lm.model, sorted(self.lm.kwargs.items()))
        key = repr((model, number, own_answer.prompt, values))

        spend = Spend()

        async def ask() -> SharedAnswer:
            draw = Draw(sample=number, request_counts=Counter(), case=case.id, spend=spend, answers=[])
            current_draw.set(draw)
            with asking_of(self.lm, own_answer.adapter()):
                prediction = await predicted(own_answer.predictor(), values)
            return SharedAnswer(str(prediction[OUTPUT]), spend)

        shared_answers = self.own_answers
        if self._context is not None:
            shared_answers = self._context.shared_answers
        try:
            answer = await shared_answers.get(key, ask)
        except AdapterParseError as bad:
            usage.add(spend)
            error_kind, problem = _unreadable(bad)
            return Verdict(values=(), error_kind=error_kind, error=f"its own answer: {problem}")
        except LMError as bad:
            usage.add(spend)
            return self._failure(bad)
        if not answer.is_new:  # tokens and cost of a case are its own, whoever paid the call
            of_call = answer.spend
            spend = Spend(
                input_tokens=of_call.input_tokens,
                output_tokens=of_call.output_tokens,
                cached_tokens=of_call.cached_tokens,
                reasoning_tokens=of_call.reasoning_tokens,
                cost=of_call.cost,
                unpriced=of_call.unpriced,
            )
        usage.add(spend)
        return answer.text

    @property
    def _may_stop(self) -> bool:
        """Whether drawing may end before all samples: words are weighed against all, and a panel is asked whole."""
        settings = self.settings
        return settings.stopping == "settled" and settings.words is None and not settings.sampling.is_panel

    def _decide_without_model(self, case: Case) -> Verdict:
        """Return the verdict on a case for which no model is asked: by words, or none."""
        units = len(self.judge.answer.units(case.inputs))
        nothing: Values = (None,) * units
        verdict = Verdict(
            id=case.id,
            status="abstained",
            values=nothing,
            agreement=nothing,
            error_kind=NOT_ASKED,
            error="no model is asked",
        )
        return self._decide_by_words(case, verdict)

    def _decide_by_words(self, case: Case, verdict: Verdict) -> Verdict:
        """Return the verdict as words decide it, alone or with the replies; the same one without a rule of words."""
        if self.settings.words is None:
            return verdict
        return self.settings.words.decide(self.judge.answer, case, verdict)

    async def _draw_readable(self, case: Case, draw: Draw, redraws: int, gathered: Gathered) -> Verdict:
        """Return the verdict of one sample, drawn once more where its reply cannot be read and redraws are left."""
        sample = await self._draw_sample(case, draw, gathered)
        if sample is None:
            return _PENDING
        redrawn = 0
        contradictions = 0
        while sample.error_kind == UNREADABLE and redrawn < redraws:
            again = await self._draw_sample(case, draw, gathered)
            if again is None:
                return replace(_PENDING, redrawn=redrawn)
            redrawn += 1
            if not sample.values:  # the reply said a field twice
                contradictions += sample.duplicated
            self._count_redraw(draw.spend)
            sample = again
        if not redrawn:
            return sample
        return replace(sample, redrawn=redrawn, duplicated=sample.duplicated + contradictions)

    def draw_unread_again(self, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Return the verdicts of cases that were asked without redraws, those that cannot be read drawn again."""
        final = list(verdicts)
        places = [place for place, verdict in enumerate(verdicts) if verdict.error_kind == UNREADABLE]
        if not places or not self.redraws:
            return final
        asker = replace(self, settings=replace(self.settings, redraws=self.redraws - 1))
        second_verdicts = asker.ask_all([cases[place] for place in places])
        for place, second in zip(places, second_verdicts, strict=True):
            usage = Spend(redrawn=1)
            self._count_redraw(None)
            usage.add(verdicts[place].usage)
            usage.add(second.usage)
            final[place] = replace(second, usage=usage, redrawn=second.redrawn + 1)
        return final

    def _count_redraw(self, case_spend: Spend | None) -> None:
        """Count a sample that is drawn once more, as its reply could not be read."""
        counted = Spend(redrawn=1)
        if case_spend is not None:
            case_spend.add(counted)
        if self._context is not None:
            self._context.ledger.add(self.judge.role, counted)
            self._context.meter.count_unusable(self.judge.calls)

    async def _draw_sample(self, case: Case, draw: Draw, gathered: Gathered) -> Verdict | None:
        """Return the verdict of one sample, ``None`` if its answer comes with a later batch."""
        # The second sample of a draw is another draw.
        answers: list[StoredResponse] = []
        current_draw.set(replace(draw, answers=answers))
        sample: Verdict | None = None
        try:
            with gathered:
                sample = await self._read_replies(case)
        except AdapterParseError as bad:
            error_kind, error = _unreadable(bad)
            says_field_twice = isinstance(bad.__cause__, ContradictionError)
            sample = Verdict(values=(), error_kind=error_kind, error=error, duplicated=int(says_field_twice))
        except LMError as bad:
            sample = self._failure(bad)
        except ImageError as fault:
            sample = Verdict(
                values=(),
                status="failed",
                error_kind=UNREADABLE_IMAGE,
                error=str(fault),
                request_failed=True,
            )
        if sample is None:
            return None
        error_kind = sample.error_kind
        if sample.values and len(sample.missing) == len(sample.values):
            error_kind = UNREADABLE
        replies = tuple(sorted(answer.text for answer in answers))
        return replace(sample, replies=replies, error_kind=error_kind)

    def _failure(self, bad: LMError) -> Verdict:
        """Return the verdict of a sample whose request failed; raise what ends the work."""
        ours = jurist_error_in(bad)
        if ours is not None:
            raise ours from bad
        kind = kind_of(bad)
        fault: LMError | None = None
        if kind in FATAL or (kind is FailureKind.TRANSPORT and not self._reached()):
            if not self.settings.sampling.is_panel:
                raise model_error(bad) from bad
            fault = bad
        reason = REFUSED_ROW.get(kind, str(kind))
        status: Status = "failed"
        if kind in REFUSED_ROW:
            status = "abstained"
        return Verdict(
            values=(),
            status=status,
            error_kind=str(kind),
            error=f"{reason}: {brief(bad, 200)}",
            request_failed=True,
            fault=fault,
        )

    def note(self, verdict: Verdict) -> None:
        """End the work with a ``ModelError`` where answers fail one after the other."""
        # A row that is refused says nothing about other rows.
        if self._context is None or verdict.refused:
            return
        failure = ""
        if verdict.status == "failed":
            failure = verdict.error_kind
        self._context.breaker.note(failure, verdict.error)

    async def _read_replies(self, case: Case) -> Verdict:
        """Return the verdict of one sample; units that a reply leaves out are asked for once more, alone."""
        sample = await self._read_presentations(case)
        if self.judge.answer.repeatable and 0 < len(sample.missing) < len(sample.values):
            sample = await self._complete(case, sample)
        return sample

    async def _read_presentations(self, case: Case) -> Verdict:
        """Ask once, in every presentation, and return the verdict of these replies together."""
        judge = self.judge
        verdicts: list[Verdict] = []
        gathered = Gathered()
        for inputs in judge.answer.asks(case.inputs):
            with gathered:
                prediction = await self._call(with_images(self._prompt_values(inputs)))
                verdict = judge.read(prediction, inputs, _token_shares())
                if self.questions:
                    verdict = read_answers(verdict, dict(prediction.items()), self.questions)
                verdicts.append(verdict)
        gathered.end()
        return judge.answer.join(verdicts)

    def _prompt_values(self, inputs: Inputs, places: Places = None) -> dict[str, Any]:
        """Return the program's inputs, with the model's own answer below the task where it was asked for."""
        values = self.judge.prompt_values(inputs, places)
        if self.settings.own_answer is None:
            return values
        return self.settings.own_answer.add_to(values, current_draw.get().own_answer)

    async def _complete(self, case: Case, sample: Verdict) -> Verdict:
        """Ask once more for the units without a value, where others have one; return the verdict with both replies."""
        # A reply that says nothing of any unit is unusable, and asking for everything again would be another draw.
        judge = self.judge
        missing = sample.missing
        first = replace(sample, reasked=1)
        try:
            prediction = await self._call(with_images(self._prompt_values(case.inputs, missing)))
        except AdapterParseError as bad:
            _, error = _unreadable(bad)
            return replace(first, error=sample.error or error)
        except LMError as bad:
            return replace(self._failure(bad), reasked=1)
        return first.completed(judge.read(prediction, case.inputs, places=missing))

    @property
    def _labels(self) -> tuple[str, ...]:
        """The output fields of whose labels the probabilities are wanted."""
        settings = self.settings
        if (
            settings.probabilities == "tokens"
            or settings.sampling.by_probability
            or settings.words is not None
            or self._has_probabilities
        ):
            return self.judge.answer.label_fields
        return ()

    def _may_end(self, samples: Sequence[Verdict], units: int, gathered: Gathered) -> bool:
        """Whether no outcome can change any more, or what is asked already may come to that."""
        sampling = self.settings.sampling
        if gathered.pending and len(samples) >= sampling.fewest:
            return True
        not_drawn = sampling.samples - len(samples)
        is_decided = self.judge.answer.scale.is_decided
        return all(is_decided(votes, not_drawn, sampling) for votes in votes_of(samples, units))

    async def _call(self, inputs: Mapping[str, object]) -> dspy.Prediction:
        """Return the reply of the program. Raises ``JudgeError`` where it is itself at fault."""
        call_program = predicted if type(self.program) is dspy.Predict else called
        try:
            prediction = await call_program(self.program, inputs)
        except _BUGS as bug:
            raise JudgeError(
                f"the program of judge {self.judge.name} raised {type(bug).__name__}: {redact(str(bug))[:200]}",
                hint="correct the program",
            ) from bug
        if not isinstance(prediction, dspy.Prediction):
            raise JudgeError(
                f"the program of judge {self.judge.name} returned {type(prediction).__name__}, not a prediction",
                hint=f"return dspy.Prediction({self.judge.answer.field}=...), or what a predictor returned",
            )
        return prediction

    def revote(self, case: Case, verdict: Verdict) -> Verdict:
        """Return the verdict of stored samples under this asker's threshold, without a call."""
        if self.settings.asks_model:
            verdict = revote(self.judge.answer, self.settings.sampling, verdict)
        return self._decide_by_words(case, verdict)

    @property
    def _context(self) -> CallContext | None:
        """The call context of this job; ``None`` for a model that jurist did not connect."""
        context: CallContext | None = getattr(getattr(self.lm, "engine", None), "context", None)
        return context

    @property
    def _has_probabilities(self) -> bool:
        """Whether each reply of the model is made of the probabilities of labels: a decision model's."""
        engine = getattr(self.lm, "engine", None)
        return isinstance(engine, Channel) and engine.inner.gives_probabilities

    def _reached(self) -> bool:
        """Whether any call of this job was ever answered: an address that never answers is a wrong address."""
        if self._context is None:
            return True
        spend = self._context.ledger.spend()
        return spend.calls > spend.failures + spend.retries or spend.replayed > 0


def _check_panel(samples: Sequence[Verdict]) -> None:
    """End the work with a ``ModelError`` where no member of a panel can be used at all."""
    faults = [sample.fault for sample in samples if isinstance(sample.fault, LMError)]
    if faults and len(faults) == len(samples):
        raise model_error(faults[0]) from faults[0]


@contextmanager
def embedding_errors() -> Iterator[None]:
    """End the work with a ``ModelError`` where texts cannot be embedded."""
    try:
        yield
    except LMError as bad:
        raise jurist_error_in(bad) or model_error(bad) from bad


def room_for(judge: Judge, cases: int, samples: int) -> int:
    """Return the calls to keep back for asking about ``cases``, without own answers of the model."""
    # A judge that can be asked for missing units again gets a quarter more. It may take fewer calls, and, if more than
    # one reply in four is incomplete, more: the meter ends the work then, at its limit.
    calls = cases * samples * judge.calls
    if judge.answer.repeatable:
        calls += calls // _AGAIN
    return calls


def _token_shares() -> Mapping[str, Sequence[Mapping[str, float]]]:
    """Return the label probabilities in the answer's tokens; nothing where several calls have the answer's fields."""
    answers = current_draw.get().answers or ()
    calls = [answer.probabilities for answer in answers if answer.probabilities]
    if len(calls) != 1:
        return {}
    return calls[0]


def _prompt_rows(judge: Judge, cases: Sequence[Case], fields: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the inputs that cases put into prompts, without those that lack one of the fields."""
    rows: list[Mapping[str, Any]] = []
    for case in cases:
        for inputs in judge.answer.asks(case.inputs):
            row = judge.prompt_values(inputs)
            if row.keys() >= set(fields):
                rows.append(row)
    return rows


def _unreadable(bad: AdapterParseError) -> tuple[str, str]:
    """Return why a reply cannot be read: in a few words by which rows are counted, and in a line."""
    unfinished = answers_cut_off()
    if not unfinished:
        problem = redact((bad.message or str(bad)).partition("\n\n")[0])[:200]
        return UNREADABLE, f"unusable reply: {problem}"
    last = unfinished[-1]
    if last.finish_reason == "length":
        cut_off = f"it was cut off at {last.output_tokens} tokens: raise --max-tokens"
        return CUT_OFF, f"unusable reply: {cut_off}"
    if last.finish_reason == WINDOW_FULL:
        hint = "shorten the row, or name a model with a larger window"
        return TOO_LONG, f"{REFUSED_ROW[TOO_LONG]}: prompt and reply filled its context window: {hint}"
    if last.finish_reason == "content_filter":
        words = " ".join(redact(last.text).split())[:200]
        if not words:
            words = "the reply is empty, or ends where it was stopped"
        return FILTERED, f"{REFUSED_ROW[FILTERED]}: {words}"
    return UNREADABLE, "unusable reply: the endpoint has ended it before it was over"
