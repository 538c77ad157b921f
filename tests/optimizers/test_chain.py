"""Chains: parts in turn, each from the best so far, sharing the budget."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest
from fakes import Scripted, context_with, lm_of, reply
from optimizer_runs import Run, judged_without_rule

from jurist.engines.meter import Budget
from jurist.errors import BudgetExhausted, OptimizerError
from jurist.gold.goldset import Gold
from jurist.jobs.foresee import foresee_compilation
from jurist.jobs.plan import Plan
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.registry import Chain, make
from jurist.programs.asking import room_for
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
            seen.append((self.name, job.context.meter.left()))
            while True:
                job.context.meter.reserve()
                job.context.meter.settle(tokens=1, cost=0.0)

    context = context_with(Budget(calls=100))
    context.meter.hold(10)
    judge, parts = find("fect"), Gold.load("fect-mini", find("fect")).split(0)
    lm = lm_of(Scripted(lambda request: "?"), context)
    job = Job(judge=judge, train=parts.train, dev=parts.dev, judge_lm=lm, proposer_lm=lm, context=context)
    board = Board(job.judge, job.asker, context)
    start = board.add(board.basic_state(), parent=None, source="basic")
    with pytest.raises(BudgetExhausted):
        Chain(parts=(Greedy(name="a"), Greedy(name="b"), Greedy(name="c"))).run(job, board, start)
    assert seen == [("a", 30), ("b", 30), ("c", 30)]
    assert (context.meter.calls, context.meter.held) == (90, 10)


def job_with(calls: int | None = None) -> Job:
    context = context_with(Budget(calls=calls))
    parts = Gold.load("fect-mini", find("fect")).split(0)
    lm = lm_of(Scripted(lambda request: "?"), context)
    return Job(
        judge=find("fect"),
        train=parts.train[:12],
        dev=parts.dev[:6],
        judge_lm=lm,
        proposer_lm=lm,
        context=context,
        concurrency=1,
    )


@pytest.mark.parametrize("name", ["opro+fewshot", "fewshot+opro", "opro+fewshot+demos", "cfaith+fewshot"])
def test_a_chain_starts_where_the_share_of_its_first_part_is_enough(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = make(name)
    assert isinstance(chain, Chain)
    first, calls = chain.parts[0], chain.minimum(job_with())
    own = first.minimum(job_with())
    scored = 0 if chain.races else 6  # the basic prompt on dev, before the parts begin
    shares: list[int | None] = []

    def run(self: Any, job: Job, board: Board, start: Candidate) -> Candidate:
        shares.append(job.context.meter.left())
        return start

    for kind in {type(part) for part in chain.parts}:
        monkeypatch.setattr(kind, "run", run)
    optimize(chain, job_with(calls))
    share = shares[0]
    assert share is not None
    assert share + scored == own
    with pytest.raises(OptimizerError, match=rf"raise Budget\(calls=\.\.\.\) to {calls} or more"):
        optimize(chain, job_with(calls - 1))
    fewer = calls - 1 - scored
    assert fewer - fewer * (len(chain.parts) - 1) // len(chain.parts) < own - scored


def test_an_estimate_asks_what_a_chain_needs_and_promises_its_first_part_only() -> None:
    judge = find("fect")
    plan = Plan(
        judge=judge, gold=Gold.load("fect-mini", judge), optimizer="opro+fewshot", budget=Budget(calls=1)
    )
    parts = plan.gold.split(plan.seed, plan.shares)
    job = dataclasses.replace(job_with(), train=parts.train, dev=parts.dev)
    enough = 2 * room_for(judge, len(parts.test), 1) + make("opro+fewshot").minimum(job)
    for calls, payable in ((enough - 1, False), (enough, True)):
        seen = foresee_compilation(dataclasses.replace(plan, budget=Budget(calls=calls)))
        assert seen.payable is payable
        assert seen.needed == enough
        assert seen.asks[0].least == make("opro").minimum(job) < make("opro+fewshot").minimum(job)


def test_the_second_part_starts_from_the_best_of_the_first() -> None:
    good = "All of it must be said. quality=99"
    run = Run(
        "opro+fewshot", judged=judged_without_rule, proposed=lambda request: reply("chat", instruction=good)
    )
    few = [row for row in run.history if row["prompt"]["self"]["demos"]]
    assert few
    assert {row["prompt"]["self"]["instructions"] for row in few} == {good}
