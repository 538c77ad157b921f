"""Compile, run, votes, probabilities, structure, runaway replies, kill and resume, with a language model that is real.

It judges badly; what counts is that every reply is read, counted, kept and paid as all else is.
"""

import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small import claims, ok, read_jsonl, start, write_jsonl

from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.evaluation.votes import Sampling
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT
from jurist.programs.settings import AskSettings
from jurist.programs.verdicts import Verdict

pytestmark = pytest.mark.llm

NAME = "openai/smollm2"
ROWS = claims(groups=8, per_group=2)
CASES = [FECT.case(row) for row in ROWS]


def asked(url: str, count: int, *, form: str = "json", **settings: Any) -> list[Verdict]:
    samples = Sampling(samples=settings.pop("samples", 1))
    settings = {"max_tokens": 40, "temperature": 0.0, **settings}
    lm = connect(Model(name=NAME, api_base=url, **settings), CallContext.fresh())
    judge = Asker(
        judge=FECT,
        program=FECT.basic(),
        lm=lm,
        settings=AskSettings(adapter=form, sampling=samples, probabilities="tokens", concurrency=2),
    )
    return judge.ask_all(CASES[:count])


@pytest.fixture(scope="module")
def compiled(smollm: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a store with a judge compiled with the model, and its gold."""
    folder = tmp_path_factory.mktemp("compiled")
    gold, store = write_jsonl(folder / "gold.jsonl", ROWS), folder / "store"
    ok(
        *(
            "compile",
            "fect",
            "--gold",
            gold,
            "--store",
            store,
            "--optimizer",
            "threshold",
            "--adapter",
            "json",
        ),
        *("--model", NAME, "--api-base", smollm, "--max-tokens", 40, "--temperature", 0, "--concurrency", 2),
        *("--force", "--yes", "--anyway"),
    )
    return store, gold


def test_no_reply_of_a_structured_compilation_is_unusable(compiled: tuple[Path, Path]) -> None:
    from jurist.keeping.artifacts import Store

    card = Store(compiled[0]).load("fect@1").card
    assert card["structure"] == "object_schema"
    for counts in card["counts"].values():
        assert counts["coverage"] == 1.0
    told = card["calibration"]["basic"]
    assert told["units"] == card["gold"]["test"]
    assert 0.0 <= told["brier"] <= 1.0


def test_nor_of_a_structured_run_with_probabilities(
    smollm: str, compiled: tuple[Path, Path], tmp_path: Path
) -> None:
    store, gold = compiled[0], write_jsonl(tmp_path / "rows.jsonl", ROWS[:6])
    output = tmp_path / "out.jsonl"
    ok(
        *("run", "fect@1", "--store", store, "--input", gold, "--output", output, "--model", NAME, "--yes"),
        *("--api-base", smollm, "--max-tokens", 40, "--concurrency", 2, "--probabilities", "tokens"),
        *("--max-unusable", 0),
    )
    shares = [unit["probabilities"] for line in read_jsonl(output) for unit in line["units"]]
    assert len(shares) == 6
    assert all(sum(one.values()) == pytest.approx(1.0, abs=1e-4) for one in shares)
    assert len({one["factual"] for one in shares}) > 1  # it does tell the rows apart


def test_votes(smollm: str) -> None:
    for verdict in asked(smollm, 2, samples=3, temperature=1.0):
        assert (verdict.status, verdict.drawn, sum(verdict.votes[0].values())) == ("verdict", 3, 3)
        assert verdict.measured == 3


@pytest.mark.parametrize("form", ["chat", "json"])
def test_a_reply_that_runs_away_is_cut(smollm: str, form: str) -> None:
    """In the chat format it goes on and on; a limit that leaves no room for the answer is said."""
    for verdict in asked(smollm, 2, form=form, max_tokens=3):
        assert verdict.usage.output_tokens <= 3
        assert verdict.status == "abstained"
        assert "raise --max-tokens" in verdict.error


def test_a_default_limit_beyond_its_context_is_borne(smollm: str) -> None:
    assert [one.status for one in asked(smollm, 1, max_tokens=None)] == ["verdict"]


def test_a_case_that_is_too_long_is_said(smollm: str) -> None:
    lm = connect(Model(name=NAME, api_base=smollm, max_tokens=40), CallContext.fresh())
    case = FECT.case({"conversation": "Agent: hello there, my friend. " * 600, "claim": "It was said."})
    verdict = Asker(judge=FECT, program=FECT.basic(), lm=lm, settings=AskSettings(adapter="json")).ask(case)
    assert verdict.status == "failed"
    assert verdict.usage.calls <= 2  # the first may have found out which form of answers the server takes
    assert "context" in verdict.error


def test_killed_and_resumed_each_row_stands_once(
    smollm: str, compiled: tuple[Path, Path], tmp_path: Path
) -> None:
    store, gold = compiled
    argv = [
        *("run", "fect@1", "--store", store, "--input", gold, "--output", tmp_path / "o.jsonl", "--yes"),
        *("--model", NAME, "--api-base", smollm, "--max-tokens", 40, "--concurrency", 2),
    ]
    process = start(*argv, cwd=tmp_path)
    while process.poll() is None and len(_lines(tmp_path)) < 3:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = len(_lines(tmp_path))
    assert before < len(ROWS)
    done = ok(*argv, "--resume", "--json")
    assert Counter(line["row"] for line in _lines(tmp_path)) == Counter(range(1, len(ROWS) + 1))
    assert done.json["spend"]["calls"] <= len(ROWS) - before + 2  # what was in flight


def _lines(folder: Path) -> list[dict[str, Any]]:
    path = folder / "o.jsonl"
    return read_jsonl(path) if path.exists() and path.stat().st_size else []
