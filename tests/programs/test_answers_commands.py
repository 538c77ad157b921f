"""Judges of one's own with any kind of answer work in every command, and are compiled on gold of that kind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from own_kinds import KINDS, SOURCE, rows
from small import FAST, cli, ok, read_jsonl, write_jsonl


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
    split = ok("gold", "split", judge, gold, "--output", "parts", "--json").json
    sizes = {part: len(read_jsonl(Path(f"parts/{part}.jsonl"))) for part in ("train", "dev", "test")}
    assert sizes == {part: split[part] for part in sizes}
    assert sum(sizes.values()) + split["left_out"] == 54  # near copies of train and dev are not in the test

    done = ok("compile", judge, "--gold", gold, *FAST, "--json", "--force")
    card = done.json
    assert (card["answer"], card["output_field"]) == (about["answer"], about["field"])
    if card["decision"]["verdict"] == "nothing better found":
        assert card["scores"] is None
        assert "position_bias" not in card
    else:
        assert card["decision"]["metric"] in card["scores"]["compiled"]
        right_or_wrong = kind == "better"
        assert (card["decision"]["b"] is not None) == right_or_wrong
        assert ("position_bias" in card) == (kind == "better")

    votes = ("--samples", "3", *(("--threshold", "2") if kind == "topics" else ()))
    ok("run", f"{kind}@1", "--input", gold, "--output", "out.jsonl", *votes, "--json")
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
