"""``jurist batch``: what a run would ask goes out in batches, and comes back as the lines that a run would write."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from batch_server import BatchServer, Trouble
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import answer, field_of
from pages import ROOT, run_page
from small import Done, cli, read_jsonl, start, write_jsonl

from jurist.engines.batched import Written
from jurist.runs.batch_store import BatchFiles, BatchStore, batches_of

ROWS = 10
heavy = pytest.mark.batch
"""One of many like it: pytest -m batch."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jurist.runs.batch_service._PAUSE", 0.0)


def rows(count: int = ROWS) -> Path:
    return write_jsonl(
        Path("rows.jsonl"),
        (
            {"id": f"r{n}", "conversation": f"talk {n}", "claim": f"claim {n}", "more": n}
            for n in range(count)
        ),
    )


def submit(server: BatchServer, *told: object, judge: str = "fect:basic", model: str = "openai/m") -> Done:
    where = ("--input", "rows.jsonl", "--output", "b.jsonl", "--model", model, "--api-base", server.url)
    return cli("batch", "submit", judge, *where, *told)


def collect(*told: object) -> Done:
    return cli("batch", "collect", "b.jsonl", *told)


def run(server: BatchServer, *told: object, judge: str = "fect:basic") -> list[dict[str, Any]]:
    """Return the lines of a run that asks at once."""
    where = ("--input", "rows.jsonl", "--output", "o.jsonl", "--model", "openai/m", "--api-base", server.url)
    assert cli("run", judge, *where, "--stopping", "all", *told).code == 0
    return read_jsonl(Path("o.jsonl"))


def without_usage(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**line, "usage": None} for line in lines]


def finished(most: int = 9) -> Done:
    """Collect until all is there."""
    done = collect()
    while done.code == 1 and most:
        done, most = collect(), most - 1
    return done


def test_the_lines_and_the_bytes_are_those_of_a_run() -> None:
    rows()
    with BatchServer(polls=1) as server:
        assert submit(server, "--samples", 3).code == 0
        early = collect("--json")
        assert (early.code, early.json["left"], early.json["pending"]) == (1, ROWS, 3 * ROWS)
        assert not Path("b.jsonl").exists()
        done = collect("--json")
        assert (done.code, done.json["left"], done.json["spend"]["calls"]) == (0, 0, 3 * ROWS)
        assert read_jsonl(Path("b.jsonl")) == run(server, "--samples", 3)
    assert Counter(server.bodies) == Counter(hit.raw for hit in server.hits)
    assert not batches_of(Path("b.jsonl")).parent.exists(), "nothing stays"
    names = [json.loads(line)["custom_id"] for line in server.files["file-0"].splitlines()]
    cases = {line["case"] for line in read_jsonl(Path("b.jsonl"))}
    assert {name.partition("-")[0] for name in names} == cases


def test_the_page_runs(fake_key: str) -> None:
    write_jsonl(
        Path("claims.jsonl"), ({"conversation": f"talk {n}", "claim": f"claim {n}"} for n in range(3))
    )
    with BatchServer() as server:
        said = run_page(ROOT / "docs" / "batch.md", server.url, {})
    assert "3 requests wait for their replies" in said
    assert "3 rows (0 done before); 3 verdicts" in said
    assert not any(fake_key.encode() in path.read_bytes() for path in Path().rglob("*") if path.is_file())


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
    again = {"expired": 9, "missing": 4, "broken": 4, "limited": 4, "empty": 4, "thought": 4}.get(trouble, 0)
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
    told = "Unsupported parameter: 'temperature'"
    with BatchServer(refuses=lambda body: told if "temperature" in body else "") as server:
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


class Killed(BaseException):
    """What a kill is to whatever would clean up."""


