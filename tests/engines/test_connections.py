"""What comes back over connections of our own, from servers that say things in ways of their own."""

import gc
import json
import os
import socketserver
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import loopback
import pytest
from asking import CASES, asker, right, spend, wait_briefly
from fakes import context_with
from loopback import answer

from jurist.engines import direct
from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.meter import Budget
from jurist.engines.models import Model, connect
from jurist.errors import ModelError
from jurist.keeping.spend_card import PurposeSpend
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT
from jurist.programs.settings import AskSettings
from jurist.report.scores import spend_line

Plan = Callable[[int, dict[str, Any]], bytes]
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return wait_briefly(monkeypatch)


class Raw(socketserver.ThreadingTCPServer):
    """Sends whatever bytes a plan has for a request: its number and body -> what is sent."""

    daemon_threads = allow_reuse_address = True
    count = 0
    plan: Plan

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Sends(socketserver.StreamRequestHandler):
    server: Raw

    def handle(self) -> None:
        while head := self.rfile.readline():
            length = 0
            while (line := self.rfile.readline().lower()).strip():
                length = int(line.split(b":")[1]) if line.startswith(b"content-length") else length
            assert head.startswith(b"POST")
            self.server.count += 1
            self.wfile.write(self.server.plan(self.server.count - 1, json.loads(self.rfile.read(length))))


@contextmanager
def raw(plan: Plan) -> Iterator[Raw]:
    with Raw(("127.0.0.1", 0), _Sends) as server:
        server.plan = plan
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def http(body: Any, status: str = "200 OK") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status.encode(), len(data)) + data


def said(body: dict[str, Any], choice: Any = (), **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer(body["messages"])}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **dict(choice)}
    return {"id": "1", "model": "m", "usage": USAGE, "choices": [choice], **more}


@pytest.mark.parametrize(
    "wrong",
    [
        {"usage": {"prompt_tokens": -5, "completion_tokens": 10}},
        {"usage": {"prompt_tokens": 10**30, "completion_tokens": 10}},
        {"usage": {"prompt_tokens": 100.5, "completion_tokens": 10}},
        {"usage": {"prompt_tokens": "100", "completion_tokens": None}},
        {"usage": [1]},
        {"model": "half \ud800"},
        {"choice": {"logprobs": {"content": [{"token": "True", "logprob": None}]}}},
        {"choice": {"logprobs": {"content": [{"token": "True", "logprob": float("nan")}]}}},
    ],
)
def test_a_paid_reply_is_read_whatever_stands_beside_its_text(wrong: dict[str, Any], tmp_path: Path) -> None:
    with raw(lambda number, body: http(said(body, **wrong))) as server:
        judge = asker(server.url, context_with(journal=Journal(tmp_path / "j")))
        assert right(judge.ask(CASES[0]), 0)
        assert (server.count, spend(judge).calls) == (1, 1)


@pytest.mark.parametrize("value", ["[" * 3000 + "]" * 3000, "NaN", "1e999"])
def test_what_a_schema_did_not_hold_is_an_abstention_and_counted(value: str) -> None:
    choice = {"message": {"role": "assistant", "content": f'{{"factual": {value}}}'}}
    with raw(lambda number, body: http(said(body, choice))) as server:
        judge = asker(server.url, adapter="json")
        verdict = judge.ask(CASES[0])
        assert (verdict.status, verdict.usage.input_tokens, server.count) == ("abstained", 100, 1)


@pytest.mark.parametrize(
    "body",
    [
        {"object": "error", "message": "it has no room", "code": 400},
        {"detail": [{"loc": ["body"], "msg": "it has no room"}]},
        {"error": None, "detail": "it has no room"},
        [{"error": {"message": "it has no room"}}],
    ],
)
def test_a_refusal_is_told_in_its_words_wherever_they_stand(body: Any) -> None:
    with raw(lambda number, _: http(body, "400 Bad Request")) as server:
        assert "it has no room" in asker(server.url).ask(CASES[0]).error


