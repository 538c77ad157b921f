"""Traces and images: batches, gates, cascades and runs that go on take them as they take texts."""

from pathlib import Path
from typing import Any

import pytest
from batch_runs import collect, without_usage
from batch_server import BatchServer
from pictures import png
from small import cli, ok, read_jsonl, write_jsonl

SOURCE = """
from typing import Literal

import dspy

import jurist


class CheckTrace(dspy.Signature):
    "Did the agent do what was asked?"

    trace: jurist.Trace = dspy.InputField()
    verdict: Literal["accept", "reject"] = dspy.OutputField()


class MatchPhoto(dspy.Signature):
    "Say whether the photo is a square."

    trace: dspy.Image = dspy.InputField()
    verdict: Literal["accept", "reject"] = dspy.OutputField()


of_traces = jurist.Judge(name="check-trace", signature=CheckTrace, positive="reject")
of_images = jurist.Judge(name="match-photo", signature=MatchPhoto, positive="reject")
"""
KINDS = ("traces", "images")
COUNT = 24
pytestmark = [
    pytest.mark.usefixtures("no_pause", "fake_key"),
    pytest.mark.parametrize("kind", KINDS),
]


def always_accept(messages: list[dict[str, Any]]) -> str:
    return "[[ ## verdict ## ]]\naccept\n\n[[ ## completed ## ]]"


@pytest.fixture(autouse=True)
def rows(kind: str) -> None:
    """Write rows of a kind, with labels: two in three are accepted."""
    Path("judges.py").write_text(SOURCE, encoding="utf-8")
    lines: list[dict[str, Any]] = []
    for number in range(COUNT):
        steps: Any = [
            {"actor": "user", "words": f"Refund order {number}."},
            {"actor": "assistant", "tool": "refund", "arguments": {"order": number}, "result": "{}"},
        ]
        if kind == "images":
            steps = f"{number}.png"
            Path(steps).write_bytes(png(number, width=3 + number))
        label = "reject" if number % 3 == 0 else "accept"
        lines.append({"id": f"r{number}", "trace": steps, "verdict": label})
    write_jsonl(Path("rows.jsonl"), lines)


def asked(server: BatchServer) -> tuple[str, ...]:
    return "--model", "openai/m", "--api-base", server.url


def test_a_batch_gives_the_lines_of_a_run(kind: str) -> None:
    judge = f"judges.py:of_{kind}:basic"
    with BatchServer(always_accept) as server:
        submitted = cli(
            "batch", "submit", judge, "--input", "rows.jsonl", "--output", "b.jsonl", "--no-probe", *asked(server)
        )  # fmt: skip
        assert submitted.code == 0, submitted.err
        assert collect().code == 0
        ok("run", judge, "--input", "rows.jsonl", "--output", "o.jsonl", *asked(server))
        assert len(server.bodies) == COUNT
    lines = read_jsonl(Path("b.jsonl"))
    assert [line["label"] for line in lines] == ["accept"] * COUNT
    assert without_usage(lines) == without_usage(read_jsonl(Path("o.jsonl")))


def test_a_run_that_stopped_goes_on_where_it_was(kind: str) -> None:
    command = ("run", f"judges.py:of_{kind}:basic", "--input", "rows.jsonl", "--output", "o.jsonl")
    with BatchServer(always_accept) as server:
        stopped = cli(*command, "--max-calls", "10", *asked(server))
        assert stopped.code == 1
        ok(*command, "--resume", *asked(server))
        assert len(server.hits) == COUNT
    assert len(read_jsonl(Path("o.jsonl"))) == COUNT


def test_a_gate_and_a_cascade_score_them(kind: str) -> None:
    judge = f"judges.py:of_{kind}:basic"
    with BatchServer(always_accept) as server:
        gate = ("gate", judge, "--gold", "rows.jsonl", *asked(server))
        assert ok(*gate, "--min", "accuracy=0.6").code == 0
        assert cli(*gate, "--min", "accuracy=0.7").code != 0
        scored = cli("cascade", judge, "--gold", "rows.jsonl", "--agree", "0.2", *asked(server))
    assert scored.code == 0, (scored.code, scored.out, scored.err)
