"""A rate limit and an overload are waited out by time; every other trouble by a count of attempts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from asking import CASES, asker, right, spend
from clocks import FakeClock
from dspy import LMError, LMProviderError, LMRateLimitError, LMServerError, LMTransportError
from dspy.lm15 import Message, Request
from fakes import Scripted, context_with
from loopback import Fault, Loopback

from jurist.engines import channel as module
from jurist.engines.channel import CallContext, Channel
from jurist.engines.journal import Journal
from jurist.engines.meter import Budget
from jurist.engines.pace import Pace
from jurist.errors import BudgetExhausted

Answers = Callable[[float, int], LMError | None]
"""Seconds since the first request of a row, and its number from 0 -> how it fails, ``None`` if it is answered."""
KNOWN = "a row that was answered before"


def request(text: str) -> Request:
    return Request(model="test/m", messages=(Message.user(text),))


def too_fast(asked: float | None = None) -> LMError:
    return LMRateLimitError("slow down", status=429, retry_after=asked)


def overloaded() -> LMError:
    return LMServerError("overloaded", status=529)


def until(seconds: float, error: Callable[[], LMError]) -> Answers:
    """Fail for so long."""
    return lambda passed, number: error() if passed < seconds else None


def times(count: int, error: Callable[[], LMError], then: Answers = lambda passed, number: None) -> Answers:
    """Fail so often, and go on as ``then`` says."""
    return lambda passed, number: error() if number < count else then(passed, number - count)


NEVER = 1e9


@dataclass(frozen=True, kw_only=True)
class Limited:
    """One row that is refused, and what becomes of it."""

    answers: Answers
    attempts: int
    is_answered: bool = False
    ends_after: tuple[float, float] = (0.0, NEVER)
    """The least and the most seconds after which it is answered or given up."""
    is_known: bool = True
    """Whether the endpoint has answered before."""
    others_until: float = -1.0
    """The seconds until which the endpoint answers other rows all the while."""
    patience: float = 60.0


ROWS = {
    "a limit of a minute": Limited(
        answers=until(59, too_fast), attempts=8, is_answered=True, ends_after=(59, 90)
    ),
    "a limit that lasts": Limited(answers=until(NEVER, too_fast), attempts=8, ends_after=(60, 91)),
    "an overload that lasts": Limited(answers=until(NEVER, overloaded), attempts=8, ends_after=(60, 91)),
    "a limit of ten minutes, while others are answered": Limited(
        answers=until(600, too_fast), others_until=600, attempts=26, is_answered=True, ends_after=(600, 630)
    ),
    "an overload of ten minutes, while others are answered": Limited(
        answers=until(600, overloaded), others_until=600, attempts=26, is_answered=True, ends_after=(600, 630)
    ),
    "a limit of twelve hours, while others are answered": Limited(
        answers=until(43200, too_fast),
        others_until=43200,
        attempts=1446,
        is_answered=True,
        ends_after=(43200, 43230),
    ),
    "it ends a minute after the last answer to others": Limited(
        answers=until(NEVER, too_fast), others_until=300, attempts=17, ends_after=(331, 332)
    ),
    "a longer patience": Limited(
        answers=until(NEVER, too_fast), patience=300.0, attempts=16, ends_after=(300, 331)
    ),
    "a patience of none is that of a minute": Limited(
        answers=until(NEVER, too_fast), patience=0.0, attempts=8, ends_after=(60, 91)
    ),
    "it asks to wait for a minute, and refuses again after it": Limited(
        answers=times(2, lambda: too_fast(60.0)), attempts=3, is_answered=True, ends_after=(120, 121)
    ),
    "it asks for no wait, and is not hammered": Limited(
        answers=until(NEVER, lambda: too_fast(0.0)), attempts=8, ends_after=(60, 91)
    ),
    "an endpoint that has never answered": Limited(
        answers=until(NEVER, too_fast), attempts=8, is_known=False, ends_after=(60, 91)
    ),
    "refusals do not count as failures of another kind": Limited(
        answers=times(7, too_fast, times(7, lambda: LMTransportError("lost"))), attempts=15, is_answered=True
    ),
    "other errors of a server": Limited(
        answers=until(NEVER, lambda: LMServerError("no", status=500)), others_until=NEVER, attempts=8
    ),
    "lost connections": Limited(
        answers=until(NEVER, lambda: LMTransportError("lost")), others_until=NEVER, attempts=8
    ),
    "unusable replies": Limited(
        answers=until(NEVER, lambda: LMProviderError("cut", status=200)), others_until=NEVER, attempts=4
    ),
    "a limit of a day": Limited(answers=until(NEVER, lambda: too_fast(432.0)), attempts=1),
    "a limit of a day by its name": Limited(
        answers=until(NEVER, lambda: LMRateLimitError("quota RequestsPerDay", status=429)), attempts=1
    ),
}


class Endpoint(Scripted):
    """Answers at once, but for the row in trouble."""

    def __init__(self, row: Limited, pace: Pace, clock: FakeClock) -> None:
        super().__init__(self.said)
        self.row, self.pace, self.clock = row, pace, clock
        self.first: float | None = None
        self.refused = 0

    def said(self, request: Request) -> str | BaseException:
        if request.messages[-1].text == KNOWN:
            return "fine"
        if self.first is None:
            self.first = self.clock.now
        passed = self.clock.now - self.first
        if passed < self.row.others_until:
            self.pace.note_answer(self.clock.now)
        self.refused += 1
        return self.row.answers(passed, self.refused - 1) or "fine"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    fake.rule(monkeypatch)
    return fake


@pytest.mark.parametrize("name", ROWS)
def test_how_long_a_row_is_asked_for(name: str, clock: FakeClock) -> None:
    row = ROWS[name]
    pace = Pace(patience=row.patience)
    endpoint, context = Endpoint(row, pace, clock), CallContext.fresh()
    channel = Channel(endpoint, context, "judge", pace)
    if row.is_known:
        channel.complete(request(KNOWN))
    start = clock.now
    if row.is_answered:
        assert channel.complete(request("a row")).text == "fine"
    else:
        with pytest.raises(LMError):
            channel.complete(request("a row"))
    spent = context.ledger.spend()
    assert spent.calls - row.is_known == endpoint.refused == row.attempts
    assert spent.failures == (not row.is_answered)
    least, most = row.ends_after
    assert least <= clock.now - start <= most


def test_an_endpoint_that_answered_an_earlier_process_has_answered(clock: FakeClock, tmp_path: Path) -> None:
    row = Limited(answers=until(NEVER, lambda: too_fast(2.0)), attempts=0)
    context = context_with(journal=Journal(tmp_path / "j"))
    Channel(Endpoint(row, Pace(), clock), context, "judge").complete(request(KNOWN))
    context.journal.close()
    context = context_with(journal=Journal(tmp_path / "j"))
    channel = Channel(Endpoint(row, Pace(), clock), context, "judge")
    channel.complete(request(KNOWN))
    start = clock.now
    with pytest.raises(LMRateLimitError):
        channel.complete(request("a row"))
    assert clock.now - start > 60


def test_endpoints_of_one_job_are_apart(clock: FakeClock) -> None:
    """That the one answers does not prolong the patience with the other."""
    context = CallContext.fresh()
    lasting = Limited(answers=until(NEVER, too_fast), attempts=0)
    healthy = Channel(Endpoint(lasting, Pace(), clock), context, "proposer")
    pace = Pace()
    endpoint = Endpoint(lasting, pace, clock)
    channel = Channel(endpoint, context, "judge", pace)
    channel.complete(request(KNOWN))

    def refused_while_the_other_answers(passed: float, number: int) -> LMError:
        healthy.complete(request(KNOWN))
        return too_fast()

    endpoint.row = Limited(answers=refused_while_the_other_answers, attempts=0)
    with pytest.raises(LMRateLimitError):
        channel.complete(request("a row"))
    assert endpoint.refused == 8


@pytest.mark.parametrize(
    ("budget", "limit", "attempts", "seconds"),
    [
        (Budget(calls=6), "calls", 5, 15.5),
        (Budget(seconds=20.0), "seconds", 6, 20.2),
        (Budget(seconds=100.0), "seconds", 9, 100.2),
    ],
)
def test_a_limit_of_the_job_ends_the_waiting(
    clock: FakeClock, budget: Budget, limit: str, attempts: int, seconds: float
) -> None:
    """Refusals are calls, and no wait goes beyond the seconds of the job."""
    pace = Pace()
    row = Limited(answers=until(NEVER, too_fast), others_until=NEVER, attempts=0)
    endpoint = Endpoint(row, pace, clock)
    channel = Channel(endpoint, context_with(budget), "judge", pace)
    channel.complete(request(KNOWN))
    start = clock.now
    with pytest.raises(BudgetExhausted) as stop:
        channel.complete(request("a row"))
    assert (stop.value.limit, endpoint.refused) == (limit, attempts)
    assert clock.now - start <= seconds


@pytest.mark.parametrize(("fault", "concurrency"), [("429", 1), ("503", 2), ("429", 3)])
def test_a_burst_of_refusals_loses_no_row(
    serve: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch, fault: Fault, concurrency: int
) -> None:
    """Few requests are in flight, and each is refused more often than eight times within the minute."""
    wait_of = module.backoff
    monkeypatch.setattr(module, "backoff", lambda error, attempt: wait_of(error, attempt) / 100)
    refusals = dict.fromkeys(range(10, 10 + 10 * concurrency), fault)
    server = serve(faults=refusals, retry_after="1")
    judge = asker(server, concurrency=concurrency)
    found = judge.ask_all(CASES[:30])
    assert [verdict.status for verdict in found] == ["verdict"] * 30
    assert all(right(verdict, number) for number, verdict in enumerate(found))
    counts = spend(judge)
    assert server.count == counts.calls == 30 + len(refusals)
    assert counts.retries == len(refusals)
