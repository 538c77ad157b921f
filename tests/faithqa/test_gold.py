"""The bundled gold faithqa-mini: what its card says is so."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import jurist
from jurist.programs.faithqa.constraints import MARKS
from jurist.programs.faithqa.scoring import PRIORITY

FOLDER = Path(jurist.__file__).parent / "datasets" / "faithqa-mini"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def missing(row: dict[str, Any]) -> list[str]:
    return [one["text"] for one in row["constraints"] if one["category"] == "missing"]


ROWS, CARD = lines("gold.jsonl"), json.loads((FOLDER / "CARD.json").read_text())


def test_it_is_as_large_as_its_card_says() -> None:
    size = CARD["size"]
    responses = [response for row in ROWS for response in row["responses"]]
    assert len(ROWS) == size["queries"] >= 40
    assert len(responses) == size["responses"] >= 120
    assert Counter(mark for one in responses for mark in one["marks"]) == size["marks"]
    constraints = [c["category"] for row in ROWS for c in row["constraints"] if c["category"] != "missing"]
    assert Counter(constraints) == size["constraints_by_category"]
    assert sum(bool(missing(row)) for row in ROWS) == size["queries_with_a_missing_part"] > 0


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["group"])
def test_a_row_is_well_formed(row: dict[str, Any]) -> None:
    assert row["constraints"]
    assert len(missing(row)) in (0, len(row["constraints"]))
    for constraint in row["constraints"]:
        assert constraint["anchor"] in row["query"]
        assert constraint["category"] in (*PRIORITY, "missing")
    for response in row["responses"]:
        assert len(response["marks"]) == (3 if missing(row) else len(row["constraints"]))
        assert set(response["marks"]) <= set(MARKS)
        assert 0 <= response["score"] <= 10
        assert (response["score"] == 10) == (set(response["marks"]) == {"satisfied"})
