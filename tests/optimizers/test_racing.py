"""Racing: orders, calls that go to what may win, the arms that propose; and what is copied."""

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimizer_runs import Run, split
from worlds import World, board_of, job_of, simulator

from jurist.cases import Case
from jurist.optimizers.base import Job
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.drawing import order_by_strata
from jurist.optimizers.proposing import CopyGuard, Writing
from jurist.optimizers.raced import Track, Turns
from jurist.programs.answers.labels import OneLabel

ANSWER = OneLabel(values={name: name for name in ("bad", "good", "ugly")}, positive=frozenset({"bad"}))


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["bad", "good", "ugly"]), max_size=60), st.integers(0, 99))
def test_every_prefix_of_an_order_is_stratified(labels: list[str], seed: int) -> None:
    cases = [Case(inputs={"x": str(n)}, gold=(label,)) for n, label in enumerate(labels)]
    order = order_by_strata(cases, ANSWER, random.Random(seed))
    assert sorted(case.id for case in order) == sorted(case.id for case in cases)
    whole = Counter(case.gold for case in cases)
    for size in range(1, len(order) + 1):
        part = Counter(case.gold for case in order[:size])
        for label, count in whole.items():
            assert abs(part[label] - size * count / len(cases)) <= len(whole)
    assert order == order_by_strata(cases, ANSWER, random.Random(seed))


def track_of(job: Job) -> Track:
    board = board_of(job)
    order = order_by_strata([*job.train, *job.dev], job.judge.answer, random.Random(0))
    track = Track(job=job, board=board, start=board.basic, order=order, block=6)
    track.run(board.basic)
    return track


def child(board: Board, text: str) -> Candidate:
    return board.add(board.basic.state.with_instruction("self", text), parent=board.basic, source="test")


def racing(texts: int = 6) -> tuple[World, Track]:
    world = simulator.World(seed=4)
    track = track_of(job_of(world))
    names = [name for name, strength in world.strengths.items() if strength > 0]
    for number in range(texts):
        track.run(child(track.board, " ".join(f"Check the {name}." for name in names[: number + 2])))
    return world, track


def test_most_calls_go_to_the_best_and_all_meet_the_cases_in_one_order() -> None:
    world, track = racing()
    board, every = track.board, list(track.board.candidates.values())
    assert [len(board.outcomes(one)) for one in every] == [6] * 7
    early, raw = track.standings(), [board.value(one, track.order) for one in every]
    means = [early[one.id].mean for one in every]
    assert max(means) - min(means) < max(raw) - min(raw)  # a clean record of a few cases says little
    track.advance(40)
    ran = [len(board.outcomes(one)) for one in every]
    assert 40 * 6 < sum(ran) <= 47 * 6
    for one, count in zip(every, ran, strict=True):
        assert board.outcomes(one).keys() == {case.id for case in track.order[:count]}
    truth = [world.accuracy(one.state.predictors["self"].instructions) for one in every]
    good = [count for count, value in zip(ran, truth, strict=True) if value > max(truth) - 0.09]
    assert sum(good) > 0.6 * sum(ran)
    assert ran[0] < 0.15 * sum(ran)  # the basic prompt
    assert world.accuracy(track.leader.state.predictors["self"].instructions) > max(truth) - 0.05
    best = every[int(np.argmax(ran))].id
    assert track.standings()[best].error < early[best].error / 2


# -- arms ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    name: str
    ideas: int = 99

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        return [child(track.board, f"{self.name} {turn}")] if turn <= self.ideas else []


def test_an_arm_that_finds_the_leader_goes_on_and_none_is_given_up() -> None:
    track = track_of(job_of(World(seed=4)))
    turns, took = Turns([Named("bad"), Named("empty", 0), Named("good")]), list[str]()
    for number in range(12):
        made = turns.propose(track, late=False)
        took += [one.state.predictors["self"].instructions.split()[0] for one in made]
        turns.note(made[0] if took[-1] == "good" and number < 7 else track.board.basic)
    assert took == ["bad"] * 2 + ["good"] * 7 + ["bad"] * 2 + ["good"]


