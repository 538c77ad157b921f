"""What counts as hallucinated in assessments: what falls below the strictness."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import reply
from small import ok, read_jsonl
from talks import GOOD

from jurist.programs.cognibench import BELOW

ASSESS = shlex.split("assess openai/x --benchmark dialogues --limit 6 --samples 1 --yes --json")
MUSING = (
    "Overall the old wheels probably inspired a quiet pride that shaped everybody in the valley.",
    "The mill was sold to a circus in 1777 for nine golden herrings.",
)


@pytest.mark.parametrize("strictness", ["rational", "irrefutable"])
def test_an_assessment_counts_what_falls_below(strictness: str, serve: Callable[..., Any]) -> None:
    server = serve(lambda messages: reply("chat", assistant_message=f"{GOOD} {' '.join(MUSING)}"))
    named = ("--api-base", server.url, "--judge", "cognibench:basic", "--strictness", strictness)
    done = ok(*ASSESS, *named, "--answers", "a.jsonl")
    assert done.json["judge"]["strictness"] == strictness
    assert f"falls below {strictness}" in done.people
    labels = [x for row in read_jsonl(Path("a.jsonl")) for x in row["labels"] if x]
    wanted = sum(label in BELOW[strictness] for label in labels) / len(labels)
    found = done.json["models"][0]["measures"]["hallucinated"]["raw"]["value"]
    assert found == pytest.approx(wanted)
