"""Files that would take all memory or time, or that say two things: refused in one line, or read all the same."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from small import claims, cli, write_jsonl

from jurist.errors import GoldError
from jurist.gold import files
from jurist.gold.files import parse


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file, compression="zstd")
    return file.getvalue()


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
    "a text repeated": (
        parquet(text=repeated("a" * 2**21, 2000)),
        "it expands to 512 MiB in the first 256 rows",
    ),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_is_refused_in_one_line(trap: str) -> None:
    data, said = TRAPS[trap]
    with pytest.raises(GoldError) as caught:
        parse(data, "x")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_many_rows_in_few_bytes_are_refused_where_they_are_read_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = parquet(number=[7] * 100_000)
    monkeypatch.setattr(files, "_WHOLE", 2**20)
    with pytest.raises(GoldError, match="it expands to 1 MiB"):
        parse(data, "x")
    assert sum(1 for _ in files.scan(io.BytesIO(data), "x")[1]) == 100_000


def test_what_is_no_trap_is_read() -> None:
    texts = ["short", None, "long " * 1000]
    rows = parse(parquet(text=texts, number=[1, 2, 3]), "x").rows
    assert [row for _, row in rows] == [{"text": text, "number": n} for n, text in enumerate(texts, 1)]
    assert parse(nested(90).encode(), "x").rows[0][1]["text"] == "t"


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
