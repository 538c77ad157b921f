"""Asking over real HTTP: every fault ends as documented, nothing is invented, and every call is counted."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import CASES, FECT, asker, right, spend, wait_briefly
from fakes import context_with
from loopback import Loopback
from wire import Wire, anthropic_reply

from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.meter import Budget
from jurist.engines.models import Model, connect
from jurist.errors import BudgetExhausted, ModelError, UsageError
from jurist.evaluation.votes import Sampling
from jurist.programs.asking import Asker
from jurist.programs.verdicts import Verdict

Serve = Callable[..., Loopback]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return wait_briefly(monkeypatch)


def test_what_a_provider_had_cached_is_counted_and_costs_less(serve: Serve) -> None:
    plain, cached = asker(serve()), asker(serve(cached=80))
    for judge in (plain, cached):
        usage = judge.ask(CASES[0]).usage
        assert usage == spend(judge)
    assert (usage.input_tokens, usage.cached_tokens) == (100, 80)
    assert spend(cached).cost < spend(plain).cost


def test_a_reply_is_kept_without_the_key(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-0123456789")
    heading = "[[ ## note ## ]]\n"
    server = serve(
        lambda messages: f"{heading}You sent {server.hits[-1].authorization}.\n[[ ## factual ## ]]\nTrue"
    )
    context = context_with(journal=Journal(tmp_path / "j"))
    lm = connect(Model(name="openai/gpt-4.1-mini", api_base=server.url), context)
    verdict = Asker(judge=FECT, program=FECT.basic(), lm=lm).ask(CASES[0])
    assert (verdict.status, server.hits[0].authorization) == ("verdict", "Bearer canary-0123456789")
    context.journal.close()
    kept = (tmp_path / "j").read_bytes()
    assert b"You sent Bearer ***" in kept
    assert b"canary" not in kept


def test_a_key_with_a_line_break_is_one_line(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-0123\n456789")
    with pytest.raises(UsageError, match="holds a line break") as end:
        asker(serve())
    assert "canary" not in str(end.value)


@pytest.mark.parametrize(("ended", "calls"), [("eos", 4), ("content_filter", 1), ("error", 4)])
def test_an_empty_reply_is_asked_for_again_but_for_a_filter(serve: Serve, ended: str, calls: int) -> None:
    judge = asker(serve(lambda messages: "", ended=ended))
    assert judge.ask(CASES[0]).usage.calls == calls


@pytest.mark.parametrize(
    ("ended", "kind", "said"),
    [
        ("MAX_TOKENS", "reply cut off", "raise --max-tokens"),
        ("model_length", "context length", "name a model with a larger window"),
        ("abort", "unreadable reply", "the endpoint has ended it before it was over"),
        ("insufficient_system_resource", "unreadable reply", "the endpoint has ended it before it was over"),
        ("new", "unreadable reply", "the endpoint has ended it before it was over"),
    ],
)
def test_an_end_that_is_no_end_leaves_halves(serve: Serve, ended: str, kind: str, said: str) -> None:
    half = "[[ ## factual ## ]]\nTrue"
    verdict = asker(serve(lambda messages: half, ended=ended)).ask(CASES[0])
    assert (verdict.status, verdict.error_kind) == ("abstained", kind)
    assert said in verdict.error


def test_a_reply_of_anthropic_that_fills_the_window_names_a_larger_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-of-the-tests")
    half = "[[ ## factual ## ]]\nTrue"
    reply = anthropic_reply(half, input_tokens=9, output_tokens=9)
    with Wire({**reply, "stop_reason": "model_context_window_exceeded"}) as wire:
        lm = connect(Model(name="anthropic/claude-haiku-4-5", api_base=wire.url), context_with())
        verdict = Asker(judge=FECT, program=FECT.basic(), lm=lm).ask(CASES[0])
    assert (verdict.status, verdict.error_kind, verdict.usage.calls) == ("abstained", "context length", 1)
    assert "name a model with a larger window" in verdict.error


@pytest.mark.parametrize(
    ("fault", "status", "calls", "said"),
    [
        ("429", "failed", 8, "rate limit: "),
        ("500", "failed", 8, "server error: "),
        ("503", "failed", 8, "overload: "),
        ("truncated", "failed", 4, "not JSON"),
        ("html", "failed", 4, "not JSON"),
        ("400", "failed", 1, "not valid"),
        ("empty", "failed", 4, "empty reply"),
        ("null", "failed", 4, "empty reply"),
        ("choiceless", "failed", 4, "empty reply"),
        ("thought", "failed", 1, "all of its text stands in its reasoning"),
        ("cut", "abstained", 1, "cut off at 10 tokens: raise --max-tokens"),
        ("half", "abstained", 1, "cut off at 10 tokens: raise --max-tokens"),
        ("filtered", "abstained", 1, "the endpoint's filter refused this row"),
        ("refused", "abstained", 1, "the endpoint's filter refused this row: I cannot help with that."),
        ("two", "failed", 4, "2 choices"),
        ("garbage", "abstained", 1, "unusable reply"),
    ],
)
def test_a_lasting_fault_of_one_row(serve: Serve, fault: Any, status: str, calls: int, said: str) -> None:
    def on_one(index: int, body: dict[str, Any]) -> Any:
        return fault if "claim 3" in body["messages"][-1]["content"] else None

    server = serve(faults=on_one)
    judge = asker(server)
    found = judge.ask_all(CASES[:6])
    assert [verdict.status for verdict in found] == ["verdict"] * 3 + [status] + ["verdict"] * 2
    assert found[3].values == (None,)
    assert said in found[3].error
    assert "\n" not in found[3].error
    assert all(right(found[n], n) for n in (0, 1, 2, 4, 5))
    counts = spend(judge)
    assert counts.calls == server.count == 5 + calls
    assert counts.retries == calls - 1
    assert counts.failures == (status == "failed")
    assert found[3].usage.calls == calls


def test_an_answer_in_a_tool_call_is_read(serve: Serve) -> None:
    verdict = asker(serve(faults={0: "tool"}), adapter="json").ask(CASES[0])
    assert (verdict.label, verdict.usage.calls) == ("factual", 1)


@pytest.mark.parametrize(
    "fault", ["429", "500", "503", "reset", "truncated", "html", "empty", "null", "choiceless"]
)
def test_a_passing_fault_is_retried(serve: Serve, fault: Any, waits: list[float]) -> None:
    server = serve(faults={0: fault, 1: fault})
    judge = asker(server, concurrency=1)
    assert right(judge.ask(CASES[7]), 7)
    counts = spend(judge)
    assert (server.count, counts.calls, counts.retries, counts.failures) == (3, 3, 2, 0)
    assert len(server.by_body) == 1
    assert waits == ([0.0, 0.0] if fault in ("429", "503") else [0.5, 1.0])


@pytest.mark.parametrize(
    ("header", "expected"),
    [("7", 7.0), ("0.25", 0.25), ("60", 60.0), (None, 0.5), ("nonsense", 0.5), ("-4", 0.5)],
)
def test_retry_after_is_kept(serve: Serve, waits: list[float], header: str | None, expected: float) -> None:
    server = serve(faults={0: "429"}, retry_after=header)
    assert asker(server).ask(CASES[0]).status == "verdict"
    assert waits == [expected]
    assert server.times[1] - server.times[0] >= expected / 100


def test_a_limit_of_a_day_ends_the_job_and_names_its_time(serve: Serve, waits: list[float]) -> None:
    server = serve(faults={0: "429"}, retry_after="432")
    with pytest.raises(ModelError, match=r"takes requests again in 7 min 12 s, at \d{4}-.*resume=True"):
        asker(server).ask(CASES[0])
    assert (server.count, waits) == (1, [])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("401", "check the API key"),
        ("404", "check the model's name"),
        ("quota", "check the account's credit"),
    ],
)
def test_what_every_row_would_meet_ends_the_work(serve: Serve, fault: Any, said: str) -> None:
    server = serve(faults=lambda index, body: fault)
    with pytest.raises(ModelError, match=said) as stop:
        asker(server, concurrency=2).ask_all(CASES)
    assert "\n" not in str(stop.value)
    assert len(str(stop.value)) < 400
    assert "RouterConfig" not in str(stop.value)
    assert server.count <= 2


def test_the_key_is_never_said(serve: Serve, fake_key: str) -> None:
    server, context = serve(faults=lambda index, body: "401"), CallContext.fresh()
    with pytest.raises(ModelError) as stop:
        asker(server, context).ask(CASES[0])
    assert server.hits[0].authorization == f"Bearer {fake_key}"
    assert "Incorrect API key provided: ***" in str(stop.value)
    assert fake_key not in str(stop.value) + stop.value.message + stop.value.hint + json.dumps(
        context.ledger.to_json()
    )
    server = serve(answers=lambda messages: f"I know your key {fake_key}")
    verdict = asker(server).ask(CASES[0])
    assert (verdict.status, "***" in verdict.error) == ("abstained", True)
    assert fake_key not in repr(verdict)


# -- servers that are not there, or do not answer ---------------------------------------------------


@pytest.mark.parametrize("model", ["openai/gpt-4.1-mini", "anthropic/claude-sonnet-4-5"])
def test_a_missing_key_is_one_line(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    lm = connect(Model(name=model), CallContext.fresh())
    with pytest.raises(ModelError, match=r"_API_KEY") as stop:
        Asker(judge=FECT, program=FECT.basic(), lm=lm).ask(CASES[0])
    assert "\n" not in str(stop.value)
    assert "dspy" not in str(stop.value)


def test_a_server_that_goes_away_later_fails_rows_and_no_more(serve: Serve) -> None:
    server = serve(faults=lambda index, body: "reset" if index >= 5 else None)
    found = asker(server, concurrency=1).ask_all(CASES[:8])
    assert [verdict.status for verdict in found] == ["verdict"] * 5 + ["failed"] * 3


def test_a_server_that_never_answers_fails_the_row(serve: Serve, waits: list[float]) -> None:
    server = serve(faults=lambda index, body: "hang")
    verdict = asker(server, timeout=0.15).ask(CASES[0])
    assert verdict.status == "failed"
    assert "no answer within 0.15 s" in verdict.error
    assert server.count == 4
    assert len(waits) == 3


def test_a_server_that_trickles_is_not_waited_for() -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle() -> None:
            while not stop.is_set():
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                with peer:
                    peer.recv(65536)
                    try:
                        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                        while not stop.wait(0.02):
                            peer.sendall(b" ")
                    except OSError:
                        pass

        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        verdict = asker(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", timeout=0.2).ask(CASES[0])
        stop.set()
    assert verdict.status == "failed"
    assert "no answer within" in verdict.error


def test_the_sample_number_is_never_sent(serve: Serve) -> None:
    server = serve()
    verdict = asker(server, sampling=Sampling(samples=5)).ask(CASES[0])
    assert len(verdict.samples) == server.count == 5
    assert len(server.by_body) == 1
    assert "seed" not in json.dumps([hit.body for hit in server.hits])
    assert set(server.hits[0].body) == {"model", "messages", "max_tokens", "max_completion_tokens"}
    assert server.hits[0].body["model"] == "gpt-4.1-mini"


@pytest.mark.parametrize("calls", [1, 7, 50])
def test_exactly_as_many_requests_as_the_budget_has_calls(serve: Serve, calls: int) -> None:
    server, context, seen = serve(delay=0.005), context_with(Budget(calls=calls)), []
    with pytest.raises(BudgetExhausted):
        asker(server, context, concurrency=8).ask_all(CASES, lambda index, verdict: seen.append(verdict))
    assert server.count == calls == context.meter.calls == context.ledger.spend().calls == len(seen)


def test_a_budget_of_seconds_ends_the_work(serve: Serve) -> None:
    server = serve(delay=0.05)
    with pytest.raises(BudgetExhausted, match="seconds"):
        asker(server, context_with(Budget(seconds=0.3)), concurrency=2).ask_all(CASES)
    assert 0 < server.count < 200


def test_asking_from_async_code(serve: Serve) -> None:
    server = serve()

    async def application() -> list[list[Verdict]]:
        judge = asker(server)
        return list(await asyncio.gather(judge.ask_async(CASES[:5]), judge.ask_async(CASES[5:9])))

    first, second = asyncio.run(application())
    assert all(right(verdict, n) for n, verdict in enumerate([*first, *second]))
