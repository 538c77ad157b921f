"""Any optimizer of DSPy: what the recorder makes of its runs."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from dspy.lm15 import Request
from fakes import reply, system_of, user_of
from optimizer_runs import Run, proposed
from scripted_runs import ScriptedRun, hashed

from jurist.cases import Case
from jurist.engines.meter import Budget
from jurist.evaluation.votes import Sampling
from jurist.gold.goldset import Gold
from jurist.programs.catalogue import find
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.settings import FOR_SEARCHES

Answers = Callable[[Request], Any]


# -- the record ------------------------------------------------------------------------------------------


@cache
def responses() -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Return train and dev: whole responses with three labelled sentences or more."""
    whole = Gold.load("cognibench-mini", COGNIBENCH).split(0)
    long = [
        case for case in (*whole.train, *whole.dev) if case.gold and all(case.gold) and len(case.gold) > 2
    ]
    return tuple(long[:8]), tuple(long[8:12])


def answer_about(request: Request, wrong: Callable[[int], Any], first_only: bool = False) -> str:
    """Answer for the sentences that are shown; ``wrong`` says of which number the label is not gold's."""
    asked = user_of(request).rpartition("[[ ## sentences ## ]]")[2]
    cases = [case for part in responses() for case in part]
    case = max(cases, key=lambda case: sum(sentence in asked for sentence in case.inputs["sentences"]))
    gold = case.gold or ()
    shown = [int(found) for found in re.findall(r"^(\d+)\. ", asked, re.M) if int(found) <= len(gold)]
    if first_only and len(shown) == len(gold):  # unless the others are asked for again
        shown = shown[:1]
    other = {label: "invented" if label != "invented" else "faithful" for label in gold}
    labels = [{"n": n, "label": other[gold[n - 1]] if wrong(n) else gold[n - 1]} for n in shown]
    return reply("chat", labels=labels)


def unsteady(request: Request) -> str:
    drawn = hashed(user_of(request) + str(request.config.seed) + str(request.config.temperature))
    return answer_about(request, lambda n: not (drawn >> n) & 1)


def tagged(name: str, options: Any, judged: Answers, **job: Any) -> ScriptedRun:
    train, dev = responses()
    parts = {"judge": COGNIBENCH, "train": train, "dev": dev, "proposed": proposed}
    return ScriptedRun(name, options, judged=judged, budget=Budget(calls=400), **parts, **job)


ACCEPTED = {"max_labeled_demos": 0, "metric_threshold": 1.0}


@pytest.mark.parametrize(
    ("answers", "samples", "some"),
    [
        (lambda r: answer_about(r, lambda n: (n - 1) % 3 == (r.config.seed or 0) % 3), 3, False),
        (lambda r: answer_about(r, lambda n: False, first_only=True), 1, False),
        (unsteady, 1, False),
        (lambda r: answer_about(r, lambda n: False), 1, True),
    ],
    ids=["each sample wrong elsewhere", "the rest asked for again", "unsteady", "right"],
)
@pytest.mark.parametrize("name", ["dspy:BootstrapFewShot", "infer-rules"])
def test_a_demonstration_is_the_answer_that_was_scored(
    name: str, answers: Answers, samples: int, some: bool
) -> None:
    options = {**ACCEPTED, **({"num_candidates": 1} if name == "infer-rules" else {})}
    settings = replace(FOR_SEARCHES, sampling=Sampling(samples=samples), concurrency=4)
    run = tagged(name, options, answers, settings=settings)
    gold = {
        COGNIBENCH.prompt_values(case.inputs)["sentences"]: [
            {"n": n, "label": label} for n, label in enumerate(case.gold or (), 1)
        ]
        for case in responses()[0]
    }
    demos = [demo for one in run.board.candidates.values() for demo in one.state.predictors["self"].demos]
    assert bool(demos) or not some
    assert all(demo["labels"] == gold[demo["sentences"]] for demo in demos)


@pytest.mark.parametrize(
    ("name", "options"), [("simba", {"max_steps": 2}), ("gepa", {"max_metric_calls": 60})]
)
def test_a_proposer_sees_answers_and_not_the_names_of_classes(name: str, options: dict[str, int]) -> None:
    texts = [user_of(request) for request in tagged(name, options, unsteady).proposer.requests]
    assert any('"label"' in text or "'label'" in text for text in texts)
    assert not any("non-serializable" in text or "Tag(" in text for text in texts)


@pytest.mark.parametrize("name", ["mipro", "bootstrap", "gepa", "simba", "copro"])
def test_no_question_is_paid_twice(name: str) -> None:
    options = {"max_labeled_demos": 0} if name == "bootstrap" else {}
    run = Run(name, options=options, budget=Budget(calls=200))
    asked = Counter(
        (
            *(system_of(request), request.config.temperature, request.config.seed),
            *(message.text for message in request.messages),
        )
        for request in run.judge.requests
    )
    assert set(asked.values()) == {1}


@pytest.mark.parametrize("name", ["tier", "cognibench-staged"])
def test_labelled_demonstrations_are_what_gold_says_of_each_predictor(name: str) -> None:
    judge = find(name)
    parts = Gold.load("cognibench-mini", judge).split(0)
    run = ScriptedRun("dspy:LabeledFewShot", {}, judged=lambda r: "?", proposed=[], judge=judge,
                      train=parts.train[:12], dev=parts.dev[:4])  # fmt: skip
    gold = [judge.demos(case) for case in run.job.train]
    (made,) = list(run.board.candidates.values())[1:]
    for predictor, prompt in made.state.predictors.items():
        assert prompt.demos
        assert all(any(demos.get(predictor) == dict(demo) for demos in gold) for demo in prompt.demos)
