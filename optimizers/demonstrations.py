"""Demonstrations of a prompt: what a training case gives, sets of them, and rows that each call chooses among."""

from collections.abc import Iterable, Mapping, Sequence

import dspy

from ..cases import Case
from ..errors import OptimizerError
from ..programs.judge import Judge
from ..programs.remembering import Remembered
from ..programs.state import Demo, PromptState
from .base import Job


def list_demonstrable_cases(job: Job) -> list[Case]:
    """Return the training cases that can be demonstrations.

    Raises:
        OptimizerError: the model takes no demonstrations, or gold makes none.
    """
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
    demos_of_case: dict[str, Mapping[str, Demo]] = {}
    for case in cases:
        demos_of_case[case.id] = judge.demos(case)
    for name, predictor in judge.basic().named_predictors():
        if type(predictor) is not dspy.Predict:  # another class may ask in a way of its own
            continue
        rows: dict[str, Demo] = {}
        for case_id, demos in demos_of_case.items():
            if name in demos:
                rows[case_id] = demos[name]
        if not rows:
            continue
        remembered = Remembered(
            rows=rows,
            inputs=tuple(predictor.signature.input_fields),
            fields=_compared_fields(judge, predictor),
            shown=count,
            tokens=tokens,
            embedder=embedder or "",
        )
        state = state.with_demos(name, (), remembered)
    return state


def _compared_fields(judge: Judge, predictor: dspy.Predict) -> tuple[str, ...]:
    """Return the inputs of a predictor by which rows are compared: the judged ones, or all where it has none."""
    inputs = predictor.signature.input_fields
    judged_fields: list[str] = []
    for field in judge.answer.unit_fields:
        if field in inputs:
            judged_fields.append(field)
    return tuple(judged_fields or inputs)


def demonstrate_cases(judge: Judge, state: PromptState, cases: Sequence[Case]) -> PromptState:
    """Return a prompt whose predictors have these cases as demonstrations, in this order."""
    demos_by_name = collect_demos(judge, state.predictors, cases)
    for name in state.predictors:
        state = state.with_demos(name, demos_by_name.get(name, ()))
    return state


def ids_of(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the ids of cases, each once, sorted."""
    ids: set[str] = set()
    for case in cases:
        ids.add(case.id)
    return tuple(sorted(ids))


def collect_demos(judge: Judge, names: Iterable[str], cases: Sequence[Case]) -> dict[str, tuple[Demo, ...]]:
    """Return predictor -> demonstrations from the gold of ``cases``, in their order; only predictors that get any."""
    demos_of_case: list[Mapping[str, Demo]] = []
    for case in cases:
        demos_of_case.append(judge.demos(case))
    demos_by_name: dict[str, tuple[Demo, ...]] = {}
    for name in names:
        demos_of_name: list[Demo] = []
        for demos in demos_of_case:
            if name in demos:
                demos_of_name.append(demos[name])
        if demos_of_name:
            demos_by_name[name] = tuple(demos_of_name)
    return demos_by_name
