"""An endpoint is asked no faster than it was said, and than it bears."""

import asyncio
import math
from typing import Any

import pytest
from dspy import LMTransportError
from dspy.lm15 import Message, Request
from loopback import Loopback

from jurist.engines import pace as module
from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.engines.pace import Pace


def request(text: str = "u") -> Request:
    return Request(model="openai/m", messages=(Message.user(text),))


class Clock:
    """Stands still unless it is told."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


def test_requests_are_spread_over_the_minute(clock: Clock) -> None:
    pace = Pace(requests_a_minute=120)
    assert [pace.take_slot() for _ in range(4)] == pytest.approx([0, 0.5, 1, 1.5])
    clock.now += 60
    assert pace.take_slot() == 0  # what was not used is gone


def test_rows_in_flight_follow_what_the_endpoint_bears() -> None:
    server = Loopback(lambda messages: "fine", delay=0.02, retry_after="0.05")
    server.faults = lambda index, body: "429" if server.in_flight >= 6 else None
    context = CallContext.fresh()

    async def all_of_them() -> None:
        model = connect(Model(name="openai/m", api_base=server.url), context)
        await asyncio.gather(*(model.acall(request(f"row {number}")) for number in range(80)))

    with server:
        asyncio.run(all_of_them())
    spend = context.ledger.spend()
    assert (spend.calls - spend.retries, spend.failures) == (80, 0)
    assert server.count == spend.calls


@pytest.mark.parametrize(
    ("pause", "requested_wait", "closed"),
    [
        (1.0, 1.0, 1.0),
        (30.0, 1.0, 2.0),  # one request was refused often: others may come sooner
        (30.0, 20.0, 20.0),
        (0.0, 0.0, 0.0),
        (4.0, 0.0, 2.0),
        (0.5, None, 0.0),
    ],
)
def test_after_two_refusals_without_an_answer_none_leaves_for_a_time(
    clock: Clock, pause: float, requested_wait: float | None, closed: float
) -> None:
    pace = Pace()
    pace.note_refusal(pace.begin(), pause, requested_wait)
    pace.end()
    assert pace.seconds_until_look() == 0
    clock.now += 1
    pace.note_refusal(pace.begin(), pause, requested_wait)
    pace.end()
    assert pace.seconds_until_look() == closed


def test_a_call_that_blocks_the_event_loop_does_not_wait_for_those_in_it() -> None:
    async def inside(model: Any) -> Any:
        model.engine.pace.begin()  # it cannot end while the loop is blocked
        model.engine.pace.note_refusal(math.inf, 0, None)
        return model(request())

    with Loopback(lambda messages: "fine") as server:
        model = connect(Model(name="openai/m", api_base=server.url), CallContext.fresh())
        assert asyncio.run(inside(model)).text == "fine"


@pytest.mark.parametrize(("patience", "done"), [(20.0, 12), (0.5, 4)])
def test_one_that_is_away_is_waited_for(patience: float, done: int, caplog: pytest.LogCaptureFixture) -> None:
    """Its server goes after four answers and comes back, or does not within the patience."""
    context = CallContext.fresh()
    with Loopback(lambda messages: "fine") as first:
        port = first.port
        model = connect(Model(name="openai/m", api_base=first.url, patience=patience), context)
        answers = [model(request(f"row {number}")) for number in range(4)]

    async def rest() -> list[Any]:
        calls = (model.acall(request(f"row {number}")) for number in range(4, 12))
        return await asyncio.gather(*calls, return_exceptions=True)

    async def all_of_them() -> list[Any]:
        asking = asyncio.create_task(rest())
        await asyncio.sleep(1.2)
        if patience < 1:
            return await asking
        with Loopback(lambda messages: "fine", port=port):
            return await asking

    answers += [one for one in asyncio.run(all_of_them()) if not isinstance(one, BaseException)]
    assert len(answers) == done
    spend = context.ledger.spend()
    assert spend.calls - spend.retries - spend.failures == done
    assert spend.retries < (40 if patience < 1 else 16)
    assert ["away" in one or "again" in one for one in caplog.messages] == [True] * (1 + (done == 12))


@pytest.mark.usefixtures("no_waiting")
def test_an_address_that_never_answered_is_not_waited_for() -> None:
    with Loopback() as server:
        url = server.url
    context = CallContext.fresh()
    model = connect(Model(name="openai/m", api_base=url), context)
    with pytest.raises(LMTransportError):
        model(request())
    assert context.ledger.spend().calls == 4
