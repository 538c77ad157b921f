"""The recorder of a search by an optimizer of DSPy: it answers each run, and enters prompts and outcomes on the board.

The optimizer is given a :class:`Judging` in place of the judge's program. It changes copies of it, its students, and
runs them on cases; each run asks the recorder. A teacher is a copy whose answers only become demonstrations.
"""

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
from ..programs.plain_json import jsonable
from ..programs.state import Demo, PromptState
from ..programs.verdicts import Verdict
from ..text.escaping import defuse
from .base import Job
from .board import Board, Candidate
from .objective import Outcome

Step: TypeAlias = tuple[str, Mapping[str, object], Mapping[str, object]]
"""One call of a predictor in a run: the predictor's name, inputs and outputs. Outputs are JSON values, as DSPy writes
any other value as the word "non-serializable"."""
Steps: TypeAlias = Sequence[Step]
"""The calls of a run, in their order."""


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
    """A case without an outcome, as the machinery failed on it; nothing is recorded."""


class Judging(dspy.Module):
    """A judge's program whose runs are answered by a recorder; those of a teacher are not entered on the board."""

    def __init__(self, program: dspy.Module, recorder: Recorder, *, teacher: bool = False) -> None:
        super().__init__()
        self.program = program
        self.recorder = recorder
        self.teacher = teacher

    def forward(self, **case: object) -> dspy.Prediction:
        """Return the recorder's answer to a case."""
        return self.recorder.ask(self, case)


class _Judged(dspy.Prediction):
    """A prediction with its outcome, which is no field: an optimizer that shows all fields does not show it."""

    def __init__(self, values: Mapping[str, object], outcome: Outcome) -> None:
        super().__init__(**values)
        self._outcome = outcome


@dataclass(frozen=True, kw_only=True)
class _Run:
    """The outcome of a prompt on one case, with one sample's answer and steps."""

    outcome: Outcome | None  # ``None`` if the machinery failed
    answer: Mapping[str, object]  # the fields of one sample's answer
    steps: Steps = ()  # the steps of that sample; none unless it agrees with the vote
    error: str = ""  # the reason if the machinery failed


class _Traced(dspy.Module):
    """A program that keeps the answer and the steps of each of its runs."""

    def __init__(self, program: dspy.Module) -> None:
        super().__init__()
        self.inner = program
        self.runs = defaultdict[str, list[tuple[Mapping[str, object], Steps]]](list)
        """Key of the inputs -> answer and steps of each run with them."""
        self._names = {id(predictor): name for name, predictor in program.named_predictors()}
        if hasattr(program, "aforward"):  # which tells the asker how to run it
            self.aforward = self._aforward

    def forward(self, **inputs: object) -> dspy.Prediction:
        """Run the program, keep the answer and the steps, and return the prediction."""
        with dspy.context(trace=[]):
            return self._keep(inputs, self.inner(**inputs))

    async def _aforward(self, **inputs: object) -> dspy.Prediction:
        with dspy.context(trace=[]):
            return self._keep(inputs, await self.inner.acall(**inputs))

    def _keep(self, inputs: Mapping[str, object], prediction: dspy.Prediction) -> dspy.Prediction:
        """Keep the answer of a run and its steps from DSPy's trace; return the prediction."""
        steps: list[Step] = []
        for predictor, inputs_of_step, answer in dspy.settings.trace:
            name = self._names.get(id(predictor))
            if name is not None:
                steps.append((name, dict(inputs_of_step), jsonable(dict(answer.items()))))
        self.runs[_input_key(inputs)].append((dict(prediction.items()), steps))
        return prediction


