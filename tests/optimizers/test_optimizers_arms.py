"""The arms of the race: which one is next, and what each of them proposes."""

from dataclasses import dataclass

import pytest
from fakes import reply
from optimizer_runs import Run, split
from worlds import World, board_of, job_of

from jurist.evaluation.votes import Sampling
from jurist.optimizers.base import optimize
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.fewshot import FewShot
from jurist.optimizers.raced import Bandit, Track
from jurist.optimizers.racing import Race
from jurist.optimizers.registry import make
from jurist.optimizers.standing import Standing


@dataclass(frozen=True)
class Named:
    name: str

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        return []


@dataclass
class Ran:
    """A race by its results alone: the mean of each prompt, and the calls it took."""

    results: dict[str, tuple[float, int]]

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
    bandit, picks = Bandit([Named("bad"), Named("good")], race, least=8), []  # type: ignore[arg-type]
    for number in range(40):
        (arm, turn), _ = bandit.order()
        picks.append(arm.name)
        assert turn == picks.count(arm.name)
        made = child(board, f"{arm.name} {number}")
        race.results[made.id] = good if arm.name == "good" and number < 10 else bad
        bandit.took(arm, [made], board.basic, 3)
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


def test_an_arm_without_an_idea_takes_no_step() -> None:
    """Demonstrations have no order where there are none."""
    run = Run("race", options={"arm": "order,history", "steps": 3, "candidates": 2, "block": 4})
    assert {one.step for one in run.result.board.candidates.values()} == {0, 1, 2, 3}


def test_every_arm_takes_part_where_the_judge_has_a_use_for_it() -> None:
    options = {"steps": 14, "candidates": 2, "sample": 20, "sizes": (2, 4), "block": 4, "patience": 99}
    run = Run("race", options=options, sampling=Sampling(samples=3))
    tried = list(run.result.board.candidates.values())
    assert {one.source.split(",")[0] for one in tried} >= {"basic", "race", "causes", "fewshot", "crossing"}
    train = {case.id for case in split().train}
    for one in tried:
        assert set(one.demo_ids) <= train
        assert one.setting.threshold is None or 1 <= one.setting.threshold <= 3


def test_demonstrations_are_bounded_by_tokens() -> None:
    few = Run("fewshot", options={"sizes": (16,), "sets": 1, "steps": 1, "tokens": 1})
    assert max(len(one.demo_ids) for one in few.result.board.candidates.values()) == 1
    assert max(FewShot().sizes) == 64


def test_merges_see_two_instructions() -> None:
    seen = []

    def proposed(request):  # type: ignore[no-untyped-def]
        text = str(request.messages[-1].text)
        seen.append("second_instruction" in text)
        return reply("chat", instruction=f"Rule {len(seen)}. quality={60 + len(seen)}")

    Run(
        "race",
        options={"steps": 6, "candidates": 2, "arm": "history,crossing", "block": 4},
        proposed=proposed,
    )
    assert any(seen)
    assert not all(seen)


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


def test_a_world_without_requests_gives_the_search_that_one_with_requests_gives() -> None:
    """What `benchmarks/optimizers.py` saves is time alone."""
    world, found = World(seed=6), []
    for quick in ({}, {"world": world}):
        job = job_of(world, budget=260, **quick)
        board = optimize(make("race", {"steps": 99}), job).board
        found.append([(one.id, one.source, board.value(one, job.dev)) for one in board.candidates.values()])
    assert found[0] == found[1]
    assert len(found[0]) > 5
