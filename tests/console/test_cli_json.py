"""``--json``: one JSON object on standard output, and nothing else there; the rest goes to standard error."""

import json
from pathlib import Path

import pytest
from judges import changed
from small import FAST, claims, cli, ok, write_jsonl

from jurist.keeping.artifacts import Store
from jurist.programs.catalogue import find


@pytest.fixture(autouse=True)
def _folder() -> None:
    rows = claims()
    write_jsonl(Path("gold.jsonl"), [{**row, "ratings": {"a": row["factual"], "b": True}} for row in rows])
    write_jsonl(Path("rows.jsonl"), rows[:3])
    fect = find("fect")
    Store("compiled").save(fect, changed(fect), {"judge_ref": "fect"}, [_TRIED], make_latest=True)


_TRIED = {
    "candidate": "a",
    "parent": None,
    "source": "basic",
    "step": 0,
    "calls": 0,
    "train": {"cases": 0, "value": None},
    "dev": {"cases": 4, "value": 0.5},
}
FECT = "fect --gold gold.jsonl"
COMMANDS = {
    "judges": "judges",
    f"compile {FECT} {' '.join(FAST)}": "decision",
    "compare fect fect:basic --gold gold.jsonl": "judges",
    "evaluate fect:basic --gold gold.jsonl": "disagreements",
    "run fect --input rows.jsonl --output out.jsonl": "spend",
    "export fect --to markdown": "text",
    "export fect --to markdown --output fect.md": "output",
    "training --input gold.jsonl --judge fect --part all --output t.jsonl": "examples",
    "artifacts list": "artifacts",
    "artifacts show fect@1": "sha256",
    "artifacts show fect@1 --history": "history",
    "artifacts diff fect:basic fect": "diff",
    "artifacts tag fect@1 good": "tag",
    "artifacts verify": "problems",
    "artifacts verify fect": "problems",
    "gold check fect gold.jsonl": "split",
    f"gold check {FECT}": "split",
    f"gold split {FECT} --output parts": "train",
    "gold import fect gold.jsonl --output copy.jsonl": "cases",
    "gold agreement fect gold.jsonl": "raters",
    f"gold sheet {FECT} --all --output sheet.csv": "units",
    "completion bash": "code",
}
"""Command -> a key of its object."""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_result_is_one_object_or_what_people_read_and_remarks_hold_neither(command: str) -> None:
    def never(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    people = ok(*command.split())
    with pytest.raises(json.JSONDecodeError):
        json.loads(people.out)
    for file in ("out.jsonl", "sheet.csv"):  # neither is written over
        Path(file).unlink(missing_ok=True)
    done = ok(*command.split(), "--json")
    assert COMMANDS[command] in json.loads(done.out, parse_constant=never)
    assert not set(people.out.splitlines()) & set(done.err.splitlines())


def test_lines_on_standard_output_stay_lines() -> None:
    done = cli("run", "fect", "--input", "rows.jsonl", "--output", "-", "--json")
    assert [json.loads(line)["status"] for line in done.out.splitlines()] == ["verdict"] * 3


def test_a_problem_found_is_in_the_object_and_in_the_exit_code() -> None:
    card = Path("compiled/fect/1/card.json")
    card.write_bytes(card.read_bytes() + b" ")
    done = cli("artifacts", "verify", "--json")
    assert done.code == 1
    assert [problem["ref"] for problem in done.json["problems"]] == ["fect@1"]
    assert cli("artifacts", "list", "--json").json["artifacts"][0]["problem"]
