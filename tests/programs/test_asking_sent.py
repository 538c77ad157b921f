"""What leaves over real HTTP: settings, concurrency, budgets, and from which event loop."""

import asyncio
import json
from collections.abc import Callable

import pytest
from asking import CASES, FECT, asker, right, wait_briefly
from fakes import context_with
from loopback import Loopback

from jurist.engines.channel import CallContext
from jurist.engines.meter import Budget
from jurist.engines.models import Model, connect
from jurist.errors import BudgetExhausted
from jurist.evaluation.votes import Sampling
from jurist.programs.asking import Asker
from jurist.programs.verdicts import Verdict

Serve = Callable[..., Loopback]


@pytest.fixture(autouse=True)
def _waits(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch)


# -- what is sent ------------------------------------------------------------------------------------


def test_the_sample_number_is_never_sent(serve: Serve) -> None:
    server = serve()
    verdict = asker(server, sampling=Sampling(samples=5)).ask(CASES[0])
    assert len(verdict.samples) == server.count == 5
    assert len(server.by_body) == 1
    assert "seed" not in json.dumps([hit.body for hit in server.hits])
    assert set(server.hits[0].body) == {"model", "messages", "max_tokens", "max_completion_tokens"}
    assert server.hits[0].body["model"] == "gpt-4.1-mini"


def test_settings_are_sent(serve: Serve) -> None:
    server = serve()
    model = Model(name="openai/gpt-4.1-mini", api_base=server.url, temperature=0.7, max_tokens=50)
    Asker(judge=FECT, program=FECT.basic(), lm=connect(model, CallContext.fresh())).ask(CASES[0])
    body = server.hits[0].body
    assert body["temperature"] == 0.7
    assert 50 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_concurrency_is_bounded_and_used(serve: Serve, concurrency: int) -> None:
    server = serve(delay=0.02 * concurrency)
    asker(server, concurrency=concurrency).ask_all(CASES[:24])
    assert server.peak == concurrency


# -- budget -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [1, 7, 50])
def test_exactly_as_many_requests_as_the_budget_has_calls(serve: Serve, calls: int) -> None:
    server, context, seen = serve(delay=0.005), context_with(Budget(calls=calls)), []
    with pytest.raises(BudgetExhausted):
        asker(server, context, concurrency=8).ask_all(CASES, lambda index, verdict: seen.append(verdict))
    assert server.count == calls == context.meter.calls == context.ledger.spend().calls == len(seen)


def test_retries_are_paid_from_the_budget(serve: Serve) -> None:
    server = serve(faults=lambda index, body: "500" if index % 3 == 0 else None, delay=0.005)
    context = context_with(Budget(calls=40))
    with pytest.raises(BudgetExhausted):
        asker(server, context, concurrency=8).ask_all(CASES)
    assert server.count == 40 == context.ledger.spend().calls
    assert context.ledger.spend().retries > 5


def test_a_budget_of_seconds_ends_the_work(serve: Serve) -> None:
    server = serve(delay=0.05)
    with pytest.raises(BudgetExhausted, match="seconds"):
        asker(server, context_with(Budget(seconds=0.3)), concurrency=2).ask_all(CASES)
    assert 0 < server.count < 200


# -- event loops ----------------------------------------------------------------------------------------


def test_asking_inside_a_running_loop(serve: Serve) -> None:
    server = serve()

    async def notebook() -> list[Verdict]:
        return asker(server).ask_all(CASES[:5])

    assert all(right(verdict, n) for n, verdict in enumerate(asyncio.run(notebook())))


def test_asking_from_async_code(serve: Serve) -> None:
    server = serve()

    async def application() -> list[list[Verdict]]:
        judge = asker(server)
        return list(await asyncio.gather(judge.ask_async(CASES[:5]), judge.ask_async(CASES[5:9])))

    first, second = asyncio.run(application())
    assert all(right(verdict, n) for n, verdict in enumerate([*first, *second]))
