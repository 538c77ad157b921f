"""What ``jurist run`` may spend: limits, the estimate, and the question before it."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import Done, claims, cli, read_jsonl, write_jsonl

ROWS = 24


@pytest.fixture(autouse=True)
def _folder(no_waiting: None) -> None:
    write_jsonl(Path("rows.jsonl"), claims(8))


def run(server: Any, *more: object) -> Done:
    named = ("--model", "openai/x", "--api-base", server.url)
    return cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl", *named, "--json", *more)


@pytest.mark.parametrize("concurrency", [1, 5])
def test_a_limit_ends_it_and_resume_pays_nothing_twice(concurrency: int, serve: Callable[..., Any]) -> None:
    server = serve()
    done = run(server, "--max-calls", 10, "--concurrency", concurrency)
    assert (done.code, server.count) == (1, 10)
    assert (done.json["verdict"], done.json["left"]) == (10, ROWS - 10)
    assert (done.json["stopped"], done.json["hint"]) == ("the budget of 10 calls is spent", "raise the limit")
    assert done.lines[-1] == (
        f"stopped: the budget of 10 calls is spent; raise the limit; {ROWS - 10} rows are left, "
        "--resume judges them"
    )
    assert len(read_jsonl(Path("o.jsonl"))) == 10
    rest = run(server, "--resume", "--max-calls", ROWS)  # of this run: no more than it may make is left
    assert (rest.code, server.count) == (0, ROWS)
    assert (rest.json["resumed"], rest.json["left"], rest.json["stopped"]) == (10, 0, "")
    assert len({line["id"] for line in read_jsonl(Path("o.jsonl"))}) == ROWS


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ("401", "check the API key in the environment variable of this provider"),
        ("404", "check the model's name (provider/model) and that your key may use it"),
        ("quota", "check the account's credit and quota"),
        (
            "503",
            "check the model's server, ask it less (--rpm, --concurrency) or wait longer for an answer "
            "(--timeout), and start again with --resume",
        ),
    ],
)
def test_a_failure_that_ends_it_after_some_answers_says_what_to_do(
    fault: str, hint: str, serve: Callable[..., Any]
) -> None:
    server = serve(faults=lambda number, body: fault if number >= 10 else None)
    done = run(server, "--concurrency", 1, "--patience", 0)
    left = done.json["left"]
    assert (done.code, done.json["hint"]) == (1, hint)
    assert 0 < left < ROWS
    assert done.lines[-1].startswith("stopped: ")
    assert done.lines[-1].endswith(f"; {hint}; {left} rows are left, --resume judges them")
    assert run(server, "--resume", "--max-calls", 1).code == 1
    server.faults = {}
    assert run(server, "--resume").code == 0
    assert len({line["id"] for line in read_jsonl(Path("o.jsonl"))}) == ROWS


@pytest.mark.parametrize(("allowed", "code"), [("1", 0), ("0", 3)])
def test_rows_that_failed_are_named_with_the_next_step(
    allowed: str, code: int, serve: Callable[..., Any]
) -> None:
    server = serve(faults=lambda number, body: "400" if number in (3, 5) else None)
    done = run(server, "--concurrency", 1, "--max-unusable", allowed)
    assert (done.code, done.json["failed"]) == (code, 2)
    assert done.lines[-1].endswith("jurist run --resume asks the failed ones again")
    server.faults = {}
    rest = run(server, "--resume", "--max-unusable", 0)
    assert (rest.code, rest.json["failed"], rest.json["verdict"]) == (0, 0, 2)
    assert "failed" not in rest.lines[-1]


def test_the_estimate_says_what_a_limit_will_end(serve: Callable[..., Any]) -> None:
    server = serve()
    done = run(server, "--max-calls", 7, "--samples", 5)
    before = next(line for line in done.lines if line.startswith("forecast: "))
    assert f"{ROWS} rows: {3 * ROWS} to {5 * ROWS} calls" in before
    assert "--max-calls 7 will stop it before the end" in done.err
    assert "may stop" in run(server, "--resume", "--max-calls", 4 * ROWS, "--samples", 5).err
    # The rows that are left are estimated, and rows that were judged are not.
    left = ROWS - len(read_jsonl(Path("o.jsonl")))
    again = run(server, "--resume", "--samples", 5)
    assert (f"forecast: {left} rows" in again.err) == (left > 0)


def test_a_row_that_is_not_paid_for_is_left_whole(serve: Callable[..., Any]) -> None:
    server = serve()
    done = run(server, "--max-calls", 8, "--samples", 3, "--stopping", "all", "--concurrency", 1)
    assert (done.code, server.count, done.json["left"]) == (1, 8, ROWS - 2)  # the third had two of its three
    assert [line["drawn"] for line in read_jsonl(Path("o.jsonl"))] == [3, 3]
    rest = run(server, "--samples", 3, "--stopping", "all", "--resume")
    assert (rest.code, server.count, rest.json["spend"]["replayed"]) == (0, 3 * ROWS, 2)


def test_much_is_asked_about_before(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    monkeypatch.setattr("jurist.console.questions.ASK_CALLS", ROWS - 1)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    refused = run(server)
    assert (refused.code, server.count) == (2, 0)
    assert refused.lines[-1] == f"error: this makes up to {ROWS} calls to a real model; add --yes to go on"
    assert not Path("o.jsonl").exists()
    assert run(server, "--max-calls", 3).code == 1  # so few need no question
    assert run(server, "--resume").code == 0  # nor do those that are left
    Path("o.jsonl").unlink()
    assert run(server, "--yes").code == 0
    offline = cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "p.jsonl", "--max-cost", 1)
    assert (offline.code, "before:" in offline.err) == (0, False)  # the offline engine costs nothing


def test_what_is_paid_already_needs_no_price(serve: Callable[..., Any]) -> None:
    server = serve()
    assert run(server, "--max-calls", ROWS).code == 0
    assert run(server, "--resume", "--max-cost", 1).code == 0
