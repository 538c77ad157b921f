"""Asking a judge: one case or many, with samples and votes, into verdicts.

This is the one place where a program meets a model, for compiling, proving and running alike. Within a sample, units
that the reply leaves out or labels twice are asked for once more, alone; what is still missing then is abstained. An
error that every row would meet, such as a wrong key, ends the work.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, TypeAlias

import dspy
from dspy import AdapterParseError, LMError

from ..cases import Case, Values
from ..engines.adapters import predicted
from ..engines.channel import CallContext
from ..engines.draws import Draw, current_draw, cut
from ..engines.failures import FATAL, FailureKind, brief, kind_of, model_error, our_own
from ..engines.journal import WINDOW_FULL, Answer
from ..engines.ledger import Spend
from ..errors import JudgeError, UsageError
from ..evaluation.votes import Probabilities, Sampling, Stopping, count_votes
from ..text.redaction import redact
from ..text.replies import ContradictionError
from ..text.templates import CHAT
from .answers.base import Reading
from .frozen import frozen_steps_by
from .judge import Judge
from .remembering import Remembered, Remembering, rows_apart
from .stepwise import called
from .together import Gathered, asking_of, collect, together
from .verdicts import (
    CUT_OFF,
    FILTERED,
    REFUSED_ROW,
    TOO_LONG,
    UNDECIDED,
    UNREADABLE,
    Status,
    Verdict,
)

_BUGS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError),
    ValueError,
)
"""What a user's own program may raise; what models and limits raise is none of these."""
OnVerdict: TypeAlias = Callable[[int, Verdict], None]
"""Takes the place of a case and its verdict, as they come."""
_NO_SHARES: Mapping[Any, float] = {}
_AHEAD = 2_000  # cases that are embedded before the first of them is asked about, at most
_AGAIN = 4  # of so many calls, one more is kept back for units that have to be asked for again


def check_sampling(judge: Judge, sampling: Sampling) -> None:
    """Refuse a threshold that changes nothing in a judge's answers, before anything is asked."""
    if sampling.threshold is not None and not judge.answer.scale.uses_threshold:
        raise UsageError(
            f"the answers of judge {judge.name} are not decided by a threshold of votes",
            hint="leave out --threshold",
        )
    if sampling.by_probability and not judge.answer.scale.has_probabilities:
        raise UsageError(
            f"the answers of judge {judge.name} have no probability of being positive",
            hint="give --threshold a number of votes",
        )


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """What one sample has said, or why it says nothing."""

    reading: Reading | None = None
    texts: tuple[str, ...] = ()  # of its replies
    error_kind: str = ""  # why nothing in it can be used
    error: str = ""
    contradiction: bool = False  # whether its reply says a field twice
    pending: bool = False  # whether its answer is still to come
    ends_case: bool = False  # whether the request failed, so that no further sample is asked for


@dataclass(kw_only=True)
class _Samples:
    """What the samples of one case have said so far."""

    readings: list[Reading] = field(default_factory=list)
    texts: list[tuple[str, ...]] = field(default_factory=list)  # of each sample that was asked
    error_kind: str = ""  # of the first sample that could not be used
    error: str = ""  # the first thing that could not be used
    refused: bool = False  # whether the endpoint refuses this row for what it is
    failed: bool = False
    redrawn: int = 0
    reasked: int = 0
    contradictions: int = 0  # replies that say a field twice

    def take(self, sample: _Sample) -> None:
        self.texts.append(sample.texts)
        if sample.reading is not None:
            self.readings.append(sample.reading)
        self.contradictions += sample.contradiction
        if sample.ends_case:
            self.error_kind, self.error = sample.error_kind, sample.error
            self.refused = sample.error_kind in REFUSED_ROW
            self.failed = not self.refused
        self.error_kind = self.error_kind or sample.error_kind
        self.error = self.error or sample.error

    def votes(self, units: int) -> tuple[dict[Any, int], ...]:
        values = [reading.values for reading in self.readings]
        return tuple(count_votes(values, unit) for unit in range(units))

    def probabilities(self, has_probabilities: Sequence[bool]) -> tuple[dict[Any, float], ...]:
        """Return label -> probability of each unit, to six digits: the mean over samples that have a label for it."""
        # A sample whose tokens say nothing counts as its vote; a unit without probabilities has none.
        means = []
        for unit, has_some in enumerate(has_probabilities):
            each = [
                (reading.probabilities[unit] if reading.probabilities else {}) or {reading.values[unit]: 1.0}
                for reading in self.readings
                if has_some and reading.values[unit] is not None
            ]
            sums = Counter[Any]()
            for shares in each:
                sums.update(shares)
            means.append({label: round(total / len(each), 6) for label, total in sums.items()})
        return tuple(means)

    def facts(self) -> dict[str, Any]:
        """Return what a verdict says of them, but for the votes."""
        counts, readings = Counter[str](), self.readings
        for reading in readings:
            counts.update(reading.counts)
        return {
            "samples": tuple(reading.values for reading in readings),
            "reasoning": next((reading.reasoning for reading in readings if reading.reasoning), ""),
            "inconsistent": sum(reading.inconsistent for reading in readings),
            "error_kind": self.error_kind,
            "error": self.error,
            "drawn": len(self.texts),
            "identical": len(self.texts) > 1 and bool(self.texts[0]) and len(set(self.texts)) == 1,
            "redrawn": self.redrawn,
            "reasked": self.reasked,
            "extra": sum(reading.extra for reading in readings),
            "duplicated": sum(reading.duplicated for reading in readings) + self.contradictions,
            "counts": dict(counts),
        }


