"""``jurist serve``: what it takes and gives, whom it answers, and how it ends."""

import asyncio
import contextlib
import html
import json
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from forked import COMMAND, Forked
from small import claims, cli

from jurist.engines.channel import CallContext
from jurist.engines.meter import Budget
from jurist.engines.models import Model
from jurist.errors import ModelError
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.keeping.loading import LoadedJudge
from jurist.programs.asking import Asker
from jurist.programs.verdicts import Verdict
from jurist.runs.serving import Serving, application

ROW = {name: claims(1)[0][name] for name in ("conversation", "claim")}


def loaded(name: str = "fect:basic", **changes: Any) -> LoadedJudge:
    return replace(load_judge(name, store=Store("compiled")), **changes)


def ask(app: Any, path: str, body: Any = None, **headers: str) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            if body is None:
                return await client.get(path, headers=headers)
            data = body if isinstance(body, bytes) else json.dumps(body)
            kind = {"content-type": "application/json", **headers}
            return await client.post(path, content=data, headers=kind)

    return asyncio.run(asked())


def waits(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(1200):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.1)


def test_a_case_gets_what_a_run_says_of_it() -> None:
    app = application(Serving(loaded=loaded()))
    Path("rows.jsonl").write_text(json.dumps(ROW), encoding="utf-8")
    cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl")
    line = json.loads(Path("o.jsonl").read_text(encoding="utf-8"))
    said = ask(app, "/judge", ROW)
    assert (said.status_code, said.json()) == (200, {name: line[name] for name in said.json()})
    assert [one["label"] for one in ask(app, "/judge/batch", [ROW, ROW]).json()] == [line["label"]] * 2
    assert "content-type: application/json" in ask(app, "/judge", ROW, **{"content-type": "text/plain"}).text
    assert ask(app, "/").json()["POST /judge"] == "a case as JSON: conversation, claim"
    assert ask(app, "/health").json() == {"status": "ok", "judge": "fect:basic", "model": "offline"}


@pytest.mark.parametrize("name", ["factual", "ratings", "group"])
def test_what_people_say_of_a_case_is_not_looked_at(name: str) -> None:
    app = application(Serving(loaded=loaded()))
    said = ask(app, "/judge", {**ROW, name: [None, {"deep": 1}]})
    assert (said.status_code, said.json()) == (200, ask(app, "/judge", ROW).json())


