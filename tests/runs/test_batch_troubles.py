"""``jurist batch`` where something goes wrong: at the provider, on the way, or with the process itself."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from batch_runs import ROWS, collect, finished, heavy, rows, run, submit, without_usage
from batch_server import BatchServer, Trouble
from loopback import answer
from small import read_jsonl, start

from jurist.runs.batch_store import BatchStore
from jurist.runs.outputs import batches_of

pytestmark = pytest.mark.usefixtures("no_pause")


@heavy
@pytest.mark.parametrize("trouble", [one for one in get_args(Trouble) if one not in ("failed", "refused")])
def test_what_comes_back_wrong_is_sent_again_alone(trouble: Trouble) -> None:
    rows()
    with BatchServer(troubles={0: trouble}) as server:
        submit(server)
        assert finished().code == 0
        lines = read_jsonl(Path("b.jsonl"))
        paid = len(server.bodies)
        expected = run(server)
    wrong = ("missing", "broken", "limited", "empty", "thought", "cancelled")
    again = 9 if trouble == "expired" else 4 if trouble in wrong else 0
    assert len(server.batches) == 1 + bool(again)
    if again:
        assert len(server.files["file-0"].splitlines()) == ROWS
        second = server.files[server.batches["batch-1"]["input_file_id"]].splitlines()
        assert len(second) == again
    billed = trouble in ("empty", "thought")
    assert paid == ROWS + again * billed, "what was answered is not asked again"
    if billed:  # those rows took two calls
        lines, expected = without_usage(lines), without_usage(expected)
    assert lines == expected


@heavy
def test_what_an_endpoint_does_not_take_is_left_out_of_the_next_batch() -> None:
    rows()
    refused = "Unsupported parameter: 'temperature'"
    with BatchServer(refuses=lambda body: refused if "temperature" in body else "") as server:
        submit(server, "--samples", 2, "--temperature", "0.5")
        assert collect("--json").json["pending"] == 2 * ROWS
        assert collect().code == 0
        assert read_jsonl(Path("b.jsonl"))[0]["drawn"] == 2
    assert (len(server.batches), len(server.bodies)) == (2, 2 * ROWS)


@heavy
def test_lines_that_the_provider_refuses_are_failed_rows() -> None:
    rows()
    with BatchServer(troubles={0: "refused"}) as server:
        submit(server)
        done = collect()
    assert done.code == 3
    assert Counter(line["status"] for line in read_jsonl(Path("b.jsonl"))) == {"verdict": 6, "failed": 4}
    assert len(server.batches) == 1
    assert "jurist run --resume" in done.err


@heavy
def test_a_line_that_never_is_answered_fails_in_the_end() -> None:
    rows()
    with BatchServer(troubles=dict.fromkeys(range(9), "broken")) as server:
        submit(server)
        assert finished().code == 3
    lines = read_jsonl(Path("b.jsonl"))
    assert Counter(line["status"] for line in lines) == {"failed": 1, "verdict": 9}
    assert sum("4 batches brought no answer" in line["error"] for line in lines) == 1
    assert [len(server.files[one["input_file_id"]].splitlines()) for one in server.batches.values()] == [
        *(10, 4, 2, 1)
    ]


@heavy
def test_a_batch_that_fails_validation_is_said_and_sent_anew() -> None:
    rows()
    with BatchServer(troubles={0: "failed"}) as server:
        submit(server)
        done = collect()
        assert done.code == 1
        assert "too many tokens enqueued" in done.err
        assert "batch 1 failed: line 1: you have" in done.err
        assert len(server.batches) == 1
        assert finished().code == 0
        assert read_jsonl(Path("b.jsonl")) == run(server)
    assert len(server.bodies) == ROWS


@heavy
@pytest.mark.parametrize("broken", ["POST /files", "POST /batches", "GET /batch", "GET /content"])
def test_an_answer_that_is_lost_begins_no_second_batch(broken: str) -> None:
    rows()
    with BatchServer(breaks=(broken,)) as server:
        assert submit(server).code == 0
        assert collect().code == 0
        assert read_jsonl(Path("b.jsonl")) == run(server)
    assert len(server.batches) == 1
    assert len(server.bodies) == ROWS


@heavy
def test_a_batch_that_is_listed_late_is_begun_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows()
    with BatchServer(breaks=("POST /batches",)) as server:
        server.lists = False
        pause = SimpleNamespace(sleep=lambda seconds: setattr(server, "lists", True))
        monkeypatch.setattr("jurist.runs.batch_service.time", pause)
        assert submit(server).code == 0
    assert len(server.batches) == 1


@heavy
def test_a_key_that_a_reply_shows_is_not_kept(fake_key: str) -> None:
    rows()
    with BatchServer(
        lambda messages: f"You sent {fake_key}.\n{answer(messages)}", troubles={0: "missing"}
    ) as server:
        submit(server)
        assert collect().code == 1
        files = [path for path in batches_of(Path("b.jsonl")).parent.rglob("*") if path.is_file()]
        assert any(b"You sent ***" in path.read_bytes() for path in files)
        assert not any(fake_key.encode() in path.read_bytes() for path in files)
        assert finished().code == 3  # text before the first field makes a reply unreadable


class Killed(BaseException):
    """What a kill is to whatever would clean up."""


@heavy
@pytest.mark.parametrize("moment", ["cut", "uploaded", "sending", "validating", "end"])
@pytest.mark.parametrize("after", [False, True])
def test_killed_anywhere_nothing_is_paid_twice(
    moment: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows()
    name = moment if moment in ("cut", "end") else "note"
    kept = getattr(BatchStore, name)

    def record(store: BatchStore, *told: Any, **more: Any) -> Any:
        if name != "note" or more.get("status") == moment:
            if after:
                kept(store, *told, **more)
            raise Killed
        return kept(store, *told, **more)

    with BatchServer() as server:
        with monkeypatch.context() as patch:
            patch.setattr(BatchStore, name, record)
            with pytest.raises(Killed):
                _ = submit(server), collect()
        if moment == "cut" and not after:  # nothing was sent yet: that is no begin
            submit(server)
        assert finished().code == 0
        assert read_jsonl(Path("b.jsonl")) == run(server)
    assert len(server.batches) == 1
    assert len(server.bodies) == ROWS


@heavy
def test_killed_processes_begin_no_second_batch() -> None:
    rows()
    moments, running = ["POST /files", "POST /batches", "GET /batch", "GET /content"], list[Any]()

    def done(what: str) -> None:
        if what in moments[:1]:
            moments.pop(0)
            running[-1].kill()

    with BatchServer(done=done, troubles={0: "missing"}) as server:
        where = ("--model", "openai/m", "--api-base", server.url)
        told: tuple[object, ...] = ("submit", "fect:basic", "--input", "rows.jsonl", "--output", "b.jsonl")
        told += where
        for _ in range(5):  # begun but not heard of, it is looked for first, and taken by the next one
            running.append(process := start("batch", *told, cwd=Path()))
            process.communicate(timeout=300)
            told = ("collect", "b.jsonl")
        assert not moments
        assert finished().code == 0
        assert read_jsonl(Path("b.jsonl")) == run(server)
    sizes = [len(server.files[one["input_file_id"]].splitlines()) for one in server.batches.values()]
    assert sizes == [10, 4]
    assert len(server.bodies) == ROWS