@dataclass(frozen=True, kw_only=True)
class Asker:
    """A judge's program, ready to be asked."""

    judge: Judge
    program: dspy.Module
    lm: dspy.LM
    frozen_lm: dspy.LM | None = None  # answers the program's frozen steps; default: ``lm``
    sampling: Sampling = field(default_factory=Sampling)
    adapter: str = CHAT
    concurrency: int = 8  # cases in flight at once
    # number of the first sample; other numbers are other draws (repeats of an experiment)
    first_draw: int = 0
    redraws: int = 0  # how often a case's samples are drawn once more, at most, where a reply cannot be read
    # ``settled`` ends as soon as no outcome can change, with the same labels and status (unless the machinery would
    # have failed on a sample that was not drawn); whoever fits a threshold on the votes afterwards needs ``all``
    stopping: Stopping = "all"
    probabilities: Probabilities = "votes"
    # id of a case -> the remembered rows that are not shown with it, besides itself: those of its group
    apart: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a concurrency that would wait for ever, and a threshold that changes nothing."""
        if self.concurrency < 1:
            raise UsageError(f"a concurrency of {self.concurrency} asks nothing", hint="give 1 or more")
        check_sampling(self.judge, self.sampling)

    def ask(self, case: Case) -> Verdict:
        """Judge one case. Raises what :meth:`ask_all` raises."""
        return self.ask_all([case])[0]

    def ask_all(self, cases: Sequence[Case], on_verdict: OnVerdict | None = None) -> list[Verdict]:
        """Judge cases, several at once; ``on_verdict`` gets each one's index and verdict as they come."""
        # ``ModelError`` says that the model cannot be used at all, ``BudgetExhausted`` that a limit was reached.
        verdicts: list[Verdict] = collect(self.ask_async(cases, on_verdict))
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
            with embedding():
                await self.embed(cases[:_AHEAD])
            return await together(list(enumerate(cases)), ask_one, concurrency=self.concurrency)

    def tried_by(self, lm: dspy.LM, frozen_lm: dspy.LM) -> "Asker":
        """Return what asks another model once in place of its own: to see what is sent, and what that takes."""
        return replace(self, lm=lm, frozen_lm=frozen_lm, sampling=Sampling())

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[None]:
        """Let :meth:`judged` ask this asker's models, in this block and the tasks that are begun in it."""
        with asking_of(self.lm, self.judge.adapter(self.adapter)), frozen_steps_by(self.frozen_lm):
            with embedding():
                for asker, remembered in self.embedded:
                    await remembered.opened(asker.lm)
            yield

    @cached_property
    def embedded(self) -> "list[tuple[Asker, Remembered]]":
        """What is remembered and has what embeds it, and rows that are asked about, with who asks about them."""
        kept = [one.remembered for one in self.program.predictors() if isinstance(one, Remembering)]
        return [(self, one) for one in kept if one.embedder]

    async def embed(self, cases: Sequence[Case]) -> None:
        """Embed what is asked about, many rows at once, where a program compares it with remembered rows."""
        for asker, remembered in self.embedded:
            judge = asker.judge
            rows = (judge.prompt_values(row) for case in cases for row in judge.answer.asks(case.inputs))
            alike = [row for row in rows if row.keys() >= set(remembered.fields)]
            if (embedder := await remembered.opened(asker.lm)) is not None:
                await embedder.embed(remembered.texts(alike))

    async def judged(self, case: Case, usage: Spend | None = None) -> Verdict:
        """Judge one case, within :meth:`ready` and in a task of its own. Raises what :meth:`ask_all` raises."""
        usage = usage or Spend()
        units, log, gathered = len(self.judge.answer.units(case.inputs)), _Samples(), Gathered()
        rows_apart.set({case.id, *self.apart.get(case.id, ())})  # in this task's own context, as the draw is
        for number in range(self.first_draw, self.first_draw + self.sampling.samples):
            if log.texts and self.stopping == "settled" and self._may_end(log, units, gathered):
                break
            draw = Draw(
                sample=case.draw + number,
                asked=Counter(),
                labels=self._labels,
                case=case.id,
                spend=usage,
            )
            sample = await self._draw_readable(case, draw, log, gathered)
            log.take(sample)
            if sample.ends_case:
                break
        gathered.end()
        return self._verdict(case, units, log, usage)

    async def _draw_readable(self, case: Case, draw: Draw, log: "_Samples", gathered: Gathered) -> "_Sample":
        """Draw one sample, and once more where its reply cannot be read and the case may still be drawn again."""
        sample = await self._draw_sample(case, draw, log, gathered)
        while sample.error_kind == UNREADABLE and log.redrawn < self.redraws:
            again = await self._draw_sample(case, draw, log, gathered)
            if again.pending:  # its answer comes with a later batch
                return again
            log.redrawn += 1
            log.contradictions += sample.contradiction
            counted = Spend(redrawn=1)
            if draw.spend is not None:
                draw.spend.add(counted)
            if self._context is not None:
                self._context.ledger.add(self.judge.role, counted)
            sample = again
        return sample

    async def _draw_sample(self, case: Case, draw: Draw, log: "_Samples", gathered: Gathered) -> "_Sample":
        """Ask for one sample; a second one of the same draw is another draw of the same question."""
        answers: list[Answer] = []
        current_draw.set(replace(draw, answers=answers))
        sample = _Sample(pending=True)
        try:
            with gathered:
                reading = await self._sample(case, log)
                unread = bool(reading.values) and all(value is None for value in reading.values)
                sample = _Sample(
                    reading=reading, error=reading.problem, error_kind=UNREADABLE if unread else ""
                )
        except AdapterParseError as bad:
            error_kind, error = _unreadable(bad)
            contradiction = isinstance(bad.__cause__, ContradictionError)
            sample = _Sample(error_kind=error_kind, error=error, contradiction=contradiction)
        except LMError as bad:
            ours = our_own(bad)
            if ours is not None:
                raise ours from bad
            kind = kind_of(bad)
            if kind in FATAL or (kind is FailureKind.TRANSPORT and not self._reached()):
                raise model_error(bad) from bad
            told = REFUSED_ROW.get(kind, str(kind))
            sample = _Sample(error_kind=str(kind), error=f"{told}: {brief(bad)[:200]}", ends_case=True)
        # A program may make its calls in any order.
        return replace(sample, texts=tuple(sorted(answer.text for answer in answers)))

    def note(self, verdict: Verdict) -> None:
        """End the work with a ``ModelError`` where answers fail one after the other."""
        if self._context is not None:
            if verdict.refused:
                return  # which says nothing about other rows
            failure = verdict.error_kind if verdict.status == "failed" else ""
            self._context.breaker.note(failure, verdict.error)

    async def _sample(self, case: Case, log: _Samples) -> Reading:
        """Ask once, in every presentation; units without a value are asked for again, if others have one."""
        # A reply that says nothing of any unit is unusable, and asking for everything again would be another draw.
        judge, answer = self.judge, self.judge.answer
        readings, gathered = list[Reading](), Gathered()
        for inputs in answer.asks(case.inputs):
            with gathered:
                readings.append(
                    judge.read(await self._call(judge.prompt_values(inputs)), inputs, _token_shares())
                )
        gathered.end()
        reading = answer.join(readings)
        missing = reading.missing
        if not answer.repeatable or not 0 < len(missing) < len(reading.values):
            return reading
        log.reasked += 1
        try:
            reply = await self._call(judge.prompt_values(case.inputs, missing))
        except AdapterParseError as bad:
            return replace(reading, problem=reading.problem or _unreadable(bad)[1])
        return reading.completed(judge.read(reply, case.inputs, places=missing))

    @property
    def _labels(self) -> tuple[str, ...]:
        """The output fields of whose labels the probabilities are wanted."""
        asked = self.probabilities == "tokens" or self.sampling.by_probability
        return self.judge.answer.label_fields if asked else ()

    def _may_end(self, log: _Samples, units: int, gathered: Gathered) -> bool:
        """Whether no outcome can change any more, or what is asked already may come to that."""
        if gathered.pending and len(log.texts) >= self.sampling.fewest:
            return True
        left = self.sampling.samples - len(log.texts)
        decided = self.judge.answer.scale.is_decided
        return all(decided(votes, left, self.sampling) for votes in log.votes(units))

    async def _call(self, inputs: Mapping[str, Any]) -> Any:
        try:
            plain = type(self.program) is dspy.Predict
            prediction = await (predicted if plain else called)(self.program, inputs)
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
        """Return what the kept samples of ``verdict`` give under this asker's threshold. Costs nothing."""
        if verdict.status == "failed" or verdict.refused:
            return verdict
        if verdict.saved:
            raise UsageError(
                f"{verdict.saved} samples of case {case.id} were not drawn: its votes fit one threshold only",
                hint='ask with stopping="all"',
            )
        return replace(verdict, usage=Spend(), **self._decided(vars(verdict)))

    def verdict_of(self, case: Case, reading: Reading) -> Verdict:
        """Return the verdict that a single reading gives, which took nothing."""
        log = _Samples()
        log.take(_Sample(reading=reading, error=reading.problem))
        return self._verdict(case, len(reading.values), log, Spend())

    def _verdict(self, case: Case, units: int, log: _Samples, usage: Spend) -> Verdict:
        facts, answer = log.facts(), self.judge.answer
        if log.failed or log.refused:
            status: Status = "failed" if log.failed else "abstained"
            nothing = (None,) * units
            return Verdict(id=case.id, status=status, values=nothing, agreement=nothing, usage=usage, **facts)
        has_some = [answer.scale_of(unit).has_probabilities for unit in range(units)]
        facts |= {
            "votes": log.votes(units),
            "probabilities": log.probabilities(has_some) if answer.scale.has_probabilities else (),
            "measured": sum(any(reading.probabilities) for reading in log.readings),
            "saved": self.sampling.samples - facts["drawn"],
        }
        return Verdict(id=case.id, usage=usage, **(facts | self._decided(facts)))

    def _decided(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the votes or probabilities among the facts of a verdict give under this asker's threshold."""
        answer, votes = self.judge.answer, facts["votes"]
        shares = facts["probabilities"] if self.sampling.by_probability else ()
        values = tuple(
            answer.scale.combine(likely or counted, self.sampling)
            for likely, counted in zip_longest(shares, votes, fillvalue=_NO_SHARES)
        )
        status: Status = "abstained" if None in values else "verdict"
        error_kind = error = ""
        if status == "abstained":
            voted = any(value is None and cast for value, cast in zip(values, votes, strict=True))
            error_kind = UNDECIDED if voted else facts["error_kind"] or UNREADABLE
            error = facts["error"] or _unusable(values, facts)
        return {
            "status": status,
            "values": values,
            "agreement": tuple(answer.scale.agreement(*pair) for pair in zip(votes, values, strict=True)),
            "error_kind": error_kind,
            "error": error,
        }

    @property
    def _context(self) -> CallContext | None:
        """What the channels of this job share; ``None`` for a model that was not connected by us."""
        context: CallContext | None = getattr(getattr(self.lm, "engine", None), "context", None)
        return context

    def _reached(self) -> bool:
        """Whether any call of this job was ever answered: an address that never answers is a wrong address."""
        spend = self._context.ledger.spend() if self._context else None
        return spend is None or spend.calls > spend.failures + spend.retries or spend.replayed > 0


@contextmanager
def embedding() -> Iterator[None]:
    """End the work with a ``ModelError`` where texts cannot be embedded."""
    try:
        yield
    except LMError as bad:
        raise our_own(bad) or model_error(bad) from bad


def room_for(judge: Judge, cases: int, samples: int) -> int:
    """Return the calls to keep back for asking about ``cases``."""
    # A judge that can be asked for missing units again gets a quarter more. It may take fewer calls, and, if more than
    # one reply in four is incomplete, more: the meter ends the work then, at its limit.
    calls = cases * samples * judge.calls
    return calls + (calls // _AGAIN if judge.answer.repeatable else 0)


def _token_shares() -> Mapping[str, Sequence[Mapping[str, float]]]:
    """Return what the tokens of the answer say; nothing where several calls of the program have its fields."""
    answers = current_draw.get().answers or ()
    calls = [answer.probabilities for answer in answers if answer.probabilities]
    return calls[0] if len(calls) == 1 else {}


def _unreadable(bad: AdapterParseError) -> tuple[str, str]:
    """Return why a reply cannot be read: in a few words by which rows are counted, and in a line."""
    unfinished = cut()
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
        told = " ".join(redact(last.text).split())[:200] or "the reply is empty, or ends where it was stopped"
        return FILTERED, f"{REFUSED_ROW[FILTERED]}: {told}"
    return UNREADABLE, "unusable reply: the endpoint has ended it before it was over"


def _unusable(values: Values, facts: Mapping[str, Any]) -> str:
    error = f"no usable label for {values.count(None)} of {len(values)} units"
    if not facts["inconsistent"]:
        return error
    return f"{error}; {facts['inconsistent']} of {len(facts['samples'])} answers contradict themselves"