def test_an_arm_without_a_turn_has_it_beside_another_one_first_or_late_in_the_search() -> None:
    track = track_of(job_of(World(seed=4)))
    turns = Turns([Named("usual"), Named("nearest"), Named("other")])
    made = [turns.propose(track, late=late, first=("other",)) for late in (False, True, True)]
    names = [[one.state.predictors["self"].instructions.split()[0] for one in some] for some in made]
    # it is met before, as the budget may end
    assert names == [["other", "usual"], ["nearest", "usual"], ["usual"]]
    assert turns.untried == []


def test_every_arm_takes_part_however_few_the_steps() -> None:
    options = {"steps": 5, "candidates": 2, "sample": 20, "sizes": (2, 4), "block": 4}
    run = Run("race", options=options)
    tried = list(run.result.board.candidates.values())
    assert {one.source.split(",")[0] for one in tried} >= {"basic", "race", "nearest"}
    shown = Run("race", options={**options, "arm": "demonstrations"})
    tried += shown.result.board.candidates.values()
    assert {one.source.split(",")[0] for one in tried} >= {"fewshot"}
    train = {case.id for case in split().train}
    assert all(set(one.demo_ids) <= train for one in tried)


# -- copying ------------------------------------------------------------------------------------------


ENGLISH = "The customer called on Monday because the parcel with the blue kettle had not arrived at all."
CHINESE = "顾客星期一打电话来说那个装着蓝色水壶的包裹到现在还没有送到他家里所以他很生气"
TRAIN = [Case(inputs={"text": ENGLISH}), Case(inputs={"parts": [CHINESE]}), Case(inputs={"text": "short"})]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (ENGLISH, 1.0, 1.0),
        (ENGLISH.upper().replace(" ", "\n"), 1.0, 1.0),
        (CHINESE, 1.0, 1.0),
        ("请判断" + CHINESE[3:30], 0.5, 0.99),
        (f"Decide with the greatest care whether the claim is supported by it. {ENGLISH}", 0.3, 0.6),
        ("Decide whether the claim is supported by the conversation, and be strict about numbers.", 0.0, 0.0),
        ("请判断该声明是否有证据支持，对数字和名称要严格，没有证据的一律算作不实。", 0.0, 0.0),
        ("The customer called on Monday.", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_the_share_that_is_copied(text: str, low: float, high: float) -> None:
    assert low <= CopyGuard(TRAIN).share(text) <= high


def test_what_the_task_says_itself_is_not_copied() -> None:
    assert CopyGuard(TRAIN, [ENGLISH]).share(ENGLISH) == 0.0
    policy = [Case(inputs={"policy": ENGLISH, "reply": str(n)}) for n in range(4)]
    assert CopyGuard(policy).share(ENGLISH) == 0.0


def test_copied_instructions_are_refused_or_reported() -> None:
    job = job_of(simulator.World(seed=2))
    board = board_of(job)
    said: list[str] = []
    long = "Say reject if it is about a very long and winding road that goes on"
    quoted = " ".join(f"It says {n} and then some more words." for n in range(30)) + " " + long
    train = (*job.train[:3], Case(inputs={"item": long}, gold=("reject",)))
    job = job_of(simulator.World(seed=2), train=train, sink=lambda event: said.append(event.text))
    track = Track(job=job, board=board, start=board.basic, order=(), block=1, step=1)
    texts = [{"self": text} for text in (long, quoted, "Be strict.")]
    fresh = track.write(Writing(name="test", longest=9999), board.basic, texts)
    assert [one.state.predictors["self"].instructions for one in fresh] == [quoted, "Be strict."]
    assert "copied from train" in fresh[0].source
    assert fresh[1].source == "test"
    assert said == ["step 1: an instruction refused, 100% of it is copied from train"]
