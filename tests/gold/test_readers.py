"""Readers: every format, told apart by content, every way in which a file can be broken, and traps."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jurist.errors import GoldError
from jurist.gold.files import Row
from jurist.gold.scanning import scan
from jurist.gold.sources import read
from jurist.programs.records import records

ROWS = [{"a": "one, two", "b": 'said "no"'}, {"a": "第一行\nsecond line", "b": "–"}]


def _csv(mark: str = ",") -> str:
    return f'a{mark}b\r\n"one, two"{mark}"said ""no"""\r\n"第一行\nsecond line"{mark}–\r\n'


def parquet(table: pyarrow.Table) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, compression="zstd")
    return file.getvalue()


def parse(data: bytes) -> list[tuple[int, Row]]:
    """Return the rows of a file with their lines; what is wrong with one is raised."""
    found = []
    for place, row in scan(io.BytesIO(data), "x"):
        if isinstance(row, GoldError):
            raise row
        assert place.line is not None
        found.append((place.line, row))
    return found


WHOLE = parquet(pyarrow.Table.from_pylist(ROWS))
CONTENT = {
    "jsonl": ("\n".join(json.dumps(row) for row in ROWS).encode(), [1, 2]),
    "jsonl, BOM, blank lines, CRLF": (
        b"\xef\xbb\xbf" + "\r\n\r\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode(),
        [1, 3],
    ),
    "array, one line": (json.dumps(ROWS).encode(), [1, 2]),
    "array, indented": (json.dumps(ROWS, indent=2).encode(), [1, 2]),
    "csv": (_csv().encode(), [2, 3]),
    "csv, BOM": (_csv().encode("utf-8-sig"), [2, 3]),
    "csv, semicolons": (_csv(";").encode(), [2, 3]),
    "csv, carriage returns": (_csv().replace("\r\n", "\r").encode(), [2, 3]),
    "csv, tabs": (_csv("\t").encode(), [2, 3]),
    "parquet": (WHOLE, [1, 2]),
}


@pytest.mark.parametrize("suffix", ["", ".csv", ".parquet"])
@pytest.mark.parametrize("kind", CONTENT)
def test_the_content_decides_and_not_the_suffix(kind: str, suffix: str, tmp_path: Path) -> None:
    data, lines = CONTENT[kind]
    file = tmp_path / f"rows{suffix}"
    file.write_bytes(data)
    reading = read(file)
    assert [row for _, row in reading.rows] == ROWS
    assert [place.line for place, _ in reading.rows] == lines
    assert reading.name == "rows"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONTENT["jsonl"][0])))
    reading = read("-")
    assert ([row for _, row in reading.rows], reading.path) == (ROWS, "<stdin>")


ENDS = "left\u2028right\x85end"
EDGES: dict[str, tuple[str | bytes, list[Any]]] = {
    "an object laid out over lines": (json.dumps(ROWS[0], indent=1), [(1, ROWS[0])]),
    "a line separator of Unicode ends no line": (
        json.dumps({"a": ENDS}, ensure_ascii=False) + '\n{"a": 1}', [(1, {"a": ENDS}), (2, {"a": 1})]
    ),
    "a cell longer than the csv module allows": ("a\n" + "x" * 200_000 + "\n", [(2, {"a": "x" * 200_000})]),
    "columns without a name are left out, those of one name a list": (
        ",a,,b,b,a\n0,x,,1,1,y\n",
        [(2, {"a": ["x", "y"], "b": "1"})],
    ),
    "columns of one name in Parquet": (
        parquet(pyarrow.table([["x"], ["y"]], names=["a", "a"])), [(1, {"a": ["x", "y"]})]
    ),
    "titles of a spreadsheet are no header": (
        "Q3 export,,\n\nby Ann,,\na,b,\n0,x,\n", [(5, {"a": "0", "b": "x"})]
    ),
    "a separator that Excel is told, and one after each row": ("sep=;\na;b\n0;x;\n", [(3, {"a": "0", "b": "x"})]),
    "commas in a quoted name part no cells": ('"a, b, c";d\nx;y\n', [(2, {"a, b, c": "x", "d": "y"})]),
}  # fmt: skip


@pytest.mark.parametrize("kind", EDGES)
def test_an_edge_is_read(kind: str) -> None:
    text, rows = EDGES[kind]
    assert parse(text if isinstance(text, bytes) else text.encode()) == rows


