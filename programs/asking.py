"""Asking a judge: one case or many, with samples and votes, into verdicts.

This is the one place where a program meets a model, for compiling, proving and
running alike. A verdict is three-valued: *verdict* (every unit has a label),
*abstained* (the model answered, and the answer is unusable for some unit), or
*failed* (the machinery failed: network, overload, time-outs). An error that
every row would meet, such as a wrong key, ends the work instead.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError, LMTransportError

from ..cases import Case, Label, Labels
from ..engines.channel import case_spend, sample_draws, sample_number
from ..engines.failures import brief, fatal, model_error, our_own, redact
from ..engines.ledger import Spend
from ..engines.models import adapter as adapter_named
from ..errors import BudgetExhausted, JudgeError, UsageError
from .judge import Judge
from .shapes import Answer
from .votes import check_threshold, decide, majority, tally

__all__ = ["Asker", "Sampling", "Status", "Verdict", "collect"]

Status = Literal["verdict", "abstained", "failed"]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How often a case is asked, and how many votes make it positive.

    Attributes:
        samples: independent draws per case, at least 1 (CogniBench section 3.2: 5).
        threshold: votes for a positive verdict, 1..samples; default: more than half.
    """

    samples: int = 1
    threshold: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that cannot give a verdict."""
        check_threshold(self.samples, self.needed)

    @property
    def needed(self) -> int:
        """The votes needed for a positive verdict."""
        return majority(self.samples) if self.threshold is None else self.threshold


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A judge's answer to one case.

    Attributes:
        id: the case's id.
        status: ``verdict``, ``abstained`` or ``failed``.
        labels: one label per unit; ``None`` where there is no usable answer.
        votes: label -> votes, per unit.
        samples: the labels of each sample that answered, for thresholds fitted later.
        reasoning: the first sample's reasoning, if the judge gives one.
        inconsistent: samples whose answer contradicted itself (units against label), whatever was made of them.
        error: what went wrong, redacted; empty if nothing did.
        usage: the calls and tokens this case took.
    """

    id: str
    status: Status
    labels: Labels
    votes: tuple[Mapping[Label, int], ...] = ()
    samples: tuple[Labels, ...] = ()
    reasoning: str = ""
    inconsistent: int = 0
    error: str = ""
    usage: Spend = field(default_factory=Spend, compare=False)

    @property
    def label(self) -> Label | None:
        """The label of a case with one unit."""
        return self.labels[0] if len(self.labels) == 1 else None


