"""Chains: parts in turn, each from the best so far, sharing the budget."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest
from fakes import reply
from optimizer_runs import Run, judged_without_rule
from scripted_runs import fect_split, job_with
from worlds import board_of

from jurist.engines.meter import Budget
from jurist.errors import BudgetExhausted, OptimizerError
from jurist.gold.goldset import Gold
from jurist.jobs.plan import Plan, foresee_compilation
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.registry import Chain, make
from jurist.programs.asking import room_for
from jurist.programs.catalogue import find


def test_a_chain_shares_the_calls() -> None:
    """The first part must not eat the budget of the next: each gets an equal share of what is left."""
    seen: list[tuple[str, int | None]] = []

    @dataclass(frozen=True)
    class Greedy:
        name: str

        def minimum(self, job: Job) -> int:
            return 1

        def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
            seen.append((self.name, job.context.meter.left()))
            while True:
                job.context.meter.reserve()
                job.context.meter.settle(tokens=1, cost=0.0)

    job = job_with("?", budget=Budget(calls=100))
    meter, board = job.context.meter, board_of(job)
    meter.hold(10)
    with pytest.raises(BudgetExhausted):
        Chain(parts=tuple(map(Greedy, "abc"))).run(job, board, board.basic)
    assert seen == [("a", 30), ("b", 30), ("c", 30)]
    assert (meter.calls, meter.held) == (90, 10)


def few(calls: int | None = None) -> Job:
    train, dev = fect_split().train[:12], fect_split().dev[:6]
    return job_with("?", budget=Budget(calls=calls), train=train, dev=dev, concurrency=1)


@pytest.mark.parametrize(
    "name", ["opro+fewshot", "fewshot+opro", "opro+fewshot+contrastive", "cfaith+fewshot"]
)
def test_a_chain_starts_where_the_share_of_its_first_part_is_enough(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = make(name)
    assert isinstance(chain, Chain)
    first, calls = chain.parts[0], chain.minimum(few())
    own = first.minimum(few())
    scored = 0 if chain.races else 6  # the basic prompt on dev, before the parts begin
    shares: list[int | None] = []

    def run(self: Any, job: Job, board: Board, start: Candidate) -> Candidate:
        shares.append(job.context.meter.left())
        return start

    for kind in {type(part) for part in chain.parts}:
        monkeypatch.setattr(kind, "run", run)
    optimize(chain, few(calls))
    share = shares[0]
    assert share is not None
    assert share + scored == own
    with pytest.raises(OptimizerError, match=f"raise --max-calls to {calls} or more"):
        optimize(chain, few(calls - 1))
    fewer = calls - 1 - scored
    assert fewer - fewer * (len(chain.parts) - 1) // len(chain.parts) < own - scored


def test_an_estimate_asks_what_a_chain_needs_and_promises_its_first_part_only() -> None:
    judge = find("fect")
    plan = Plan(
        judge=judge, gold=Gold.load("fect-mini", judge), optimizer="opro+fewshot", budget=Budget(calls=1)
    )
    parts = plan.gold.split(plan.seed, plan.shares)
    job = dataclasses.replace(few(), train=parts.train, dev=parts.dev)
    enough = 2 * room_for(judge, len(parts.test), 1) + make("opro+fewshot").minimum(job)
    for calls in (enough - 1, enough):
        seen = foresee_compilation(dataclasses.replace(plan, budget=Budget(calls=calls)))
        assert seen.needed == enough
        assert 0 < seen.asks[0].calls.least <= make("opro").minimum(job) < make("opro+fewshot").minimum(job)


def test_the_second_part_starts_from_the_best_of_the_first() -> None:
    good = "All of it must be said. quality=99"
    run = Run(
        "opro+fewshot", judged=judged_without_rule, proposed=lambda request: reply("chat", instruction=good)
    )
    shortened = "the same examples under the basic instruction"
    few = [row for row in run.history if row["prompt"]["self"]["demos"] and row["source"] != shortened]
    assert few
    assert {row["prompt"]["self"]["instructions"] for row in few} == {good}