BROKEN = {
    "empty": (b"", None, "empty"),
    "only spaces": (b" \n\n ", None, "empty"),
    "empty array": (b"[]", None, "empty"),
    "latin-1": ("a,b\nx,y\ncafé,z\n".encode("latin-1"), 3, "0xe9 at column 4 is not UTF-8; give a text"),
    "latin-1 after a BOM": (b"\xef\xbb\xbfa,b\n\xe9,z\n", 2, "0xe9 at column 1"),
    "utf-16": ("a,b\n".encode("utf-16"), 1, "not text; give a text file in UTF-8 (from Excel"),
    "NUL": (b"a,b\nx,\x00\n", 2, "NUL"),
    "gzip": (b"\x1f\x8b\x08", None, "the file is packed; unpack it"),
    "half a line": (b'{"a": 1}\n{"a": ', 2, "broken JSON at column 7"),
    "first line": (b'{"a": 1,}\n{"a": 2}\n', 1, "broken JSON"),
    "a key twice": (b'{"a": 1, "a": 1}\n{"a": 1, "a": 2}\n', 2, "'a' is given twice, with different values; keep"),
    "half an array": (b'[{"a": 1},\n{"a": 2}\n', 3, "broken JSON"),
    "a number in the array": (b'[{"a": 1},\n7]', 2, "a row must be a JSON object, got int"),
    "a list among the lines": (b'{"a": 1}\n[1]\n', 2, "a row must be a JSON object, got list"),
    "no header": (b",,\n,\n", None, "no header"),
    "header only": (b"a,b\n", None, "header and no rows"),
    "one cell too many": (b"a,b\n1,2\n1,2,3\n", 3, "3 cells, the header has 2"),
    "one cell too few": (b'a,b\n"x\ny",2\n1\n', 4, "1 cells, the header has 2"),
    "open quote": (b'a,b\n1,2\n1,"2\n', 3, "broken CSV"),
    "cut parquet": (WHOLE[:-20], None, "broken Parquet"),
}  # fmt: skip


def test_a_line_that_never_ends_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jurist.gold.scanning.CELL_LIMIT", 2 * 1024**2)
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"a": "' + "x" * 3 * 1024**2)
    with pytest.raises(
        GoldError, match=r"rows\.jsonl:2: the line has more than 2 MiB; write one row per line"
    ):
        read(tmp_path / "rows.jsonl")


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_says_where_and_what_to_do(kind: str, tmp_path: Path) -> None:
    data, line, said = BROKEN[kind]
    file = tmp_path / "rows"
    file.write_bytes(data)
    with pytest.raises(GoldError) as caught:
        read(file)
    assert said in str(caught.value)
    assert caught.value.path == str(file)
    assert caught.value.line == line
    assert caught.value.hint
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=200) | st.text('{}[]":,;ab1\n\r\t \u2028', max_size=40).map(str.encode))
@settings(max_examples=100)
@example(b";")
@example(b"\n,\n\na,b\r1,2\r")
def test_no_bytes_raise_anything_but_a_gold_error(data: bytes) -> None:
    try:
        rows = parse(data)
    except GoldError:
        return
    assert rows
    assert all(line >= 1 and isinstance(row, dict) for line, row in rows)


def _folder(place: Path, **files: str) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return place


def test_a_folder_with_a_card(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "mine", gold__jsonl='{"a": 1}\n{"a": 2}\n', CARD__json='{"licence": "CC0"}')
    reading = read(folder)
    assert (reading.name, reading.card) == ("mine", {"licence": "CC0"})
    assert reading.path == f"{folder}/gold.jsonl"


def test_a_folder_is_all_of_its_data_files_by_their_names(tmp_path: Path) -> None:
    with pytest.raises(GoldError, match="holds no file of rows"):
        read(tmp_path)
    folder = _folder(tmp_path, rows__csv="a\nx\n", README__md="hello", more__jsonl='{"a": "y"}\n')
    _folder(tmp_path / "deeper", last__csv="a\nz\n", _hidden__md="")
    (tmp_path / ".kept.csv").write_text("a\nnot this\n")
    assert [(place.path, place.line, row) for place, row in read(folder).rows] == [
        (f"{folder}/deeper/last.csv", 2, {"a": "z"}),
        (f"{folder}/more.jsonl", 1, {"a": "y"}),
        (f"{folder}/rows.csv", 2, {"a": "x"}),
    ]


def test_a_split_through_the_datasets_library(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    folder = _folder(tmp_path / "set", train__csv="a,b\nx,1\n\n", test__csv="a,b\ny,\nz,3\n")
    reading = read(f"hf:{folder}:test")
    assert [row["a"] for _, row in reading.rows] == ["y", "z"]
    assert (reading.rows[0][0].line, reading.rows[0][0].kind) == (1, "columns")
    with pytest.raises(GoldError, match="the splits train, test; name one, or all"):
        read(f"hf:{folder}")
    names = datasets.ClassLabel(names=["good", "bad"])
    table = datasets.Dataset.from_dict({"a": [1, 0, None]}).cast_column("a", names)
    assert records(table) == [{"a": "bad"}, {"a": "good"}, {"a": None}]