@dataclass(frozen=True, kw_only=True)
class Asker:
    """A judge's program, ready to be asked.

    Attributes:
        judge: what the answers mean.
        program: the DSPy program, basic or compiled.
        lm: a connected language model.
        sampling: samples and threshold.
        adapter: DSPy's prompt format: ``chat``, ``json`` or ``xml``.
        concurrency: cases in flight at once.
        first_draw: number of the first sample; other numbers are other draws (repeats of an experiment).
    """

    judge: Judge
    program: dspy.Module
    lm: dspy.LM
    sampling: Sampling = Sampling()
    adapter: str = "chat"
    concurrency: int = 8
    first_draw: int = 0

    def __post_init__(self) -> None:
        """Refuse a concurrency that would wait for ever."""
        if self.concurrency < 1:
            raise UsageError(f"a concurrency of {self.concurrency} asks nothing", hint="give 1 or more")

    def ask(self, case: Case) -> Verdict:
        """Judge one case. Raises what :meth:`ask_all` raises."""
        return self.ask_all([case])[0]

    def ask_all(
        self, cases: Sequence[Case], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """Judge cases, several at once; the result is in the order of ``cases``.

        Args:
            cases: what to judge.
            on_verdict: called with each case's index and verdict, as they come.

        Raises:
            ModelError: the model cannot be used at all.
            BudgetExhausted: a limit was reached; verdicts given so far went to ``on_verdict``.
        """
        verdicts: list[Verdict] = collect(self.ask_async(cases, on_verdict))
        return verdicts

    async def ask_async(
        self, cases: Sequence[Case], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """Do the same inside a running event loop."""
        gate = asyncio.Semaphore(self.concurrency)
        context = dspy.context(
            lm=self.lm,
            adapter=adapter_named(self.adapter),
            disable_history=True,
            trace=None,
            track_usage=False,
        )

        async def one(index: int, case: Case) -> Verdict:
            async with gate:
                usage = Spend()
                case_spend.set(usage)  # this task's own context
                verdict = replace(await self._judge(case), usage=usage)
            if on_verdict is not None:
                on_verdict(index, verdict)
            return verdict

        with context:
            tasks = [asyncio.ensure_future(one(index, case)) for index, case in enumerate(cases)]
            try:
                return list(await asyncio.gather(*tasks))
            except BudgetExhausted:
                # What is in flight is paid for: let it arrive, be kept and be counted. Nothing new is sent.
                await asyncio.gather(*tasks, return_exceptions=True)
                raise
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _judge(self, case: Case) -> Verdict:
        inputs, heard = self.judge.values(case.inputs), _Heard()
        for draw in range(self.first_draw, self.first_draw + self.sampling.samples):
            sample_number.set(draw)  # this task's own context; the program need not know of it
            sample_draws.set(Counter())
            try:
                prediction = await self._call(inputs)
            except AdapterParseError as bad:
                heard.error = heard.error or "unusable reply: " + redact(bad.message or str(bad))[:200]
                continue
            except LMError as bad:
                ours = our_own(bad)
                if ours is not None:
                    raise ours from bad
                if fatal(bad) or (isinstance(bad, LMTransportError) and not self._reached()):
                    raise model_error(bad) from bad
                heard.failed, heard.error = True, f"{type(bad).__name__}: {brief(bad)[:200]}"
                break
            heard.take(self.judge.read(prediction, case.inputs))
        return self._verdict(case, len(self.judge.answer_shape.units(case.inputs)), heard)

    async def _call(self, inputs: Mapping[str, Any]) -> Any:
        try:
            if hasattr(self.program, "aforward"):
                return await self.program.acall(**inputs)
            # A user's own module may define ``forward`` only; a thread keeps it from stopping all the others.
            return await asyncio.to_thread(self.program, **inputs)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as bug:
            raise JudgeError(
                f"the program of judge {self.judge.name} raised {type(bug).__name__}: {redact(str(bug))[:200]}",
                hint="correct the program",
            ) from bug

    def revote(self, case: Case, verdict: Verdict) -> Verdict:
        """Return what the kept samples of ``verdict`` give under this asker's threshold. Costs nothing."""
        if verdict.status == "failed":
            return verdict
        heard = _Heard(
            answers=list(verdict.samples),
            reasoning=verdict.reasoning,
            inconsistent=verdict.inconsistent,
            error=verdict.error,
        )
        return self._verdict(case, len(verdict.labels), heard)

    def _verdict(self, case: Case, units: int, heard: _Heard) -> Verdict:
        kept = Verdict(
            id=case.id,
            status="failed",
            labels=(None,) * units,
            samples=tuple(heard.answers),
            reasoning=heard.reasoning,
            inconsistent=heard.inconsistent,
            error=heard.error,
        )
        if heard.failed:
            return kept
        votes = tuple(tally(heard.answers, unit) for unit in range(units))
        labels = tuple(
            decide(
                vote,
                samples=self.sampling.samples,
                threshold=self.sampling.needed,
                positive=self.judge.positive,
                order=self.judge.labels,
            )
            for vote in votes
        )
        status: Status = "abstained" if None in labels else "verdict"
        error = "" if status == "verdict" else heard.error or _unusable(labels, heard)
        return replace(kept, status=status, labels=labels, votes=votes, error=error)

    def _reached(self) -> bool:
        """Whether any call of this job was ever answered: an address that never answers is a wrong address."""
        desk = getattr(getattr(self.lm, "_engine_spec", None), "desk", None)
        spend = desk.ledger.spend() if desk else None
        return spend is None or spend.calls > spend.failures + spend.retries or spend.replayed > 0


@dataclass(kw_only=True)
class _Heard:
    """What the samples of one case have said so far."""

    answers: list[Labels] = field(default_factory=list)
    reasoning: str = ""
    inconsistent: int = 0
    error: str = ""
    failed: bool = False

    def take(self, answer: Answer) -> None:
        self.answers.append(answer.labels)
        self.reasoning = self.reasoning or answer.reasoning
        self.inconsistent += answer.inconsistent


def _unusable(labels: Labels, heard: _Heard) -> str:
    error = f"no usable label for {labels.count(None)} of {len(labels)} units"
    if not heard.inconsistent:
        return error
    return f"{error}; {heard.inconsistent} of {len(heard.answers)} answers contradict themselves"


def collect(work: Any) -> Any:
    """Run a coroutine to its end, also where an event loop is already running (notebooks).

    A dedicated thread gets its own loop then; context variables are carried over, and so is Ctrl-C.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    import contextvars
    from concurrent.futures import ThreadPoolExecutor

    context, running = contextvars.copy_context(), []  # type: contextvars.Context, list[asyncio.Task[Any]]

    async def main() -> Any:
        running.extend(task for task in [asyncio.current_task()] if task)
        return await work

    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(context.run, asyncio.run, main())
        try:
            return future.result()
        except KeyboardInterrupt:
            if running and not future.done():  # leaving the pool waits for the thread
                running[0].get_loop().call_soon_threadsafe(running[0].cancel)
            raise
