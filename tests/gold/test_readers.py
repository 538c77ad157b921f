"""Readers: every format, told apart by content, every way in which a file can be broken, and traps."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small import claims, cli, write_jsonl

from jurist.errors import GoldError
from jurist.gold import files
from jurist.gold.files import parse
from jurist.gold.sources import read

ROWS = [{"a": "one, two", "b": 'said "no"'}, {"a": "第一行\nsecond line", "b": "–"}]


def _csv(mark: str = ",") -> str:
    return f'a{mark}b\r\n"one, two"{mark}"said ""no"""\r\n"第一行\nsecond line"{mark}–\r\n'


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file, compression="zstd")
    return file.getvalue()


WHOLE = parquet(**{name: [row[name] for row in ROWS] for name in ("a", "b")})


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
    "csv, tabs": (_csv("\t").encode(), [2, 3]),
    "parquet": (WHOLE, [1, 2]),
}


@pytest.mark.parametrize("suffix", ["", ".txt", ".csv", ".parquet"])
@pytest.mark.parametrize("kind", CONTENT)
def test_the_content_decides_and_not_the_suffix(kind: str, suffix: str, tmp_path: Path) -> None:
    data, lines = CONTENT[kind]
    file = tmp_path / f"rows{suffix}"
    file.write_bytes(data)
    reading = read(file)
    assert [row for _, row in reading.rows] == ROWS
    assert [line for line, _ in reading.rows] == lines
    assert reading.name == "rows"


@pytest.mark.parametrize("kind", [kind for kind in CONTENT if kind.startswith(("jsonl", "array"))])
def test_standard_input(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONTENT[kind][0])))
    reading = read("-")
    assert [row for _, row in reading.rows] == ROWS
    assert reading.path == "<stdin>"


ENDS = "left\u2028right\x85end"
EDGES: dict[str, tuple[str, list[Any]]] = {
    "an object laid out over lines": (json.dumps(ROWS[0], indent=1), [(1, ROWS[0])]),
    "a line separator of Unicode ends no line": (
        json.dumps({"a": ENDS}, ensure_ascii=False) + '\n{"a": 1}',
        [(1, {"a": ENDS}), (2, {"a": 1})],
    ),
    "a cell longer than the csv module allows": ("a\n" + "x" * 200_000 + "\n", [(2, {"a": "x" * 200_000})]),
    "a column without a name is left out": (",a\n0,x\n", [(2, {"a": "x"})]),
}


@pytest.mark.parametrize("kind", EDGES)
def test_an_edge_is_read(kind: str) -> None:
    text, rows = EDGES[kind]
    assert parse(text.encode(), "x").rows == rows


