"""Chains: parts in turn, each from the best so far, sharing the budget."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from fakes import Scripted, desk_with, lm_of

from jurist.engines.meter import Budget
from jurist.errors import BudgetExhausted, OptimizerError
from jurist.gold import Gold
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.objective import Objective
from jurist.optimizers.registry import Chain, make
from jurist.programs.catalogue import find


def test_a_chain_shares_the_calls() -> None:
    """The first part must not eat the budget of the next: each gets an equal share of what is left."""
    seen: list[tuple[str, int | None]] = []

    @dataclass(frozen=True, kw_only=True)
    class Greedy:
        name: str

        def minimum(self, job: Job) -> int:
            return 1

        def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
            seen.append((self.name, job.desk.meter.left()))
            while True:
                job.desk.meter.reserve()
                job.desk.meter.settle(tokens=1, cost=0.0)

    desk = desk_with(Budget(calls=100))
    desk.meter.hold(10)
    judge, parts = find("fect"), Gold.load("fect-mini", find("fect")).split(0)
    lm = lm_of(Scripted(lambda request: ""), desk)
    job = Job(judge=judge, train=parts.train, dev=parts.dev, judge_lm=lm, proposer_lm=lm, desk=desk)
    board = Board(job.judge, Objective(judge=job.judge), job.asker, desk)
    start = board.add(board.basic_state(), parent=None, source="basic")
    with pytest.raises(BudgetExhausted):
        Chain(parts=(Greedy(name="a"), Greedy(name="b"), Greedy(name="c"))).run(job, board, start)
    assert seen == [("a", 30), ("b", 30), ("c", 30)]
    assert (desk.meter.calls, desk.meter.held) == (90, 10)


def test_a_later_part_that_cannot_work_is_refused_before_the_first_spends() -> None:
    desk = desk_with(Budget(calls=5000))
    judge, parts = find("fect"), Gold.load("fect-mini", find("fect")).split(0)
    lm = lm_of(Scripted([]), desk)
    job = Job(judge=judge, train=parts.train, dev=parts.dev, judge_lm=lm, proposer_lm=lm, desk=desk)
    with pytest.raises(OptimizerError, match="cannot search 'yaml'"):
        optimize(make("fewshot+optuna", {"adapters": "yaml"}), job)
    assert desk.meter.calls == 0