@heavy
@pytest.mark.parametrize("moment", ["cut", "uploaded", "sending", "validating", "end"])
@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_record_nothing_is_paid_twice(
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
        told: tuple[object, ...] = (
            "submit",
            "fect:basic",
            "--input",
            "rows.jsonl",
            "--output",
            "b.jsonl",
            *where,
        )
        for _ in range(5):  # begun but not heard of, it is looked for first, and taken by the next one
            running.append(process := start("batch", *told, cwd=Path()))
            process.communicate(timeout=300)
            told = ("collect", "b.jsonl")
        assert not moments
        assert finished().code == 0
        assert read_jsonl(Path("b.jsonl")) == run(server)
    assert [len(server.files[one["input_file_id"]].splitlines()) for one in server.batches.values()] == [
        10,
        4,
    ]
    assert len(server.bodies) == ROWS


STAGED = """
import dspy
import jurist


class Ask(dspy.Signature):
    'Say whether the claim is factual.'

    conversation: str = dspy.InputField(desc="talk")
    claim: str = dspy.InputField(desc="one sentence")
    factual: bool = dspy.OutputField(desc="true or false")


class Both(dspy.Module):
    def __init__(self):
        super().__init__()
        self.note, self.decide = dspy.Predict("conversation -> notes"), dspy.Predict("notes, claim -> factual: bool")

    WAITING HOW(self, conversation, claim):
        notes = (AWAIT self.note.CALL(conversation=conversation)).notes
        return AWAIT self.decide.CALL(notes=notes, claim=claim)


judge = jurist.Judge(name="staged", signature=Ask, program=Both, positive={"false"}, metric="accuracy")
"""
ASYNC = {"WAITING": "async def", "AWAIT": "await", "CALL": "acall", "HOW": "aforward"}
SYNC = {"WAITING": "def", "AWAIT self": "self", "CALL": "__call__", "HOW": "forward"}


def staged_answer(messages: list[dict[str, Any]]) -> str:
    if "`notes` (str)" in messages[0]["content"].partition("output fields")[2]:
        return f"[[ ## notes ## ]]\nnotes of {field_of(messages[-1]['content'], 'conversation')}\n"
    return answer(messages)


@heavy
@pytest.mark.parametrize("kind", [ASYNC, SYNC], ids=["async", "sync"])
def test_each_step_of_a_judge_is_a_batch(kind: dict[str, str]) -> None:
    rows()
    source = STAGED
    for mark, word in kind.items():
        source = source.replace(mark, word)
    Path("staged.py").write_text(source)
    with BatchServer(staged_answer, troubles={0: "missing"}) as server:
        assert submit(server, judge="staged.py:judge:basic").code == 0
        first = collect("--json")
        assert (first.code, first.json["left"], first.json["pending"]) == (1, ROWS, ROWS)
        second = collect("--json")
        assert (second.code, second.json["left"], second.json["verdict"]) == (1, 4, 6)
        early = [int(line["id"][1:]) for line in read_jsonl(Path("b.jsonl"))]
        assert (len(early), early) == (6, sorted(early))
        assert collect().code == 0
        at_once = run(server, judge="staged.py:judge:basic")
    assert without_usage(read_jsonl(Path("b.jsonl"))) == without_usage(at_once)
    assert Counter(server.bodies) == Counter(hit.raw for hit in server.hits)


@heavy
def test_samples_that_can_change_nothing_are_not_sent() -> None:
    rows()
    with BatchServer() as server:
        submit(server, "--samples", 3, "--stopping", "settled")
        assert [one["requests"] for one in cli("batch", "status", "b.jsonl", "--json").json["batches"]] == [
            20
        ]
        done = collect("--json")
    assert (done.code, done.json["saved"], len(server.bodies)) == (0, ROWS, 2 * ROWS)


@heavy
@pytest.mark.parametrize(
    ("limit", "sizes"), [(("--max-requests", 4), [4, 4, 2]), (("--max-bytes", 6000), [4, 4, 2])]
)
def test_files_are_cut(limit: tuple[str, int], sizes: list[int]) -> None:
    rows()
    with BatchServer() as server:
        submit(server, *limit)
        assert collect().code == 0
        files = [server.files[one["input_file_id"]] for one in server.batches.values()]
    assert [len(file.splitlines()) for file in files] == sizes


def test_no_more_is_sent_than_the_limits_allow(fake_key: str) -> None:
    rows()
    with BatchServer() as server:
        done = submit(server, "--max-calls", 6, model="openai/gpt-4.1-mini")
        assert (done.code, "4 requests were not sent" in done.err) == (1, True)
        assert "at 50% of that price" in done.err
        assert len(server.files["file-0"].splitlines()) == 6
        done = collect("--json")
        assert (done.code, done.json["left"], done.json["unsent"]) == (1, 4, 4)
        # 110 tokens of a batch are 28 millionths of a dollar
        done = collect("--max-calls", 10, "--max-cost", "0.000225", "--json")
        assert (done.code, done.json["unsent"], len(server.batches)) == (1, 2, 2)
        assert collect("--json").json["unsent"] == 2
        done = collect("--max-calls", 10)
        assert collect().code == 0
    lines = read_jsonl(Path("b.jsonl"))
    assert sum(line["usage"]["cost"] for line in lines) == pytest.approx(10 * 28e-6)
    assert not any(fake_key.encode() in path.read_bytes() for path in Path().rglob("*") if path.is_file())


@heavy
def test_rows_that_change_meanwhile_are_asked_or_left_out() -> None:
    rows()
    with BatchServer() as server:
        submit(server)
        rows(ROWS + 2)
        done = collect("--json")
        assert (done.code, done.json["left"], done.json["pending"]) == (1, 2, 2)
        rows(3)
        assert collect().code == 0
        assert read_jsonl(Path("b.jsonl")) == run(server)
    assert len(server.batches) == 2


def test_what_cannot_be_is_said_on_one_line() -> None:
    rows()
    with BatchServer() as server:
        where = ("--model", "openai/m", "--api-base", server.url)
        for told, code, words in (
            (
                ("collect", "b.jsonl"),
                1,
                "no batches of b.jsonl are under way; jurist batch submit begins them",
            ),
            (("status", "b.jsonl"), 1, "no batches of b.jsonl are under way"),
            (
                ("submit", "fect:basic", "--input", "rows.jsonl", "--output", "b.jsonl"),
                2,
                "offline is not asked",
            ),
            (("submit", "fect:basic", "--input", "-", "--output", "b.jsonl", *where), 2, "name files"),
            (
                (
                    "submit",
                    "fect:basic",
                    "--input",
                    "rows.jsonl",
                    "--output",
                    "b.jsonl",
                    "--model",
                    "anthropic/m",
                ),
                2,
                "cannot be asked in batches",
            ),
            (
                ("submit", "fect:basic", "--input", "none.jsonl", "--output", "b.jsonl", *where),
                1,
                "none.jsonl",
            ),
        ):
            done = cli("batch", *told)
            assert (done.code, words in done.err) == (code, True), done.err
            assert done.lines[-1].startswith("error: ")
            assert not list(Path().glob(".b*"))
        submit(server)
        for done in (
            submit(server),
            cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "b.jsonl", *where),
        ):
            assert (done.code, "jurist batch collect b.jsonl" in done.err) == (1, True)
        assert submit(server, "--fresh").code == 0
        assert len(server.batches) == 2
        assert (
            cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "b.jsonl", "--fresh", *where).code
            == 0
        )
        assert not batches_of(Path("b.jsonl")).exists()


