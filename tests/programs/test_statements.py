"""Judges of one sentence, and the rows of whole responses from which their sentences come."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import ok

from jurist.gold.goldset import Gold
from jurist.gold.new_rows import read_rows
from jurist.programs.catalogue import find
from jurist.programs.cognibench import statement_type
from jurist.signatures.cognibench_labels import LABELS, TIERS

REFERENCE = "The mill was built in 1802. It closed in 1911."
SENTENCES = "Sure!|It was built in 1802.|It had two owners.|It must have been loved.|It closed."
ROW: dict[str, Any] = {
    "reference": REFERENCE,
    "history": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
    "question": "What of the mill?",
    "sentences": SENTENCES.split("|"),
    "labels": ["irrelevant", "faithful", "invented", "speculative", None],
    "ratings": {
        "a": ["irrelevant", "faithful", "faithful", "misleading", None],
        "b": [None] * 4 + ["reliable"],
    },
    "group": "mill",
}


def test_a_dialogue_serves_where_there_are_no_turns() -> None:
    row = {**ROW, "dialogue": "user: How?"}
    assert gold("cognibench", row).cases == gold("cognibench", ROW).cases
    said = {**ROW, "history": [{"role": "user", "content": "Hi\nuser: no"}], "question": ""}
    assert {case.inputs["dialogue"] for case in gold("factual", said).cases} == {"user: Hi\n  user: no"}
    without = {**row, "history": [], "question": ""}
    assert {case.inputs["dialogue"] for case in gold("factual", without).cases} == {"user: How?"}


def gold(name: str, *rows: dict[str, Any], labelled: bool = False) -> Gold:
    return Gold.of(rows, find(name), labelled=labelled)


@pytest.mark.parametrize(
    ("name", "labels", "ratings"),
    [
        ("statement-type", ["irrelevant", "factual", "factual", "cognitive", None], "aaaab"),
        ("factual", ["faithful", "invented"], "aa"),
        ("tier", ["speculative", None], "ab"),
    ],
)
def test_only_its_own_sentences_become_cases(name: str, labels: list[str | None], ratings: str) -> None:
    cases = gold(name, ROW).cases
    assert [case.gold[0] if case.gold else None for case in cases] == labels
    assert "".join("".join(case.ratings) for case in cases) == ratings
    assert {case.group for case in cases} == {"mill"}
    assert {case.source for case in cases} == {"rows:1"}
    for case in cases:
        place = ROW["sentences"].index(case.inputs["sentence"])
        assert case.inputs["before"] == " ".join(ROW["sentences"][:place])
        assert case.inputs["dialogue"] == "user: Hello\nassistant: Hi\nuser: What of the mill?"


@settings(max_examples=30)
@given(st.lists(st.sampled_from((*LABELS, None)), min_size=1, max_size=8))
def test_every_labelled_sentence_is_of_one_type_and_of_one_kind(labels: list[str | None]) -> None:
    texts = [f"Sentence {n}." for n in range(len(labels))]
    row = {"reference": REFERENCE, "sentences": texts, "labels": labels}

    def found(name: str) -> list[dict[str, Any]]:
        return [dict(one) for one in find(name).expanded(row)]

    wanted = Counter(statement_type(label) if label else None for label in labels)
    assert Counter(one["statement_type"] for one in found("statement-type")) == wanted
    assert [one["faithfulness"] for one in found("factual") if one["faithfulness"]] == [
        label for label in labels if label in ("faithful", "invented")
    ]
    tiers = [one["tier"] for one in found("tier") if one["tier"]]
    assert tiers == [label for label in labels if label in TIERS]


def test_a_row_that_does_not_concern_the_judge_is_counted_and_no_error() -> None:
    plain = {**ROW, "labels": ["irrelevant", "faithful", "faithful", "faithful", "faithful"], "ratings": {}}
    cognitive = {**ROW, "labels": [None, None, None, "reliable", "misleading"], "ratings": {}}
    found = gold("tier", plain, cognitive, labelled=True)
    assert [case.gold for case in found.cases] == [("reliable",), ("misleading",)]
    # the row without a cognitive sentence, and three unlabelled sentences
    assert found.skipped_by == {"with nothing for the judge": 1, "without a label": 3}


def test_run_takes_responses_and_counts_those_that_hold_nothing(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    unlabelled = {key: value for key, value in ROW.items() if key not in ("labels", "ratings")}
    nothing = {**ROW, "labels": ["irrelevant"] * 5, "ratings": {}}
    path.write_text("".join(json.dumps(row) + "\n" for row in (unlabelled, nothing)))
    assert len(read_rows(path, find("tier"))) == 5
    done = ok("run", "factual:basic", "--input", path, "--output", out, "--store", tmp_path / "s", "--json")
    assert done.json["beside"] == 1
    assert "rows of the input that hold nothing for this judge: 1" in done.people
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["units"][0]["text"] for line in lines] == ROW["sentences"]
    assert {line["label"] for line in lines} <= {"faithful", "invented"}


def test_the_sentences_of_a_dialogue_are_those_of_its_turns(tmp_path: Path) -> None:
    said = ("What of it?", "It was built in 1802. It closed.", "And then?", "It must have been loved.")
    turns = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"id": "mill", "reference": REFERENCE, "turns": turns}) + "\n")
    cases = read_rows(path, find("statement-type"))
    assert [case.inputs["sentence"] for case in cases] == [
        "It was built in 1802.",
        "It closed.",
        "It must have been loved.",
    ]
    assert {case.group for case in cases} == {"mill"}
    assert cases[1].inputs["before"] == "It was built in 1802."
    assert "And then?" in cases[2].inputs["dialogue"]