@pytest.mark.parametrize(
    "sent", [b"HTTP/1.1 ABC Odd\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
)
def test_what_is_no_http_is_told_without_the_address(sent: bytes) -> None:
    with raw(lambda number, body: sent) as server, pytest.raises(ModelError) as end:
        asker(f"{server.url}/canary-0123456789/v1").ask_all(CASES[:12])
    assert "canary" not in str(end.value)


def test_a_model_called_by_the_key_is_kept_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-0123456789")
    context = context_with(journal=Journal(tmp_path / "j"))
    with raw(lambda number, body: http(said(body, model="Bearer canary-0123456789"))) as server:
        assert right(asker(server.url, context).ask(CASES[0]), 0)
    context.journal.close()
    assert b"canary" not in (tmp_path / "j").read_bytes()


def test_a_reply_that_unpacks_to_more_than_any_reply_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "MOST_BYTES", 1 << 20)
    packer = zlib.compressobj(wbits=31)
    body = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    with raw(lambda index, request: head + body if index == 0 else http(said(request))) as server:
        tracemalloc.start()
        bad, good = asker(server.url, concurrency=1).ask_all(CASES[:2])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert server.count == 2
    assert (bad.status, good.status) == ("failed", "verdict")
    assert "the reply is larger than 1 MB, and is not read" in bad.error
    assert peak < 16 << 20


def test_connections_serve_all_that_a_job_asks_one_after_the_other() -> None:
    with loopback.Loopback() as server:
        judge = asker(server, concurrency=4)
        for start in range(0, 40, 8):
            judge.ask_all(CASES[start : start + 8])
        assert (server.count, server.connections) == (40, 4)


def test_connections_end_with_their_loop_and_not_with_a_model(recwarn: pytest.WarningsRecorder) -> None:
    gc.freeze()  # or else a collection goes through all that earlier tests left, for seconds
    try:
        with loopback.Loopback() as server:
            for start in range(0, 8, 4):
                asker(server, concurrency=1).ask_all(CASES[start : start + 4])
                gc.collect()
            assert (server.count, server.connections) == (8, 1)
    finally:
        gc.unfreeze()
    assert not [warning for warning in recwarn if "Unclosed" in str(warning.message)]


def test_a_connection_that_the_server_has_closed_meanwhile_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loopback._Handler, "timeout", 0.1)
    with loopback.Loopback() as server:
        judge = asker(server, concurrency=2)
        for start in range(0, 12, 4):
            judge.ask_all(CASES[start : start + 4])
            time.sleep(0.3)
        assert (server.count, spend(judge).retries) == (12, 0)


def test_a_forked_process_has_connections_of_its_own() -> None:
    with loopback.Loopback() as server:
        judge = asker(server, concurrency=1)
        judge.ask(CASES[0])
        child = os.fork()
        if child == 0:
            os._exit(0 if right(judge.ask(CASES[1]), 1) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert right(judge.ask(CASES[2]), 2)
        assert server.connections == 2


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "100"}])
def test_the_cost_of_a_reply_that_does_not_report_its_tokens_is_unknown(usage: dict[str, Any] | None) -> None:
    with raw(lambda number, body: http(said(body, usage=usage))) as server:
        judge = priced_asker(server.url, CallContext.fresh())
        assert right(judge.ask(CASES[0]), 0)
        total = PurposeSpend.model_validate(spend(judge).to_json())
        assert spend_line(total) == "spent: 1 call, tokens not reported, price unknown"


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(cost=1.0), "the price of a reply is unknown; the endpoint does not report tokens"),
        (Budget(tokens=1000), "a limit on tokens cannot be kept: the endpoint does not report tokens"),
    ],
)
def test_a_limit_stops_a_job_whose_endpoint_does_not_report_tokens(budget: Budget, words: str) -> None:
    with raw(lambda number, body: http(said(body, usage=None))) as server:
        judge = priced_asker(server.url, context_with(budget=budget))
        with pytest.raises(ModelError, match=words):
            judge.ask(CASES[0])
        assert server.count == 1


def priced_asker(url: str, context: CallContext) -> Asker:
    model = Model(name="openai/local", api_base=url, timeout=20, price_in=1.0, price_out=2.0)
    return Asker(judge=FECT, program=FECT.basic(), lm=connect(model, context), settings=AskSettings())
