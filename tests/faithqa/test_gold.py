"""The bundled gold faithqa-mini: what its card says is so, and its marks agree with what a program can count."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import jurist
from jurist.programs.faithqa.checks import marked
from jurist.programs.faithqa.constraints import MARKS, PRIORITY

FOLDER = Path(jurist.__file__).parent / "datasets" / "faithqa-mini"


def lines(name: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def missing(row: dict[str, Any]) -> list[str]:
    return [one["text"] for one in row["constraints"] if one["category"] == "missing"]


ROWS, CARD = lines("gold.jsonl"), json.loads((FOLDER / "CARD.json").read_text())


def test_it_is_as_large_as_its_card_says() -> None:
    size = CARD["size"]
    responses = [response for row in ROWS for response in row["responses"]]
    assert len(ROWS) == size["queries"] >= 40
    assert len(responses) == size["responses"] >= 120
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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["group"])
def test_marks_agree_with_what_a_program_counts(row: dict[str, Any]) -> None:
    for place, constraint in enumerate(row["constraints"]):
        for response in row["responses"]:
            if found := marked(constraint["text"], response["response"]):
                assert (found[0] == "satisfied") == (response["marks"][place] == "satisfied"), (
                    constraint,
                    found,
                )


def test_the_second_rater_stands_beside_the_first() -> None:
    facts = FOLDER.parent / "faithqa-facts"
    about_facts = {
        row["query"]: [one["response"] for one in row["responses"]] for row in ROWS if row["task"] == "fact"
    }
    gold = lines("gold.jsonl", facts)
    assert {row["query"]: [one["response"] for one in row["responses"]] for row in gold} == about_facts
    for folder, field, first, card in ((FOLDER, "marks", ROWS, CARD), (facts, "verdict", gold, None)):
        card = card or json.loads((facts / "CARD.json").read_text())
        said = []
        for rows in (first, lines("second.jsonl", folder)):
            each = [one[field] for row in rows for one in row["responses"]]
            said.append([mark for one in each for mark in ([one] if isinstance(one, str) else one)])
        agreed = sum(one == two for one, two in zip(*said, strict=True)) / len(said[0])
        assert agreed == pytest.approx(card["agreement"]["raw"], abs=1e-4)
        assert Counter(said[0]) == card["size"]["marks" if folder is FOLDER else "verdicts"]
