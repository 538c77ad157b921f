"""What DSPy's optimizers try, seen from outside: every prompt, every case, every outcome, on the board.

A DSPy optimizer is given a student of ours. Whatever it does with copies of
it, each run ends here: the prompt is read off the copy, asked by the job's own
:class:`Asker` (samples, votes, adapter, errors as everywhere else), and the
outcome goes to the board. So the record is complete where an optimizer keeps
none, and what is scored is exactly what an artifact would hold. A pair that was
asked before is answered from memory, as DSPy's cache would do it. Runs at
another temperature than the judge's (SIMBA's rollouts) are other questions:
they are answered, and neither remembered nor recorded. Nor are a teacher's runs,
whose prompt changes from case to case because no case may see its own label.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from ..cases import Case
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from ..programs.votes import Sampling
from ..text.escaping import defuse
from .base import Job
from .board import Board, Candidate
from .objective import Outcome
from .traced import Trace, key_of, remembering

_RIGHT = "Right: people agree with every label."


class CarriedError(BaseException):
    """Carries an exception past code that catches every ``Exception`` and counts it as a score of 0."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))


class NoSwallow:
    """A block whose exceptions nobody between here and the search can swallow."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Turn an ``Exception`` into :class:`CarriedError`."""
        if isinstance(error, Exception):
            raise CarriedError(error) from error


class Unanswered(Exception):  # noqa: N818 - an optimizer may go on without this answer
    """The machinery failed on one case: no outcome, and none is recorded."""


class Judging(dspy.Module):
    """A judge's program: it reads a case and gives its labels."""

    def __init__(self, program: dspy.Module, recorder: Recorder | _Aside) -> None:
        super().__init__()
        self.program, self.recorder = program, recorder

    def forward(self, **case: Any) -> dspy.Prediction:
        """Ask the judge."""
        return self.recorder.ask(self, case)


class _Judged(dspy.Prediction):
    """A prediction that knows its outcome, without showing it to anyone who prints its fields."""

    def __init__(self, values: Mapping[str, Any], outcome: Outcome) -> None:
        super().__init__(**values)
        self._outcome = outcome


@dataclass(frozen=True, kw_only=True)
class _Run:
    """One case asked of one prompt; ``trace`` is ``None`` if only its outcome is known."""

    outcome: Outcome | None
    trace: Trace | None
    error: str = ""


