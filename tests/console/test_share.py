"""What ``jurist run`` says of the shares of labels when it ends."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from proven import proven_fect
from small import claims, ok, read_jsonl, write_jsonl

from jurist.evaluation.prevalence import Prevalence, prevalence, tallies
from jurist.jobs.sharing import LabelShare

FOUND = "non_factual"
RUN = ("--input", "rows.jsonl", "--json", "--output")


@pytest.fixture
def proof() -> list[dict[str, Any]]:
    """An artifact that was proven to be wrong about every seventh claim."""
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
    return read_jsonl(Path("compiled/fect/1/proof.jsonl"))


@pytest.mark.parametrize("output", ["o.jsonl", "o.csv"])
def test_shares_are_corrected_by_the_proof(output: str, proof: list[dict[str, Any]]) -> None:
    done = ok("run", "fect", *RUN, output)
    ok("run", "fect", "--input", "rows.jsonl", "--output", "lines.jsonl")
    apparent = [(line["group"], line["label"] == FOUND) for line in read_jsonl(Path("lines.jsonl"))]
    sides = {
        side: [
            (row["group"], row["compiled"]["values"] == row["gold"]) for row in proof if row["gold"] == [side]
        ]
        for side in (FOUND, "factual")
    }
    expected = prevalence(tallies(apparent), tallies(sides[FOUND]), tallies(sides["factual"]))
    (share,) = done.json["shares"]
    assert share == {"name": f"positive: {FOUND}", "proof": json.loads(json.dumps(asdict(expected)))}
    assert expected.raw is not None
    found = f"the judge says {FOUND} of {100 * expected.raw:.1f} % of the answered units; "
    assert (
        f"{found}corrected for the errors of its sealed test: {100 * expected.value:.1f} % (95 % "
        in done.people
    )


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        (
            Prevalence(raw=0.667, value=0.633, low=0.5, high=0.75),
            "corrected for the errors of its sealed test: 63.3 %",
        ),
        (
            Prevalence(raw=0.667, value=0.633, low=0.0, high=1.0),
            "its sealed test is too small to correct that",
        ),
        (Prevalence(raw=0.667, problem="no proof"), "this is not corrected for the judge's errors: no proof"),
    ],
)
def test_a_share_is_said_in_one_sentence(proof: Prevalence, said: str) -> None:
    words = LabelShare(name="positive: hold", proof=proof).words
    assert words.startswith(f"the judge says hold of 66.7 % of the answered units; {said}")


def test_errors_measured_under_other_conditions_correct_nothing(proof: list[dict[str, Any]]) -> None:
    (share,) = ok("run", "fect", *RUN, "warm.jsonl", "--temperature", "0.5").json["shares"]
    assert "temperature 0.5 and not 0.0" in share["proof"]["problem"]
    assert share["proof"]["raw"] is not None
    assert "shares" not in ok("run", "fect:basic", *RUN, "basic.jsonl").json