BROKEN = {
    "empty": (b"", None, "empty"),
    "only spaces": (b" \n\n ", None, "empty"),
    "empty array": (b"[]", None, "empty"),
    "latin-1": ("a,b\nx,y\ncafé,z\n".encode("latin-1"), 3, "0xe9 at column 4 is not UTF-8; save the file"),
    "latin-1 after a BOM": (b"\xef\xbb\xbfa,b\n\xe9,z\n", 2, "0xe9 at column 1"),
    "utf-16": ("a,b\n".encode("utf-16"), None, "UTF-16"),
    "NUL": (b"a,b\nx,\x00\n", 2, "NUL"),
    "gzip": (b"\x1f\x8b\x08\x00", None, "gzip"),
    "workbook": (b"PK\x03\x04....", None, "Excel"),
    "half a line": (b'{"a": 1}\n{"a": ', 2, "broken JSON at column 7"),
    "first line": (b'{"a": 1,}\n{"a": 2}\n', 1, "broken JSON"),
    "half an array": (b'[{"a": 1},\n{"a": 2}\n', 3, "broken JSON"),
    "a number in the array": (b'[{"a": 1},\n7]', 2, "a row must be a JSON object, got int"),
    "a list among the lines": (b'{"a": 1}\n[1]\n', 2, "a row must be a JSON object, got list"),
    "no header": (b",,\n,\n", None, "no header"),
    "header only": (b"a,b\n", None, "header and no rows"),
    "one cell too many": (b"a,b\n1,2\n1,2,3\n", 3, "3 cells, the header has 2"),
    "one cell too few": (b'a,b\n"x\ny",2\n1\n', 4, "1 cells, the header has 2"),
    "open quote": (b'a,b\n1,2\n1,"2\n', 3, "broken CSV"),
    "two columns of one name": (b"a,b,a\n1,2,3\n", 1, "two columns"),
    "cut parquet": (WHOLE[:-20], None, "broken Parquet"),
}


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
@settings(max_examples=400)
@example(b";")
@example(b"\n,\n\na,b\r1,2\r")
def test_no_bytes_raise_anything_but_a_gold_error(data: bytes) -> None:
    try:
        rows = parse(data, "x").rows
    except GoldError:
        return
    assert rows
    assert all(line >= 1 and isinstance(row, dict) for line, row in rows)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(
    st.lists(st.dictionaries(st.text(), _VALUES, max_size=4), min_size=1, max_size=5),
    st.sampled_from([None, 1]),
)
def test_every_way_to_write_rows_is_read_alike(rows: list[dict[str, object]], indent: int | None) -> None:
    lines = "\n".join(json.dumps(row, ensure_ascii=indent is None) for row in rows)
    array = json.dumps(rows, indent=indent)
    try:
        lines.encode()
    except UnicodeEncodeError:
        return
    assert [row for _, row in parse(lines.encode(), "x").rows] == rows
    assert [row for _, row in parse(array.encode(), "x").rows] == rows


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "", "../no/../where"])
def test_names_that_no_file_can_have(name: str) -> None:
    with pytest.raises(GoldError) as caught:
        read(name)
    assert caught.value.hint


def _folder(place: Path, **files: str) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return place


def test_a_folder_with_a_card_and_a_second_rater(tmp_path: Path) -> None:
    files = {"gold__jsonl": '{"a": 1}\n{"a": 2}\n', "second__jsonl": '{"row": 1, "a": 3}\n'}
    folder = _folder(tmp_path / "mine", **files, CARD__json='{"licence": "CC0"}')
    reading = read(folder)
    assert (reading.name, reading.card) == ("mine", {"licence": "CC0"})
    assert reading.second == {2: {"a": 3}}
    assert reading.path == f"{folder}/gold.jsonl"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"CARD__json": "[1]"}, "CARD.json: a card must be a JSON object"),
        ({"CARD__json": "{"}, "CARD.json:1: broken JSON"),
        ({"second__jsonl": '{"row": 2}'}, "second.jsonl:1, field 'row': row is 2"),
        ({"second__jsonl": '{"row": true}'}, "second.jsonl:1, field 'row': row is True"),
        ({"second__jsonl": '{"row": 0}\n{"row": 0}'}, "second.jsonl:2, field 'row': row is 0"),
        ({"second__jsonl": '{"labels": []}'}, "row is None"),
    ],
)
def test_a_broken_card_or_second_rater(files: dict[str, str], said: str, tmp_path: Path) -> None:
    folder = _folder(tmp_path, gold__jsonl='{"a": 1}\n{"a": 2}\n', **files)
    with pytest.raises(GoldError) as caught:
        read(folder)
    assert said in str(caught.value)


def test_a_folder_with_one_data_file_is_that_file(tmp_path: Path) -> None:
    with pytest.raises(GoldError, match="cannot be loaded"):  # nothing in it
        read(tmp_path)
    folder = _folder(tmp_path, rows__csv="a,b\nx,y\n", README__md="hello")
    assert read(folder).rows == [(2, {"a": "x", "b": "y"})]


@pytest.fixture
def hub_folder(tmp_path: Path) -> Path:
    pytest.importorskip("datasets")
    folder = _folder(tmp_path / "set", train__csv="a,b\nx,1\n\n", test__csv="a,b\ny,\nz,3\n")
    return folder


