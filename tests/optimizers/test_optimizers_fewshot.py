"""Few-shot demonstrations, chains of optimizers, and their settings."""

import dataclasses
import re
from typing import Any

import pytest
from fakes import Scripted, context_with, lm_of, reply
from optimizer_runs import Run, judged, judged_without_rule, split, whole
from scripted_runs import FECT

from jurist.errors import OptimizerError
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.registry import Chain, make


@pytest.mark.parametrize("name", ["fewshot", "opro+fewshot"])
def test_demonstrations_come_from_train_with_their_gold_labels(name: str) -> None:
    run = whole(name)
    train = {case.id: FECT.demo(case) for case in split().train}
    sizes = set()
    for candidate in run.result.board.candidates.values():
        demos = candidate.state.predictors["self"].demos
        sizes.add(len(demos))
        assert all(dict(demo) in train.values() for demo in demos)
        assert sorted(train[i]["claim"] for i in candidate.demo_ids) == sorted(
            demo["claim"] for demo in demos
        )
        labels = [demo["factual"] for demo in demos]
        assert not demos or 0 < sum(labels) < len(labels)
    assert sizes == {0, 2, 4}
    test = [case.inputs["claim"] for case in split().test]
    for request in run.judge.requests:
        text = "".join(message.text or "" for message in request.messages)
        assert not any(claim in text for claim in test)


def test_sets_larger_than_train_are_left_out() -> None:
    run = Run("fewshot", options={"sizes": (1000,), "sets": 1, "steps": 1, "tokens": 10**6})
    assert max(len(row["prompt"]["self"]["demos"]) for row in run.history) == len(split().train)


def test_train_without_labels_is_refused() -> None:
    bare = tuple(dataclasses.replace(case, gold=None) for case in split().train)
    context = context_with()
    lm = lm_of(Scripted(judged), context)
    job = Job(judge=FECT, train=bare, dev=split().dev, judge_lm=lm, proposer_lm=lm, context=context)
    with pytest.raises(OptimizerError, match="no labelled training case"):
        optimize(make("fewshot"), job)


# -- chains and settings ------------------------------------------------------------------------------


def test_the_second_part_starts_from_the_best_of_the_first() -> None:
    good = "All of it must be said. quality=99"
    run = Run(
        "opro+fewshot", judged=judged_without_rule, proposed=lambda request: reply("chat", instruction=good)
    )
    few = [row for row in run.history if row["prompt"]["self"]["demos"]]
    assert few
    assert {row["prompt"]["self"]["instructions"] for row in few} == {good}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("nosuch", {}, "no optimizer is called 'nosuch'"),
        ("", {}, "no optimizer is called ''"),
        ("opro+", {}, "no optimizer is called ''"),
        ("opro", {"stepz": 3}, "no setting stepz"),
        ("opro", {"sizes": "4"}, "no setting sizes"),
        ("opro", {"name": "x"}, "no setting name"),
        ("opro+fewshot", {"steps": 1, "x": 1, "y": 2}, "no setting x, y"),
        ("opro", {"steps": "many"}, "opro.steps cannot be 'many'"),
        ("opro", {"steps": None}, "opro.steps cannot be None"),
        ("opro", {"steps": "-1"}, "opro.steps cannot be '-1'"),
        ("opro", {"steps": float("inf")}, "opro.steps cannot be inf"),
        ("opro", {"temperature": "nan"}, "opro.temperature cannot be 'nan'"),
        ("fewshot", {"sizes": "4,x"}, "fewshot.sizes cannot be '4,x'"),
        ("fewshot", {"sizes": "4,-2"}, "fewshot.sizes cannot be '4,-2'"),
        ("fewshot", {"sizes": 4}, "fewshot.sizes cannot be 4"),
        ("race", {"arm": "history,magic"}, "race.arm cannot be 'magic'"),
    ],
)
def test_wrong_settings_are_refused(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptimizerError, match=re.escape(said)):
        make(name, options)


def test_settings_arrive_where_they_belong() -> None:
    chain = make("opro+fewshot", {"steps": "2", "sizes": "1,2", "temperature": "0.5"})
    assert isinstance(chain, Chain)
    assert chain.name == "opro+fewshot"
    assert [getattr(chain.parts[0], name) for name in ("steps", "temperature")] == [2, 0.5]
    assert getattr(chain.parts[1], "sizes") == (1, 2)  # noqa: B009
