"""Racing: orders, calls that go to what may win, the arms that propose; and what is copied."""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimizer_runs import Run, split
from worlds import World, board_of, job_of, simulator

from jurist.cases import Case
from jurist.evaluation.votes import Sampling
from jurist.optimizers.base import optimize
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.drawing import interleaved, stratified
from jurist.optimizers.proposing import CopyGuard, Writing
from jurist.optimizers.raced import Bandit, Track
from jurist.optimizers.racing import Race
from jurist.optimizers.registry import make
from jurist.optimizers.standing import Standing
from jurist.programs.answers.labels import OneLabel

ANSWER = OneLabel(values={name: name for name in ("bad", "good", "ugly")}, positive=frozenset({"bad"}))


def labelled(labels: list[str]) -> list[Case]:
    return [Case(inputs={"x": str(n)}, gold=(label,)) for n, label in enumerate(labels)]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["bad", "good", "ugly"]), max_size=60), st.integers(0, 99))
def test_every_prefix_of_an_order_is_stratified(labels: list[str], seed: int) -> None:
    cases = labelled(labels)
    order = stratified(cases, ANSWER, random.Random(seed))
    assert sorted(case.id for case in order) == sorted(case.id for case in cases)
    whole = Counter(case.gold for case in cases)
    for size in range(1, len(order) + 1):
        part = Counter(case.gold for case in order[:size])
        for label, count in whole.items():
            assert abs(part[label] - size * count / len(cases)) <= len(whole)
    assert order == stratified(cases, ANSWER, random.Random(seed))


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(0, 40))
def test_two_orders_are_interleaved_in_proportion(first: int, second: int) -> None:
    cases = labelled([str(number) for number in range(first + second)])
    order = interleaved(cases[:first], cases[first:])
    numbers = [int(case.inputs["x"]) for case in order]
    assert [number for number in numbers if number < first] == list(range(first))
    assert [number for number in numbers if number >= first] == list(range(first, first + second))
    for size in range(1, len(order) + 1):
        assert abs(sum(number < first for number in numbers[:size]) - size * first / len(order)) <= 1


def racing(seed: int = 4, texts: int = 6) -> tuple[World, Race]:
    world = simulator.World(seed=seed)
    job = job_of(world)
    board = board_of(job)
    order = interleaved(
        *(stratified(part, job.judge.answer, random.Random(0)) for part in (job.train, job.dev))
    )
    race = Race(board, order, block=6, reference=board.score(board.basic, job.dev), shrink=5.0)
    race.enter(board.basic)
    names = [name for name, strength in world.strengths.items() if strength > 0]
    for number in range(texts):
        text = " ".join(f"Check the {name}." for name in names[: number + 2])
        state = board.basic.state.with_instruction("self", text)
        race.enter(board.add(state, parent=board.basic, source="test"))
    return world, race


def test_most_calls_go_to_the_best() -> None:
    world, race = racing()
    assert [len(race.seen(one)) for one in arms(race)] == [6] * 7
    race.advance(40, 1.0)
    ran = [len(race.seen(one)) for one in arms(race)]
    assert sum(ran) == 47 * 6
    truth = [world.accuracy(one.state.predictors["self"].instructions) for one in arms(race)]
    best = int(np.argmax(truth))
    assert sum(
        count for count, value in zip(ran, truth, strict=True) if value > truth[best] - 0.09
    ) > 0.6 * sum(ran)
    assert ran[0] < 0.15 * sum(ran)  # the basic prompt
    assert world.accuracy(race.leader(1.0).state.predictors["self"].instructions) > truth[best] - 0.05


def arms(race: Race) -> list[Candidate]:
    return [race.board.candidates[found.id] for found in race.standings()]


def test_after_its_first_block_every_prompt_meets_the_cases_in_one_order() -> None:
    _, race = racing()
    race.advance(20, 1.0)
    for candidate in arms(race):
        seen = race.seen(candidate)
        first = {case.id for case in seen[: race.block]}
        later = [case for case in race.order if case.id not in first]
        assert list(seen[race.block :]) == later[: len(seen) - race.block]
        assert race.board.scored(candidate, seen)
        if candidate != race.board.basic:  # it was scored on dev first
            assert len(race.board.outcomes(candidate)) == len(seen)


def test_a_new_prompt_first_meets_those_cases_of_each_label_on_which_it_is_open_who_is_right() -> None:
    _, race = racing()
    race.advance(30, 1.0)
    board, best = race.board, race.seen(race.board.candidates[race.ranking()[0].id])
    known = [board.outcomes(one) for one in arms(race)]

    def open_(case: Case) -> float:
        scores = [one[case.id].score for one in known if case.id in one]
        return -abs((sum(scores) + 0.5) / (len(scores) + 1) - 0.5)

    state = board.basic.state.with_instruction("self", "Be strict.")
    new = board.add(state, parent=board.basic, source="test")
    race.enter(new)
    first = race.seen(new)
    assert Counter(case.gold for case in first) == Counter(case.gold for case in race.order[: race.block])
    assert {open_(case) for case in first} != {open_(case) for case in race.order[: race.block]}
    for other in (case for case in best if case not in first):
        assert open_(other) <= min(open_(one) for one in first if one.gold == other.gold)


