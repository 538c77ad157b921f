"""``jurist run share``, and what ``jurist run`` says of shares when it ends."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from proven import FECT, proven_fect
from small import claims, cli, ok, read_jsonl, write_jsonl

import jurist
from jurist.evaluation.intervals import Share
from jurist.evaluation.prevalence import prevalence, tallies
from jurist.gold.goldset import Gold

FOUND = "non_factual"


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    """A run of an artifact that was proven to be wrong about every seventh claim."""
    rows = claims(20)
    write_jsonl(Path("gold.jsonl"), rows)
    asked = [{k: row[k] for k in ("group", "conversation", "claim")} for row in rows]
    write_jsonl(Path("rows.jsonl"), asked)
    wrong = {row["claim"] for place, row in enumerate(rows) if place % 7 == 0}
    gold = {row["claim"]: FOUND if row["factual"] is False else "factual" for row in rows}
    other = {FOUND: "factual", "factual": FOUND}
    proven_fect(
        Path("gold.jsonl"),
        lambda row: other[gold[row["claim"]]] if row["claim"] in wrong else gold[row["claim"]],
    )
    done = ok("run", "fect", "--input", "rows.jsonl", "--output", "o.jsonl", "--json")
    assert "share of positive: non_factual: " in done.people
    return read_jsonl(Path("o.jsonl"))


def test_shares_are_corrected_by_the_proof_and_those_of_labelled_rows_stand_beside(
    lines: list[dict[str, Any]],
) -> None:
    write_jsonl(Path("some.jsonl"), claims(20)[:24])
    done = cli("run", "share", "o.jsonl", "--gold", "some.jsonl", "--json")
    assert (done.code, done.err) == (0, "")
    (share,) = done.json["shares"]
    proof = read_jsonl(Path("compiled/fect/1/proof.jsonl"))
    apparent = [(line["group"], line["label"] == FOUND) for line in lines]
    sides = {
        side: [
            (row["group"], row["compiled"]["values"] == row["gold"]) for row in proof if row["gold"] == [side]
        ]
        for side in (FOUND, "factual")
    }
    expected = prevalence(tallies(apparent), tallies(sides[FOUND]), tallies(sides["factual"]))
    assert share["proof"] == json.loads(json.dumps(asdict(expected)))
    gold = {case.id: case.gold == (FOUND,) for case in Gold.load("some.jsonl", FECT).cases}
    labelled = [(line["group"], gold[line["case"]], 1.0) for line in lines if line["case"] in gold]
    people = Share.over(labelled)
    assert share["labelled"] == json.loads(json.dumps(asdict(people)))
    assert done.json["labelled"] == len(labelled) == 24
    assert f"{expected}" in done.people
    assert f"{people}" in done.people
    found = jurist.share("o.jsonl", gold=claims(20)[:24])
    assert json.loads(json.dumps(found.to_json())) == done.json
    assert all(f"{expected}" in said for said in (repr(found), found._repr_html_()))
    assert jurist.share("o.jsonl", judge=FECT).judge == "fect@1"
    with pytest.raises(jurist.JuristError, match="gold"):
        jurist.share("gold.jsonl")


def test_a_table_is_read_as_lines_are(lines: list[dict[str, Any]]) -> None:
    ok("run", "fect", "--input", "rows.jsonl", "--output", "o.csv")
    one, two = (cli("run", "share", f"o.{name}", "--json").json for name in ("jsonl", "csv"))
    assert one | {"output": ""} == two | {"output": ""}


def test_errors_measured_under_other_conditions_correct_nothing(lines: list[dict[str, Any]]) -> None:
    run = ("run", "fect", "--input", "rows.jsonl", "--output")
    ok(*run, "warm.jsonl", "--temperature", "0.5")
    done = cli("run", "share", "warm.jsonl", "--json")
    assert "temperature 0.5 and not 0.0" in done.json["problem"]
    assert done.json["shares"][0]["proof"]["raw"] is not None
    ok("run", "fect:basic", "--input", "rows.jsonl", "--output", "basic.jsonl")
    assert "no proof" in cli("run", "share", "basic.jsonl", "--json").json["problem"]


def test_labels_of_other_rows_are_refused(lines: list[dict[str, Any]]) -> None:
    write_jsonl(Path("others.jsonl"), claims(30)[-9:])
    done = cli("run", "share", "o.jsonl", "--gold", "others.jsonl")
    assert done.code == 1
    assert "none of the 9 labelled rows is answered in o.jsonl" in done.err
