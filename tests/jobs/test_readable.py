"""A model whose replies to chat prompts cannot be read is asked for JSON, or the job ends before it has cost much."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import field_of
from scripted_runs import improving
from small import Done, claims, cli, write_jsonl

import jurist
from jurist.programs.state import PromptState

SMALL = ("--set", "steps=1", "--set", "candidates=1", "--set", "sample=6", "--optimizer", "opro", "--yes")
LABEL = "[[ ## factual ## ]]\n"


@pytest.fixture(autouse=True)
def _folder(no_waiting: None) -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def compiled(server: Any, *more: object) -> Done:
    named = ("--model", "openai/x", "--api-base", server.url)
    return cli("compile", "fect", "--gold", "gold.jsonl", *SMALL, *named, *more)


def small_model(messages: list[dict[str, Any]]) -> str:
    """Answer about a claim, and propose an instruction, in JSON alone, where it is asked for it."""
    said = improving(messages)
    if "JSON object" not in str(messages[-1]["content"]):
        return "It depends."
    if LABEL in said:
        return json.dumps({"factual": field_of(said, "factual") == "True"})
    return json.dumps({"instruction": field_of(said, "instruction")})


def test_json_is_asked_for_where_chat_cannot_be_read(serve: Callable[..., Any]) -> None:
    server = serve(small_model)
    done = compiled(server)
    assert done.code == 0, done.err
    assert "8 of the first 8 replies to chat prompts cannot be read: asked with --adapter json" in done.err
    card = json.loads(Path("compiled/fect/1/card.json").read_text())
    assert (card["adapter"], card["job"]["adapter"], card["structure"]) == ("json", "json", "schema")
    held = ["response_format" in hit.body for hit in server.hits]
    assert held[:8] == [False] * 8
    assert all(held[8:])  # the proposer's requests, too
    assert card["optimizer"]["candidates"] > 1
    assert card["spend"]["calls"] == server.count


def test_an_evaluation_asks_for_json_where_chat_cannot_be_read_and_pays_for_eight_rows_alone(
    serve: Callable[..., Any],
) -> None:
    server = serve(small_model)
    ask = ("evaluate", "fect:basic", "--gold", "gold.jsonl", "--json", "--model", "openai/x")
    ask = (*ask, "--api-base", server.url)
    found = cli(*ask).json
    assert (server.count, found["counts"]["units"]["answered"]) == (8 + found["cases"], found["cases"])
    assert "8 of the first 8 replies to chat prompts cannot be read" in found["warnings"][0]
    given = cli(*ask, "--adapter", "chat", "--fresh")
    assert (given.code, given.json["counts"]["units"]["answered"]) == (3, 0)
    hopeless = serve(lambda messages: "It depends.")
    done = cli(*ask[:-1], hopeless.url)
    assert (done.code, hopeless.count) == (1, 16)  # no reply is drawn again before its form is found
    assert "try a larger --model" in done.err


def test_the_few_unreadable_of_the_first_replies_are_drawn_again_once_the_form_is_found(
    serve: Callable[..., Any],
) -> None:
    server = serve(improving, faults=lambda index, body: "garbage" if index in (2, 5) else None)
    ask = ("evaluate", "fect:basic", "--gold", "gold.jsonl", "--json", "--model", "openai/x", "--yes")
    found = cli(*ask, "--api-base", server.url).json
    assert (server.count, found["counts"]["units"]["answered"]) == (found["cases"] + 2, found["cases"])
    server = serve(improving, faults=lambda index, body: "garbage" if index in (2, 5) else None)
    assert compiled(server).code == 0
    spend = json.loads(Path("compiled/fect/1/card.json").read_text())["spend"]
    assert spend["calls"] == server.count
    bodies = [hit.body for hit in server.hits]
    assert [bodies.count(hit.body) for hit in server.hits if hit.fault] == [2, 2]


PLAIN = """
from typing import Literal

import dspy
import jurist


class Send(dspy.Signature):
    claim: str = dspy.InputField()
    verdict: Literal["right", "wrong"] = dspy.OutputField()


judge = jurist.Judge(
    name="plain-check",
    signature=Send,
    prompt="Is this right or wrong? {{claim}}",
    positive=frozenset({"wrong"}),
    unit="claim",
)
"""


@pytest.mark.parametrize(
    "command",
    [
        ("run", "plain.py:judge:basic", "--input", "rows.jsonl", "--output", "o.jsonl", "--concurrency", "1"),
        ("evaluate", "plain.py:judge:basic", "--gold", "rows.jsonl"),
        ("compile", "plain.py:judge", "--gold", "rows.jsonl", *SMALL[:-1]),
        # a version keeps its format
        ("run", "plain-check@1", "--input", "rows.jsonl", "--output", "o.jsonl", "--concurrency", "1"),
        ("gate", "plain-check@1", "--gold", "rows.jsonl", "--min", "accuracy=0.5"),
    ],
    ids=" ".join,
)
def test_a_plain_prompt_whose_first_eight_replies_cannot_be_read_ends_the_job(
    command: tuple[str, ...], serve: Callable[..., Any]
) -> None:
    Path("plain.py").write_text(PLAIN)
    rows = [
        {"claim": f"{word} {number}.", "verdict": word} for number in range(30) for word in ("right", "wrong")
    ]
    write_jsonl(Path("rows.jsonl"), rows)
    judge = jurist.judge("plain.py:judge")
    card = {"model": {"name": "openai/x"}, "adapter": "plain", "judge_ref": "plain.py:judge"}
    jurist.Store().save(judge, PromptState.of(judge.basic()), card, [], make_latest=True)
    server = serve(lambda messages: "It depends.")
    asked = (*command, "--model", "openai/x", "--api-base", server.url, "--yes")
    done = cli(*asked)
    assert (done.code, server.count) == (1, 2 * 8), done.err
    assert "none of the first 8 replies can be read: " in done.err
    assert "--adapter plain goes on all the same" in done.err
    if command[0] != "compile":
        Path("o.jsonl").unlink(missing_ok=True)
        assert cli(*asked, "--adapter", "plain", "--fresh").code == 3
        assert server.count > 100


def test_a_run_stops_at_eight_replies_that_cannot_be_read_and_goes_on_where_the_form_is_given(
    serve: Callable[..., Any],
) -> None:
    server = serve(small_model)
    ask = ("run", "fect:basic", "--input", "gold.jsonl", "--output", "o.jsonl", "--concurrency", "1")
    ask = (*ask, "--model", "openai/x", "--api-base", server.url, "--yes")
    done = cli(*ask)
    assert (done.code, server.count, len(Path("o.jsonl").read_text().splitlines())) == (1, 2 * 8, 8), done.err
    assert "8 of the first 8 replies cannot be read" in done.err
    assert "try --adapter json" in done.err
    assert cli(*ask, "--adapter", "json", "--fresh", "--output", "j.jsonl").code == 0
    assert cli(*ask, "--adapter", "chat", "--output", "c.jsonl").code == 3