@pytest.mark.parametrize(
    ("split", "expected"), [("test", ["y", "z"]), ("all", ["x", "y", "z"]), ("test[:1]", ["y"])]
)
def test_a_folder_through_the_datasets_library(split: str, expected: list[str], hub_folder: Path) -> None:
    reading = read(f"hf:{hub_folder}:{split}")
    assert [row["a"] for _, row in reading.rows] == expected
    assert reading.rows[0][0] == 1
    assert reading.kind == "columns"


def test_a_folder_of_several_files_goes_the_same_way(hub_folder: Path) -> None:
    with pytest.raises(GoldError, match="the splits train, test; name one"):
        read(hub_folder)
    (hub_folder / "test.csv").unlink()
    (hub_folder / "train-2.csv").write_text("a,b\nw,2\n", encoding="utf-8")
    assert sorted(row["a"] for _, row in read(hub_folder).rows) == ["w", "x"]


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (ConnectionError("no route\nto host"), "cannot be loaded: no route; check the name"),
        (ValueError(""), "cannot be loaded: ValueError; "),
        (RuntimeError("scripts are not supported"), "scripts are not supported"),
        (FileNotFoundError("no such dataset"), "no such dataset"),
    ],
)
def test_any_hub_failure_is_a_gold_error(
    raised: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")

    def fail(*args: object, **options: object) -> None:
        raise raised

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(GoldError) as caught:
        read("hf:org/name:test")
    assert said in str(caught.value)
    assert caught.value.path == "hf:org/name:test"


def repeated(text: str, times: int) -> pyarrow.DictionaryArray:
    """Return a column that holds a text many times, and takes its bytes once."""
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * times, pyarrow.int32()), [text])


def nested(depth: int) -> str:
    return json.dumps({"text": "t"})[:-1] + ', "x": ' + "[" * depth + "]" * depth + "}\n"


TRAPS = {
    "a key twice": (b'{"a": 1}\n{"a": 1, "a": 2}\n', "x:2, field 'a': an object gives this key twice"),
    "a key twice inside": (b'[{"a": {"b": 1, "b": 1}}]', "field 'b': an object gives this key twice"),
    "a key twice, laid out": (b'{\n "a": 1,\n "a": 2\n}', "an object gives this key twice"),
    "deeper than can be read": (nested(100_000).encode(), "x:1: the JSON is nested too deeply"),
    "a text repeated": (parquet(text=repeated("a" * 2**21, 2000)), "it expands to 512 MiB in the first 256"),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_is_refused_in_one_line(trap: str) -> None:
    data, said = TRAPS[trap]
    with pytest.raises(GoldError) as caught:
        parse(data, "x")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_many_rows_in_few_bytes_are_refused_where_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = parquet(number=[7] * 100_000)
    monkeypatch.setattr(files, "_WHOLE", 2**20)
    with pytest.raises(GoldError, match="it expands to 1 MiB"):
        parse(data, "x")
    assert sum(1 for _ in files.scan(io.BytesIO(data), "x")[1]) == 100_000


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_CELL", 1000)
    with pytest.raises(GoldError, match="a line has more than"):
        list(files.scan(io.BytesIO(b'{"a": 1}\n' + b"a" * 1001), "x")[1])


def test_a_wide_header_takes_no_more_than_its_cells() -> None:
    # the duplicates were looked for in every pair of names: ten thousand million comparisons here
    names = [f"c{number}" for number in range(100_000)]
    row = parse(f"{','.join(names)}\n{','.join('1' for _ in names)}\n".encode(), "x").rows[0][1]
    assert (len(row), row["c99999"]) == (100_000, "1")


def test_an_output_with_another_name_is_refused() -> None:
    write_jsonl(Path("rows.jsonl"), claims(2))
    Path("out.jsonl").touch()
    os.link("out.jsonl", "other.jsonl")
    done = cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "out.jsonl")
    assert done.code == 2
    assert "out.jsonl has 2 names (hard links)" in done.lines[0]
    assert Path("out.jsonl").read_text() == ""
