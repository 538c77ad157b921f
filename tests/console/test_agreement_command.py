"""``jurist gold agreement``: tables for people, one JSON object for machines."""

import json
from collections.abc import Sequence
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


def _write_gold(rows: Sequence[tuple[str, ...]]) -> None:
    lines = ["conversation,claim,factual,rater:ann,rater:bob,rater:cem,ambiguity"]
    lines += [",".join([f"c{number}", "x", *row]) for number, row in enumerate(rows)]
    Path("gold.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _rounded(values: dict[str, Any]) -> Any:
    """Return JSON values with nine digits: sums of shares depend on the order of the rows in the last one."""
    return json.loads(json.dumps(values), parse_float=lambda text: round(float(text), 9))


def test_agreement_without_what_a_rater_called_ambiguous_is_that_of_the_other_rows() -> None:
    _write_gold([row for row in ROWS if not row[-1]])
    others = ok("gold", "agreement", "fect", "gold.csv", "--json")
    assert "certain" not in others.json
    assert "called ambiguous" not in others.people
    _write_gold(ROWS)
    everything = ok("gold", "agreement", "fect", "gold.csv", "--json")
    certain = everything.json["certain"]
    assert _rounded({name: others.json[name] for name in certain}) == _rounded(certain)
    assert certain["units"] == 4 < everything.json["units"]
    assert "Without the units that a rater called ambiguous" in everything.people
    _write_gold([(*row[:4], "other") for row in ROWS])
    assert "certain" not in ok("gold", "agreement", "fect", "gold.csv", "--json").json


def test_json_holds_every_coefficient_the_ceiling_and_the_rules() -> None:
    _write_gold(ROWS)
    found = ok("gold", "agreement", "fect", "gold.csv", "--json").json
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


@pytest.mark.parametrize(
    ("judge", "units", "kappa", "ambiguous"), [("fect", 174, 1.0, 0), ("cognibench", 453, 0.9913, 3)]
)
def test_the_bundled_sets(judge: str, units: int, kappa: float, ambiguous: int) -> None:
    found = ok("gold", "agreement", judge, f"{judge}-mini", "--json").json
    assert (found["units"], found["rules"]["unanimous"]["ambiguous"]) == (units, ambiguous)
    assert found["pairs"][0]["kappa"]["value"] == pytest.approx(kappa, abs=1e-4)


CONSTANT = {
    # what a, b and c said of each of 12 rows -> what the table of all raters and that of the pairs say
    "one label": (["yes yes"] * 12, "undefined: only one label was given", ["a and b"]),
    "one pair with one label": (
        ["yes yes no", "yes yes yes", "yes yes no"] * 4,
        "Krippendorff's alpha  -0.",
        ["a and c", "b and c", "a and b"],
    ),
}


@pytest.mark.parametrize("case", CONSTANT)
def test_a_coefficient_of_one_label_is_undefined_and_its_pair_comes_last(case: str) -> None:
    rows, said, pairs = CONSTANT[case]
    count = len(rows[0].split())
    lines = ["question,answer," + ",".join(f"rater:{name}" for name in "abc"[:count])]
    lines += [f"Which is number {n}?,It is {n}.,{row.replace(' ', ',')}" for n, row in enumerate(rows)]
    Path("gold.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("polite.py").write_text(JUDGE, encoding="utf-8")
    done = ok("gold", "agreement", "polite.py:judge", "gold.csv")
    assert said in done.out
    listed = done.out.partition("Pairs that agree least")[2].partition("Each label")[0].splitlines()
    assert [line[:7] for line in listed if " and " in line] == pairs
    assert "undefined: never given" in done.out or case != "one label"


JUDGE = """
import dspy, jurist

judge = jurist.Judge(name="polite", signature=dspy.Signature("question, answer -> polite: bool"), positive="false")
"""


def test_raters_of_gold_that_a_model_labelled_are_no_human_ceiling() -> None:
    done = ok("gold", "agreement", "fect", "fect-mini")
    assert "Second labelling (by a model): each rater against the others" in done.out
    assert "uman ceiling" not in done.out
