"""What DSPy's optimizers try, seen from outside: every prompt, every case, every outcome, on the board."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

import dspy

from ..cases import Case
from ..evaluation.votes import Sampling
from ..programs.asking import Asker
from ..programs.state import Demo, PromptState, jsonable
from ..programs.verdicts import Verdict
from ..text.escaping import defuse
from .base import Job
from .board import Board, Candidate
from .objective import Outcome

Step: TypeAlias = tuple[str, Mapping[str, object], Mapping[str, object]]
"""Predictor, inputs and outputs of a step of a run, as JSON types: what is none, DSPy shows as non-serializable."""
Steps: TypeAlias = Sequence[Step]


class CarriedError(BaseException):
    """Carries an exception past code that catches every ``Exception`` and counts it as a score of 0."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))


@contextmanager
def unswallowed() -> Iterator[None]:
    """Turn an ``Exception`` of the block into :class:`CarriedError`."""
    try:
        yield
    except Exception as error:
        # DSPy catches every Exception of a metric, counts it as a wrong answer, and goes on paying. CarriedError is a
        # BaseException that takes the error past DSPy.
        raise CarriedError(error) from error


class Unanswered(Exception):  # noqa: N818 - an optimizer may go on without this answer
    """The machinery failed on one case: no outcome, and none is recorded."""


class Judging(dspy.Module):
    """A judge's program that asks a recorder; answers of a teacher may become demonstrations, off the record."""

    def __init__(self, program: dspy.Module, recorder: Recorder, *, teacher: bool = False) -> None:
        super().__init__()
        self.program = program
        self.recorder = recorder
        self.teacher = teacher

    def forward(self, **case: object) -> dspy.Prediction:
        """Ask the judge."""
        return self.recorder.ask(self, case)


class _Judged(dspy.Prediction):
    """A prediction that knows its outcome, without showing it to anyone who prints its fields."""

    def __init__(self, values: Mapping[str, object], outcome: Outcome) -> None:
        super().__init__(**values)
        self._outcome = outcome


@dataclass(frozen=True, kw_only=True)
class _Run:
    """The result of asking about one case; without an outcome it failed."""

    outcome: Outcome | None
    answer: Mapping[str, object]  # its fields, as they came
    steps: Steps = ()  # of a sample that says what was voted; none if no sample does
    error: str = ""


class _Traced(dspy.Module):
    """A program that keeps what each run answered and which predictors it went through."""

    def __init__(self, program: dspy.Module) -> None:
        super().__init__()
        self.inner = program
        self.runs = defaultdict[str, list[tuple[Mapping[str, object], Steps]]](list)
        self._names = {id(predictor): name for name, predictor in program.named_predictors()}
        if hasattr(program, "aforward"):  # which tells the asker how to run it
            self.aforward = self._aforward

    def forward(self, **inputs: object) -> dspy.Prediction:
        """Run the program and keep what it gave."""
        with dspy.context(trace=[]):
            return self._keep(inputs, self.inner(**inputs))

    async def _aforward(self, **inputs: object) -> dspy.Prediction:
        with dspy.context(trace=[]):
            return self._keep(inputs, await self.inner.acall(**inputs))

    def _keep(self, inputs: Mapping[str, object], prediction: dspy.Prediction) -> dspy.Prediction:
        steps: list[Step] = []
        for predictor, inputs_of_step, answer in dspy.settings.trace:
            name = self._names.get(id(predictor))
            if name is not None:
                steps.append((name, dict(inputs_of_step), jsonable(dict(answer.items()))))
        self.runs[_input_key(inputs)].append((dict(prediction.items()), steps))
        return prediction


