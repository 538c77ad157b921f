"""Judges of one's own with any kind of answer work in every command, and are compiled on gold of that kind."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from own_kinds import KINDS, SOURCE, rows
from small import FAST, cli, ok, read_jsonl, write_jsonl

import jurist


@pytest.fixture(autouse=True)
def _folder() -> None:
    Path("own.py").write_text(SOURCE)
    for kind in KINDS:
        write_jsonl(Path(f"{kind}.jsonl"), rows(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_every_command(kind: str) -> None:
    about, judge, gold = KINDS[kind], f"own.py:{kind}", f"{kind}.jsonl"
    checked = cli("gold", "check", judge, gold, "--json")
    assert (checked.code, checked.json["units"], checked.json["unlabelled"]) == (0, 54, 0)
    ok("gold", "import", judge, gold, "--output", "again.jsonl")
    assert cli("gold", "check", judge, "again.jsonl", "--json").json["sha256"] == checked.json["sha256"]
    ok("gold", "split", judge, gold, "--output", "parts")
    assert sum(len(read_jsonl(Path(f"parts/{part}.jsonl"))) for part in ("train", "dev", "test")) == 54

    done = ok("compile", judge, "--gold", gold, *FAST, "--json", "--force")
    card = done.json
    assert (card["answer"], card["output_field"]) == (about["answer"], about["field"])
    assert card["decision"]["metric"] in card["scores"]["compiled"]
    right_or_wrong = kind == "better"
    assert (card["decision"]["b"] is not None) == right_or_wrong
    assert ("position_bias" in card) == (kind == "better")
    matrix = jurist.Store("compiled").load(f"{kind}@1").matrix()
    assert all(json.loads(json.dumps(row["labels"])) == row["labels"] for row in matrix)

    ok("run", f"{kind}@1", "--input", gold, "--output", "out.jsonl", "--samples", "3", "--json")
    lines = read_jsonl(Path("out.jsonl"))
    assert {line["status"] for line in lines} == {"verdict"}
    name = "label" if kind == "better" else "value"
    assert all(line[name] == line["units"][0][name] for line in lines)
    assert all(0 <= line["units"][0]["agreement"] <= 1 for line in lines)

    ok("compare", kind, f"{kind}:basic", "--repeats", "2", "--gold", gold, "--json")
    for target in ("messages", "markdown"):
        exported = ok("export", kind, "--to", target)
        assert about["field"] in exported.out
    assert f"{kind}@1" in cli("artifacts", "show", kind).out
    ok("artifacts", "show", kind, "--history")


@pytest.mark.parametrize("name", ["reply_score", "reply_preference"])
def test_judges_of_the_readme_learn_the_house_style(name: str) -> None:
    judge = jurist.judge(str(Path(jurist.__file__).parent / "docs" / f"{name}.py"))
    source = Path(jurist.__file__).parent / "docs" / f"{name}.py"
    assert len(source.read_text().splitlines()) < 25
    few = {"sizes": (16,), "sets": 2, "steps": 2}
    compiled = jurist.compile(
        judge, gold=judge.name, optimizer="fewshot", options=few, shares=(0.4, 0.2, 0.4)
    )
    assert compiled.proof.decision.verdict == "better"


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("topics", lambda row: {**row, "topics": ["pink"]}, "topics"),
        ("promises", lambda row: {**row, "promises": [{"figure": "3"}]}, "promises"),
        ("share", lambda row: {**row, "share": 1.5}, "share"),
        ("better", lambda row: {**row, "better": "both"}, "use one of: first, second, tie"),
    ],
)
def test_wrong_gold_is_refused_in_one_line(kind: str, change: Callable[[Any], Any], words: str) -> None:
    write_jsonl(Path("wrong.jsonl"), [change(rows(kind)[0]), *rows(kind)[1:]])
    done = cli("gold", "check", f"own.py:{kind}", "wrong.jsonl")
    assert done.code == 1
    assert words in done.err
    assert "wrong.jsonl:1" in done.err


def test_gold_of_one_value_only_is_refused() -> None:
    write_jsonl(Path("same.jsonl"), [{**row, "share": 0.5} for row in rows("share")])
    done = cli("gold", "check", "own.py:share", "same.jsonl")
    assert (done.code, "all scores are 0.5: there is no second one" in done.err) == (1, True)


def test_a_threshold_is_refused_where_it_decides_nothing() -> None:
    for kind, code in (("share", 2), ("topics", 0)):
        done = cli(
            *("run", f"own.py:{kind}:basic", "--input", f"{kind}.jsonl", "--output", f"{kind}.out"),
            *("--samples", "3", "--threshold", "2"),
        )
        assert done.code == code, done.err


def test_sheets_of_several_labels_come_back_as_gold() -> None:
    bare = [{"message": row["message"], "group": row["group"]} for row in rows("topics")]
    write_jsonl(Path("bare.jsonl"), bare)
    ok("review", "own.py:topics", "--gold", "bare.jsonl", "--rater", "ann", "--output", "s.csv")
    with Path("s.csv").open(encoding="utf-8-sig", newline="") as stream:
        lines = list(csv.DictReader(stream))
    said = {row["message"]: row["topics"] for row in rows("topics")}
    for line in lines:
        line["rater:ann"] = "; ".join(said[line["text"]]) or "none"
    with Path("filled.csv").open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    ok(*("gold", "import", "own.py:topics", "filled.csv", "--merge", "unanimous", "--output", "new.jsonl"))
    assert {row["message"]: sorted(row["topics"]) for row in read_jsonl(Path("new.jsonl"))} == said
    refused = cli("review", "own.py:topics", "--gold", "bare.jsonl", "--rater", "ann", "--output", "s.json")
    assert (refused.code, ".csv" in refused.err) == (2, True)
