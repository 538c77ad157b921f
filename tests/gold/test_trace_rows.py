"""``jurist gold traces``: a row for each trace of a file."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from small import cli, ok, read_jsonl, write_jsonl
from trace_layouts import LAYOUTS, langfuse, mlflow, openinference, opentelemetry

from jurist.text.trace_reading import read_steps
from jurist.text.trace_steps import Step

FIRST = [
    Step(actor="user", words="Refund order 17."),
    Step(actor="assistant", tool="refund", arguments='{"id": 17}', result="done"),
    Step(actor="assistant", words="It is refunded."),
]
SECOND = [Step(actor="user", words="What is open?"), Step(actor="assistant", words="Nothing.")]


def write(path: Path, values: Any) -> str:
    """Write a value as JSON, or values as JSONL."""
    if path.suffix == ".json":
        path.write_text(json.dumps(values), "utf-8")
    else:
        write_jsonl(path, values)
    return str(path)


def rows_of(*paths: str, folder: Path) -> list[dict[str, Any]]:
    """Return the rows that the command writes."""
    output = folder / "rows.jsonl"
    data = ok("gold", "traces", *paths, "--output", str(output), "--json").json
    rows = read_jsonl(output)
    assert data["traces"] == len(rows)
    return rows


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_each_layout_is_a_row(name: str, suffix: str, tmp_path: Path) -> None:
    value = LAYOUTS[name](FIRST, "t1")
    if suffix == "jsonl":
        value = value if isinstance(value, list) and name in ("openinference", "phoenix") else [value]
        if name == "openai-messages":
            value = [{"messages": value[0]}]
    [row] = rows_of(write(tmp_path / f"in.{suffix}", value), folder=tmp_path)
    assert read_steps(row["trace"]) == FIRST


def test_spans_on_lines_of_their_own_are_put_together_by_trace(tmp_path: Path) -> None:
    first, second = openinference(FIRST, "t1"), openinference(SECOND, "t2")
    spans = [*first[:2], *second, *first[2:]]
    rows = rows_of(write(tmp_path / "in.jsonl", spans), folder=tmp_path)
    assert [(row["id"], read_steps(row["trace"])) for row in rows] == [("t1", FIRST), ("t2", SECOND)]


def test_one_file_of_several_traces(tmp_path: Path) -> None:
    both = opentelemetry(FIRST, "t1")
    both["resourceSpans"] += opentelemetry(SECOND, "t2")["resourceSpans"]
    rows = rows_of(write(tmp_path / "in.json", both), folder=tmp_path)
    assert {row["id"]: read_steps(row["trace"]) for row in rows} == {"t1": FIRST, "t2": SECOND}


def test_sessions_are_groups_and_labels_are_kept(tmp_path: Path) -> None:
    first, second = langfuse(FIRST, "t1"), mlflow(SECOND, "t2")
    first["scores"] = [{"name": "correct", "value": 1}]
    second["info"]["assessments"] = [{"assessment_name": "expert", "feedback": {"value": "no"}}]
    rows = rows_of(
        write(tmp_path / "in.json", [first]), write(tmp_path / "in.jsonl", [second]), folder=tmp_path
    )
    assert rows[0]["group"] == "session-t1"
    assert rows[0]["scores"] == first["scores"]
    assert rows[1]["assessments"] == second["info"]["assessments"]


def test_a_table_of_spans(tmp_path: Path) -> None:
    records = LAYOUTS["phoenix"](FIRST, "t1")
    names = sorted({name for record in records for name in record})
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, names)
        table.writeheader()
        for record in records:
            cells = {
                name: json.dumps(value) if isinstance(value, list) else value
                for name, value in record.items()
            }
            table.writerow(cells)
    [row] = rows_of(str(tmp_path / "in.csv"), folder=tmp_path)
    assert read_steps(row["trace"]) == FIRST


def test_what_is_no_trace_is_one_line(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [{"question": "?"}])
    done = cli("gold", "traces", source, "--output", tmp_path / "out.jsonl")
    assert done.code == 1
    assert "in.jsonl:1: the record is no trace and no span" in done.err
    assert not (tmp_path / "out.jsonl").exists()