class Recorder:
    """Answers all runs of one search, and enters prompts and outcomes on the board."""

    def __init__(self, job: Job, board: Board, start: Candidate, source: str) -> None:
        self.job = job
        self.board = board
        self.start = start
        self.source = source
        self._reasons = {case.id: case.reason for case in job.train}
        self._cases_by_id = dict[str, Case]()
        # key of a labelled example -> its demonstrations by predictor
        self._demos_of_example: dict[str, Mapping[str, object]] = {}
        # by ids of prompt and case, and whether a teacher was asked
        self._runs: dict[tuple[str, str, bool], _Run] = {}
        self._rollouts = Counter[tuple[str, str]]()  # draws of each prompt and case by another model
        # by the key of the inputs of the program, or of a predictor that was run
        self._case_of_inputs: dict[str, Case] = {}
        for case in (*job.train, *job.dev):
            self._cases_by_id[case.id] = case
            self._case_of_inputs.setdefault(_input_key(job.judge.prompt_values(case.inputs)), case)

    def __deepcopy__(self, memo: dict[int, object]) -> Recorder:
        """Return itself: all copies of a student report to one recorder."""
        return self

    def program(self, *, teacher: bool = False) -> Judging:
        """Return a fresh program with the prompt of ``start``: a student, or a teacher."""
        return Judging(self.start.state.apply(self.job.judge.basic()), self, teacher=teacher)

    def examples(self, cases: Iterable[Case]) -> list[dspy.Example]:
        """Return labelled cases as DSPy's examples, with the inputs and the answer that gold gives."""
        judge = self.job.judge
        examples: list[dspy.Example] = []
        for case in cases:
            demo = judge.demo(case)
            if judge.demonstrations is not None:
                self._demos_of_example[_input_key(demo)] = judge.demos(case)
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
        """Return the score, and in words what was wrong (GEPA's five-argument metric)."""
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
        """Return the answer to one run of a student or a teacher; DSPy's trace gets the steps of the run.

        Raises:
            Unanswered: the machinery failed on the case.
            CarriedError: anything else failed; it carries the error past DSPy.
        """
        with unswallowed():
            run = self._run_of_case(program, self._case_of_inputs[_input_key(inputs)])
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
        """Ask about several cases at once, before an evaluation of DSPy asks about them one by one."""
        with unswallowed():
            cases_by_id: dict[str, Case] = {}
            for example in examples:
                case = self._case_of_inputs[_input_key(dict(example.inputs()))]
                cases_by_id[case.id] = case
            cases = list(cases_by_id.values())
            candidate = self.candidate(program)
            answered_ids = {case_id for prompt_id, case_id, _ in self._runs if prompt_id == candidate.id}
            answered_ids |= self.board.outcomes(candidate).keys()
            self._ask_cases(
                candidate.state, [case for case in cases if case.id not in answered_ids], candidate
            )
            words = f"{self.board.name(candidate)} on {len(cases)} cases"
            self.job.note(words, self.board.value(candidate, cases), kind="candidate")

    def candidate(self, program: Judging) -> Candidate:
        """Enter the prompt of a student on the board, and return it as a candidate."""
        state = self._read_prompt(program)
        demo_ids = tuple(sorted(self._demo_ids(program, state)))
        return self.board.add(state, parent=self.start, source=self.source, demo_ids=demo_ids)

    def _run_of_case(self, program: Judging, case: Case) -> _Run:
        """Return the earlier run of a program's prompt on a case, or ask about the case."""
        # Neither a rollout nor a run of a teacher is an outcome of a candidate: rollouts are sent at another
        # temperature, and a teacher's prompt changes from case to case, because no case may see its own label.
        if program.teacher:
            state = self._read_prompt(program)
            run = self._runs.get((state.id, case.id, True))
            return run or self._ask_cases(state, [case])[case.id]
        lm = _lm_of(program)
        if lm is not self.job.judge_lm:
            return self._ask_cases(self._read_prompt(program), [case], rollout=lm)[case.id]
        candidate = self.candidate(program)
        run = self._runs.get((candidate.id, case.id, False))
        outcome = self.board.outcome(candidate, case)
        # An outcome from before the search has neither an answer nor steps, which only a trace needs.
        if run is None and outcome is not None and dspy.settings.trace is None:
            return _Run(outcome=outcome, answer={})
        return run or self._ask_cases(candidate.state, [case], candidate)[case.id]

    def _ask_cases(
        self,
        state: PromptState,
        cases: Sequence[Case],
        candidate: Candidate | None = None,
        *,
        rollout: dspy.LM | None = None,
    ) -> dict[str, _Run]:
        """Ask about cases with a prompt, and return case id -> run.

        For a candidate the outcomes are entered on the board. With ``rollout`` that model is asked, once for each case.
        """
        traced = _Traced(state.apply(self.job.judge.basic()))
        asker = self.job.asker(traced)
        if rollout is not None:
            asker = self._rollout_asker(asker, rollout, [(state.id, case.id) for case in cases])
        runs: dict[str, _Run] = {}

        def keep(index: int, verdict: Verdict) -> None:
            case = cases[index]
            samples = traced.runs[_input_key(self.job.judge.prompt_values(case.inputs))]
            runs[case.id] = self._record(case, verdict, samples, candidate)

        asker.ask_all(cases, keep)
        if rollout is None:
            prompt_id = candidate.id if candidate else state.id
            is_teacher = candidate is None
            for case_id, run in runs.items():
                self._runs[prompt_id, case_id, is_teacher] = run
        return runs

    def _rollout_asker(self, asker: Asker, rollout: dspy.LM, keys: Sequence[tuple[str, str]]) -> Asker:
        """Return an asker that draws one sample by another model; each repetition of a case is a further draw."""
        first_draw = max(self._rollouts[key] for key in keys)
        self._rollouts.update(keys)
        model_settings: dict[str, object] = {}
        for name in ("rollout_id", "temperature"):
            if rollout.kwargs.get(name) is not None:
                model_settings[name] = rollout.kwargs[name]
        lm = asker.lm.copy(**model_settings)
        settings = replace(asker.settings, sampling=Sampling())
        return replace(asker, lm=lm, settings=settings, first_draw=first_draw)

    def _record(
        self,
        case: Case,
        verdict: Verdict,
        samples: Sequence[tuple[Mapping[str, object], Steps]],
        candidate: Candidate | None,
    ) -> _Run:
        """Enter a candidate's verdict on the board; return the run, with the steps of a sample that agrees with it.

        An optimizer may turn these steps into demonstrations.
        """
        if verdict.status == "failed":
            return _Run(outcome=None, answer={}, error=verdict.error)
        for _, steps in samples:
            for _, inputs_of_step, _ in steps:
                self._case_of_inputs.setdefault(_input_key(inputs_of_step), case)
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

    def _read_prompt(self, program: Judging) -> PromptState:
        """Return a student's prompt: only declared fields, and without text that reads as structure of a prompt."""
        state = PromptState.of(program.program)
        for name, predictor in program.program.named_predictors():
            prompt = state.predictors[name]
            start_instruction = self.start.state.predictors[name].instructions
            instruction = prompt.instructions or start_instruction
            if instruction != start_instruction:
                instruction = defuse(instruction)
            demos: list[Demo] = []
            for demo in prompt.demos:
                gold_demo = self._demos_of_example.get(_input_key(demo), {name: demo}).get(name)
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
                # The case is found by the predictor's own inputs, else by those of the whole program.
                for names in (predictor.signature.input_fields, self.job.judge.input_fields):
                    case = self._case_of_inputs.get(
                        _input_key({key: demo[key] for key in names if key in demo})
                    )
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
    """Return a text that is equal for equal inputs."""
    return json.dumps(dict(inputs), sort_keys=True, ensure_ascii=False, default=str)