@pytest.mark.parametrize("name", ["fect:basic", "cognibench:basic", "constraints:basic", "qa-conflict:basic"])
def test_the_schema_has_the_inputs_and_nothing_that_people_say(name: str) -> None:
    judge = loaded(name)
    schema = ask(application(Serving(loaded=judge)), "/openapi.json").json()
    body = schema["paths"]["/judge"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"]
    assert not {"group", "ratings", judge.judge.answer.field} & body["properties"].keys()


def test_a_response_as_it_is_stands_in_for_its_sentences() -> None:
    row = {"reference": "The tower is 300 metres high.", "response": "It is 300 metres high. It is red."}
    app = application(Serving(loaded=loaded("cognibench:basic")))
    assert len(ask(app, "/judge", row).json()["units"]) == 2
    body = ask(app, "/openapi.json").json()["paths"]["/judge"]["post"]["requestBody"]["content"]
    wanted = [one["required"] for one in body["application/json"]["schema"]["anyOf"]]
    assert wanted == [["sentences"], ["response"]]


@pytest.mark.parametrize(
    ("path", "body", "code", "words"),
    [
        ("/judge", {"claim": "x"}, 422, "the field is missing"),
        ("/judge", [ROW], 422, "a case is a JSON object"),
        ("/judge", b"{", 422, "JSON decode error"),
        ("/judge", b'{"conversation": NaN, "claim": "x"}', 422, "nothing is given"),
        ("/judge", b'{"conversation": "\\ud83d", "claim": [1e999]}', 422, "unicode string"),
        ("/judge", b'{"\\ud83d": "x", "claim": "x"}', 422, "the field is missing"),
        ("/judge", {**ROW, "claim": False}, 422, "field 'claim': Input should be a valid string, got False"),
        ("/judge", {**ROW, "claim": 7}, 422, "field 'claim': Input should be a valid string, got 7"),
        (
            "/judge",
            {**ROW, "claim": [{"role": "user", "content": "x"}]},
            422,
            "field 'claim': it must be text",
        ),
        ("/judge", b'{"claim": "a", "conversation": "x", "claim": "b"}', 422, "the field is given twice"),
        ("/judge/batch", b'[{"claim": "a", "conversation": "x", "claim": "b"}]', 422, '"claim"'),
        ("/judge/batch", [], 422, "at least 1 item"),
        ("/judge/batch", [ROW] * 4, 422, "at most 3 items"),
        ("/judge", {**ROW, "claim": "x" * 5000}, 413, "Too Large"),
        ("/nothing", ROW, 404, "Not Found"),
    ],
)
def test_what_cannot_be_judged_is_refused(path: str, body: Any, code: int, words: str) -> None:
    app = application(Serving(loaded=loaded(), most=3, largest=4096))
    said = ask(app, path, body)
    assert (said.status_code, words in said.text) == (code, True)
    assert "--column" not in said.text


def test_half_a_character_in_a_list_is_refused_before_anybody_is_asked() -> None:
    row = {"reference": "a", "dialogue": "b", "sentences": ["a\ud800"]}
    judge = loaded("cognibench:basic", context=CallContext.fresh())
    said = ask(application(Serving(loaded=judge)), "/judge", row)
    assert (said.status_code, "unicode string" in said.text) == (422, True)
    assert judge.context.ledger.spend().calls == 0


def test_without_a_token_only_this_machines_names_are_answered() -> None:
    app = application(Serving(loaded=loaded()))
    assert ask(app, "/judge", ROW, host="evil.example").status_code == 400


@pytest.mark.parametrize(
    ("said", "code"), [("", 401), ("Bearer wrong", 401), ("Bearer ключ", 401), ("Bearer secret", 200)]
)
def test_a_token_is_asked_for(said: str, code: int) -> None:
    serving = Serving(loaded=loaded(), token="secret")
    assert "secret" not in repr(serving)
    given = {"authorization": said.encode()} if said else {}
    found = ask(application(serving), "/judge", ROW, host="judge.example", **given)  # type: ignore[arg-type]
    assert found.status_code == code
    unread = ask(application(serving), "/judge", b"{", host="judge.example", **given)  # type: ignore[arg-type]
    assert unread.status_code == (422 if code == 200 else 401)  # asked for before the body


def test_a_row_is_asked_in_its_own_language_where_none_is_named() -> None:
    rows = [
        {"question": "古琴有几根弦？", "correct_answer": "七根。", "response": "古琴有五根弦。"},
        {"question": "How many strings?", "correct_answer": "Seven.", "response": "It has five strings."},
    ]
    app = application(Serving(loaded=loaded("qa-conflict:basic")))
    answers = ask(app, "/judge/batch", [*rows, rows[0]]).json()
    assert [answer.get("language") for answer in answers] == ["zh", None, "zh"]
    assert answers[0]["case"] == answers[2]["case"] == ask(app, "/judge", rows[0]).json()["case"]
    english = load_judge("qa-conflict:basic", store=Store("compiled"), language="en")
    assert ask(application(Serving(loaded=english)), "/judge", rows[0]).json()["language"] == "en"


def test_limits_hold_over_all_requests(serve: Callable[..., Any]) -> None:
    server = serve()
    model = Model(name="openai/x", api_base=server.url)
    judge = loaded(context=CallContext.fresh(Budget(calls=2))).with_model(model)
    app = application(Serving(loaded=judge))
    codes = [ask(app, "/judge", {**ROW, "claim": f"claim {n}"}).status_code for n in range(4)]
    assert (codes, server.count) == ([200, 200, 503, 503], 2)


def test_a_model_that_cannot_be_used_is_said(serve: Callable[..., Any]) -> None:
    server = serve(faults=lambda index, body: "401")
    model = Model(name="openai/x", api_base=server.url)
    said = ask(application(Serving(loaded=loaded().with_model(model))), "/judge", ROW)
    assert said.status_code == 503
    assert "check the API key" in said.json()["detail"]


def test_a_model_that_went_away_is_told_in_words_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(asker: Asker, verdict: Verdict) -> None:
        raise ModelError("10 answers in a row failed: why", hint="start again with --resume")

    monkeypatch.setattr(Asker, "note", refuse)
    app = application(Serving(loaded=loaded()))
    said = ask(app, "/judge", ROW)
    assert said.status_code == 503
    words = "10 answers in a row failed: why; check the model's server"
    assert said.json()["detail"] == ask(app, "/ready").json()["detail"] == words


def test_a_case_that_is_not_judged_in_time_has_failed(serve: Callable[..., Any]) -> None:
    server = serve(delay=5)
    judge = loaded("cognibench:basic").with_model(Model(name="openai/x", api_base=server.url))
    app = application(Serving(loaded=judge, deadline=0.2))
    row = {"reference": "The tower is 300 metres high.", "response": "It is 300 metres high. It is red."}
    said = ask(app, "/judge/batch", [row, row])
    for line in said.json():
        assert (line["status"], line["error"]) == ("failed", "no verdict within 0.2 seconds")
        assert [unit["label"] for unit in line["units"]] == [None, None]
    assert ask(app, "/ready").status_code == 503


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = cli("serve", "fect:basic", "--port", taken.getsockname()[1])
    assert done.code == 2
    assert "cannot be used" in done.err


def test_ids_metrics_and_readiness() -> None:
    app = application(Serving(loaded=loaded(context=CallContext.fresh()), token="secret"))
    bearing = {"authorization": "Bearer secret"}
    assert ask(app, "/ready").json() == {"status": "ready"}
    assert ask(app, "/judge", ROW, **bearing, **{"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
    made = ask(app, "/judge", b"{", **bearing, **{"x-request-id": "no id"}).headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", made)
    long = ask(app, "/judge", b"x" * (1 << 21), **bearing, **{"x-request-id": "long"})
    assert (long.status_code, long.headers["x-request-id"]) == (413, "long")
    assert ask(app, "/metrics").status_code == 401
    lines = ask(app, "/metrics", **bearing).text.splitlines()
    for line in (
        'jurist_cases_total{status="verdict"} 1.0',
        'jurist_requests_total{path="/judge",status="200"} 1.0',
        'jurist_requests_total{path="/judge",status="413"} 1.0',
        'jurist_requests_total{path="/judge",status="422"} 1.0',
        'jurist_request_seconds_count{path="/judge"} 3.0',
        "jurist_calls_total 1.0",
        "jurist_unpriced_calls_total 0.0",
    ):
        assert line in lines
    described = ask(app, "/docs").text
    assert not re.search(r"<(script|link|img)|https?://", described)  # it needs nothing from elsewhere
    for path in ("/judge", "/judge/batch", "/health"):
        assert path in described
    assert "conversation" in html.unescape(described)


def test_it_is_not_ready_while_the_model_fails(serve: Callable[..., Any]) -> None:
    away = [True]
    server = serve(faults=lambda index, body: "400" if away else None)
    judge = loaded().with_model(Model(name="openai/x", api_base=server.url))
    app = application(Serving(loaded=judge))
    assert ask(app, "/judge", ROW).json()["status"] == "failed"
    said = ask(app, "/ready")
    assert (said.status_code, said.json()["status"]) == (503, "not ready")
    assert "not valid" in said.json()["detail"]
    away.clear()
    ask(app, "/judge", ROW)
    assert ask(app, "/ready").status_code == 200
    assert "jurist_unpriced_calls_total 1.0" in ask(app, "/metrics").text.splitlines()


@contextlib.contextmanager
def serving(folder: Path, *options: str, settings: str = "", files: int = 0) -> Iterator[tuple[int, Forked]]:
    """Serve fect's basic prompt in a process of its own, with settings of ``runs.listening``."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = f"from jurist.runs import listening as l\n{settings}\n{COMMAND}"
    if files:
        code = f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))\n{code}"
    process = Forked("serve", "fect:basic", "--port", port, *options, cwd=folder, code=code)
    try:
        waits(port)
        yield port, process
    finally:
        process.kill()


def test_a_signal_ends_it_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then its access log names requests and no case, and a token is asked for before a body is read."""
    monkeypatch.setenv("T", "secret")
    bearing = {"x-request-id": "r-7", "authorization": "Bearer secret"}
    with serving(tmp_path, "--access-log", "--token-env", "T") as (port, process):
        answered = httpx.post(f"http://127.0.0.1:{port}/judge", json=ROW, headers=bearing, timeout=60)
        httpx.get(f"http://127.0.0.1:{port}/a%0Ab", timeout=60)
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(request("/judge", b"{", "authorization: Bearer wrong", length=1000))
            assert answer(connection) == "HTTP/1.1 401 Unauthorized\r\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert answered.json()["status"] == "verdict"
    assert out.startswith("spent: 1 call,")
    assert process.returncode == 0
    lines = err.splitlines()[1:]
    assert [re.sub(r"^.*? (?=[\w-]+ \")|\d+ ms$|[0-9a-f]{32}", "", line) for line in lines] == [
        'r-7 "POST /judge" 200 ',
        ' "GET /a\\nb" 404 ',
        ' "POST /judge" 401 ',
    ]
    assert ROW["claim"] not in err


def test_who_waits_when_the_time_is_over_is_told(tmp_path: Path, serve: Callable[..., Any]) -> None:
    model = serve(delay=3)
    with (
        serving(
            tmp_path,
            "--access-log",
            "--model",
            "openai/m",
            "--api-base",
            model.url,
            settings="l.DRAIN = 1",
        ) as (port, process),
        ThreadPoolExecutor() as pool,
    ):
        named = {"x-request-id": "late-1"}
        asked = pool.submit(httpx.post, f"http://127.0.0.1:{port}/judge", json=ROW, headers=named, timeout=60)
        while not model.count:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (asked.result().status_code, asked.result().json()) == (503, {"detail": "the server was stopped"})
    assert asked.result().headers["x-request-id"] == "late-1"
    assert 'late-1 "POST /judge" 503 ' in err
    assert (out.startswith("spent: 1 call,"), "Traceback" in err, process.returncode) == (True, False, 0)


def test_a_balancer_sees_that_it_ends_while_cases_are_still_judged(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain", "3") as (port, process):
        address = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{address}/ready", timeout=60).status_code == 200
        process.send_signal(signal.SIGTERM)
        ready = httpx.get(f"{address}/ready", timeout=60)
        while ready.status_code == 200:
            ready = httpx.get(f"{address}/ready", timeout=60)
        assert (ready.status_code, ready.json()["detail"]) == (503, "the server is ending")
        for _ in range(3):
            assert httpx.post(f"{address}/judge", json=ROW, timeout=60).json()["status"] == "verdict"
        process.communicate(timeout=60)
    assert process.returncode == 0


def request(path: str, body: bytes, *headers: str, length: int | None = None) -> bytes:
    """Return a request as it is sent; ``length`` promises more of its body than there is."""
    size = len(body) if length is None else length
    lines = (f"POST {path} HTTP/1.1", "host: localhost", f"content-length: {size}", *headers, "", "")
    return "\r\n".join(lines).encode() + body


def answer(connection: socket.socket) -> str:
    """Return what comes until the server closes the connection, or has said all."""
    connection.settimeout(30)
    with connection, connection.makefile("rb") as lines:
        return lines.readline().decode()


def test_requests_sent_before_a_signal_are_answered(tmp_path: Path, serve: Callable[..., Any]) -> None:
    model = serve(delay=0.3)
    sent = request("/judge", json.dumps(ROW).encode(), "content-type: application/json")
    with serving(tmp_path, "--model", "openai/m", "--api-base", model.url) as (port, process):
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        late = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for connection in (*idle, *late):
            connection.sendall(sent)
        answers = [answer(connection) for connection in (*idle, *late)]
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert answers == ["HTTP/1.1 200 OK\r\n"] * 40


def test_requests_that_the_kernel_holds_at_a_signal_are_answered(tmp_path: Path) -> None:
    """A server that has no time to accept them, or to read what they have sent, resets none of them."""
    sent = request("/judge", json.dumps(ROW).encode(), "content-type: application/json")
    with serving(tmp_path, settings="l._LAST_CALL = 0") as (port, process):
        process.send_signal(signal.SIGSTOP)
        waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        for connection in waiting:
            connection.sendall(sent)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        answers = [answer(connection) for connection in waiting]
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert answers == ["HTTP/1.1 200 OK\r\n"] * 60


def test_clients_that_leave_are_not_judged_for(tmp_path: Path, serve: Callable[..., Any]) -> None:
    model = serve(delay=0.2)
    rows = [{**ROW, "claim": f"claim {number}"} for number in range(20)]
    sent = request("/judge/batch", json.dumps(rows).encode(), "content-type: application/json")
    told = ("--model", "openai/m", "--api-base", model.url, "--concurrency", "2")
    with serving(tmp_path, *told) as (port, _):
        for _ in range(6):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(sent)
                time.sleep(0.05)
        answered = httpx.post(f"http://127.0.0.1:{port}/judge", json=ROW, timeout=60)
    assert answered.json()["status"] != "failed"
    assert model.count < 30  # of 121


def test_half_sent_requests_end_and_take_nobodys_place(tmp_path: Path) -> None:
    with serving(tmp_path, settings="l.PATIENCE = 1", files=128) as (port, process):
        half = [b"", b"POST /judge HT", request("/judge", b"{", length=100)]
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(150)]
        for number, connection in enumerate(held):
            with contextlib.suppress(OSError):  # the oldest make room
                connection.sendall(half[number % 3])
        assert httpx.get(f"http://127.0.0.1:{port}/health", timeout=30).status_code == 200
        ended = []
        for connection in held:
            with contextlib.suppress(ConnectionError):
                ended.append(answer(connection))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert set(ended) <= {""}
    assert "Traceback" not in err


def test_a_panel_is_served_with_what_each_member_said() -> None:
    panel = Model.panel([Model(name="offline")])
    said = ask(application(Serving(loaded=loaded(model=panel))), "/judge", ROW).json()
    assert said["panel"] == {"offline": [said["label"]]}
    assert (
        ask(application(Serving(loaded=loaded(model=panel))), "/health").json()["model"] == "panel of offline"
    )
