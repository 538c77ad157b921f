"""Compiling against a server, through DSPy's client: exact budgets, kills, resumption, fitted thresholds."""

import json
import os
import random
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from loopback import answer, field_of
from small import claims, cli, ended, ok, write_jsonl

from jurist.engines.meter import spare_requests
from jurist.gold.goldset import Gold
from jurist.programs.catalogue import find

SEARCH = (
    *("--set", "steps=2", "--set", "candidates=2", "--set", "sample=8"),
    *("--set", "sizes=2,4", "--set", "block=4", "--concurrency", "4"),
)
IN_FLIGHT = 4


@pytest.fixture(autouse=True)
def _folder(no_waiting: None) -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def learning(messages: list[dict[str, Any]]) -> str:
    """Answer right where demonstrations are shown, and wrong where none are."""
    claim = field_of(str(messages[-1]["content"]), "claim")
    if not claim:
        return answer(messages)
    truth = "reports" in claim or "promises" in claim
    if len(messages) == 2:
        truth = not truth
    return f"[[ ## factual ## ]]\n{truth}\n\n[[ ## completed ## ]]"


def argv(server: Any, *more: object) -> tuple[object, ...]:
    named = ("--model", "openai/x", "--api-base", server.url)
    return ("compile", "fect", "--gold", "gold.jsonl", "--yes", *SEARCH, *named, *more)


def whole(server: Any) -> tuple[int, bytes]:
    """Return the requests and the program of an uninterrupted compilation, which opens the test in a ledger apart."""
    delay, server.delay = server.delay, 0.0
    with patch.dict(os.environ, {"XDG_DATA_HOME": str(Path("whole-data").absolute())}):
        done = cli(*argv(server, "--store", "whole"))
    assert done.code == 0, done.err
    server.delay = delay
    requests, server.hits[:] = server.count, []
    return requests, Path("whole/fect/1/program.json").read_bytes()


@pytest.mark.parametrize("extra", [0, 17])
def test_never_one_call_more_than_allowed(extra: int, serve: Callable[..., Any]) -> None:
    server, longer = serve(learning), ("--set", "steps=99", "--set", "patience=99", "--set", "sizes=1,2,3,4")
    split = Gold.load("gold.jsonl", find("fect")).split(0)
    test = len(split.test)
    too_few = cli(*argv(server, *longer, "--max-calls", 2 * test))
    assert (too_few.code, server.count) == (1, 0)
    spare = spare_requests(2 * test)  # for requests of the proof that fail
    reserve = 2 * test + spare
    least = reserve + int(
        cli(*argv(server, *longer, "--max-calls", reserve + 1)).err.split("needs at least ")[1].split()[0]
    )
    refused = cli(*argv(server, *longer, "--max-calls", least - 1))
    assert (refused.code, server.count) == (1, 0)
    done = ok(*argv(server, *longer, "--max-calls", least + extra, "--json"))
    assert server.count <= least + extra
    assert done.json["spend"]["calls"] == server.count
    assert done.json["seconds_per_row"].keys() == {"basic", "compiled"}
    assert done.json["scores"] is not None  # the proof was kept back for
    assert done.json["optimizer"]["ending"] == "budget"
    reason = done.json["optimizer"]["reason"]
    left = int(re.findall(r"only (\d+) are left, which are reserved", reason)[0]) - 2 * test
    # one pass stays for a prompt that the search leaves half scored, and what is in flight when it ends
    assert 0 <= left <= len(split.dev) + IN_FLIGHT + spare
    assert server.count + left == least + extra  # all that the proof takes is two passes of the test


def failing(share_failed: float, share_unreadable: float, seed: int) -> Callable[[int, Any], str | None]:
    """Return faults at random: so many requests end with a 500, and so many replies cannot be read."""
    rolls = random.Random(seed)

    def fault(index: int, body: Any) -> str | None:
        roll = rolls.random()
        if roll < share_failed:
            return "500"
        return "garbage" if roll < share_failed + share_unreadable else None

    return fault


@pytest.mark.parametrize(
    ("seed", "share_failed", "limit"), [(1, 0.05, None), (2, 0.05, None), (3, 0.05, None), (4, 0.015, 400)]
)
def test_the_calls_that_the_forecast_names_end_with_a_proof_where_requests_fail(
    seed: int, share_failed: float, limit: int | None, serve: Callable[..., Any]
) -> None:
    server = serve(learning, faults=failing(share_failed, 0.02, seed))
    if limit is None:
        forecast = cli(*argv(server, "--max-calls", 1)).err
        limit = int(re.findall(r"raise --max-calls to (\d+)", forecast)[0])
    done = ok(*argv(server, "--max-calls", limit, "--json"))
    assert server.count <= limit
    assert done.json["scores"] is not None
    assert done.json["forecast"]["spare"] > 0


def test_ctrl_c_in_the_proof_keeps_the_best_and_resume_finishes(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    server = serve(learning, delay=0.03)
    requests, program = whole(server)
    code, err = ended(server, requests - 8, *argv(server), cwd=tmp_path, by=signal.SIGINT)
    assert (code, "Traceback" in err, "proving on" in err) == (130, False, True)
    last = err.splitlines()[-1]
    assert last.startswith("stopped by Ctrl-C; no proof yet; best so far: ")
    assert " paid answers are kept in " in last
    assert last.endswith("; add --resume to go on without paying again")
    (best,) = Path("compiled/.checkpoints").glob("*/best.json")
    assert json.loads(best.read_text())["prompt"]["self"]["instructions"]
    ok(*argv(server, "--resume"))
    assert server.count == requests  # what was in flight has arrived
    assert Path("compiled/fect/1/program.json").read_bytes() == program


def test_judge_and_proposer_at_two_addresses_with_two_keys(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, proposer = serve(), serve()
    monkeypatch.setenv("SMALL_API_KEY", "sk-small-0123456789")
    monkeypatch.setenv("LARGE_API_KEY", "sk-large-0123456789")
    named = ("--prompt-model", "openai/y", "--prompt-api-base", proposer.url)
    keys = ("--api-key-env", "SMALL_API_KEY", "--prompt-api-key-env", "LARGE_API_KEY")
    ok(*argv(judge, *named, *keys))
    assert {hit.authorization for hit in judge.hits} == {"Bearer sk-small-0123456789"}
    assert {hit.authorization for hit in proposer.hits} == {"Bearer sk-large-0123456789"}

    def proposes(hit: Any) -> bool:
        asked = str(hit.body["messages"][0])
        return "`instruction`" in asked or "`rules`" in asked

    assert all(map(proposes, proposer.hits))
    assert not any(map(proposes, judge.hits))
    kept = [path for path in Path().rglob("*") if path.is_file()]
    assert not any(b"0123456789" in path.read_bytes() for path in kept)
