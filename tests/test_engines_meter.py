"""The meter, the ledger and the budget: limits are exact, counts add up."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakes import Scripted, desk_with, lm_of, reply

from jurist.engines.ledger import Ledger, Spend
from jurist.engines.meter import Budget, Meter
from jurist.errors import BudgetExhausted, ModelError, UsageError
from jurist.programs.asking import Asker, Verdict
from jurist.programs.catalogue import find

FECT = find("fect")
CASES = [FECT.case({"conversation": f"Agent: hello {n}", "claim": f"claim {n}"}) for n in range(40)]
YES = reply("chat", factual=True)


def asker(inner: Scripted, budget: Budget | None = None, **settings: int) -> Asker:
    return Asker(judge=FECT, program=FECT.basic(), lm=lm_of(inner, desk_with(budget)), **settings)


@pytest.mark.parametrize("name", ["calls", "cost", "tokens", "seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_budget_of_nothing_is_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=name):
        Budget(**{name: value})


def test_calls_are_exact_with_many_threads() -> None:
    meter, taken = Meter(Budget(calls=500)), []

    def work(_: int) -> None:
        while True:
            try:
                meter.reserve()
            except BudgetExhausted:
                return
            taken.append(1)
            meter.settle(tokens=1, cost=0.0)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    assert len(taken) == meter.calls == 500
    assert meter.left() == 0


def test_held_calls_are_kept_back_and_given_free() -> None:
    meter = Meter(Budget(calls=10))
    meter.hold(4)
    assert meter.left() == 6
    for _ in range(6):
        meter.reserve()
        meter.settle(tokens=1, cost=0.0)
    with pytest.raises(BudgetExhausted) as stop:
        meter.reserve()
    assert (stop.value.limit, stop.value.allowed) == ("calls", 10)
    meter.hold(0)
    for _ in range(4):
        meter.reserve()
    with pytest.raises(BudgetExhausted):
        meter.reserve()


def test_cost_ends_at_most_one_call_above_the_limit_with_many_in_flight() -> None:
    inner = Scripted(lambda request: YES, cost=0.01)
    judge = asker(inner, Budget(cost=0.105), concurrency=16)
    with pytest.raises(BudgetExhausted) as stop:
        judge.ask_all(CASES)
    assert stop.value.limit == "cost"
    first_wave = 16  # nobody knows a price before the first answer
    assert 11 <= len(inner.requests) <= first_wave


def test_cost_is_exact_when_the_price_is_known() -> None:
    inner = Scripted(lambda request: YES, cost=0.01)
    with pytest.raises(BudgetExhausted):
        asker(inner, Budget(cost=0.105), concurrency=1).ask_all(CASES)
    assert len(inner.requests) == 11


def test_tokens_end_the_work() -> None:
    inner = Scripted(lambda request: YES)
    with pytest.raises(BudgetExhausted) as stop:
        asker(inner, Budget(tokens=60), concurrency=1).ask_all(CASES)
    assert stop.value.limit == "tokens"
    assert len(inner.requests) == 5  # 12 tokens each


def test_an_unknown_price_under_a_limit_on_cost_ends_the_work() -> None:
    inner = Scripted(lambda request: YES, cost=None)
    with pytest.raises(ModelError, match="price is not known"):
        asker(inner, Budget(cost=1.0), concurrency=1).ask_all(CASES)
    assert len(inner.requests) == 1


def test_what_was_in_flight_at_the_limit_is_kept_and_counted() -> None:
    inner, seen = Scripted(lambda request: YES), []
    judge = asker(inner, Budget(calls=21), concurrency=8)

    def keep(index: int, verdict: Verdict) -> None:
        seen.append((index, verdict.label))

    with pytest.raises(BudgetExhausted):
        judge.ask_all(CASES, keep)
    desk = judge.lm._engine_spec.desk
    assert len(inner.requests) == len(seen) == desk.ledger.spend().calls == desk.meter.calls == 21
    assert {label for _, label in seen} == {"factual"}


def test_ctrl_c_leaves_no_call_uncounted() -> None:
    inner = Scripted([YES, YES, KeyboardInterrupt()])
    judge = asker(inner, concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        judge.ask_all(CASES)
    desk = judge.lm._engine_spec.desk
    assert desk.ledger.spend().calls == desk.meter.calls == 3
    desk.meter.reserve()
    assert desk.meter._in_flight == 1


def test_the_ledger_counts_by_purpose_from_many_threads() -> None:
    ledger = Ledger()

    def work(_: int) -> None:
        for _ in range(200):
            ledger.add("judge", calls=1, cost=0.5)
            ledger.add("proposer", calls=1, retries=1)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    data = json.loads(json.dumps(ledger.to_json()))
    assert (data["judge"]["calls"], data["judge"]["cost"]) == (1600, 800.0)
    assert (data["proposer"]["retries"], data["total"]["calls"]) == (1600, 3200)
    copy = ledger.spend("judge")
    copy.add(Spend(calls=5))
    assert ledger.spend("judge").calls == 1600


def test_each_verdict_knows_its_own_calls() -> None:
    inner = Scripted(lambda request: YES)
    verdicts = asker(inner, concurrency=8).ask_all(CASES)
    assert [verdict.usage.calls for verdict in verdicts] == [1] * len(CASES)
    assert sum(verdict.usage.input_tokens for verdict in verdicts) == 10 * len(CASES)
