"""Every optimizer, killed twice: it ends in the same program, and nothing is paid twice.

Real processes, real HTTP and real SIGKILLs take a while: ``pytest -m slow`` runs these.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import improving, token_alone
from small import claims, cli, killed, ok, write_jsonl

from jurist.optimizers.registry import OPTIMIZERS

IN_FLIGHT = 2
CALLS = {"simba": 330, "mipro": 330, "bootstrap": 330}
SMALL = {
    "opro": ("steps=3", "candidates=2", "sample=12"),
    "fewshot": ("sizes=2,4", "sets=2", "block=4", "sample=12"),
    "cfaith": ("steps=2", "rewrites=2", "sample=12"),
    "contrastive": ("sample=14", "draws=2"),
    "bootstrap": ("num_candidate_programs=2",),
    "copro": ("breadth=3", "depth=2", "sample=12"),
    "mipro": ("num_candidates=3", "num_trials=4", "sample=12"),
    "gepa": ("max_metric_calls=80",),
    "simba": ("max_steps=2", "bsize=6", "num_candidates=2", "sample=12"),
    "infer-rules": ("num_candidates=2", "sample=12"),
}


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def argv(name: str, server: Any, *more: object) -> tuple[object, ...]:
    settings = [part for value in SMALL.get(name, ()) for part in ("--set", value)]
    model = ("--model", "openai/x", "--api-base", server.url, "--concurrency", IN_FLIGHT)
    limit = ("--max-calls", CALLS.get(name, 260))
    return ("compile", "fect", "--gold", "gold.jsonl", "--optimizer", name, *settings, *model, *limit, *more)


# The scripted proposer writes no questions: test_laws.py interrupts and resumes the search for them.
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "questions"])
def test_two_kills_change_nothing(
    name: str, serve: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(improving, logprobs=token_alone)
    with monkeypatch.context() as other:
        # In one ledger the second compilation would be the second opening, and its level another one.
        other.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
        whole = cli(*argv(name, server, "--store", "whole", "--json"))
    assert whole.code == 0, whole.err
    requests, asked = server.count, server.by_body
    assert requests == whole.json["spend"]["calls"] <= CALLS.get(name, 260)
    server.hits.clear()
    server.delay = 0.02
    first, second = requests // 4, requests // 3
    killed(server, first, *argv(name, server), cwd=tmp_path)
    killed(server, second, *argv(name, server, "--resume"), cwd=tmp_path)
    done = ok(*argv(name, server, "--resume", "--json"))
    assert server.count <= CALLS.get(name, 260)
    # The search lacks what was in flight at the kill.
    if whole.json["optimizer"]["ending"] == "budget":
        assert server.count <= requests + 2 * IN_FLIGHT
        return
    # Equal calls, but for those in flight at a kill, whose answers nobody kept.
    assert requests <= server.count <= requests + 2 * IN_FLIGHT
    assert sum((server.by_body - asked).values()) <= 2 * IN_FLIGHT
    assert not asked - server.by_body
    assert done.json["spend"]["calls"] == whole.json["spend"]["calls"]
    assert done.json["spend"]["by_purpose"]["total"]["replayed"] >= first + second - 2 * IN_FLIGHT
    for file in ("program.json", "history.jsonl"):
        ours, theirs = (Path(store, "fect", "1", file).read_bytes() for store in ("compiled", "whole"))
        assert ours == theirs, file
    for key in ("scores", "decision", "thresholds", "optimizer"):
        assert done.json[key] == whole.json[key]


@pytest.mark.slow
@pytest.mark.parametrize("flight", [2, 16])
def test_five_kills_and_not_one_call_more(flight: int, serve: Callable[..., Any], tmp_path: Path) -> None:
    server, limit = serve(improving), 260
    server.delay = 0.02
    words = (*argv("opro", server), "--concurrency", flight, "--max-calls", limit)
    for number in range(5):
        killed(server, 20, *words, *(["--resume"] if number else []), cwd=tmp_path)
    done = cli(*words, "--resume")
    assert server.count <= limit
    assert "Traceback" not in done.err
    assert done.code in (0, 1), done.err  # what was lost in flight may be what the proof lacks
    if done.code:
        assert f"the budget of {limit} calls is spent" in done.err
    again = cli(*words, "--resume") if done.code else done
    assert server.count <= limit, again.err
