"""Racing: stratified orders, calls that go to what may win, shrunken standings; and what is copied."""

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import World, board_of, job_of, simulator

from jurist.cases import Case
from jurist.optimizers.board import Candidate
from jurist.optimizers.drawing import blocks, interleaved, stratified
from jurist.optimizers.proposing import CopyGuard, Writing, shingles
from jurist.optimizers.raced import Track
from jurist.optimizers.racing import Race
from jurist.optimizers.standing import Credit
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


@given(st.lists(st.integers(), max_size=30), st.integers(1, 9))
def test_blocks_hold_everything_in_order(numbers: list[int], size: int) -> None:
    cases = labelled([str(number) for number in numbers])
    parts = list(blocks(cases, size))
    assert [case for part in parts for case in part] == cases
    assert all(len(part) == size for part in parts[:-1])


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
    assert (
        sum(count for count, value in zip(ran, truth, strict=True) if value > truth[best] - 0.09)
        > 0.6 * 47 * 6
    )
    assert ran[0] < 0.15 * 47 * 6  # the basic prompt
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


def test_a_race_ends_when_all_cases_are_met() -> None:
    _, race = racing(texts=1)
    race.advance(10**6, 1.0)
    assert {found.cases for found in race.standings()} == {len(race.order)}


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


def test_a_credit_is_the_score_for_accuracy() -> None:
    _, race = racing()
    board, dev = race.board, race.order[:12]
    outcomes = board.score(board.basic, dev)
    credit = Credit(board.objective, outcomes)
    assert [credit(one) for one in outcomes] == pytest.approx([one.score - credit.base for one in outcomes])


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


@given(st.text(max_size=80))
def test_shingles_of_any_text(text: str) -> None:
    assert shingles(text) == shingles(text.casefold()) or not text.isascii()


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
