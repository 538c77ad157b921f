"""What compiling and choosing owe the sealed test: no text of it in a prompt, its labels, every opening counted."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import field_of
from scripted_runs import hashed
from small import FAST, claims, cli, ok, read_jsonl, write_jsonl

from jurist.gold.goldset import Gold
from jurist.programs.fect import FECT
from jurist.text.files import data_file

LEAK = "The customer reports that bicycle 11 arrived broken."
SEARCH = ("--optimizer", "opro", "--set", "steps=1", "--set", "candidates=4", "--set", "sample=12")


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def leaking(every: int) -> Callable[[list[dict[str, Any]]], str]:
    """Propose rules that judge all claims right, every n-th with a test case's claim; the basic prompt does not."""
    proposals = iter(range(10**6))

    def answers(messages: list[dict[str, Any]]) -> str:
        system, last = str(messages[0]["content"]), str(messages[-1]["content"])
        claim = field_of(last, "claim")
        if "`instruction`" in system:
            number = next(proposals)
            note = f" Note: {LEAK}" if number % every == 0 else ""
            return f"[[ ## instruction ## ]]\nRule {number}: be strict.{note}\n\n[[ ## completed ## ]]"
        right = "be strict" in system or hashed(claim) % 100 < 20
        factual = ("cancel" in claim or "refuses" in claim) != right
        return f"[[ ## reasoning ## ]]\nRead.\n\n[[ ## factual ## ]]\n{factual}\n\n[[ ## completed ## ]]"

    return answers


def argv(server: Any, *more: object) -> tuple[object, ...]:
    named = shlex.split(f"--model openai/x --api-base {server.url} --max-calls 400 --concurrency 1 --anyway")
    return ("compile", "fect", "--gold", "gold.jsonl", *SEARCH, *named, *more)


def test_a_prompt_with_text_of_the_test_does_not_win(serve: Callable[..., Any]) -> None:
    assert LEAK in {case.inputs["claim"] for case in Gold.load("gold.jsonl", FECT).split(0).test}
    server = serve(leaking(2))
    done = ok(*argv(server, "--json"))
    history = read_jsonl(Path("compiled/fect/1/history.jsonl"))
    holding = [row["candidate"] for row in history if LEAK in json.dumps(row["prompt"])]
    assert len(holding) == 2
    assert "left out of the choice: 2 candidates whose prompts hold text of a test case" in done.err
    # the next best, not the basic prompt
    assert "be strict" in Path("compiled/fect/1/program.json").read_text()
    assert done.json["optimizer"]["candidate"] not in holding
    left_files = {path.name for path in Path("compiled/.checkpoints").iterdir()}
    assert left_files == {".gitignore", "answers.sqlite"}  # no job is left to go on with


def test_other_labels_on_the_same_rows_are_refused() -> None:
    ok("compile", "fect", "--gold", "gold.jsonl", *FAST)
    rows = [{**row, "factual": not row["factual"]} for row in read_jsonl(Path("gold.jsonl"))]
    write_jsonl(Path("gold.jsonl"), rows)
    refused = cli("artifacts", "remember", "fect@1", "gold.jsonl", "--gold", "gold.jsonl")
    assert (refused.code, len(refused.lines)) == (1, 1)
    assert "has other labels or rows than when fect@1 was compiled on it; name the gold set" in refused.err
    assert not Path("compiled/fect/2").exists()


def test_every_prompt_that_is_proven_on_the_same_rows_is_an_opening_and_a_repeat_is_none(
    serve: Callable[..., Any],
) -> None:
    server = serve(leaking(99))  # each search proposes other rules
    for opened in (1, 2, 3):
        done = ok(*argv(server, "--fresh", "--json"))
        decision = done.json["decision"]
        assert done.json["test_openings"] == decision["openings"] == opened
        assert decision["tested"] == 0.05 / 2**opened
        assert (f"opening {opened} of this test" in decision["words"]) == (opened > 1)
        assert ("sealed rows were opened before" in done.err) == (opened > 1)
    again = ok(*argv(serve(leaking(99)), "--json"))  # the rules of the first search
    assert again.json["test_openings"] == 1
    assert ok(*argv(server, "--fresh", "--json")).json["test_openings"] == 4
    hollow = cli("artifacts", "remember", "fect@1", "gold.jsonl")
    assert (
        "at the level 0.00156, to which earlier tests on these rows lowered it from 0.025: nothing was asked and "
        "nothing was spent; compile fect again"
    ) in hollow.err


def test_looking_at_what_was_proven_opens_nothing(serve: Callable[..., Any]) -> None:
    server = serve(leaking(99))
    asked = ("--gold", "gold.jsonl", "--model", "openai/x", "--api-base", server.url)
    before = cli("compare", "fect:basic", "fect-reasoning:basic", *asked, "--json")
    assert before.json["opening"] == 0
    ledger = data_file("openings.jsonl")
    assert not ledger.exists()
    first = cli(*argv(server, "--force"))
    assert f"counted in {ledger}, first use recorded" in first.err
    assert "only " in first.err  # how little so few groups can show is said before
    known = ledger.read_bytes()
    for looking in (
        ("evaluate", "fect"),
        ("gate", "fect", "--min", "accuracy=0.1"),
        ("compare", "fect", "fect:basic"),
    ):
        done = cli(*looking, *asked, "--json")
        assert done.code == 0, done.err
        assert "no row is opened again" in done.err
    assert (done.json["opening"], ledger.read_bytes()) == (1, known)
    # a prompt that was never tried there
    compared = cli("compare", "fect", "fect-reasoning:basic", *asked, "--json")
    assert compared.json["opening"] == 2
    with ledger.open("a") as file:
        file.write('\n{"rows": [')  # cut off by a full disk
    again = cli(*argv(server, "--fresh", "--json"))
    assert again.json["test_openings"] == 3
    assert "1 of the lines" in again.err
    assert "claim" not in ledger.read_text(encoding="utf-8")
