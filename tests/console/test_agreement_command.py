"""``jurist gold agreement``: tables for people, one JSON object for machines."""

import json
from pathlib import Path
from typing import Any

import pytest

from jurist.cli import main

ROWS = [  # factual, and what ann, bob and cem said
    ("true", "true", "true", "true", ""),
    ("true", "true", "false", "true", "sentiment"),
    ("false", "false", "false", "", ""),
    ("false", "true", "false", "", "relation"),
    ("true", "true", "true", "false", ""),
    ("false", "false", "false", "false", ""),
]


def sheet(place: Path, rows: list[tuple[str, ...]], *, gold: bool = True) -> str:
    file = place / "gold.csv"
    lines = ["conversation,claim,factual,rater:ann,rater:bob,rater:cem,ambiguity"]
    for number, (own, *rest) in enumerate(rows):
        lines.append(",".join([f"c{number}", "x", own if gold else "", *rest]))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["gold", "agreement", "fect", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_json_holds_every_coefficient_the_ceiling_and_the_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(capsys, sheet(tmp_path, ROWS), "--merge", "unanimous", "--ordinal")
    assert found["raters"] == ["ann", "bob", "cem"]
    assert [(pair["first"], pair["second"], pair["units"]) for pair in found["pairs"]] == [
        ("ann", "bob", 6),
        ("ann", "cem", 4),
        ("bob", "cem", 4),
    ]
    fleiss = found["fleiss"]
    assert (fleiss["ratings"], fleiss["units"], fleiss["left_out"]) == (3, 4, 2)
    assert found["alpha"]["interval"]["groups"] == found["groups"] == 6
    assert found["ordinal"]["value"] == pytest.approx(found["alpha"]["value"])
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
    clear = found["without_ambiguous"]  # as in FECT's section 2.4: the second and fourth row are set apart
    assert (clear["units"], [pair["units"] for pair in clear["pairs"]]) == (4, [4, 3, 3])
    assert clear["pairs"][0]["kappa"]["value"] == 1.0 > found["pairs"][0]["kappa"]["value"]
    unnamed = [(*row[:-1], "") for row in ROWS]
    assert report(capsys, sheet(tmp_path, unnamed))["without_ambiguous"] is None
    assert (
        report(capsys, sheet(tmp_path, [(*row[:-1], "other") for row in ROWS]))["without_ambiguous"] is None
    )
    assert [one["category"] for one in found["ambiguous"]] == ["sentiment", "relation", "unknown"]
    assert found["ambiguous"][1]["labels"] == {"ann": "factual", "bob": "non_factual"}


def test_rows_that_nobody_merged_yet_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_gold = report(capsys, sheet(tmp_path, ROWS))
    without = report(capsys, sheet(tmp_path, ROWS, gold=False))
    assert without["alpha"] == with_gold["alpha"]
    assert "ambiguous" not in without
    assert without["rules"]["adjudicated"]["ambiguous"] == without["rules"]["unanimous"]["ambiguous"] == 3


def test_people_get_tables_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gold", "agreement", "fect", sheet(tmp_path, ROWS), "--merge", "majority"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for said in (
        "3 raters, 6 units with two ratings or more",
        "Krippendorff's alpha",
        "Human ceiling",
        "Merging rules",
        "Ambiguous by the rule majority: 1 of 1 units",
    ):
        assert said in out


def test_one_rater_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(own, ann, "", "", "") for own, ann, *_ in ROWS]
    assert main(["gold", "agreement", "fect", sheet(tmp_path, rows)]) == 1
    assert "the labels of one rater, ann;" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("judge", "units", "kappa", "ambiguous"),
    [("fect", 174, 1.0, 0), ("cognibench", 453, 0.9913, 3)],
)
def test_the_bundled_sets(
    judge: str, units: int, kappa: float, ambiguous: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gold", "agreement", judge, f"{judge}-mini", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["units"], found["rules"]["unanimous"]["ambiguous"]) == (units, ambiguous)
    assert found["pairs"][0]["kappa"]["value"] == pytest.approx(kappa, abs=1e-4)