def test_means_on_few_cases_are_shrunken_and_uncertain() -> None:
    _, race = racing()
    raw = [race.board.value(one, race.seen(one)) for one in arms(race)]
    early = race.standings()
    means = [one.mean for one in early]
    assert max(means) - min(means) < max(raw) - min(raw)
    assert max(means) < max(raw)
    race.advance(10**6, 1.0)
    later = race.standings()[3]
    assert later.cases == 150
    assert later.error < early[3].error / 2


# -- arms ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    name: str

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        return []


@dataclass(frozen=True)
class Long(Named):
    def added(self, job: Any) -> float:
        return 32.0


@dataclass
class Ran:
    """A race by its results alone: the mean of each prompt, and the calls it took."""

    results: dict[str, tuple[float, int]]
    price: float = 8.0
    block: int = 1

    def standings(self) -> list[Standing]:
        return [
            Standing(id=name, cases=9, mean=mean, error=0.1, gain=mean, doubt=0.1)
            for name, (mean, _) in self.results.items()
        ]

    def spent(self, candidate: Candidate) -> int:
        return self.results[candidate.id][1]


def child(board: Board, text: str) -> Candidate:
    return board.add(board.basic_state().with_instruction("self", text), parent=board.basic, source="test")


def picked(good: tuple[float, int], bad: tuple[float, int]) -> list[str]:
    """Return the arms of 40 steps whose prompts give these results; after ten steps the good ones are like the bad."""
    board = board_of(job_of(World(seed=4)))
    race = Ran({board.basic.id: (0.5, 40)})
    bandit, picks = Bandit([Named("bad"), Named("good")], race, None), []  # type: ignore[arg-type]
    for number in range(40):
        (arm, turn), _ = bandit.order()
        picks.append(arm.name)
        assert turn == picks.count(arm.name)
        made = child(board, f"{arm.name} {number}")
        race.results[made.id] = good if arm.name == "good" and number < 10 else bad
        bandit.took(arm, [made], [board.basic], 3)
    return picks


@pytest.mark.parametrize(
    ("good", "bad"),
    [((0.55, 24), (0.45, 24)), ((0.55, 24), (0.55, 240))],
    ids=["what gains", "what gains at fewer calls of the race"],
)
def test_calls_flow_to_the_arm_that_gains_and_no_arm_is_given_up(
    good: tuple[float, int], bad: tuple[float, int]
) -> None:
    picks = picked(good, bad)
    assert picks[0] == "bad"  # with equal hopes the first goes first
    assert picks[:10].count("good") >= 8  # while it gains
    assert picks.count("bad") > 5  # once the other gains no more


def test_an_arm_of_long_prompts_waits_until_short_ones_gain_less() -> None:
    board = board_of(job_of(World(seed=4)))
    race = Ran({board.basic.id: (0.5, 40)})
    bandit, picks = Bandit([Long("long"), Named("short")], race, None), []  # type: ignore[arg-type]
    for number in range(20):
        (arm, _), _ = bandit.order()
        picks.append(arm.name)
        made = child(board, f"{arm.name} {number}")
        race.results[made.id] = (0.55 if arm.name == "short" and number < 5 else 0.5, 24)
        bandit.took(arm, [made], [board.basic], 3)
    assert picks[:5] == ["short"] * 5
    assert "long" in picks[5:]


def test_an_arm_without_an_idea_takes_no_step() -> None:
    """Demonstrations have no order where there are none."""
    run = Run("race", options={"arm": "order,history", "steps": 3, "candidates": 2, "block": 4})
    assert {one.step for one in run.result.board.candidates.values()} == {0, 1, 2, 3}


def test_every_arm_takes_part_where_the_judge_has_a_use_for_it() -> None:
    options = {"steps": 14, "candidates": 2, "sample": 20, "sizes": (2, 4), "block": 4, "patience": 99}
    others = "history,causes,demonstrations,crossing,order,threshold"  # nearest rows leave no errors here
    run = Run("race", options={**options, "arm": others}, sampling=Sampling(samples=3))
    tried = list(run.result.board.candidates.values())
    assert {one.source.split(",")[0] for one in tried} >= {"basic", "race", "causes", "fewshot", "crossing"}
    train = {case.id for case in split().train}
    for one in tried:
        assert set(one.demo_ids) <= train
        assert one.setting.threshold is None or 1 <= one.setting.threshold <= 3


def test_the_basic_prompt_meets_of_dev_what_the_leader_has_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice compares them on dev: a leader cannot stand out on cases that only it has met."""
    job = job_of(World(seed=4))
    on_dev, met = [], []

    def around(race: Race, leader: Candidate) -> None:
        cases = [case for case in race.seen(leader) if case in job.dev]
        on_dev.append(len(cases))
        met.append(race.board.met(race.board.basic, cases))

    monkeypatch.setattr(Race, "around", around)
    optimize(make("opro", {"opening": 8, "extra": 8, "steps": 5}), job)
    assert met == on_dev
    assert max(on_dev) > 8


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
    track: Any = Track(job=job, board=board, race=None, start=board.basic, reach=0.0, step=1)  # type: ignore[arg-type]
    texts = [{"self": text} for text in (long, quoted, "Be strict.")]
    fresh = track.write(Writing(name="test", longest=9999), board.basic, texts)
    assert [one.state.predictors["self"].instructions for one in fresh] == [quoted, "Be strict."]
    assert "copied from train" in fresh[0].source
    assert fresh[1].source == "test"
    assert said == ["step 1: an instruction refused, 100% of it is copied from train"]
