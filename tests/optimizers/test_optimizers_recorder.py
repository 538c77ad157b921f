"""What DSPy's optimizers are told of a run: the very answer that was scored, or none."""

import re
from collections import Counter
from functools import cache
from typing import Any

import dspy
import dspy_runs as small
import pytest
from dspy.lm15 import Request
from fakes import Scripted, context_with, lm_of, reply, system_of, user_of
from scripted_runs import FECT, ScriptedRun, hashed

from jurist.cases import Case
from jurist.engines.meter import Budget
from jurist.gold.goldset import Gold
from jurist.optimizers.base import Job
from jurist.optimizers.board import Board
from jurist.optimizers.objective import Objective
from jurist.optimizers.recorder import Recorder
from jurist.optimizers.registry import make
from jurist.optimizers.setting import Setting
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.votes import Sampling


@cache
def responses() -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Return train and dev: whole responses with three labelled sentences or more."""
    split = Gold.load("cognibench-mini", COGNIBENCH).split(0)
    whole = [
        case for case in (*split.train, *split.dev) if case.gold and all(case.gold) and len(case.gold) > 2
    ]
    return tuple(whole[:8]), tuple(whole[8:12])


def case_of(request: Request) -> Case:
    """Return the response that is asked about, whole or in part."""
    asked = user_of(request).rpartition("[[ ## sentences ## ]]")[2]
    every = [case for part in responses() for case in part]
    return max(every, key=lambda case: sum(sentence in asked for sentence in case.inputs["sentences"]))


def other(label: str | None) -> str:
    return "invented" if label != "invented" else "faithful"


def shown(request: Request) -> list[int]:
    """Return the numbers of the sentences that are asked about; those of text may begin with a number, too."""
    asked = user_of(request).rpartition("[[ ## sentences ## ]]")[2]
    most = len(case_of(request).gold or ())
    return [number for found in re.findall(r"^(\d+)\. ", asked, re.M) if (number := int(found)) <= most]


def told(request: Request, wrong: Any, numbers: list[int] | None = None) -> str:
    """Answer for the sentences that are shown; ``wrong`` says of which number the label is not gold's."""
    gold = case_of(request).gold or ()
    labels = [
        {"n": n, "label": other(gold[n - 1]) if wrong(n) else gold[n - 1]}
        for n in (shown(request) if numbers is None else numbers)
    ]
    return reply("chat", labels=labels)


def each_sample_wrong_elsewhere(request: Request) -> str:
    return told(request, lambda n: (n - 1) % 3 == (request.config.seed or 0) % 3)


def first_of_all_only(request: Request) -> str:
    """Leave out all sentences but the first, unless they are asked for again."""
    numbers = shown(request)
    whole = len(numbers) == len(case_of(request).gold or ())
    return told(request, lambda n: False, numbers[:1] if whole else numbers)


def unsteady(request: Request) -> str:
    drawn = hashed(user_of(request) + str(request.config.seed) + str(request.config.temperature))
    return told(request, lambda n: not (drawn >> n) & 1)


def tagged(name: str, options: Any, judged: Any, **job: Any) -> ScriptedRun:
    train, dev = responses()
    return ScriptedRun(
        name,
        options,
        judged=judged,
        proposed=small.proposed,
        budget=Budget(calls=400),
        judge=COGNIBENCH,
        train=train,
        dev=dev,
        **job,
    )


@pytest.mark.parametrize("name", ["bootstrap", "infer-rules"])
@pytest.mark.parametrize(
    ("judged", "samples"), [(each_sample_wrong_elsewhere, 3), (first_of_all_only, 1), (unsteady, 1)]
)
def test_a_demonstration_is_the_answer_that_was_scored(name: str, judged: Any, samples: int) -> None:
    run = tagged(
        name, {"candidates": 2, "labels": 0, "accept": 1.0}, judged, sampling=Sampling(samples=samples)
    )
    gold = {
        COGNIBENCH.values(case.inputs)["sentences"]: [
            {"n": n, "label": label} for n, label in enumerate(case.gold or (), 1)
        ]
        for case in responses()[0]
    }
    scores = [row["dev"]["value"] for row in run.history if row["dev"]["value"] is not None]
    assert scores  # the search came to its end
    for candidate in run.board.candidates.values():
        for demo in candidate.state.predictors["self"].demos:
            assert demo["labels"] == gold[demo["sentences"]]


def test_right_answers_of_one_reply_still_become_demonstrations() -> None:
    run = tagged(
        "bootstrap", {"candidates": 1, "labels": 0, "accept": 1.0}, lambda r: told(r, lambda n: False)
    )
    assert any(one.state.predictors["self"].demos for one in run.board.candidates.values())


@pytest.mark.parametrize("name", ["simba", "gepa"])
def test_a_proposer_sees_answers_and_not_the_names_of_classes(name: str) -> None:
    run = tagged(name, None, unsteady)
    texts = [user_of(request) for request in run.proposer.requests]
    assert any('"label"' in text or "'label'" in text for text in texts)
    assert not any("non-serializable" in text or "Tag(" in text for text in texts)


@pytest.mark.parametrize(
    ("name", "options"),
    [("mipro", {"demos": 0}), ("bootstrap", {"labels": 0}), ("gepa", None), ("simba", None)],
)
def test_no_question_is_paid_twice(name: str, options: Any) -> None:
    run = small.Run(name, calls=200, options=options)
    asked = Counter(
        (
            *(system_of(request), request.config.temperature, request.config.seed),
            *(message.text for message in request.messages),
        )
        for request in run.judge.requests
    )
    assert set(asked.values()) == {1}


class TestSetting:
    """A chain goes on from a start that is asked under a setting of its own."""

    def start(self, own: Scripted, setting: Setting, **job: Any) -> tuple[Job, Board]:
        context = context_with(Budget(calls=400))
        self.other = Scripted(small.judged)
        elsewhere = lm_of(self.other, context)
        made = Job(
            judge=FECT,
            train=small.split().train,
            dev=small.split().dev,
            judge_lm=lm_of(own, context),
            proposer_lm=lm_of(Scripted(small.proposed), context, "proposer"),
            context=context,
            connected=lambda setting: elsewhere,
            **job,
        )
        board = Board(FECT, Objective(judge=FECT), made.asker, context)
        basic = board.add(board.basic_state(), parent=None, source="basic")
        board.score(basic, made.dev)
        board.add(board.basic_state(), parent=basic, source="optuna", setting=setting)
        return made, board

    def test_rollouts_go_to_its_model(self) -> None:
        own = Scripted(small.judged)
        job, board = self.start(own, Setting(model="other/model"))
        start = list(board.candidates.values())[-1]
        before = len(own.requests)
        make("simba", {"steps": 1}).run(job, board, start)
        assert len(own.requests) == before
        assert {request.config.temperature for request in self.other.requests} == {None, 1.0}

    def test_its_threshold_decides_what_is_right(self) -> None:
        # One of three samples says non_factual: enough for the setting, too few for a majority.
        own = Scripted(lambda request: reply("chat", factual=(request.config.seed or 0) != 0))
        job, board = self.start(own, Setting(threshold=1), sampling=Sampling(samples=3))
        case = next(one for one in job.train if (one.gold or ("",))[0] in FECT.answer.positive)
        start = list(board.candidates.values())[-1]
        recorder = Recorder(job=job, board=board, start=start, source="x")
        with dspy.context(lm=job.judge_lm, trace=[]):
            (example,) = recorder.examples([case])
            for program in (recorder.teacher(), recorder.student()):
                prediction = program(**example.inputs())
                assert (recorder.metric(example, prediction), prediction["factual"]) == (1.0, False)