class Recorder:
    """Keeps one search's record."""

    def __init__(self, job: Job, board: Board, start: Candidate, source: str) -> None:
        self.job, self.board, self.start, self.source = job, board, start, source
        self._reasons = {case.id: case.reason for case in job.train}
        self._cases_by_id = dict[str, Case]()
        self._gold = dict[str, Mapping[str, object]]()  # labelled example -> demonstration by predictor
        self._runs = dict[tuple[str, str, bool], _Run]()  # by prompt, case, and whether a teacher was asked
        self._rollouts = Counter[tuple[str, str]]()
        self._cases = dict[str, Case]()  # by inputs of the program, and of any predictor met
        for case in (*job.train, *job.dev):
            self._cases_by_id[case.id] = case
            self._cases.setdefault(_input_key(job.judge.prompt_values(case.inputs)), case)

    def __deepcopy__(self, memo: dict[int, object]) -> Recorder:
        """Return itself: all copies of a student report to one recorder."""
        return self

    def program(self, *, teacher: bool = False) -> Judging:
        """Return a fresh program with the prompt of ``start``: a student, or a teacher."""
        return Judging(self.start.state.apply(self.job.judge.basic()), self, teacher=teacher)

    def examples(self, cases: Iterable[Case]) -> list[dspy.Example]:
        """Return labelled cases as DSPy takes them: the inputs and the answer that gold gives."""
        judge = self.job.judge
        examples: list[dspy.Example] = []
        for case in cases:
            demo = judge.demo(case)
            if judge.demonstrations is not None:
                self._gold[_input_key(demo)] = judge.demos(case)
            examples.append(dspy.Example(**demo).with_inputs(*judge.input_fields))
        return examples

    def metric(self, example: dspy.Example, prediction: object, *unused: object) -> float:
        """Return the share of labelled units judged right, in [0, 1]; 0 where there was no answer."""
        if isinstance(prediction, _Judged):
            return prediction._outcome.score
        return 0.0

    def feedback(
        self,
        gold: dspy.Example,
        pred: object,
        trace: object = None,
        pred_name: object = None,
        pred_trace: object = None,
    ) -> dspy.Prediction:
        """Return the score with what was wrong, in words (GEPA's five-argument metric)."""
        text = "There was no answer."
        if isinstance(pred, _Judged):
            outcome = pred._outcome
            text = self.board.objective.feedback(self._cases_by_id[outcome.row.id], outcome)
            if not text:
                text = "Right: people agree with every label."
            reason = self._reasons.get(outcome.row.id)
            if reason:
                text += f"\nwhy people say so: {reason}"
        return dspy.Prediction(score=self.metric(gold, pred), feedback=text)

    def ask(self, program: Judging, inputs: Mapping[str, object]) -> dspy.Prediction:
        """Answer one run of a copy of the student, or of the teacher."""
        with unswallowed():
            run = self._answer(program, self._cases[_input_key(inputs)])
            if run.outcome is not None:
                if dspy.settings.trace is not None:
                    predictors = dict(program.program.named_predictors())
                    for name, inputs_of_step, answer in run.steps:
                        dspy.settings.trace.append(
                            (predictors[name], dict(inputs_of_step), dspy.Prediction(**answer))
                        )
                return _Judged(jsonable(dict(run.answer)), run.outcome)
        raise Unanswered(run.error)

    def prefetch(self, program: Judging, examples: Sequence[dspy.Example]) -> None:
        """Ask all that an evaluation is about to ask one by one, several at once."""
        with unswallowed():
            cases_by_id: dict[str, Case] = {}
            for example in examples:
                case = self._cases[_input_key(dict(example.inputs()))]
                cases_by_id[case.id] = case
            cases = list(cases_by_id.values())
            candidate = self.candidate(program)
            answered_ids = {case_id for prompt, case_id, _ in self._runs if prompt == candidate.id}
            answered_ids |= self.board.outcomes(candidate).keys()
            self._ask(candidate.state, [case for case in cases if case.id not in answered_ids], candidate)
            words = f"{self.board.name(candidate)} on {len(cases)} cases"
            self.job.note(words, self.board.value(candidate, cases), kind="candidate")

    def candidate(self, program: Judging) -> Candidate:
        """Enter the prompt of a copy of the student on the board."""
        state = self._state(program)
        demo_ids = tuple(sorted(self._demo_ids(program, state)))
        return self.board.add(state, parent=self.start, source=self.source, demo_ids=demo_ids)

    def _answer(self, program: Judging, case: Case) -> _Run:
        """Return the stored outcome of a case, or ask about it."""
        # Rollouts at another temperature are other questions, and a teacher's prompt changes from case to case, because
        # no case may see its own label: neither is an outcome of a candidate.
        if program.teacher:
            state = self._state(program)
            run = self._runs.get((state.id, case.id, True))
            return run or self._ask(state, [case])[case.id]
        lm = _lm_of(program)
        if lm is not self.job.judge_lm:
            return self._ask(self._state(program), [case], rollout=lm)[case.id]
        candidate = self.candidate(program)
        run = self._runs.get((candidate.id, case.id, False))
        outcome = self.board.outcome(candidate, case)
        if run is None and outcome is not None and dspy.settings.trace is None:
            return _Run(outcome=outcome, answer={})  # asked before the search: how it came about is not known
        return run or self._ask(candidate.state, [case], candidate)[case.id]

    def _ask(
        self,
        state: PromptState,
        cases: Sequence[Case],
        candidate: Candidate | None = None,
        *,
        rollout: dspy.LM | None = None,
    ) -> dict[str, _Run]:
        """Ask a prompt about cases; recorded for a candidate, and asked of another model (``rollout``) once each."""
        traced = _Traced(state.apply(self.job.judge.basic()))
        asker = self.job.asker(traced)
        if rollout is not None:  # the same question again is meant as another draw
            asker = self._rollout_asker(asker, rollout, [(state.id, case.id) for case in cases])
        runs: dict[str, _Run] = {}

        def keep(index: int, verdict: Verdict) -> None:
            case = cases[index]
            samples = traced.runs[_input_key(self.job.judge.prompt_values(case.inputs))]
            runs[case.id] = self._kept(case, verdict, samples, candidate)

        asker.ask_all(cases, keep)
        if rollout is None:
            prompt = candidate.id if candidate else state.id
            for case_id, run in runs.items():
                self._runs[prompt, case_id, candidate is None] = run
        return runs

    def _rollout_asker(self, asker: Asker, rollout: dspy.LM, keys: Sequence[tuple[str, str]]) -> Asker:
        """Return an asker that asks once, as another model does, whose draws of these cases were not drawn before."""
        first_draw = max(self._rollouts[key] for key in keys)
        self._rollouts.update(keys)
        model_settings: dict[str, object] = {}
        for name in ("rollout_id", "temperature"):
            if rollout.kwargs.get(name) is not None:
                model_settings[name] = rollout.kwargs[name]
        lm = asker.lm.copy(**model_settings)
        settings = replace(asker.settings, sampling=Sampling())
        return replace(asker, lm=lm, settings=settings, first_draw=first_draw)

    def _kept(
        self,
        case: Case,
        verdict: Verdict,
        samples: Sequence[tuple[Mapping[str, object], Steps]],
        candidate: Candidate | None,
    ) -> _Run:
        """Record a verdict; return it with the steps of a sample that says the same, which may be demonstrated."""
        if verdict.status == "failed":
            return _Run(outcome=None, answer={}, error=verdict.error)
        for _, steps in samples:
            for _, inputs_of_step, _ in steps:
                self._cases.setdefault(_input_key(inputs_of_step), case)
        if candidate is not None:
            outcome = self.board.record(candidate, case, verdict)
        else:
            outcome = self.board.objective.outcome(case, verdict)
        for answer, steps in samples:
            if self.job.judge.read(dspy.Prediction(**answer), case.inputs).values == verdict.values:
                return _Run(outcome=outcome, answer=answer, steps=steps)
        if not samples:
            return _Run(outcome=outcome, answer={})
        first_answer, _ = samples[0]
        return _Run(outcome=outcome, answer=first_answer)

    def _state(self, program: Judging) -> PromptState:
        """Return a copy's prompt, with nothing in it that is no part of a prompt or could be read as structure."""
        state = PromptState.of(program.program)
        for name, predictor in program.program.named_predictors():
            prompt = state.predictors[name]
            start_instruction = self.start.state.predictors[name].instructions
            instruction = prompt.instructions or start_instruction
            if instruction != start_instruction:
                instruction = defuse(instruction)
            demos: list[Demo] = []
            for demo in prompt.demos:
                gold_demo = self._gold.get(_input_key(demo), {name: demo}).get(name)
                if gold_demo is not None:
                    fields = {key: gold_demo[key] for key in gold_demo if key in predictor.signature.fields}
                    demos.append(defuse(fields))
            state = state.with_instruction(name, instruction)
            state = state.with_demos(name, tuple(demos), prompt.remembered)
        return state

    def _demo_ids(self, program: Judging, state: PromptState) -> Iterator[str]:
        """Yield the id of the case of each demonstration in a prompt."""
        for name, predictor in program.program.named_predictors():
            for demo in state.predictors[name].demos:
                # A predictor's own inputs tell the case, or those of the whole program.
                for names in (predictor.signature.input_fields, self.job.judge.input_fields):
                    case = self._cases.get(_input_key({key: demo[key] for key in names if key in demo}))
                    if case is not None:
                        yield case.id
                        break


def _lm_of(program: Judging) -> dspy.LM:
    """Return the model that a program asks: the first that a predictor has, else that of DSPy's settings."""
    for predictor in program.predictors():
        if predictor.lm:
            return predictor.lm
    return dspy.settings.lm


def _input_key(inputs: Mapping[str, object]) -> str:
    """Return the key of some inputs, equal for equal inputs."""
    return json.dumps(dict(inputs), sort_keys=True, ensure_ascii=False, default=str)
