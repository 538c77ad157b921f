"""``jurist gold agreement``: tables for people, one JSON object for machines."""

from pathlib import Path
from typing import Any

import pytest
from small import ok

ROWS = [  # factual, and what ann, bob and cem said
    ("true", "true", "true", "true", ""),
    ("true", "true", "false", "true", "sentiment"),
    ("false", "false", "false", "", ""),
    ("false", "true", "false", "", "relation"),
    ("true", "true", "true", "false", ""),
    ("false", "false", "false", "false", ""),
]


def sheet(rows: list[tuple[str, ...]] = ROWS, *, gold: bool = True) -> str:
    lines = ["conversation,claim,factual,rater:ann,rater:bob,rater:cem,ambiguity"]
    for number, (own, *rest) in enumerate(rows):
        lines.append(",".join([f"c{number}", "x", own if gold else "", *rest]))
    Path("gold.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "gold.csv"


def report(*arguments: str) -> Any:
    return ok("gold", "agreement", "fect", *arguments, "--json").json


def test_json_holds_every_coefficient_the_ceiling_and_the_rules() -> None:
    found = report(sheet())
    assert found["raters"] == ["ann", "bob", "cem"]
    assert [(pair["first"], pair["second"], pair["units"]) for pair in found["pairs"]] == [
        ("ann", "bob", 6),
        ("ann", "cem", 4),
        ("bob", "cem", 4),
    ]
    assert found["alpha"]["interval"]["groups"] == found["groups"] == 6
    assert [row["label"] for row in found["table"]] == ["factual", "non_factual"]
    assert found["ceiling"]["metric"] == "f1"
    assert found["ceiling"]["raters"].keys() == {"ann", "bob", "cem"}
    assert {rule: one["ambiguous"] for rule, one in found["rules"].items()} == {
        "unanimous": 3,
        "majority": 1,
        "adjudicated": 0,
        "reviewed": 0,
    }
    assert found["rules"]["unanimous"]["by_category"] == {
        "sentiment": 1,
        "relation": 1,
        "other": 0,
        "unknown": 1,
    }


def test_rows_that_nobody_merged_yet_are_compared() -> None:
    with_gold, without = report(sheet()), report(sheet(gold=False))
    assert without["alpha"] == with_gold["alpha"]
    assert without["rules"]["adjudicated"]["ambiguous"] == without["rules"]["unanimous"]["ambiguous"] == 3


@pytest.mark.parametrize(
    ("judge", "units", "kappa", "ambiguous"), [("fect", 174, 1.0, 0), ("cognibench", 453, 0.9913, 3)]
)
def test_the_bundled_sets(judge: str, units: int, kappa: float, ambiguous: int) -> None:
    found = ok("gold", "agreement", judge, f"{judge}-mini", "--json").json
    assert (found["units"], found["rules"]["unanimous"]["ambiguous"]) == (units, ambiguous)
    assert found["pairs"][0]["kappa"]["value"] == pytest.approx(kappa, abs=1e-4)
