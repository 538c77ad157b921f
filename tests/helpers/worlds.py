"""Simulated worlds for tests of optimizers: the benchmark's simulator behind a job."""

from pathlib import Path
from typing import Any

from fakes import context_with
from pages import script

from jurist.engines.journal import Journal
from jurist.engines.meter import Budget
from jurist.optimizers.base import Job
from jurist.optimizers.board import Board

simulator = script("simulator")
question_world = script("question_world")
World = simulator.World


def job_of(world: Any, /, *, budget: int | None = None, journal: Path | None = None, **settings: Any) -> Job:
    """Return a job in a world: 120 cases to learn from and 30 to choose by; with ``world=`` one without requests."""
    context = context_with(Budget(calls=budget), Journal(journal) if journal else None)
    settings = {"train": world.cases(120, "train"), "dev": world.cases(30, "dev"), **settings}
    return (simulator.WorldJob if "world" in settings else Job)(
        judge=simulator.JUDGE,
        judge_lm=simulator.connected(world, context, "judge"),
        proposer_lm=simulator.connected(world, context, "proposer"),
        context=context,
        **settings,
    )


def board_of(job: Job) -> Board:
    """Return a job's board with the basic prompt on it."""
    board = Board(job.judge, job.asker, job.context)
    return board
