"""Tables as programs write them: one object of columns, class labels of Parquet, sheets of a workbook, sizes."""

import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest
from proving import JUDGE
from small import cli

from jurist.errors import GoldError
from jurist.gold import binary_tables
from jurist.gold.sources import read

ROWS = [{"policy": f"p {n}", "reply": f"r {n}", "verdict": ("send", "hold")[n % 2]} for n in range(3)]
NAMES = list(ROWS[0])
CELLS = [list(row.values()) for row in ROWS]

TABLES: dict[str, Any] = {
    # pandas' to_json by its orient, and what MLflow and others write in the same way
    "columns": {name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in NAMES},
    "index": {str(n): row for n, row in enumerate(ROWS)},
    "split": {"columns": NAMES, "index": [0, 1, 2], "data": CELLS},
    "split without an index": {"columns": NAMES, "data": CELLS},
    "table": {"schema": {"fields": []}, "data": ROWS},
    "records": ROWS,
    "lists": {name: [row[name] for row in ROWS] for name in NAMES},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("orient", TABLES)
def test_a_table_that_was_written_as_one_object_is_read_as_rows(orient: str, indent: int | None) -> None:
    Path("t.json").write_text(json.dumps(TABLES[orient], indent=indent), "utf-8")
    found = [row for _, row in read("t.json").rows]
    assert [{name: row[name] for name in NAMES} for row in found] == ROWS


NO_TABLES: dict[str, Any] = {
    "a row": ROWS[0],
    "a row with objects": {"input": {"policy": "p", "reply": "r"}, "output": {"policy": "p", "reply": "r"}},
    "a row with lists": {"sentences": ["a", "b"], "labels": ["ok", "bad"]},
    "lists of different lengths": {"a": [1, 2], "b": [1], "c": [1, 2]},
    "columns with another index": {"a": {"0": 1, "1": 2}, "b": {"0": 1, "2": 2}},
    "one column": {"a": {"0": 1, "1": 2}},
}


@pytest.mark.parametrize("kind", NO_TABLES)
def test_an_object_that_is_no_table_is_one_row(kind: str) -> None:
    Path("t.jsonl").write_text(json.dumps(NO_TABLES[kind]) + "\n", "utf-8")
    assert [row for _, row in read("t.jsonl").rows] == [NO_TABLES[kind]]


def test_lines_that_look_like_tables_are_rows_where_there_are_several() -> None:
    line = json.dumps(TABLES["columns"])
    Path("t.jsonl").write_text(f"{line}\n\n{line}\n", "utf-8")
    assert [row for _, row in read("t.jsonl").rows] == [TABLES["columns"]] * 2


def test_class_labels_of_parquet_are_their_names() -> None:
    features = {"label": {"names": ["hold", "send"], "_type": "ClassLabel"}, "policy": {"_type": "Value"}}
    about = json.dumps({"info": {"features": features}}).encode()
    table = pyarrow.table({"policy": ["a", "b", "c", "d"], "label": [1, 0, -1, None]})
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"huggingface": about}), "t.parquet")
    assert [row["label"] for _, row in read("t.parquet").rows] == ["send", "hold", None, None]
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"huggingface": b"[]"}), "t.parquet")
    assert [row["label"] for _, row in read("t.parquet").rows] == [1, 0, -1, None]


def workbook(*sheets: tuple[str, list[list[Any]]]) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save("b.xlsx")


TABLE = [NAMES, *CELLS]
OTHER = [NAMES, ["p 9", "r 9", "send"]]
COVER = [["Replies of May"], [None], ["by Ann"]]
BOOKS: dict[str, tuple[list[tuple[str, list[list[Any]]]], str, int, str]] = {
    # sheets, what is named, rows, what is said
    "one sheet": ([("Sheet1", TABLE)], "b.xlsx", 3, ""),
    "two sheets": (
        [("May", TABLE), ("June", OTHER)],
        "b.xlsx",
        3,
        "the sheet 'May' of 2 sheets was read; b.xlsx#June names another",
    ),
    "the second sheet": ([("May", TABLE), ("June", OTHER)], "b.xlsx#June", 1, ""),
    "a cover sheet": (
        [("Cover", COVER), ("Data", TABLE)],
        "b.xlsx",
        3,
        "the sheet 'Data' of 2 sheets was read; b.xlsx#Cover names another",
    ),
    "a sheet with titles": ([("Sheet1", [["Replies of May"], *TABLE])], "b.xlsx", 3, ""),
}


@pytest.mark.parametrize("book", BOOKS)
def test_one_sheet_is_read_and_said(book: str) -> None:
    sheets, name, rows, said = BOOKS[book]
    workbook(*sheets)
    reading = read(name)
    assert (len(reading.rows), "".join(reading.notes)) == (rows, said)


def test_a_sheet_that_is_not_there_is_one_line() -> None:
    workbook(("May", TABLE), ("June", OTHER))
    with pytest.raises(GoldError, match="there is no sheet 'Mai'; did you mean May"):
        read("b.xlsx#Mai")


def test_a_table_has_no_more_columns_than_a_spreadsheet() -> None:
    Path("wide.csv").write_text("a," + "," * 1_000_000 + "\n1," + "," * 1_000_000 + "\n", "utf-8")
    with pytest.raises(GoldError, match="the header has 1,000,002 columns, more than 16,384"):
        read("wide.csv")


def test_a_cell_of_a_workbook_is_limited_as_a_line_is(monkeypatch: pytest.MonkeyPatch) -> None:
    workbook(("May", TABLE))
    monkeypatch.setattr(binary_tables, "CELL_LIMIT", 4096)
    assert len(read("b.xlsx").rows) == 3
    inner = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile("b.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[inner] = parts[inner].replace(b"p 1", b"x" * 5000)
    with zipfile.ZipFile("b.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(GoldError, match="a cell has more than"):
        read("b.xlsx")


def test_gold_that_cannot_be_split_is_described_beside_the_error() -> None:
    rows = [["policy", "reply", "verdict"]]
    for number in range(24):  # near copies of each other: none is left for the test
        reply, label = f"Item {number} can be returned.", "send"
        if number % 2:
            reply, label = f"You get a free car with item {number}.", "hold"
        rows.append([f"Refunds within {number + 10} days of delivery for item {number}.", reply, label])
    workbook(("May", rows), ("June", rows[:2]))
    done = cli("gold", "check", f"{JUDGE}:judge", "--gold", "b.xlsx")
    assert done.code == 1
    assert "the sheet 'May' of 2 sheets was read; b.xlsx#June names another" in done.out
    (error,) = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert "test comes out without" in error
