"""Demonstrations of a prompt: what a training case gives, sets of them, and rows that each call chooses among."""

from collections.abc import Iterable, Sequence

import dspy

from ..cases import Case
from ..errors import OptimizerError
from ..programs.judge import Judge
from ..programs.remembering import Remembered
from ..programs.state import Demo, PromptState
from .base import Job


def list_demonstrable_cases(job: Job) -> list[Case]:
    """Return the training cases that can be demonstrations."""
    if job.decides:
        raise OptimizerError(
            "a decision model is shown no demonstrations", hint="leave out --optimizer, or use threshold"
        )
    if not job.shows_demonstrations:
        raise OptimizerError(
            f"gold of {job.judge.name} makes no demonstrations: what passes is not known before it is written",
            hint="use opro, or bootstrap, which shows what passed",
        )
    return job.labelled_train()


def add_remembered_rows(
    judge: Judge,
    cases: Sequence[Case],
    state: PromptState,
    count: int,
    tokens: int,
    embedder: str | None = None,
) -> PromptState:
    """Return a prompt whose predictors remember the labelled cases, and show the most alike with each call.

    Args:
        count: the most rows that a call shows.
        tokens: the most tokens that these have together.
        embedder: the model by whose vectors rows are compared; without one their words are.
    """
    demos_by_case = {case.id: judge.demos(case) for case in cases}
    for name, predictor in judge.basic().named_predictors():
        rows: dict[str, Demo] = {}
        for case_id, demos in demos_by_case.items():
            if name in demos:
                rows[case_id] = demos[name]
        inputs = tuple(predictor.signature.input_fields)
        judged = tuple(field for field in judge.answer.unit_fields if field in inputs)
        if rows and type(predictor) is dspy.Predict:  # another class may ask in a way of its own
            remembered = Remembered(
                rows=rows,
                inputs=inputs,
                fields=judged or inputs,
                shown=count,
                tokens=tokens,
                embedder=embedder or "",
            )
            state = state.with_demos(name, (), remembered)
    return state


def demonstrate_cases(judge: Judge, state: PromptState, cases: Sequence[Case]) -> PromptState:
    """Return a prompt whose predictors have these cases as demonstrations, in this order."""
    demos = collect_demos(judge, state.predictors, cases)
    for name in state.predictors:
        state = state.with_demos(name, demos.get(name, ()))
    return state


def ids_of(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the ids of cases, each once, sorted."""
    return tuple(sorted({case.id for case in cases}))


def collect_demos(judge: Judge, names: Iterable[str], cases: Sequence[Case]) -> dict[str, tuple[Demo, ...]]:
    """Return predictor -> demonstrations from the gold of ``cases``, in their order; only predictors that get any."""
    demos_by_name: dict[str, list[Demo]] = {name: [] for name in names}
    for case in cases:
        for name, demo in judge.demos(case).items():
            if name in demos_by_name:
                demos_by_name[name].append(demo)
    return {name: tuple(demos) for name, demos in demos_by_name.items() if demos}
