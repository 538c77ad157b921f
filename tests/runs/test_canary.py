"""The canary of a run: asked first, counted like every call, and heard where the model has drifted."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from loopback import truth_of
from proven import proven_fect
from small import claims, cli, ok, write_jsonl

ROWS = claims(20)
RUN = ("run", "fect", "--input", "rows.jsonl", "--output", "o.jsonl", "--canary")


@pytest.fixture(autouse=True)
def _files() -> None:
    write_jsonl(Path("gold.jsonl"), ROWS)
    new = [{"conversation": "A: hi. B: hello.", "claim": f"A says {n}."} for n in range(5)]
    write_jsonl(Path("rows.jsonl"), new)


def said(row: Mapping[str, Any]) -> str:
    """What the loopback server says of a row."""
    return "factual" if truth_of(row["claim"]) else "non_factual"


def always(word: str) -> Callable[[Any], str]:
    return lambda messages: f"[[ ## factual ## ]]\n{word}\n\n[[ ## completed ## ]]"


def at(server: Any) -> tuple[str, ...]:
    return ("--model", "openai/x", "--api-base", server.url, "--concurrency", "4", "--yes")


def test_a_model_that_answers_as_ever_has_not_drifted(serve: Callable[..., Any], fake_key: str) -> None:
    proven_fect(Path("gold.jsonl"), said, model="openai/x")
    server = serve()
    done = ok(*RUN, *at(server), "--json")
    assert "65 calls" in done.err  # foreseen: 60 rows of the proof and 5 to judge
    assert "5 rows and a canary of 60" in done.err
    assert (
        "canary: no drift is shown in how right the answers are, or in how much they find: 60 rows"
        in done.err
    )
    assert "60 rows asked again, all answered as in the" in done.err
    assert (server.count, done.json["spend"]["calls"], done.json["rows"]) == (65, 65, 5)
    assert done.json["canary"]["shown"] is False
    assert [b"A says" in hit.raw for hit in server.hits] == [False] * 60 + [True] * 5


def test_drift_is_told_early_and_the_rows_are_judged(serve: Callable[..., Any], fake_key: str) -> None:
    proven_fect(Path("gold.jsonl"), said, model="openai/x")
    server = serve(always("False"))
    done = cli(*RUN, *at(server), "--json")
    assert "canary: the model has drifted: " in done.err
    assert "the canary shows a change (exit code 3); the rows were judged all the same" in done.err
    assert done.code == 3
    found = done.json["canary"]
    assert found["shown"]
    assert found["evidence"] >= 20
    assert found["fewer"] == 0 < found["more"]
    assert server.count < 60  # no longer than until it is shown
    assert (done.json["verdict"], len(Path("o.jsonl").read_text().splitlines())) == (5, 5)


@pytest.mark.parametrize(
    ("answer", "outcome", "code"),
    [
        (None, "; no difference is shown in how right the answers are, or in how much they find: 60 rows", 0),
        ("False", "; a difference is shown: ", 3),
    ],
)
def test_another_model_than_that_of_the_proof_is_compared_and_does_not_drift(
    answer: str | None, outcome: str, code: int, serve: Callable[..., Any], fake_key: str
) -> None:
    proven_fect(Path("gold.jsonl"), said, model="openai/proven")
    server = serve(always(answer)) if answer else serve()
    done = cli("run", "fect@1", *RUN[2:], *at(server))
    models = "canary: openai/x now and openai/proven in the proof are two models, so this is no drift"
    assert models + outcome in done.err
    assert (done.code, "has drifted" in done.err) == (code, False)


def test_a_canary_is_not_paid_for_again_after_a_limit(serve: Callable[..., Any], fake_key: str) -> None:
    proven_fect(Path("gold.jsonl"), said, model="openai/x")
    server = serve()
    assert cli(*RUN, *at(server), "--max-calls", "62").code == 1
    ok(*RUN, *at(server), "--resume")
    assert server.count == 65
    assert [path.name for path in Path().glob(".*")] == []


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("run", "fect:basic"), "fect:basic has no proof to compare with"),
        (("run", "fect"), "none of the 60 rows of the sealed test of fect@1"),
        (("run", "fect", "--temperature", "0.5"), "temperature 0.5 and not 0.0"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_asking(argv: tuple[str, ...], told: str) -> None:
    proven_fect(Path("gold.jsonl"), said)
    write_jsonl(Path("gold.jsonl"), claims(30)[-9:])
    done = cli(*argv, "--input", "rows.jsonl", "--output", "o.jsonl", "--canary")
    assert done.code in (1, 2)
    assert told in done.lines[-1]
    assert not Path("o.jsonl").exists()
    Path("gold.jsonl").unlink()
    gone = cli("run", "fect", "--input", "rows.jsonl", "--output", "o.jsonl", "--canary")
    assert "gold.jsonl: there is no such file or folder; put it where it was" in gone.lines[-1]
