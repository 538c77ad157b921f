"""Optimizers: exact budgets, the best so far however they end, the same history from the same seed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Request
from dspy.utils.exceptions import LMServerError
from fakes import reply
from native_runs import OWN, Run, judged, judged_without_rule, proposed, split, whole

from jurist.engines.meter import Budget
from jurist.errors import ModelError, OptimizerError
from jurist.optimizers.registry import make

RACED = ["opro", "fewshot", "race"]
ALL = [*RACED, "opro+fewshot", "opro-paper", "cfaith", "contrastive"]


@pytest.mark.parametrize("name", ALL)
def test_it_finishes_with_the_best_that_was_scored_on_all_of_dev(name: str) -> None:
    run = whole(name)
    board = run.result.board
    assert run.result.ending == "finished"
    assert run.result.best.id == board.best(split().dev).id  # type: ignore[union-attr]
    assert board.scored(run.result.best, split().dev)
    assert run.value() >= board.value(board.basic, split().dev)
    assert run.history[0]["source"] == "basic"
    assert len({row["candidate"] for row in run.history}) == len(run.history) > 2
    assert run.context.ledger.spend().calls == run.sent == run.context.meter.calls


def test_something_better_is_found_where_there_is_something_better() -> None:
    run = Run(
        "opro",
        judged=judged_without_rule,
        proposed=lambda request: reply("chat", instruction=f"quality=99 {request.config.seed}"),
    )
    assert "quality=99" in run.result.best.state.predictors["self"].instructions
    assert run.value() > run.result.board.value(run.result.board.basic, split().dev)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("extra", [0, 13, 25])
def test_the_budget_is_exact_and_the_best_so_far_is_returned(name: str, extra: int) -> None:
    least = make(name, OWN[name]).minimum(whole(name).job)
    calls = least + extra
    run = Run(name, budget=Budget(calls=calls))
    assert run.context.ledger.spend().calls == run.sent <= calls
    if name in RACED:  # of the calls kept for the finalists some may be left
        assert run.sent > 0.7 * min(calls, whole(name).sent)
    elif "+" not in name:
        assert run.sent == min(calls, whole(name).sent)
        assert run.result.ending == ("budget" if calls < whole(name).sent else "finished")
    known = [run.result.board.outcome(run.result.best, case) is not None for case in split().dev]
    assert any(known)
    assert all(known) or run.result.ending == "budget"
    if run.result.ending == "budget":
        assert str(calls) in run.result.reason


@pytest.mark.parametrize("name", ALL)
def test_a_budget_below_the_minimum_is_refused_before_any_call(name: str) -> None:
    least = make(name, OWN[name]).minimum(whole(name).job)
    with pytest.raises(OptimizerError, match=f"at least {least} calls"):
        Run(name, budget=Budget(calls=least - 1), judged=[], proposed=[])


def interrupting(answers: Callable[[Request], str], after: int) -> Callable[[Request], Any]:
    count = iter(range(10**6))
    return lambda request: KeyboardInterrupt() if next(count) == after else answers(request)


@pytest.mark.parametrize(("name", "after"), [("opro", 0), ("fewshot", 5), ("opro", 20), ("opro+fewshot", 45)])
def test_ctrl_c_keeps_the_best_so_far(name: str, after: int) -> None:
    run = Run(name, judged=interrupting(judged, after))
    assert (run.result.ending, run.result.reason) == ("interrupted", "stopped by Ctrl-C")
    assert run.result.best.id in run.result.board.candidates
    if after < len(split().dev):
        assert run.result.best.source == "basic"
    else:
        assert any(run.result.board.outcome(run.result.best, case) for case in split().dev)
    assert run.history


def test_ctrl_c_while_proposing() -> None:
    run = Run("opro", proposed=interrupting(proposed, 4))
    assert run.result.ending == "interrupted"
    assert len(run.proposer.requests) in (5, 6)  # the other one of the step was in flight


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_history(name: str) -> None:
    assert Run(name, concurrency=1).history == whole(name).history
    assert Run(name, seed=4).history != whole(name).history


@pytest.mark.parametrize("name", ALL)
def test_a_finished_job_is_replayed_for_nothing(name: str, tmp_path: Path) -> None:
    journal = tmp_path / "j"
    first = Run(name, journal=journal)
    again = Run(name, journal=journal, judged=[], proposed=[])
    assert (again.sent, again.context.ledger.spend().replayed) == (0, first.sent)
    assert again.history == first.history
    assert again.result.best.id == first.result.best.id


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("opro", 7),
        ("opro", 60),
        ("opro+fewshot", 33),
        ("fewshot", 30),
        ("opro-paper", 50),
        ("cfaith", 40),
        ("contrastive", 41),
    ],
)
def test_an_interrupted_job_goes_on_where_it_was(name: str, after: int, tmp_path: Path) -> None:
    journal = tmp_path / "j"
    first = Run(name, journal=journal, judged=interrupting(judged, after))
    assert first.result.ending == "interrupted"
    second = Run(name, journal=journal)
    assert second.history == whole(name).history
    assert second.result.best.id == whole(name).result.best.id
    assert first.sent + second.sent <= whole(name).sent + 4  # concurrency: what was in flight
    assert second.context.meter.calls == whole(name).sent


def test_a_job_that_met_its_budget_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    first = Run("opro-paper", journal=journal, budget=Budget(calls=60))
    assert (first.result.ending, first.sent) == ("budget", 60)
    same = Run("opro-paper", journal=journal, budget=Budget(calls=60), judged=[], proposed=[])
    assert same.result.best.id == first.result.best.id
    second = Run("opro-paper", journal=journal)
    assert second.sent == whole("opro-paper").sent - 60
    assert second.history == whole("opro-paper").history


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_judge_that_is_down_for_good_ends_the_work(name: str, no_waiting: None) -> None:
    count = iter(range(10**6))
    with pytest.raises(ModelError, match="10 answers in a row failed"):
        Run(name, judged=lambda r: LMServerError("busy") if next(count) > 8 else judged(r))
    # Attempts of ten answers, of those in flight, and of those begun before the end is heard of.
    assert next(count) <= 9 + 4 * (10 + 2 * 4)
