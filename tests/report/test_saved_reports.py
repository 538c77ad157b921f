"""Reports of runs: their figures are those of the file, and what is no run is refused."""

import base64
import gzip
import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small import claims, ok, write_jsonl

from jurist.errors import JuristError, answering_command_line
from jurist.report.document import Cases
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


def test_a_run_shows_its_verdicts_and_filters_by_them(gold: Path) -> None:
    ok("run", "fect:basic", "--input", gold, "--output", "r.jsonl")
    text, data = page("r.jsonl")
    rows = [json.loads(line) for line in Path("r.jsonl").read_text(encoding="utf-8").splitlines()]
    verdicts = Counter(row["label"] for row in rows)
    assert {name: tone for name, tone, _ in data["kinds"]} == dict.fromkeys(verdicts, "plain")
    assert Counter(kind for case in data["cases"] for kind in case["kinds"]) == verdicts
    assert "(offline text-overlap scorer, not a language model)" in text
    # without its script the page has every row
    (stand_in,) = re.findall("<noscript.*?</noscript>", text, re.DOTALL)
    for row, case in zip(rows, data["cases"], strict=True):
        cells = f'<th scope="row" class="text">{row["source"]}</th><td class="text">{row["label"]}</td>'
        assert f'{cells}<td class="text">{case["units"][0]["text"][:60]}' in stand_in
    rows[0]["units"][0]["probabilities"] = {rows[0]["label"]: 0.83}
    write_jsonl(Path("r.jsonl"), rows)
    text, data = page("r.jsonl")
    assert data["cases"][0]["units"][0]["sure"] == [0.83]
    assert f"{rows[0]['label']} (83%)" in text


def test_a_run_of_many_different_values_is_not_filtered_by_them() -> None:
    rows = []
    for place in range(30):
        unit = {"text": "a", "value": place / 7, "agreement": None}
        rows.append({"id": str(place), "status": "verdict", "judge": "mark", "model": "m", "units": [unit]})
    document = saved_report(Path("r.jsonl"), rows)
    (cases,) = document.sections[1].parts
    assert isinstance(cases, Cases)
    assert {kind for case in cases.cases for kind in case["kinds"]} == {"another verdict"}


def test_rows_of_a_bundled_set_have_their_inputs() -> None:
    ok("run", "fect:basic", "--input", "fect-mini", "--output", "r.jsonl")
    data = page("r.jsonl")[1]
    assert all(dict(case["inputs"])["conversation"] for case in data["cases"])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[1]", "3", "{}", "no json", '{"id": 1}\n{"id": 2}', '{"disagreements": []}'],
)
def test_what_is_no_result_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(JuristError, match="holds no lines of a run"):
        saved_report(path, (line for _, line in lines_in(path)))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"usage": {"calls": "many"}}, "r.jsonl has a broken field: calls: "),
        ({"judge": None}, "r.jsonl lacks the field 'judge'; give what jurist run wrote"),
        ({"units": 3}, "r.jsonl has a broken field: 'int' object is not iterable"),
    ],
)
def test_a_broken_field_of_a_run_is_named(broken: dict[str, Any], words: str) -> None:
    unit = {"text": "a", "value": "x", "agreement": None}
    row = {"id": "1", "status": "verdict", "judge": "mark", "model": "m", "units": [unit]} | broken
    line = {name: value for name, value in row.items() if value is not None}
    with pytest.raises(JuristError) as refused, answering_command_line():
        saved_report(Path("r.jsonl"), [line])
    assert str(refused.value).startswith(words)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(JuristError, match="cannot be read"):
        saved_report(tmp_path / "none.json", (line for _, line in lines_in(tmp_path / "none.json")))
