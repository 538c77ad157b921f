"""The meter, the ledger and the budget: limits are exact, counts add up."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from asking import CASES, scripted
from dspy.lm15 import Request, Response, Usage
from fakes import Scripted, context_with, reply, system_of

from jurist.engines.meter import Amount, Budget, Meter
from jurist.errors import BudgetExhausted, ModelError, UsageError
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT

EVEN = CASES[10:50]
"""Requests of the same length."""
YES = reply("chat", factual=True)


def asker(inner: Scripted, budget: Budget | None = None, **settings: int) -> Asker:
    return scripted(FECT, inner, context=context_with(budget), **settings)


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
    assert meter.calls_left() == 0


def used(meter: Meter, calls: int) -> None:
    for _ in range(calls):
        meter.reserve()
        meter.settle(tokens=1, cost=0.0)


def test_held_calls_are_kept_back_and_given_free() -> None:
    meter = Meter(Budget(calls=10))
    meter.keep_back(4)
    assert meter.calls_left() == 6
    used(meter, 6)
    with pytest.raises(BudgetExhausted) as stop:
        meter.reserve()
    assert (stop.value.limit, stop.value.allowed) == ("calls", 10)
    meter.keep_back(0)
    for _ in range(4):
        meter.reserve()
    with pytest.raises(BudgetExhausted):
        meter.reserve()


@pytest.mark.parametrize("concurrency", [1, 3, 16])
@pytest.mark.parametrize(
    ("budget", "limit", "calls"),
    [
        (Budget(calls=17), "calls", 17),
        (Budget(tokens=12 * 17 + 11), "tokens", 17),  # 12 tokens each
        (Budget(tokens=12 * 17), "tokens", 17),
        (Budget(cost=0.175), "cost", 17),  # 0.01 each
        (Budget(cost=0.17), "cost", 17),
    ],
)
def test_a_limit_is_used_up_and_never_passed_with_any_concurrency(
    budget: Budget, limit: str, calls: int, concurrency: int
) -> None:
    inner = Scripted(lambda request: YES, cost=0.01)
    judge = asker(inner, budget, concurrency=concurrency)
    with pytest.raises(BudgetExhausted) as stop:
        judge.ask_all(EVEN)
    meter = judge.lm._engine_spec.context.meter
    assert stop.value.limit == limit
    assert len(inner.requests) == meter.calls == calls
    assert meter.in_flight == 0
    assert inner.peak <= concurrency
    with pytest.raises(BudgetExhausted):  # nothing that catches it goes on
        judge.ask_all(EVEN[20:21])
    assert len(inner.requests) == calls


def test_the_first_call_of_which_nothing_is_known_goes_alone() -> None:
    inner, flying = Scripted(lambda request: YES, cost=0.01), []

    def answer(request: object) -> str:
        flying.append(inner.now)
        return YES

    inner.script = answer
    asker(inner, Budget(cost=1.0), concurrency=16).ask_all(EVEN)
    assert flying[0] == 1
    assert max(flying) > 1


def test_a_long_request_is_estimated_by_its_length() -> None:
    long_ = FECT.case({"conversation": "Agent: " + "hello " * 4000, "claim": "claim"})
    inner = Scripted(lambda request: YES)
    complete = inner.complete

    def priced(request: Request) -> tuple[Response, float | None]:
        response, _ = complete(request)
        used = (len(system_of(request)) + sum(len(message.text or "") for message in request.messages)) // 4
        return replace(response, usage=Usage(input_tokens=used, output_tokens=2)), 0.0

    inner.complete = priced  # type: ignore[method-assign]
    judge = asker(inner, Budget(tokens=3000), concurrency=4)
    with pytest.raises(BudgetExhausted):
        judge.ask_all([*EVEN[:4], long_])
    assert len(inner.requests) == 4
    assert judge.lm._engine_spec.context.meter.tokens <= 3000


def test_a_failed_call_gives_back_what_it_was_promised() -> None:
    inner = Scripted([YES, RuntimeError("a bug"), *[YES] * 16], cost=0.01)
    judge = asker(inner, Budget(cost=0.05), concurrency=1)
    assert [verdict.status for verdict in judge.ask_all(EVEN[:3])] == ["verdict", "failed", "verdict"]
    meter = judge.lm._engine_spec.context.meter
    assert (meter.in_flight, meter._reserved) == (0, Amount())


def test_an_unknown_price_under_a_limit_on_cost_ends_the_work() -> None:
    inner = Scripted(lambda request: YES, cost=None)
    with pytest.raises(ModelError, match="price of a reply is unknown"):
        asker(inner, Budget(cost=1.0), concurrency=1).ask_all(CASES)
    assert len(inner.requests) == 1


def test_a_slow_first_call_does_not_spend_seconds_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("jurist.engines.meter.time.monotonic", lambda: now[0])
    meter = Meter(Budget(seconds=20))
    meter.keep_back(100)
    now[0] = 2.0  # splitting, connecting
    for number in range(200):
        meter.reserve()
        now[0] += 0.05 if number else 3.0
        meter.settle(tokens=0, cost=0.0)
        if now[0] > 14.8:
            break
    assert 190 < meter.calls < 200
    now[0] += 0.3
    with pytest.raises(BudgetExhausted, match="20 seconds"):
        meter.reserve()  # 5 seconds are left, and 100 calls take as many


def test_nothing_else_is_begun_after_a_limit() -> None:
    """One case that does not fit ends the work, though smaller ones behind it would fit."""
    long_ = FECT.case({"conversation": "Agent: " + "hello " * 4000, "claim": "claim"})
    inner = Scripted(lambda request: YES)
    judge = asker(inner, Budget(tokens=200), concurrency=1)
    with pytest.raises(BudgetExhausted):
        judge.ask_all([EVEN[0], long_, *EVEN[1:4]])
    assert len(inner.requests) == 1


def test_no_new_call_is_made_in_the_place_of_one_that_is_owed() -> None:
    meter = Meter(Budget(calls=10, tokens=100, cost=1.0))
    meter.add_prior(0, Amount(calls=4, tokens=40, cost=0.4))
    assert (meter.calls, meter.calls_left()) == (0, 10)  # what is shared out does not change
    for _ in range(6):
        assert meter.reserve(Amount(tokens=10, cost=0.1))
        meter.settle(tokens=10, cost=0.1, reservation=Amount(tokens=10, cost=0.1))
    with pytest.raises(BudgetExhausted):
        meter.reserve(Amount())
    assert not meter.reserve(Amount(), replays_first=True)  # whoever was paid before goes first
    for _ in range(4):
        meter.replay(Amount(calls=1, tokens=10, cost=0.1))
        meter.settle(tokens=10, cost=0.1, reservation=Amount(tokens=10, cost=0.1))
    assert (meter.calls, meter.tokens, meter.calls_left(), meter._outstanding()) == (10, 100, 0, Amount())


@pytest.mark.parametrize("budget", [Budget(tokens=100), Budget(cost=1.0)])
def test_tokens_and_cost_that_are_owed_leave_no_room_either(budget: Budget) -> None:
    meter = Meter(budget)
    meter.add_prior(0, Amount(calls=9, tokens=90, cost=0.9))
    with pytest.raises(BudgetExhausted):
        meter.reserve(Amount(tokens=11, cost=0.11))
    assert meter.reserve(Amount(tokens=10, cost=0.1))


def test_what_is_owed_by_a_later_part_does_not_end_an_earlier_one() -> None:
    meter = Meter(Budget(calls=10))
    meter.keep_back(5)
    meter.add_prior(2, Amount(calls=4))  # out of what is kept back
    used(meter, 5)
    with pytest.raises(BudgetExhausted):
        meter.reserve()
    meter.keep_back(0)
    meter.reserve()
    with pytest.raises(BudgetExhausted):
        meter.reserve()


def test_what_a_later_part_paid_is_not_taken_into_an_earlier_one() -> None:
    """The share of the earlier part was used up by others, which are asked for after it now."""
    meter = Meter(Budget(calls=10))
    meter.keep_back(5)
    meter.add_prior(1, Amount(calls=5))
    meter.add_prior(2, Amount(calls=1))
    with pytest.raises(BudgetExhausted):
        meter.replay(Amount(calls=1), phase=2)
    for _ in range(5):
        meter.replay(Amount(calls=1), phase=1)
        meter.settle(tokens=0, cost=0.0, reservation=Amount())
    meter.keep_back(0)
    meter.replay(Amount(calls=1), phase=2)
    assert meter._outstanding() == Amount()
