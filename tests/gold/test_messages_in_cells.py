"""Chat messages as JSON in a cell of a CSV: the same case, and the same prompt, as of a list in JSONL."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from small import cli, ok, read_jsonl, write_jsonl

import jurist
from jurist.gold.new_rows import read_rows

JUDGE = """
from typing import Literal
import dspy, jurist, pydantic

class Chat(dspy.Signature):
    "Is the answer right?"
    chat: str = dspy.InputField()
    right: Literal["yes", "no"] = dspy.OutputField()

class Plain(pydantic.BaseModel):
    chat: str
    right: Literal["yes", "no"] | None = None

judge = jurist.Judge(name="chat", signature=Chat, positive="no")
plain = jurist.Judge(name="plain", signature=Chat, positive="no", rows=Plain)
"""
TURNS = [
    {"role": "user", "content": "Where is it?"},
    {"role": "assistant", "content": "In Rome,\nI think."},
]
JOINED = "user: Where is it?\nassistant: In Rome,\n  I think."
CELLS: dict[str, tuple[str, str]] = {
    # a cell -> the text of the case
    "messages": (json.dumps(TURNS), JOINED),
    "messages on several lines": (f"\n{json.dumps(TURNS, indent=2)}\n", JOINED),
    "from and value": ('[{"from": "human", "value": "Where?"}]', "human: Where?"),
    "parts": ('[{"role": "user", "content": [{"type": "text", "text": "Where?"}]}]', "user: Where?"),
    "a broken list": (json.dumps(TURNS)[:-1], json.dumps(TURNS)[:-1]),
    "a list of Python": (str(TURNS), str(TURNS)),
    "a list of texts": ('["a", "b"]', '["a", "b"]'),
    "numbers": ("[1, 2]", "[1, 2]"),
    "an empty list": ("[]", "[]"),
    "objects that are no messages": ('[{"name": "a"}]', '[{"name": "a"}]'),
    "one message": ('{"role": "user", "content": "x"}', '{"role": "user", "content": "x"}'),
    "a text in brackets": ("[sic] it is", "[sic] it is"),
    "a text": ("Where is it?", "Where is it?"),
    "a quoted text": ('"Where?"', '"Where?"'),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chat.py").write_text(JUDGE, encoding="utf-8")


def write_csv(name: str, rows: Sequence[dict[str, Any]]) -> None:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def chats(count: int = 12) -> list[dict[str, Any]]:
    rows = []
    for number in range(count):
        turns = [{"role": "user", "content": f"Where is parcel {number}?"}, TURNS[1]]
        rows.append({"id": f"r{number}", "chat": turns, "right": ("yes", "no")[number % 2]})
    return rows


def with_cells(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "chat": json.dumps(row["chat"])} for row in rows]


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_is_read_as(kind: str) -> None:
    cell, text = CELLS[kind]
    write_csv("gold.csv", [{"chat": cell, "right": "yes"}])
    write_jsonl(Path("gold.jsonl"), [{"chat": text, "right": "yes"}])
    judge = jurist.judge("chat.py:judge")
    [case], [same] = read_rows("gold.csv", judge), read_rows("gold.jsonl", judge)
    assert case.inputs == {"chat": text}
    assert (case.id, case.group) == (same.id, same.group)


def test_a_judge_whose_own_rows_have_a_plain_text_reads_the_json_itself() -> None:
    cell = json.dumps(TURNS)
    write_csv("gold.csv", [{"chat": cell, "right": "yes"}])
    [case] = read_rows("gold.csv", jurist.judge("chat.py:plain"))
    assert case.inputs == {"chat": cell}


def test_tables_and_jsonl_of_the_same_rows_have_the_same_verdicts() -> None:
    write_jsonl(Path("new.jsonl"), chats())
    write_csv("new.csv", with_cells(chats()))
    book = openpyxl.Workbook()
    for row in [list(chats()[0]), *(list(row.values()) for row in with_cells(chats()))]:
        book.active.append(row)
    book.save("new.xlsx")
    pd.DataFrame(with_cells(chats())).to_parquet("new.parquet")
    lines = {}
    for name in ("new.jsonl", "new.csv", "new.xlsx", "new.parquet"):
        ok("run", "chat.py:judge:basic", "--input", name, "--output", f"{name}.out.jsonl")
        lines[name] = read_jsonl(Path(f"{name}.out.jsonl"))
        for line in lines[name]:
            del line["source"]
    assert lines["new.csv"] == lines["new.xlsx"] == lines["new.parquet"] == lines["new.jsonl"]


def test_a_data_frame_of_a_csv_is_read_as_the_csv_is() -> None:
    write_csv("gold.csv", with_cells(chats()))
    judge = jurist.judge("chat.py:judge")
    frame = jurist.Gold.of(pd.read_csv("gold.csv"), judge)
    assert [case.id for case in frame.cases] == [
        case.id for case in jurist.Gold.load("gold.csv", judge).cases
    ]


@pytest.mark.parametrize("gold", ["gold.jsonl", "gold.csv"])
@pytest.mark.parametrize("log", ["log.jsonl", "log.csv"])
def test_a_log_of_chats_is_found_by_them_in_either_format(gold: str, log: str) -> None:
    logged = [{"chat": row["chat"], "verdict": row["right"]} for row in chats()]
    write_jsonl(Path("gold.jsonl"), chats())
    write_csv("gold.csv", with_cells(chats()))
    write_jsonl(Path("log.jsonl"), logged)
    write_csv("log.csv", with_cells(logged))
    inferred = ok("evaluate", f"recorded:{log}", "--gold", gold, "--column", "right=label", "--json")
    assert (inferred.json["cases"], inferred.json["scores"]["accuracy"]["value"]) == (12, 1.0)
    assert "found by chat" in inferred.err
    beside = cli("compare", "chat.py:judge:basic", f"recorded:{log}", "--gold", gold)
    assert "of 12 rows, found by chat" in beside.out + beside.err