@heavy
def test_batches_belong_to_what_they_were_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    rows()
    with BatchServer() as server:
        submit(server)
        monkeypatch.setattr(
            "jurist.keeping.loading.LoadedJudge.fingerprint", lambda judge: {"prompt": "another"}
        )
        done = collect()
    assert (done.code, "is not what the batches of b.jsonl were made with" in done.err) == (1, True)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 300), max_size=12),
    requests=st.integers(1, 5),
    size=st.integers(500, 900),
    most=st.integers(0, 12),
)
def test_every_request_is_in_one_file_and_no_file_is_too_large(
    sizes: list[int], requests: int, size: int, most: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with BatchStore(tmp_path_factory.mktemp("b") / "batches.sqlite") as store:
        with store.round():
            for number, length in enumerate(sizes):
                body = json.dumps({"text": "x" * length}).encode()
                told = {"base": "http://h/v1", "path": "/chat/completions", "model": f"m{number % 2}"}
                assert store.wants(Written(**told, body=body, terms="", key=f"{number:024}", case="c"))
        left = store.cut(BatchFiles(requests=requests, size=size), most)
        files = [list(store.lines(batch)) for batch in store.batches()]
        assert store.pending == len(sizes)
    names = [json.loads(line)["custom_id"] for file in files for line in file]
    assert len(names) == len(set(names)) == len(sizes) - left == min(most, len(sizes))
    assert all(0 < len(file) <= requests and sum(map(len, file)) <= size for file in files)
