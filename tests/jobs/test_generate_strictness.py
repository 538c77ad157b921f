"""What counts as hallucinated in datasets and assessments: what falls below the judge's strictness, or one given."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import reply
from small import cli, ok, read_jsonl, write_jsonl
from talks import GOOD, SECOND, docs, turn

from jurist.programs.cognibench import BELOW

DATASET = shlex.split("generate cognibench-l --input docs.jsonl --samples 1 --words 10-60 --turns 2")
MUSING = (
    "Overall the old wheels probably inspired a quiet pride that shaped everybody in the valley.",
    "The mill was sold to a circus in 1777 for nine golden herrings.",
)


def musing(messages: list[dict[str, Any]]) -> str:
    """Answer as an endpoint that writes: of two turns the second says what no reference says."""
    if "`complaint`" not in str(messages[0]["content"]):
        return reply("chat", assistant_message=f"{GOOD} {' '.join(MUSING)}")
    second = "assistant:" in str(messages[-1]["content"])
    return (
        turn("chat", "Who comes?", f"{SECOND} {MUSING[0]}") if second else turn("chat", "What is it?", GOOD)
    )


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("docs.jsonl"), docs(4))


@pytest.fixture
def asked(serve: Callable[..., Any]) -> tuple[str, ...]:
    return ("--api-base", serve(musing).url)


def share_of(folder: str, strictness: str) -> float:
    labels = [x for row in read_jsonl(Path(folder, "responses.jsonl")) for x in row["labels"] if x]
    return sum(label in BELOW[strictness] for label in labels) / len(labels)


@pytest.mark.parametrize("strictness", ["rational", "irrefutable"])
def test_a_dataset_counts_what_falls_below(strictness: str, asked: tuple[str, ...]) -> None:
    named = ("--model", "openai/x", *asked, "--judge", "cognibench:basic", "--strictness", strictness)
    done = ok(*DATASET, "--output", "d", *named, "--json")
    statistics = done.json["statistics"]
    assert statistics["made"]["strictness"] == strictness
    assert statistics["shares"]["hallucinated"]["value"] == pytest.approx(share_of("d", strictness))
    moving = json.loads(Path("d/dynamics.json").read_text(encoding="utf-8"))
    counts = [row["hallucinated"]["count"] for row in moving["by_turn"]]
    assert sum(counts) == statistics["shares"]["hallucinated"]["count"]
    assert ", ".join(sorted(BELOW[strictness])) in Path("d/README.md").read_text(encoding="utf-8")
    assert f"falls below {strictness}" in done.people
    entries = json.loads(Path("d/labels.json").read_text(encoding="utf-8")).values()
    listed = sum(len(entry["hallu_list"]) for entry in entries)
    labels = [x for row in read_jsonl(Path("d/responses.jsonl")) for x in row["labels"]]
    assert listed == sum(label in BELOW["grounded"] for label in labels)  # the authors' own definition
    again = cli("gold", "dynamics", "--gold", "d", "--strictness", strictness, "--json").json
    assert again["statistics"]["shares"] == statistics["shares"]
    assert again["dynamics"] == moving
