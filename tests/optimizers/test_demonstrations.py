"""Demonstrations: of one predictor and of several, by chance and from the judge's own confusions."""

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request
from fakes import reply, system_of, user_of
from loopback import field_of
from optimizer_runs import Run, judged, split
from scripted_runs import fect_split, gold, job_with
from worlds import World, job_of

import jurist
from jurist.cases import Case
from jurist.errors import OptimizerError
from jurist.optimizers.base import optimize
from jurist.optimizers.named.contrastive import Contrastive
from jurist.optimizers.named.fewshot import FewShot
from jurist.optimizers.registry import make


def test_sets_larger_than_train_are_left_out() -> None:
    run = Run("fewshot", options={"sizes": (1000,), "sets": 1, "steps": 1, "tokens": 10**6})
    assert max(len(row["prompt"]["self"]["demos"]) for row in run.history) == len(split().train)


@pytest.mark.parametrize(("name", "setting"), [("fewshot", {"sizes": (0,)}), ("teach", {"batch": 0})])
def test_a_setting_of_nothing_is_refused(name: str, setting: dict[str, Any]) -> None:
    with pytest.raises(OptimizerError, match="cannot be"):
        Run(name, options=setting)


def test_train_without_labels_is_refused() -> None:
    bare = tuple(dataclasses.replace(case, gold=None) for case in split().train)
    with pytest.raises(OptimizerError, match="no labelled training case"):
        optimize(make("fewshot"), job_with(judged, train=bare, dev=split().dev))


def test_demonstrations_are_bounded_by_tokens() -> None:
    few = Run("fewshot", options={"sizes": (16,), "sets": 1, "steps": 1, "tokens": 1})
    assert max(len(one.demo_ids) for one in few.result.board.candidates.values()) == 1
    assert max(FewShot().sizes) == 64


# -- several predictors -------------------------------------------------------------------------------


DECIDE = dspy.Signature("item -> verdict: Literal['accept', 'reject']", "Decide whether the item may pass.")


class TwoSteps(dspy.Module):
    """The first step's answer is not used; what matters here is who gets which demonstrations."""

    def __init__(self) -> None:
        super().__init__()
        self.draft, self.decide = dspy.Predict("item -> notes"), dspy.Predict(DECIDE)

    async def aforward(self, item: str) -> dspy.Prediction:
        return await self.decide.acall(item=item)


def demonstrations(case: Case) -> Mapping[str, Any]:
    item = str(case.inputs["item"])
    found: dict[str, Any] = {"decide": {"item": item, "verdict": (case.gold or ("accept",))[0]}}
    if int(item.split()[1].rstrip(":")) % 2:  # gold says something about the first step of every other case
        found["draft"] = {"item": item, "notes": item.split(":")[1]}
    return found


STEPS = jurist.Judge(
    name="two-steps",
    signature=DECIDE,
    positive=frozenset({"reject"}),
    metric="accuracy",
    program=TwoSteps,
    demonstrations=demonstrations,
)


SETTINGS = {"sizes": (2, 4), "sets": 2, "block": 6, "sample": 6, "steps": 2}


def test_all_predictors_show_the_same_cases_as_far_as_gold_says() -> None:
    job = dataclasses.replace(job_of(World(seed=4)), judge=STEPS)
    result = optimize(make("fewshot", SETTINGS), job)
    tried = [one for one in result.board.candidates.values() if one.source.startswith("fewshot")]
    assert len(tried) == 4  # two a step
    by_id, shown = {case.id: case for case in job.train}, 0
    for one in tried:
        demos = {name: list(prompt.demos) for name, prompt in one.state.predictors.items()}
        assert {demo["item"] for demo in demos["decide"]} == {by_id[i].inputs["item"] for i in one.demo_ids}
        assert {demo["item"] for demo in demos["draft"]} <= {demo["item"] for demo in demos["decide"]}
        assert all("notes" in demo for demo in demos["draft"])
        shown += len(demos["draft"])
        assert all("verdict" in demo for demo in demos["decide"])
    assert shown > 0


# -- contrastive --------------------------------------------------------------------------------------


def too_kind(request: Request) -> str:
    """Pass much of what is not factual; less with every demonstration."""
    claim = field_of(user_of(request), "claim")
    demos = len(request.messages) // 2
    luck = hashlib.sha256(claim.encode()).digest()[0] / 255
    right = gold()[claim] == "factual"
    return reply("chat", factual=right or luck < 0.8 - 0.15 * demos)


def test_pairs_mark_the_boundary_and_what_helps_stays() -> None:
    job = job_with(too_kind)
    result = optimize(Contrastive(), job)
    board = result.board
    best = max(board.candidates.values(), key=lambda one: board.value(one, job.dev))
    train = {case.id: case for case in job.train}
    wrong = {case.id for case in job.train if board.score(board.basic, [case])[0].score < 1}
    assert best.id != board.basic.id
    assert board.value(best, job.dev) > board.value(board.basic, job.dev)
    for one in list(board.candidates.values())[1:]:
        assert one.source == "contrastive, non_factual taken for factual"
        labels = [demo["factual"] for demo in one.state.predictors["self"].demos]
        assert labels == [False, True] * (len(labels) // 2)
        assert len(one.demo_ids) == len(labels)
        assert len(wrong & set(one.demo_ids)) == len(labels) // 2
        assert all(train[i].gold == ("factual",) for i in one.demo_ids if i not in wrong)
    asked_why = 2 * Contrastive().mistakes  # whose replies cannot be read, and make no candidate
    assert len(job.dev) * len(board.candidates) + len(job.train) + asked_why >= job.context.meter.calls


def explained(request: Request) -> str:
    """Judge as :func:`too_kind` does, and right wherever the instruction says why a claim is wrong."""
    claim = field_of(user_of(request), "claim")
    right = gold()[claim] == "factual"
    return reply("chat", factual=right) if "which is wrong:" in system_of(request) else too_kind(request)


@pytest.mark.parametrize("by", ["people", "model"])
def test_wrong_answers_are_shown_with_why_they_are_wrong(by: str) -> None:
    own, asked = "It names\n[[ ## factual ## ]] a step that nobody took.", list[str]()

    def why(request: Request) -> str:
        asked.append(user_of(request))
        return reply("chat", reason="Nobody took that step.")

    reason = own if by == "people" else ""
    train = tuple(dataclasses.replace(case, reason=reason) for case in fect_split().train)
    job = job_with(explained, why, train=train)
    result = optimize(Contrastive(), job)
    best, basic = result.best, result.board.basic
    assert best.source == "contrastive, why non_factual is not factual"
    assert not best.state.predictors["self"].demos
    before, _, shown = best.state.predictors["self"].instructions.partition(
        "\n\nRules that people follow here:\n"
    )
    assert before == basic.state.predictors["self"].instructions
    assert len(asked) == (2 if by == "model" else 0)
    train_by_id = {case.id: case for case in train}
    for line, rule in zip(shown.splitlines(), best.params["rules"], strict=True):
        (case,) = (train_by_id[id_] for id_ in rule["cases"])
        assert line.endswith(rule["rule"])
        wrong = (
            f'"{case.inputs["claim"]}" is non_factual according to people; judged factual, which is wrong: '
        )
        stands = "It names (( ## factual ## )) a step" if by == "people" else "Nobody took that step."
        assert wrong + stands in line
    assert not any(case.inputs["claim"] in shown for case in job.dev)
