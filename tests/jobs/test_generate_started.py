"""Before dialogues and assessments are paid for: the estimate, the question, and what a kill leaves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import cli, ok, read_jsonl, write_jsonl
from talks import conversing, docs

DIALOGUE = ("generate", "dialogue", "--input", "docs.jsonl", "--output", "d.jsonl", "--turns", "2")
ASSESS = ("assess", "offline", "--benchmark", "prompts.jsonl", "--calibration", "gold.jsonl")


@pytest.fixture(autouse=True)
def _folder(no_waiting: None) -> None:
    write_jsonl(Path("docs.jsonl"), docs(3))
    write_jsonl(Path("gold.jsonl"), responses("known", 8))
    write_jsonl(Path("prompts.jsonl"), responses("new", 5))


def responses(name: str, count: int) -> list[dict[str, Any]]:
    return [
        {
            "group": f"{name}{n}",
            "reference": f"The {name} mill number {n} was built in {1800 + n} and has two wheels.",
            "question": f"What of mill {n}?",
            "sentences": [f"It was built in {1800 + n}.", "It has nine wheels."],
            "labels": ["faithful", "invented"],
        }
        for n in range(count)
    ]


def test_what_failed_is_counted_and_asked_again(serve: Callable[..., Any], fake_key: str) -> None:
    lost = "new mill number 4"
    server = serve(conversing, faults=lambda index, body: "500" if lost in str(body) else None)
    judge = ("--judge", "cognibench:basic", "--judge-model", "openai/y", "--judge-api-base", server.url)
    argv = ("assess", "openai/x", *ASSESS[2:], "--api-base", server.url, *judge, "--samples", 1, "--json")
    broken = cli(*argv, "--answers", "a.jsonl")
    (model,) = broken.json["models"]
    assert (broken.code, model["answers"], model["failed"]) == (3, 4, 1)
    assert "--resume asks again for what failed" in broken.err
    server.faults, before = {}, server.count
    done = ok(*argv, "--resume")
    assert (done.json["models"][0]["answers"], done.json["models"][0]["failed"]) == (5, 0)
    assert server.count == before + 2  # the reply, and what the judge says of it
    assert len(read_jsonl(Path("a.jsonl"))) == 4
    assert json.dumps(done.json).count(fake_key) == 0
