"""Rows that an endpoint refuses, rows that fail, and replies that cannot be read: what becomes of each."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import CASES, asker
from loopback import field_of
from small import Done, cli, read_jsonl, write_jsonl

from jurist.engines.channel import CallContext
from jurist.engines.failure_kinds import FailureKind
from jurist.engines.failures import UNAVAILABLE, Breaker
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Meter
from jurist.errors import ModelError

ROWS = 30
AZURE = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
    "Please modify your prompt and retry."
)
OPENAI = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
ANTHROPIC = "Output blocked by content filtering policy"
GEMINI = "prompt blocked: PROHIBITED_CONTENT"
LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."


@pytest.fixture(autouse=True)
def _rows(no_waiting: None) -> None:
    write_jsonl(
        Path("rows.jsonl"), [{"conversation": f"talk {n}", "claim": f"claim {n}"} for n in range(ROWS)]
    )


def number_of(body: dict[str, Any]) -> int:
    """Return which row a request is about."""
    return int(field_of(body["messages"][-1]["content"], "claim").split()[1])


def run(server: Any, *more: object) -> Done:
    told = ("--model", "openai/m", "--api-base", server.url, "--concurrency", 4, "--json")
    return cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl", *told, *more)


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (AZURE, "content filter", "the endpoint's filter refused this row"),
        (OPENAI, "content filter", "the endpoint's filter refused this row"),
        (ANTHROPIC, "content filter", "the endpoint's filter refused this row"),
        (GEMINI, "content filter", "the endpoint's filter refused this row"),
        (LONG, "context length", "too long for the model"),
    ],
)
def test_a_block_of_refused_rows_ends_nothing_and_is_asked_once(
    words: str, kind: str, said: str, serve: Callable[..., Any]
) -> None:
    server = serve(refuses=lambda body: words if 3 <= number_of(body) < 23 else "")
    done = run(server)
    assert (done.code, server.count) == (3, ROWS)
    counts = done.json
    assert (counts["verdict"], counts["abstained"], counts["failed"]) == (10, 20, 0)
    assert counts["error_kinds"] == {kind: 20}
    refused = [line for line in read_jsonl(Path("o.jsonl")) if line["status"] == "abstained"]
    assert {line["error_kind"] for line in refused} == {kind}
    assert all(line["error"].startswith(f"{said}: ") for line in refused)
    again = run(server, "--resume")
    assert (server.count, again.json["resumed"], again.json["error_kinds_before"]) == (ROWS, ROWS, {kind: 20})
    shown = cli(
        *("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl", "--resume"),
        *("--model", "openai/m", "--api-base", server.url),
    )
    assert f"30 done before, 20 of them abstained ({kind} 20)" in shown.out
    cli("report", "o.jsonl", "--output", "report.html")
    assert f"20 abstained ({kind} 20)" in Path("report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("fault", ["filtered", "refused"])
def test_a_refusal_within_a_reply_is_an_abstention_and_is_not_drawn_again(
    fault: str, serve: Callable[..., Any]
) -> None:
    server = serve(faults=lambda index, body: fault if number_of(body) == 5 else None)
    done = run(server)
    assert (done.json["abstained"], done.json["error_kinds"]) == (1, {"content filter": 1})
    assert (done.json["redrawn"], server.count) == (0, ROWS)


def test_a_refused_row_is_not_asked_again_by_another_start(tmp_path: Path, serve: Callable[..., Any]) -> None:
    server = serve(refuses=lambda body: AZURE if number_of(body) == 1 else "")
    for start in range(2):
        journal = Journal(tmp_path / "journal.sqlite")
        context = CallContext(ledger=Ledger(), meter=Meter(), journal=journal)
        refused = asker(server, context).ask_all(CASES[:3])[1]
        journal.close()
        assert (refused.status, refused.error_kind) == ("abstained", "content filter")
        assert AZURE[:40] in refused.error
        assert context.meter.calls == server.count == 3, start


@pytest.mark.parametrize("kind", list(FailureKind))
def test_only_an_endpoint_in_trouble_ends_the_work(kind: FailureKind) -> None:
    breaker = Breaker()
    for _ in range(9):
        breaker.note(kind, "why")
    if kind in UNAVAILABLE:
        with pytest.raises(ModelError, match="10 answers in a row failed: why"):
            breaker.note(kind, "why")
    else:
        breaker.note(kind, "why")
    breaker.note("", "")
    breaker.note(kind, "why")  # an answer in between begins a new row


def test_a_refused_row_is_no_answer_of_a_model_that_is_away() -> None:
    breaker = Breaker()
    for _ in range(9):
        breaker.note(FailureKind.SERVER, "why")
        breaker.note(FailureKind.SETTINGS, "of the row")
    with pytest.raises(ModelError):
        breaker.note(FailureKind.SERVER, "why")


@pytest.mark.parametrize("limit", [None, 24])
def test_resume_begins_with_rows_that_were_never_asked(limit: int | None, serve: Callable[..., Any]) -> None:
    """Rows that failed come after them, and the lines are in the order of the input; a limit loses no line."""
    first = serve(faults=lambda index, body: "400" if number_of(body) in (2, 5) else None)
    assert run(first, "--max-calls", 10, "--concurrency", 1).json["failed"] == 2
    before = {line["row"]: line for line in read_jsonl(Path("o.jsonl"))}
    second = serve()
    more = () if limit is None else ("--max-calls", limit)
    done = run(second, "--resume", "--concurrency", 1, *more)
    asked = [number_of(hit.body) for hit in second.hits]
    assert asked == ([*range(10, ROWS), 2, 5] if limit is None else [*range(10, 24)])
    lines = read_jsonl(Path("o.jsonl"))
    assert [line["row"] for line in lines] == [*range(1, ROWS + 1 if limit is None else 25)]
    assert all(line == before[line["row"]] for line in lines if line["row"] in before and limit is not None)
    counts = done.json
    assert (counts["resumed"], counts["verdict"], counts["equal"]) == (8, len(asked), 0)
    assert counts["left"] == (0 if limit is None else ROWS - 8 - len(asked))


def test_equal_rows_that_were_never_asked_are_counted_once(serve: Callable[..., Any]) -> None:
    rows = [{"conversation": "talk", "claim": f"claim {n}"} for n in (0, 1, 2, 3, 3, 2, 0, 4)]
    write_jsonl(Path("rows.jsonl"), rows)
    run(serve(faults={0: "400"}), "--max-calls", 2, "--concurrency", 1)
    second = serve()
    counts = run(second, "--resume", "--concurrency", 1).json
    assert [number_of(hit.body) for hit in second.hits] == [2, 3, 4, 0]
    assert (counts["resumed"], counts["verdict"], counts["equal"], counts["left"]) == (1, 7, 3, 0)
    assert [line["row"] for line in read_jsonl(Path("o.jsonl"))] == [*range(1, 9)]


def garbage(times: int) -> Callable[[int, dict[str, Any]], str | None]:
    """Return faults by which each of every fifth row's first replies cannot be read."""
    seen = Counter[int]()

    def fault(index: int, body: dict[str, Any]) -> str | None:
        number = number_of(body)
        seen[number] += 1
        return "garbage" if number % 5 == 0 and seen[number] <= times else None

    return fault


