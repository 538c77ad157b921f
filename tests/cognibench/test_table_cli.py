"""``jurist table``: CogniBench's Table 3, offline."""

from pathlib import Path

import pytest
from small import FAST, cli, ok, write_jsonl
from talks import small_gold

from jurist.gold.goldset import Gold
from jurist.programs.cognibench import COGNIBENCH

POSITIVE = COGNIBENCH.answer.positive


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), small_gold())


def test_table_3_has_a_line_for_each_judge_that_can_be_loaded() -> None:
    detectors = ("cognibench:basic", "detector:basic", "cognibench-staged:basic")
    options = [part for name in detectors for part in ("--detector", name)]
    done = ok("table", "cognibench-3", "--gold", "gold.jsonl", *options, "--json", "--output", "out.json")
    found = done.json
    assert [line["name"] for line in found["lines"]] == list(detectors)
    gold = Gold.load("gold.jsonl", COGNIBENCH)
    units = [label for case in gold.cases for label in case.gold or ()]
    for line in found["lines"]:
        assert (line["counts"]["total"], line["counts"]["answered"]) == (len(units), len(units))
    assert found["lines"][0]["positives"] == {
        "factual": units.count("invented"),
        "cognitive": units.count("misleading") + units.count("speculative"),
        "overall": sum(label in POSITIVE for label in units),
    }
    assert [(one["first"], one["second"]) for one in found["tests"]] == [
        ("cognibench:basic", other) for other in detectors[1:]
    ]
    assert '"table": "cognibench-3"' in Path("out.json").read_text(encoding="utf-8")


def test_table_3_says_what_compare_says() -> None:
    cli("compile", "cognibench", "--gold", "gold.jsonl", *FAST, "--force")
    options = ("--detector", "cognibench", "--detector", "cognibench:basic")
    table = cli("table", "cognibench-3", "--gold", "gold.jsonl", *options, "--json").json
    compared = cli("compare", "cognibench", "cognibench:basic", "--gold", "gold.jsonl", "--json").json
    assert table["cases"] == compared["cases"] < len(small_gold())
    for line, judge in zip(table["lines"], compared["judges"], strict=True):
        for name in ("precision", "recall", "f1"):
            assert line["sentence"]["overall"][name] == judge["scores"][name]
    assert any("rows are left out: a version was compiled on them" in note for note in table["notes"])


def test_strictness_is_the_same_for_gold_and_judge() -> None:
    lines = {
        level: cli("table", "cognibench-3", "--gold", "gold.jsonl", "--strictness", level, "--json").json
        for level in ("rational", "irrefutable")
    }
    labels = [label for row in small_gold() for label in row["labels"]]
    found = {level: table["lines"][0]["positives"]["cognitive"] for level, table in lines.items()}
    assert found["rational"] == labels.count("misleading")
    assert found["irrefutable"] == sum(labels.count(one) for one in ("misleading", "speculative", "reliable"))
    assert "detector:basic cannot be set to the strictness rational" in lines["rational"]["notes"][0]


def test_a_kind_without_anything_to_find_is_said() -> None:
    rows = [
        {**row, "labels": [label if label != "misleading" else None for label in row["labels"]]}
        for row in small_gold()
    ]
    write_jsonl(Path("gold.jsonl"), rows)
    said = "gold has no hallucinated cognitive sentence under the strictness rational"
    for strictness, there in (("rational", True), ("grounded", False)):
        done = ok("table", "cognibench-3", "--gold", "gold.jsonl", "--strictness", strictness, "--json")
        assert any(note.startswith(said) for note in done.json["notes"]) == there
        value = done.json["lines"][0]["sentence"]["cognitive"]["recall"]["value"]
        assert (value == 0.0) == there


SIDES = {"invented": "hallucinated", "misleading": "hallucinated", "speculative": "hallucinated"}


@pytest.mark.parametrize("labels", ["two", "seven"])
def test_a_detector_that_was_run_elsewhere_is_scored_by_its_verdicts(labels: str) -> None:
    rows = [{**row, "id": f"r{number}"} for number, row in enumerate(small_gold())]
    write_jsonl(Path("gold.jsonl"), rows)
    said = [
        {
            "id": row["id"],
            "verdict": row["labels"]
            if labels == "seven"
            else [SIDES.get(x, "faithful") for x in row["labels"]],
        }
        for row in rows[1:]
    ]
    write_jsonl(Path("log.jsonl"), said)
    options = ("--detector", "detector:basic", "--detector", "recorded:log.jsonl")
    found = ok("table", "cognibench-3", "--gold", "gold.jsonl", *options, "--json").json
    ours = found["lines"][1]
    assert (ours["name"], ours["spend"]["calls"]) == ("recorded:log.jsonl", 0)
    assert ours["sentence"]["overall"]["f1"]["value"] == 1.0
    assert ours["counts"]["total"] - ours["counts"]["answered"] == len(rows[0]["labels"])
    assert any("1 labelled row not in it" in note for note in found["notes"])
