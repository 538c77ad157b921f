"""Demonstrations of programs with several predictors, jointly and in turn; ``demos`` is ``fewshot``."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import dspy
import pytest
from worlds import World, board_of, job_of

import jurist
from jurist.cases import Case
from jurist.errors import OptimizerError
from jurist.optimizers.base import optimize
from jurist.optimizers.registry import OPTIMIZERS, make


class Draft(dspy.Signature):
    """Say what the item names."""

    item: str = dspy.InputField()
    notes: str = dspy.OutputField()


class Decide(dspy.Signature):
    """Decide whether the item may pass."""

    item: str = dspy.InputField()
    verdict: Literal["accept", "reject"] = dspy.OutputField()


class TwoSteps(dspy.Module):
    """The first step's answer is not used; what matters here is who gets which demonstrations."""

    def __init__(self) -> None:
        super().__init__()
        self.draft, self.decide = dspy.Predict(Draft), dspy.Predict(Decide)

    async def aforward(self, item: str) -> dspy.Prediction:
        return await self.decide.acall(item=item)


def demonstrations(case: Case) -> Mapping[str, Any]:
    item = str(case.inputs["item"])
    found: dict[str, Any] = {"decide": {"item": item, "verdict": (case.gold or ("accept",))[0]}}
    if int(item.split()[1].rstrip(":")) % 2:  # gold says something about the first step of every other case
        found["draft"] = {"item": item, "notes": item.split(":")[1]}
    return found


JUDGE = jurist.Judge(
    name="two-steps",
    signature=Decide,
    positive=frozenset({"reject"}),
    metric="accuracy",
    program=TwoSteps,
    demonstrations=demonstrations,
)
SETTINGS = {"sizes": (2, 4), "sets": 2, "block": 6, "sample": 6, "steps": 2}


def test_jointly_all_predictors_show_the_same_cases_as_far_as_gold_says() -> None:
    job = dataclasses.replace(job_of(World(seed=4)), judge=JUDGE)
    result = optimize(make("demos", SETTINGS), job)
    tried = [one for one in result.board.candidates.values() if one.source.startswith("demos")]
    assert len(tried) == 4  # two a step
    by_id, shown = {case.id: case for case in job.train}, 0
    for one in tried:
        assert one.params["predictors"] == "jointly"
        demos = {name: list(prompt.demos) for name, prompt in one.state.predictors.items()}
        assert {demo["item"] for demo in demos["decide"]} == {by_id[i].inputs["item"] for i in one.demo_ids}
        assert {demo["item"] for demo in demos["draft"]} <= {demo["item"] for demo in demos["decide"]}
        assert all("notes" in demo for demo in demos["draft"])
        shown += len(demos["draft"])
        assert all("verdict" in demo for demo in demos["decide"])
    assert shown > 0


def test_in_turn_each_predictor_is_changed_alone_and_the_record_says_which() -> None:
    job = dataclasses.replace(job_of(World(seed=4)), judge=JUDGE)
    result = optimize(make("fewshot", {**SETTINGS, "predictors": "in turn"}), job)
    board = result.board
    changed = {}
    for one in board.candidates.values():
        if one.parent is None:
            continue
        before = board.candidates[one.parent].state.predictors
        different = [name for name, prompt in one.state.predictors.items() if prompt != before[name]]
        assert different == one.params["predictors"]
        changed[one.id] = different[0]
        assert f"of {different[0]}" in one.source
        assert set(board.candidates[one.parent].demo_ids) <= set(one.demo_ids)
    assert set(changed.values()) == {"draft", "decide"}


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(OptimizerError, match=r"demos\.predictors cannot be 'both'"):
        make("demos", {"predictors": "both"})


def test_demos_is_fewshot_by_another_name() -> None:
    assert {"demos", "fewshot", "optuna"} <= set(OPTIMIZERS)
    one, two = (optimize(make(name, SETTINGS), job_of(World(seed=6))) for name in ("demos", "fewshot"))
    assert list(one.board.candidates) == list(two.board.candidates)
    assert {c.source.split(",")[0] for c in one.board.candidates.values()} == {"basic", "demos"}


def test_the_joint_search_combines_the_instructions_of_all_predictors() -> None:
    job = dataclasses.replace(job_of(World(seed=4)), judge=JUDGE)
    board = board_of(job)
    board.score(board.basic, job.dev)
    for name in ("draft", "decide"):
        state = board.basic_state().with_instruction(name, f"Another instruction to {name}.")
        board.score(board.add(state, parent=board.basic, source="given"), job.dev)
    settings = {"trials": 12, "sizes": (6,), "sets": 3, "orders": 1, "sample": 6, "hard": 0, "startup": 12}
    make("optuna", settings).run(job, board, board.basic)
    tried = [one for one in board.candidates.values() if one.source.startswith("optuna")]
    assert {"instruction of draft", "instruction of decide"} <= set(tried[0].params)
    pairs = {tuple(prompt.instructions[:7] for prompt in one.state.predictors.values()) for one in tried}
    assert ("Another", "Another") in pairs
    assert any(one.state.predictors["draft"].demos for one in tried)
