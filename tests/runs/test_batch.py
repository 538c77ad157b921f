"""``jurist batch``: what a run would ask goes out in batches, and comes back as the lines that a run would write."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from batch_runs import ROWS, collect, heavy, rows, run, submit, without_usage
from batch_server import BatchServer
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import answer, field_of
from pages import ROOT, run_page
from small import cli, ok, read_jsonl, write_jsonl

from jurist.runs.batch_store import BatchStore, Written
from jurist.runs.outputs import batches_of

pytestmark = pytest.mark.usefixtures("no_pause")


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
    for command in ("collect", "status"):  # whoever looks every hour finds it done
        assert ok("batch", command, "b.jsonl").results == [
            "b.jsonl of fect:basic: all that was sent in batches is collected"
        ]
    names = [json.loads(line)["custom_id"] for line in server.files["file-0"].splitlines()]
    cases = {line["case"] for line in read_jsonl(Path("b.jsonl"))}
    assert {name.partition("-")[0] for name in names} == cases


def test_the_page_runs(fake_key: str) -> None:
    rows = ({"conversation": f"talk {n}", "claim": f"claim {n}"} for n in range(3))
    write_jsonl(Path("claims.jsonl"), rows)
    with BatchServer() as server:
        said = run_page(ROOT / "docs" / "batch.md", server.url, {})
    assert "3 requests wait for their replies" in said
    assert "3 rows (0 done before); 3 verdicts" in said
    assert not any(fake_key.encode() in path.read_bytes() for path in Path().rglob("*") if path.is_file())


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


def test_what_is_under_way_is_not_begun_again() -> None:
    rows()
    with BatchServer() as server:
        submit(server)
        at = ("--model", "openai/m", "--api-base", server.url)
        run_at_once = ("run", "fect:basic", "--input", "rows.jsonl", "--output", "b.jsonl", *at)
        for done in (submit(server), cli(*run_at_once)):
            assert (done.code, "jurist batch collect b.jsonl" in done.err) == (1, True)
        assert submit(server, "--fresh").code == 0
        assert len(server.batches) == 2
        ok(*run_at_once, "--fresh")
        assert not batches_of(Path("b.jsonl")).exists()


@settings(max_examples=40)
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
        left = store.cut(most, requests, size)
        files = [list(store.lines(batch)) for batch in store.batches()]
        assert store.pending == len(sizes)
    names = [json.loads(line)["custom_id"] for file in files for line in file]
    assert len(names) == len(set(names)) == len(sizes) - left == min(most, len(sizes))
    assert all(0 < len(file) <= requests and sum(map(len, file)) <= size for file in files)


def refuses_temperature(body: dict[str, Any]) -> str:
    return (
        "Unsupported value: 'temperature' is not supported with this model." if "temperature" in body else ""
    )


def test_what_is_refused_is_learnt_from_one_live_request(fake_key: str) -> None:
    rows()
    with BatchServer(refuses=refuses_temperature) as server:
        done = submit(server, "--probe", "--json", "--yes", model="openai/gpt-4.1-mini")
        assert done.code == 0, done.err
        assert server.count == 2, "one refusal, and one answer"
        assert done.json["probe"]["calls"] == 2
        # 100 tokens of input and 10 of output at the live price
        assert done.json["probe"]["cost"] == pytest.approx(100 * 0.4e-6 + 10 * 1.6e-6)
        assert "one row was asked at once before the first batch: 2 calls" in done.err
        sent = [json.loads(line)["body"] for line in server.files["file-0"].splitlines()]
        assert len(sent) == ROWS
        assert not any("temperature" in body for body in sent)
        done = collect("--json")
        assert (done.code, done.json["spend"]["calls"], done.json["probe"]["calls"]) == (0, ROWS, 2)
    assert len(server.batches) == 1
    assert len(read_jsonl(Path("b.jsonl"))) == ROWS


def test_the_probe_counts_for_the_limit_and_ends_the_work_where_nobody_answers() -> None:
    rows()
    with BatchServer() as server:
        server.faults = {0: "401"}
        refused = submit(server, "--probe")
        assert (refused.code, "--no-probe" in refused.err, server.files) == (1, True, {})
        done = submit(server, "--probe", "--max-calls", 6, "--json")
        assert (done.json["probe"]["calls"], done.json["unsent"]) == (1, ROWS - 5)
    with BatchServer() as server:
        server.faults = lambda index, body: "404"
        assert submit(server, "--fresh").code == 0, "no live request is sent"
        assert server.count == 0
