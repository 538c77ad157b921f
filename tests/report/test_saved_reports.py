"""Reports of saved results: their figures are those of the file, and what is no result is refused."""

import base64
import gzip
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import claims, ok, write_jsonl

import jurist
from jurist.errors import JuristError
from jurist.report.saved import saved_report


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    # an odd label is one that the engine disagrees with
    rows = [
        {**row, "factual": not row["factual"]} if place < 3 else row for place, row in enumerate(claims())
    ]
    write_jsonl(tmp_path / "gold.jsonl", rows)
    return tmp_path / "gold.jsonl"


def page(path: str) -> tuple[str, Any]:
    """Return a report's text, and the cases in it."""
    ok("report", path, "-o", "page.html")
    text = html.unescape(Path("page.html").read_text(encoding="utf-8"))
    packed = re.findall(r'<script type="text/plain">([^<]+)</script>', text)
    return text, json.loads(gzip.decompress(base64.b64decode(packed[0]))) if packed else None


CELL = re.compile(r"<t[dh][^>]*>([^<]*)</t[dh]>")


@pytest.mark.parametrize(
    ("argv", "python"),
    [
        (("evaluate", "fect:basic", "--worst", 0), lambda gold: jurist.evaluate("fect:basic", gold)),
        (
            ("compare", "fect:basic", "fect-3d:basic", "--repeats", 2),
            lambda gold: jurist.compare(["fect:basic", "fect-3d:basic"], gold=gold, repeats=2),
        ),
    ],
    ids=["evaluate", "compare"],
)
def test_notebook_and_page_show_the_same_cells(
    gold: Path, argv: tuple[object, ...], python: Callable[[Path], Any]
) -> None:
    ok(*argv, "--gold", gold, "--output", "r.json")
    text, cases = page("r.json")
    found, data = python(gold), json.loads(Path("r.json").read_text(encoding="utf-8"))
    notebook = {html.unescape(cell) for cell in CELL.findall(found._repr_html_())}
    assert len([cell for cell in CELL.findall(text) if cell in notebook]) > len(notebook) // 2
    assert (
        [case["id"] for case in cases["cases"]] == [one["id"] for one in data["disagreements"]]
        if cases
        else True
    )


def test_a_run(gold: Path) -> None:
    ok("run", "fect:basic", "--input", gold, "--output", "r.jsonl")
    text, cases = page("r.jsonl")
    assert "42 of 42 rows have a verdict" in text
    rows = [json.loads(line) for line in Path("r.jsonl").read_text(encoding="utf-8").splitlines()]
    said = [unit["label"] for row in rows for unit in row["units"]]
    assert [unit["said"][0] for case in cases["cases"] for unit in case["units"]] == said
    claims_of = [json.loads(line)["claim"] for line in gold.read_text(encoding="utf-8").splitlines()]
    assert [dict(case["inputs"])["claim"] for case in cases["cases"]] == claims_of
    write_jsonl(gold, [{**row, "claim": "Something else."} for row in claims()])
    assert not any(case["inputs"] for case in page("r.jsonl")[1]["cases"])  # the file was changed meanwhile


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[1]",
        "3",
        "{}",
        "no json",
        '{"id": 1}\n{"id": 2}',
        '{"disagreements": []}',
        '{"tests": 1, "judges": 2}',
        '{"models": [], "n": 3}',
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(JuristError, match="is no result of a command"):
        saved_report(path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(JuristError, match="cannot be read"):
        saved_report(tmp_path / "none.json")
