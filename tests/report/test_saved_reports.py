"""Reports of runs: their figures are those of the file, and what is no run is refused."""

import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from small import claims, ok, write_jsonl

from jurist.errors import JuristError
from jurist.report.judged import saved_report
from jurist.runs.outputs import lines_in


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


def test_a_run(gold: Path) -> None:
    ok("run", "fect:basic", "--input", gold, "--output", "r.jsonl")
    text, cases = page("r.jsonl")
    assert "42 of 42 rows have a verdict" in text
    ok("run", "fect:basic", "--input", gold, "--output", "r.csv")
    assert page("r.csv")[1] == cases
    rows = [json.loads(line) for line in Path("r.jsonl").read_text(encoding="utf-8").splitlines()]
    said = [unit["label"] for row in rows for unit in row["units"]]
    assert [unit["said"][0] for case in cases["cases"] for unit in case["units"]] == said
    claims_of = [json.loads(line)["claim"] for line in gold.read_text(encoding="utf-8").splitlines()]
    assert [dict(case["inputs"])["claim"] for case in cases["cases"]] == claims_of
    write_jsonl(gold, [{**row, "claim": "Something else."} for row in claims()])
    assert not any(case["inputs"] for case in page("r.jsonl")[1]["cases"])  # the file was changed meanwhile
    # what was left to people is not hidden behind samples that differ
    rows[0] |= {"status": "abstained", "drawn": 3, "units": [{**rows[0]["units"][0], "agreement": 0.5}]}
    write_jsonl(Path("r.jsonl"), rows)
    first = page("r.jsonl")[1]["cases"][0]
    assert (first["kinds"], first["units"][0]["sure"]) == (["abstained"], [0.5])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[1]", "3", "{}", "no json", '{"id": 1}\n{"id": 2}', '{"disagreements": []}'],
)
def test_what_is_no_result_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(JuristError, match="holds no lines of a run"):
        saved_report(path, (line for _, line in lines_in(path)))


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(JuristError, match="cannot be read"):
        saved_report(tmp_path / "none.json", (line for _, line in lines_in(tmp_path / "none.json")))