@pytest.mark.parametrize(
    ("times", "redraw", "verdicts", "calls", "redrawn"),
    [(1, None, 30, 36, 6), (2, None, 24, 36, 6), (1, 0, 24, 30, 0), (2, 3, 30, 42, 12)],
)
def test_what_cannot_be_read_is_drawn_once_more(
    times: int, redraw: int | None, verdicts: int, calls: int, redrawn: int, serve: Callable[..., Any]
) -> None:
    server = serve(faults=garbage(times))
    more = () if redraw is None else ("--redraw", redraw)
    done = run(server, *more, "--max-unusable", 1)
    counts = done.json
    assert (counts["verdict"], server.count, counts["redrawn"]) == (verdicts, calls, redrawn)
    assert (counts["spend"]["calls"], counts["spend"]["redrawn"]) == (calls, redrawn)
    lines = read_jsonl(Path("o.jsonl"))
    assert sum(line["usage"]["calls"] for line in lines) == calls
    assert sum(line["redrawn"] for line in lines) == redrawn
    assert {line["drawn"] for line in lines} == {1}
    assert counts["error_kinds"] == ({"unreadable reply": 30 - verdicts} if verdicts < 30 else {})
    again = run(server, *more, "--resume", "--max-unusable", 1)
    assert (again.code, server.count) == (0, calls)


@pytest.mark.parametrize("limit", range(4, 12))
def test_a_limit_holds_for_second_draws_and_resume_pays_for_none_twice(
    limit: int, serve: Callable[..., Any]
) -> None:
    server = serve(faults=garbage(1))
    run(server, "--max-calls", limit, "--concurrency", 1)
    assert server.count == limit
    rest = run(server, "--resume", "--concurrency", 1)
    assert (server.count, rest.json["left"]) == (36, 0)
    lines = read_jsonl(Path("o.jsonl"))
    assert Counter(line["status"] for line in lines) == {"verdict": ROWS}
    assert sum(line["redrawn"] for line in lines) == 6


def test_one_second_draw_a_row_however_many_samples(serve: Callable[..., Any]) -> None:
    server = serve(faults=lambda index, body: "garbage" if number_of(body) == 4 else None)
    counts = run(server, "--samples", 3, "--stopping", "all", "--max-unusable", 1).json
    assert (server.count, counts["redrawn"], counts["abstained"]) == (3 * ROWS + 1, 1, 1)


def test_evaluate_draws_once_more_as_run_does(serve: Callable[..., Any]) -> None:
    write_jsonl(
        Path("gold.jsonl"),
        [{"conversation": f"talk {n}", "claim": f"claim {n}", "factual": bool(n % 2)} for n in range(ROWS)],
    )
    told = ("--gold", "gold.jsonl", "--model", "openai/m")
    for redraw, unread, calls in ((1, 0, 36), (0, 6, 30)):
        server = serve(faults=garbage(1))
        more = ("--api-base", server.url, "--redraw", redraw, "--json")
        done = cli("evaluate", "fect:basic", *told, *more)
        assert done.json["counts"]["units"]["abstained"] == unread
        assert server.count == calls
