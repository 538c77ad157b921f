"""The review list: the most informative units, first, as a sheet that comes back as ratings."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from small import cli, ok

from jurist.cases import Case
from jurist.errors import GoldError
from jurist.gold.goldset import Gold
from jurist.gold.sheets import read_judged, review_lines, worths
from jurist.gold.writing import write_jsonl
from jurist.programs.fect import FECT

TRUE, FALSE = "factual", "non_factual"
CLAIMS = ["even", "close", "sure", "open", "failed", "wrong"]
ROWS = [{"conversation": "c", "claim": claim, "factual": claim != "even"} for claim in CLAIMS]
VOTES: dict[str, dict[str, int]] = {
    "even": {TRUE: 2, FALSE: 3},
    "close": {TRUE: 4, FALSE: 1},
    "sure": {TRUE: 5},
    "open": {},
    "failed": {},
    "wrong": {FALSE: 5},
}
LABELS = {"even": FALSE, "close": TRUE, "sure": TRUE, "open": None, "failed": None, "wrong": FALSE}
STATUS = {"open": "abstained", "failed": "failed"}


def run_file(place: Path, rows: list[dict[str, Any]] = ROWS, **more: Any) -> Path:
    """Write what ``jurist run`` writes for the rows."""
    write_jsonl(rows, place / "rows.jsonl")
    lines = []
    for case in Gold.load(place / "rows.jsonl", FECT, labelled=False).cases:
        claim = case.inputs["claim"]
        unit = {"text": claim, "label": LABELS[claim], "votes": VOTES[claim]}
        lines.append(
            {
                "id": case.id,
                "source": case.source,
                "status": STATUS.get(claim, "verdict"),
                "units": [unit],
                "sampling": {"samples": 5, "threshold": 3},
                **more,
            }
        )
    write_jsonl(lines, place / "run.jsonl")
    return place / "run.jsonl"


HALVES = {TRUE: 0.5, FALSE: 0.5}


@pytest.mark.parametrize(
    ("ratings", "gold", "unit", "worth"),
    [
        ("", None, {"label": TRUE, "votes": {TRUE: 5}}, None),
        ("", None, {"label": TRUE, "votes": {TRUE: 3, FALSE: 2}}, 0.4),
        ("", None, {"label": TRUE, "votes": {TRUE: 1}, "probabilities": HALVES}, 0.5),
        ("", None, {"label": TRUE, "votes": {TRUE: 1}, "probabilities": {TRUE: 1.0}}, None),
        ("", FALSE, {"label": TRUE, "votes": {TRUE: 5}}, 0.5),
        ("", TRUE, {"label": TRUE, "votes": {TRUE: 3, FALSE: 2}}, 0.2),
        ("tff", FALSE, None, 1 / 3),
        ("tff", FALSE, {"label": FALSE, "votes": {FALSE: 5}}, 0.25),
        ("tff", FALSE, {"label": TRUE, "votes": {TRUE: 5}}, 0.5),
        ("fff", FALSE, {"label": TRUE, "votes": {TRUE: 5}}, 0.25),
        ("", None, {"label": None, "votes": {}}, 1.0),
    ],
)
def test_a_label_is_worth_what_people_and_judge_are_at_odds(
    ratings: str, gold: str | None, unit: dict[str, Any] | None, worth: float | None, tmp_path: Path
) -> None:
    said = {f"rater {n}": ({"t": TRUE, "f": FALSE}[one],) for n, one in enumerate(ratings)}
    case = Case(inputs={}, gold=None if gold is None else (gold,), ratings=said)
    line = {"id": "a", "status": "verdict", "units": [unit], "sampling": {"samples": 5, "threshold": 3}}
    write_jsonl([line] if unit else [], tmp_path / "run.jsonl")
    (judged,) = read_judged(tmp_path / "run.jsonl", FECT) if unit else [None]
    found = worths(case, judged, FECT)
    assert found == ({} if worth is None else {0: pytest.approx(worth, abs=1e-3)})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"claim": "x"}, "no line of a run of judge 'fect'"),
        ({"id": "a", "status": "verdict", "units": 3}, "no line of a run"),
        ({"id": "a", "units": []}, "no line of a run"),
        ({"id": "a", "status": "verdict", "units": [{"label": "x"}]}, "no label 'x'"),
        ({"id": "a", "status": "verdict", "units": [{"votes": {"x": 1}}]}, "no label 'x'"),
        ({"id": "a", "status": "verdict", "units": [{"probabilities": {"x": 1}}]}, "no label 'x'"),
        ({"id": "a", "status": "verdict", "units": [{"probabilities": {TRUE: "x"}}]}, "no line of a run"),
    ],
)
def test_what_is_no_run_is_named(tmp_path: Path, line: dict[str, Any], message: str) -> None:
    file = run_file(tmp_path)
    write_jsonl([json.loads(file.read_text().splitlines()[0]), line], file)
    with pytest.raises(GoldError) as caught:
        read_judged(file, FECT)
    assert f"{file}:2" in str(caught.value)
    assert message in str(caught.value)


def test_missing_files_and_missing_cases_are_named(tmp_path: Path) -> None:
    with pytest.raises(GoldError, match="no such file"):
        read_judged(tmp_path / "no.jsonl", FECT)
    with pytest.raises(GoldError, match=r"5 of the judged cases are not in the rows"):
        review_lines(read_judged(run_file(tmp_path), FECT), FECT, {})


def lines_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def test_from_a_run_to_ratings(tmp_path: Path) -> None:
    write_jsonl(ROWS, tmp_path / "claims.jsonl")
    file = run_file(tmp_path)
    command = ("review", "fect", "--verdicts", file, "--rater", "ann")
    done = ok(*command, "--gold", "claims.jsonl", "--output", "review.csv")
    assert "4 units of 4 cases written to review.csv" in done.out
    lines = lines_of(tmp_path / "review.csv")
    assert [line["input:claim"] for line in lines] == ["wrong", "even", "close", "open"]
    for line, label in zip(lines, [FALSE, FALSE, "", TRUE], strict=True):
        line["rater:ann"] = label
    with (tmp_path / "review.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    ok(*done.err.split("jurist ")[-1].split())  # what it says is next
    gold = Gold.load(tmp_path / "NEW.jsonl", FECT)
    assert {case.inputs["claim"]: case.ratings for case in gold.cases if case.ratings} == {
        "open": {"ann": (TRUE,)},
        "even": {"ann": (FALSE,)},
        "wrong": {"ann": (FALSE,)},
    }
    before = {case.inputs["claim"]: case.gold for case in Gold.load(tmp_path / "claims.jsonl", FECT).cases}
    labels = {case.inputs["claim"]: case.gold for case in gold.cases}
    changed = {name: label for name, label in labels.items() if label != before.get(name)}
    assert changed == {"wrong": (FALSE,)}


def test_the_first_ones_alone_and_wrong_usage(tmp_path: Path) -> None:
    command = ("review", "fect", "--verdicts", run_file(tmp_path), "--gold", "rows.jsonl")
    ok(*command, "--output", "a.csv", "--top", 2)
    assert [line["text"] for line in lines_of(tmp_path / "a.csv")] == ["wrong", "even"]
    for wrong in (
        ("c.csv", "--top", 0),
        ("tasks.txt",),
        ("a.csv",),
        ("c.jsonl", "--host", "0.0.0.0"),
        ("c.jsonl", "--rater", "a,resolved"),
    ):
        assert cli(*command, "--output", *wrong).code == 2


def test_units_are_drawn_by_lot_and_each_rater_gets_the_same(tmp_path: Path) -> None:
    rows = [{"conversation": "c", "claim": f"Claim {n}.", "factual": n % 2 == 0} for n in range(40)]
    write_jsonl(rows, tmp_path / "claims.jsonl")
    drawn = {}
    for name, more in (("ann", ()), ("bob", ()), ("cem", ("--seed", 1)), ("dee", ("--top", 3))):
        ok(
            "review",
            "fect",
            "claims.jsonl",
            "--rater",
            name,
            "--output",
            f"{name}.csv",
            "--sample",
            12,
            *more,
        )
        drawn[name] = [line["text"] for line in lines_of(tmp_path / f"{name}.csv")]
    assert len(set(drawn["ann"])) == 12
    assert drawn["bob"] == drawn["ann"]
    assert set(drawn["cem"]) != set(drawn["ann"])
    assert drawn["dee"] == drawn["ann"][:3]
    assert set(drawn["ann"]) != {row["claim"] for row in rows[:12]}
    # what a rater has labelled is left out, and nothing else is drawn for it
    labelled = [
        {**row, "ratings": {"ann": True}} if row["claim"] in drawn["ann"][:5] else row for row in rows
    ]
    write_jsonl(labelled, tmp_path / "labelled.jsonl")
    ok("review", "fect", "labelled.jsonl", "--rater", "ann", "--output", "rest.csv", "--sample", 12)
    assert sorted(line["text"] for line in lines_of(tmp_path / "rest.csv")) == sorted(drawn["ann"][5:])
