"""Calls that an earlier process began: their share of the budget is kept for them."""

import pytest

from jurist.engines.meter import Amount, Budget, Meter
from jurist.errors import BudgetExhausted


def test_no_new_call_is_made_in_the_place_of_one_that_is_owed() -> None:
    meter = Meter(Budget(calls=10, tokens=100, cost=1.0))
    meter.add_prior(0, Amount(calls=4, tokens=40, cost=0.4))
    assert (meter.calls, meter.left()) == (0, 10)  # what is shared out does not change
    for _ in range(6):
        assert meter.reserve(Amount(tokens=10, cost=0.1))
        meter.settle(tokens=10, cost=0.1, reservation=Amount(tokens=10, cost=0.1))
    with pytest.raises(BudgetExhausted):
        meter.reserve(Amount())
    assert not meter.reserve(Amount(), replays_first=True)  # whoever was paid before goes first
    for _ in range(4):
        meter.replay(Amount(calls=1, tokens=10, cost=0.1))
        meter.settle(tokens=10, cost=0.1, reservation=Amount(tokens=10, cost=0.1))
    assert (meter.calls, meter.tokens, meter.left(), meter._outstanding()) == (10, 100, 0, Amount())


@pytest.mark.parametrize("budget", [Budget(tokens=100), Budget(cost=1.0)])
def test_tokens_and_cost_that_are_owed_leave_no_room_either(budget: Budget) -> None:
    meter = Meter(budget)
    meter.add_prior(0, Amount(calls=9, tokens=90, cost=0.9))
    with pytest.raises(BudgetExhausted):
        meter.reserve(Amount(tokens=11, cost=0.11))
    assert meter.reserve(Amount(tokens=10, cost=0.1))


def test_what_is_owed_by_a_later_part_does_not_end_an_earlier_one() -> None:
    meter = Meter(Budget(calls=10))
    meter.hold(5)
    meter.add_prior(2, Amount(calls=4))  # out of what is kept back
    for _ in range(5):
        meter.reserve()
        meter.settle(tokens=1, cost=0.0)
    with pytest.raises(BudgetExhausted):
        meter.reserve()
    meter.hold(0)
    meter.reserve()
    with pytest.raises(BudgetExhausted):
        meter.reserve()


def test_what_a_later_part_paid_is_not_taken_into_an_earlier_one() -> None:
    """The share of the earlier part was used up by others, which are asked for after it now."""
    meter = Meter(Budget(calls=10))
    meter.hold(5)
    meter.add_prior(1, Amount(calls=5))
    meter.add_prior(2, Amount(calls=1))
    with pytest.raises(BudgetExhausted):
        meter.replay(Amount(calls=1), phase=2)
    for _ in range(5):
        meter.replay(Amount(calls=1), phase=1)
        meter.settle(tokens=0, cost=0.0, reservation=Amount())
    meter.hold(0)
    meter.replay(Amount(calls=1), phase=2)
    assert meter._outstanding() == Amount()