@dataclass(kw_only=True, eq=False)
class Recorder:
    """Keeps one search's record."""

    job: Job  # what is optimized
    board: Board  # where outcomes go
    start: Candidate  # the candidate that the search starts from
    source: str  # what candidates are said to be made by
    _cases: dict[str, Case] = field(default_factory=dict)
    _origins: dict[str, str] = field(default_factory=dict)
    _gold: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # labelled example -> by predictor
    _runs: dict[tuple[str, str], _Run] = field(default_factory=dict)
    _teacher_runs: dict[tuple[str, str], _Run] = field(default_factory=dict)
    _rollouts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _empty: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, Candidate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Learn to recognise the cases by what a program is called with."""
        for case in (*self.job.train, *self.job.dev):
            key = key_of(self.job.judge.values(case.inputs))
            self._cases.setdefault(key, case)
            self._origins.setdefault(key, case.id)
        for name, predictor in self.job.judge.basic().named_predictors():
            self._empty[name] = predictor.signature.with_instructions("").instructions

    def __deepcopy__(self, memo: dict[int, Any]) -> Recorder:
        """Return itself: all copies of a student report to one recorder."""
        return self

    def student(self) -> Judging:
        """Return a fresh program with the prompt of ``start``."""
        return Judging(self.start.state.apply(self.job.judge.basic()), self)

    def teacher(self) -> Judging:
        """Return a program like the student, whose answers may become demonstrations, off the record."""
        return Judging(self.start.state.apply(self.job.judge.basic()), _Aside(self))

    def examples(self, cases: Iterable[Case]) -> list[dspy.Example]:
        """Return labelled cases as DSPy takes them: the inputs and the answer that gold gives."""
        judge, cases = self.job.judge, list(cases)
        if judge.demonstrations is not None:
            self._gold.update((key_of(judge.demo(case)), judge.demos(case)) for case in cases)
        return [dspy.Example(**judge.demo(case)).with_inputs(*judge.input_fields) for case in cases]

    def metric(self, example: dspy.Example, prediction: Any, *more: Any) -> float:
        """Return the share of labelled units judged right, in [0, 1]; 0 where there was no answer."""
        with NoSwallow():
            return prediction._outcome.score if isinstance(prediction, _Judged) else 0.0

    def feedback(
        self,
        gold: dspy.Example,
        pred: Any,
        trace: Any = None,
        pred_name: Any = None,
        pred_trace: Any = None,
    ) -> dspy.Prediction:
        """Return the score with what was wrong, in words (GEPA's five-argument metric)."""
        with NoSwallow():
            outcome = pred._outcome if isinstance(pred, _Judged) else None
            text = (outcome.feedback or _RIGHT) if outcome else "There was no answer."
            return dspy.Prediction(score=outcome.score if outcome else 0.0, feedback=text)

    def ask(self, program: Judging, inputs: Mapping[str, Any], *, teacher: bool = False) -> dspy.Prediction:
        """Answer one run of a copy of the student, or of the teacher (``teacher``)."""
        with NoSwallow():
            traced = dspy.settings.trace is not None
            case = self._cases[key_of(inputs)]
            run = self._teacher_run(program, case) if teacher else self._answers(program, [case], traced)[0]
            if run.outcome is not None:
                trace = run.trace or Trace()
                if traced:
                    predictors = dict(program.program.named_predictors())
                    for name, given, said in trace.steps:
                        dspy.settings.trace.append((predictors[name], dict(given), dspy.Prediction(**said)))
                return _Judged(trace.values, run.outcome)
        raise Unanswered(run.error)

    def prefetch(self, program: Judging, examples: Sequence[dspy.Example]) -> None:
        """Ask all that an evaluation is about to ask one by one, several at once."""
        with NoSwallow():
            cases = [self._cases[key_of(dict(example.inputs()))] for example in examples]
            # GEPA collects traces by replacing the copy's ``forward``.
            self._answers(program, cases, traced="forward" in vars(program), keep_failed=True)
            candidate = self._candidate(program)
            value = self.board.value(candidate, cases)
            self.job.note(f"{self.source}: {candidate.id} on {len(cases)} cases", value, kind="candidate")

    def _teacher_run(self, program: Judging, case: Case) -> _Run:
        """Ask a teacher, whose prompt may be the same again: then so is its answer."""
        state = self._state(program)
        key = state.id, case.id
        run = self._teacher_runs.get(key) or self._asked(state, [case], None)[case.id]
        if run.outcome is not None:
            self._teacher_runs[key] = run
        return run

    def _answers(
        self, program: Judging, cases: Sequence[Case], traced: bool, keep_failed: bool = False
    ) -> list[_Run]:
        lm = next((predictor.lm for predictor in program.predictors() if predictor.lm), dspy.settings.lm)
        if lm is not self.job.judge_lm:
            return list(self._asked(self._state(program), cases, lm).values())
        candidate = self._candidate(program)
        for case in cases:
            known = self.board.outcome(candidate, case)
            if known is not None:
                self._runs.setdefault((candidate.id, case.id), _Run(outcome=known, trace=None))
        missing = {
            case.id: case
            for case in cases
            if (run := self._runs.get((candidate.id, case.id))) is None
            or (traced and run.trace is None and run.outcome is not None)
        }
        if missing:
            found = self._asked(candidate.state, list(missing.values()), None, candidate)
            self._runs.update({(candidate.id, case_id): run for case_id, run in found.items()})
        runs = [self._runs[candidate.id, case.id] for case in cases]
        for case, run in zip(cases, runs, strict=True):
            if run.error and not keep_failed:
                self._runs.pop((candidate.id, case.id), None)  # the next time it is asked again
        return runs

    def _asked(
        self,
        state: PromptState,
        cases: Sequence[Case],
        lm: dspy.LM | None,
        candidate: Candidate | None = None,
    ) -> dict[str, _Run]:
        """Ask a prompt about cases, with ``lm`` instead of the judge's model once each; recorded for ``candidate``."""
        program = remembering(state.apply(self.job.judge.basic()))
        asker = self.job.asker(program, self.start.setting.asked)
        if lm is not None:
            # The same question again is meant as another draw.
            drawn = max(self._rollouts[state.id, case.id] for case in cases)
            self._rollouts.update((state.id, case.id) for case in cases)
            hot = {name: lm.kwargs[name] for name in ("rollout_id", "temperature") if name in lm.kwargs}
            asker = dataclasses.replace(asker, lm=asker.lm.copy(**hot), sampling=Sampling(), first_draw=drawn)
        runs: dict[str, _Run] = {}

        def keep(index: int, verdict: Verdict) -> None:
            case = cases[index]
            traces = program.traces[key_of(self.job.judge.values(case.inputs))]
            runs[case.id] = self._kept(case, verdict, traces, candidate)

        asker.ask_all(cases, keep)
        if candidate is not None:
            self.board.mark(candidate, cases)
        return {case.id: runs[case.id] for case in cases}

    def _kept(
        self, case: Case, verdict: Verdict, traces: Sequence[Trace], candidate: Candidate | None
    ) -> _Run:
        if verdict.status == "failed":
            return _Run(outcome=None, trace=None, error=verdict.error)
        for run in traces:
            for _, given, _ in run.steps:
                self._origins.setdefault(key_of(given), case.id)
        if candidate is not None:
            self.board.record(candidate, case, verdict)
        voted = self._voted(case, verdict)
        return _Run(
            outcome=self.board.objective.outcome(case, voted),
            trace=self._closest(case, voted, traces, exact=candidate is None),
        )

    def _voted(self, case: Case, verdict: Verdict) -> Verdict:
        """Return what the votes give under the threshold of what the search started from, if it has one of its own."""
        if self.start.setting.threshold is None or not verdict.samples:
            return verdict
        return self.job.asker(self.job.judge.basic(), self.start.setting).revote(case, verdict)

    def _closest(self, case: Case, verdict: Verdict, traces: Sequence[Trace], *, exact: bool) -> Trace:
        """Return the sample that says most of what the verdict says.

        No sample need say all of it: units may be voted on apart, and those that a reply left out were asked for
        again. With ``exact`` such a sample has no steps, for they would become a demonstration of another answer
        than the one that was scored.
        """

        def agreeing(one: Trace) -> int:
            values = self.job.judge.read(dspy.Prediction(**one.said), case.inputs).values
            return sum(said == value for said, value in zip(values, verdict.values, strict=True))

        if not traces:
            return Trace()
        counts = [agreeing(one) for one in traces]
        best = traces[counts.index(max(counts))]
        return (
            best if not exact or max(counts) == len(verdict.values) else dataclasses.replace(best, steps=())
        )

    def _candidate(self, program: Judging) -> Candidate:
        raw, known = PromptState.of(program.program).id, len(self.board.candidates)
        if raw in self._seen:
            return self._seen[raw]
        state = self._state(program)
        candidate = self.board.add(
            state,
            parent=self.start,
            source=self.source,
            demo_ids=tuple(sorted(self._demo_ids(program, state))),
        )
        self._seen[raw] = candidate
        if len(self.board.candidates) > known:
            self.job.note(f"{self.source}: {candidate.id} is new", kind="candidate")
        return candidate

    def _state(self, program: Judging) -> PromptState:
        """Return a copy's prompt, with nothing in it that is no part of a prompt or could be read as structure."""
        state, fields = PromptState.of(program.program), list(self.job.judge.markers)
        for name, predictor in program.program.named_predictors():
            # An optimizer without a usable proposal tries an empty one: that is no prompt.
            own = self.start.state.predictors[name].instructions
            text = state.predictors[name].instructions
            if text in ("", self._empty[name]):
                text = own
            demos = tuple(
                {key: value for key, value in shown.items() if key in predictor.signature.fields}
                for demo in state.predictors[name].demos
                if (shown := self._gold.get(key_of(demo), {name: demo}).get(name)) is not None
            )
            state = state.with_instruction(name, text if text == own else defuse(text, fields))
            state = state.with_demos(name, tuple(map(defuse, demos)))
        return state

    def _demo_ids(self, program: Judging, state: PromptState) -> Iterable[str]:
        inputs = self.job.judge.input_fields
        for name, predictor in program.program.named_predictors():
            own = tuple(predictor.signature.input_fields)
            for demo in state.predictors[name].demos:
                for names in (own, inputs):
                    found = self._origins.get(key_of({key: demo[key] for key in names if key in demo}))
                    if found is not None:
                        yield found
                        break


class _Aside:
    """A recorder's face for a teacher."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __deepcopy__(self, memo: dict[int, Any]) -> _Aside:
        return self

    def ask(self, program: Judging, inputs: Mapping[str, Any]) -> dspy.Prediction:
        return self._recorder.ask(program, inputs, teacher=True)


class Prefetch(BaseCallback):
    """Lets a recorder ask all cases of an evaluation at once; DSPy's own threads may pay a slow call twice."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Ask before the evaluation does."""
        program, examples = inputs.get("program"), inputs.get("devset") or instance.devset
        if isinstance(program, Judging):
            self._recorder.prefetch(program, examples)
