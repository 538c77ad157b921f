"""The joint search: what it searches, that that it asks nothing twice."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from fakes import context_with
from worlds import World, board_of, job_of, simulator

from jurist.engines.meter import Budget
from jurist.engines.models import Model, connect
from jurist.evaluation.votes import Sampling
from jurist.gold.goldset import Gold
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.candidate import Setting
from jurist.optimizers.named.optuna import Optuna
from jurist.optimizers.registry import make
from jurist.programs.catalogue import find
from jurist.programs.settings import FOR_SEARCHES

HOUSE = Path(__file__).parents[2] / "docs" / "may_send.py"
SMALL: dict[str, Any] = {"steps": 2, "trials": 6, "sizes": (2, 4), "sets": 1, "sample": 10, "startup": 2}


def house_job(*, size: int = 16, samples: int = 1) -> Job:
    """Return a job of the house rule with the offline engine, which knows other settings."""
    judge = find(f"{HOUSE}:judge")
    split, context = Gold.load("house-rule", judge).split(1), context_with(Budget())
    own = Model(temperature=0.7 if samples > 1 else 0.0)

    return Job(
        judge=judge,
        train=split.train[: 2 * size],
        dev=split.dev[:size],
        judge_lm=connect(own, context),
        proposer_lm=connect(own, context, "proposer"),
        context=context,
        settings=replace(FOR_SEARCHES, sampling=Sampling(samples=samples)),
    )


def test_on_the_house_rule_it_finds_a_better_candidate() -> None:
    job = house_job(size=40)
    result = optimize(make("optuna", {**SMALL, "sizes": (8,), "sets": 3, "trials": 8}), job)
    board = result.board
    assert board.value(result.best, job.dev) > board.value(board.basic, job.dev)
    assert len({one.asked_id for one in board.candidates.values()}) > 3


def test_thresholds_cost_nothing() -> None:
    job = house_job(samples=3)
    board = board_of(job)
    board.score(board.basic, job.dev)
    before = job.context.meter.calls
    found = [
        board.add(board.basic.state, parent=board.basic, source="x", setting=Setting(threshold=threshold))
        for threshold in (1, 2, 3)
    ]
    rates = []
    for one in found:
        outcomes = board.score(one, job.dev)
        rates.append(sum(label in job.judge.answer.positive for o in outcomes for label in o.row.predicted))
    assert job.context.meter.calls == before
    assert rates[0] > rates[2]
    assert rates == sorted(rates, reverse=True)
    assert board.outcomes(found[1]) == board.outcomes(board.basic)  # two of three is the majority
    assert len({one.id for one in found} | {board.basic.id}) == 4
    assert {one.asked_id for one in found} == {board.basic.id}


def test_optuna_says_nothing_and_leaves_its_logging_as_it_was(
    capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    optuna.logging.set_verbosity(logging.WARNING)
    optimize(make("optuna", SMALL), house_job())
    assert capfd.readouterr() == ("", "")
    assert not [one for one in recwarn if "optuna" in str(one.filename).lower()]
    assert optuna.logging.get_verbosity() == logging.WARNING


def test_pruning_leaves_the_worse_with_fewer_cases() -> None:
    world = World(seed=11, temperature=0.3)
    job = job_of(world)
    board = board_of(job)
    bad = " ".join(f"Check the {name}." for name, strength in world.strengths.items() if strength < 0)
    for text in (world.ideal(), bad, bad + " Be strict."):
        state = board.basic.state.with_instruction("self", text)
        board.score(board.add(state, parent=board.basic, source="given"), job.dev)
    Optuna(steps=1, trials=12, sizes=(2,), block=6, startup=3).run(job, board, board.basic)
    tried = [one for one in board.candidates.values() if one.source.startswith("optuna")]
    incomplete = [one for one in tried if not board.scored(one, job.dev)]
    assert incomplete
    assert any(one.state.predictors["self"].instructions == world.ideal() for one in tried)
    for one in incomplete:
        assert one.state.predictors["self"].instructions != world.ideal()


def test_what_is_known_is_searched_and_no_scored_case_is_a_demonstration() -> None:
    job = job_of(World(seed=5))
    board = board_of(job)
    board.score(board.basic, job.dev)
    for number in range(4):
        state = board.basic.state.with_instruction("self", f"Check the {simulator.CRITERIA[number]}.")
        board.score(board.add(state, parent=board.basic, source="given"), job.dev)
    settings = {"steps": 0, "instructions": 3, "sizes": (2, 4), "sets": 2, "sample": 10, "trials": 30}
    make("optuna", settings).run(job, board, board.basic)
    tried = [one for one in board.candidates.values() if one.source.startswith("optuna")]
    texts = {one.state.predictors["self"].instructions for one in tried}
    assert board.basic.state.predictors["self"].instructions in texts
    assert len(texts) == 3
    assert {len(one.demo_ids) for one in tried} == {2, 4}  # without any they were known
    scored = {case for one in tried for case in board.outcomes(one)}
    assert not {id_ for one in tried for id_ in one.demo_ids} & scored


def test_it_searches_the_instructions_that_opro_wrote_with_half_of_the_calls() -> None:
    job = job_of(World(seed=2), budget=1500)
    result = optimize(make("optuna", {**SMALL, "steps": 3}), job)
    every = list(result.board.candidates.values())
    tried = [one for one in every if one.source.startswith("optuna")]
    assert tried[0].calls <= 750
    assert len({one.state.predictors["self"].instructions for one in tried}) > 1
    assert {one.params["instruction"] for one in tried} <= set(result.board.candidates)
