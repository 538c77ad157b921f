"""Logs of other tools held against labels: other words, replies in cells, empty cells, repeated rows, column names."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small import Done, cli, ok, read_jsonl, write_jsonl

COUNT = 12


def word(n: int) -> str:
    return "send" if n % 2 else "hold"


def labelled(n: int) -> dict[str, Any]:
    return {
        "id": f"r{n}",
        "policy": f"Refunds within {n} days of delivery.",
        "reply": f"We refund item {n} in full.",
        "verdict": word(n),
    }


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def evaluated(gold: list[dict[str, Any]], log: list[dict[str, Any]], *options: str) -> Done:
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("log.jsonl"), log)
    return cli("evaluate", "recorded:log.jsonl", "--gold", "gold.jsonl", "--json", *options)


ROWS = [labelled(n) for n in range(COUNT)]
RIGHT: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[str], str]] = {
    # gold, log, options, what is said
    "each row twice": (
        ROWS,
        [{"id": row["id"], "verdict": row["verdict"]} for row in ROWS] * 2,
        [],
        "12 labelled rows stand in it more than once: most verdicts count, of scores their mean",
    ),
    "most of three verdicts": (
        ROWS,
        [{"id": row["id"], "verdict": word(n + (n < COUNT and epoch == 1))} for epoch in range(3)
         for n, row in enumerate(ROWS)],
        [],
        "found by id",
    ),
    "other words with --map": (
        ROWS,
        [{"id": row["id"], "verdict": row["verdict"] == "send"} for row in ROWS],
        ["--map", "True=send", "--map", "false=hold"],
        "found by id",
    ),
    "an id that is called as that of a run": (
        [{**row, "case": f"ticket {n}"} for n, row in enumerate(ROWS)],
        [{"case": f"ticket {n}", "verdict": row["verdict"]} for n, row in enumerate(ROWS)],
        [],
        "found by case",
    ),
    "JSON in cells": (
        ROWS,
        [{"id": row["id"], "verdict": json.dumps({"reason": "so", "verdict": row["verdict"]})} for row in ROWS],
        [],
        "found by id",
    ),
    "JSON with another name": (
        ROWS,
        [{"id": row["id"], "output": json.dumps({"label": row["verdict"]}), "verdict": None} for row in ROWS],
        [],
        "",
    ),
    "an empty cell in an input": (
        [{**row, "policy": None if n == 3 else row["policy"]} for n, row in enumerate(ROWS)],
        [{"policy": row["policy"] if n != 3 else "", "reply": row["reply"], "prediction": row["verdict"]}
         for n, row in enumerate(ROWS)],
        [],
        "taken as inputs: policy, reply",
    ),
    "an input that only the gold has": (
        [{**row, "note": f"Note number {n}, which the log does not have."} for n, row in enumerate(ROWS)],
        [{"policy": row["policy"], "reply": row["reply"], "prediction": row["verdict"]} for row in ROWS],
        [],
        "found by policy and reply",
    ),
    "names in other letters": (
        ROWS,
        [{"Policy": row["policy"], "REPLY": row["reply"], "Prediction": row["verdict"]} for row in ROWS],
        [],
        "found by policy and reply",
    ),
    "a model's label in the gold": (
        [{**row, "verdict": word(n // 2), "human_label": row["verdict"]} for n, row in enumerate(ROWS)],
        [{"id": row["id"], "verdict": row["verdict"]} for row in ROWS],
        [],
        "found by id",
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", [name for name in RIGHT if name != "JSON with another name"])
def test_a_log_that_is_right_is_right_in_every_layout(layout: str) -> None:
    gold, log, options, said = RIGHT[layout]
    done = evaluated(gold, log, *options)
    assert done.code == 0, done.err
    assert (done.json["scores"]["accuracy"]["value"], done.json["cases"]) == (1.0, COUNT)
    assert said in done.err


def test_json_with_another_name_is_read_where_the_column_is_named() -> None:
    gold, log, _, _ = RIGHT["JSON with another name"]
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("log.jsonl"), log)
    done = cli("evaluate", "recorded:log.jsonl#output", "--gold", "gold.jsonl", "--json")
    assert done.json["scores"]["accuracy"]["value"] == 1.0, done.err


REFUSED: dict[str, tuple[Any, str]] = {
    "true and false": (lambda n: n % 2 == 0, "the log says True, False, people said hold, send; say which label"),
    "numbers": (lambda n: n % 2, "the log says 0, 1, people said hold, send; say which label"),
    "other labels": (lambda n: ("ok", "bad")[n % 2], "--map ok=LABEL --map bad=LABEL"),
    "sentences": (lambda n: f"I would not say {word(n)}, rather {word(n + 1)}.", "none of the 12 verdicts"),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_a_log_in_other_words_is_an_error_that_names_map(words: str) -> None:
    verdict, said = REFUSED[words]
    done = evaluated(ROWS, [{"id": row["id"], "verdict": verdict(n)} for n, row in enumerate(ROWS)])
    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert "--map" in done.lines[-1]


def test_two_verdicts_that_differ_are_none() -> None:
    log = [{"id": row["id"], "verdict": row["verdict"]} for row in ROWS]
    done = evaluated(ROWS, [*log, {"id": "r1", "verdict": "hold"}])
    assert "1 row with verdicts that contradict each other" in done.err


SENTENCES = [["It is one.", "It is two."], ["It is three.", "It is four."]]
LINES: dict[str, tuple[list[list[str | None]], int]] = {
    # labels of the two sentences in each line on one response -> the units that have an answer
    "once": ([["faithful", "invented"]], 2),
    "twice": ([["faithful", "invented"]] * 2, 2),
    "without an answer first": ([[None, None], ["faithful", "invented"]], 2),
    "without an answer last": ([["faithful", "invented"], [None, None]], 2),
    "mostly without an answer": ([[None, None], [None, None], ["faithful", "invented"]], 2),
    "each sentence in a line": ([["faithful", None], [None, "invented"]], 2),
    "never": ([[None, None]] * 2, 0),
    "two that differ": ([["faithful", "invented"], ["invented", "faithful"]], 0),
    "another number of sentences": ([["faithful", "invented"], ["faithful"]], 0),
    "mostly one number of sentences": ([["faithful"], ["faithful", "invented"], ["faithful", "invented"]], 2),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_a_run_on_one_response_are_one_verdict(name: str) -> None:
    gold, rows = [], []
    for sentences in SENTENCES:
        row = {"reference": "It is so.", "sentences": sentences}
        gold.append({**row, "labels": ["faithful", "invented"], "group": sentences[0]})
        rows.append(row)
    write_jsonl(Path("rows.jsonl"), rows)
    ok("run", "cognibench:basic", "--input", "rows.jsonl", "--output", "log.jsonl")
    first, second = read_jsonl(Path("log.jsonl"))
    log = [second]
    labels_of_lines, answered = LINES[name]
    for labels in labels_of_lines:
        units = [{**first["units"][0], "label": label} for label in labels]
        log.append({**first, "units": units, "status": "abstained" if None in labels else "verdict"})
    done = evaluated(gold, log)
    assert done.code == 0, done.err
    assert done.json["counts"]["units"]["answered"] == 2 + answered
    assert done.json["counts"]["cases"]["answered"] == 1 + bool(answered)


def test_photos_with_several_captions_are_told_apart() -> None:
    captions = [f"caption {number}" for number in range(8)]
    gold: list[dict[str, Any]] = []
    for number in range(24):
        label = "match" if number % 2 else "differs"
        gold.append({"photo": f"photos/{number % 3}.png", "caption": captions[number // 3], "verdict": label})
    done = evaluated(gold, gold)
    assert done.code == 0
    assert done.json["counts"]["units"]["answered"] == 24


UNCLEAR: dict[str, tuple[dict[str, Sequence[str]], str]] = {
    # columns with their labels, what the error says
    "raters": (
        {"label_ann": "yn", "label_bob": "yn", "label_cho": "yn"},
        "or --raters 'label_*' if each holds",
    ),
    "raters, and more": (
        {"who ann": "yn", "who bob": "yn", "who cares": "rs"},
        "--column 'who ann=label'",
    ),
    "raters by name": ({"ann": "yn", "bob": "yn", "cho": "yn"}, "or --raters ann,bob,cho if each holds"),
    "criteria": (
        {"solved": "yn", "tone": "rs"},
        "--column solved=label (a criterion: 'recorded:LOG#solved')",
    ),
    "one criterion of several": (
        {"solved": "yn", "tone": "rs"},
        "jurist compare JUDGE recorded:LOG --gold F",
    ),
}


@pytest.mark.parametrize("kind", UNCLEAR)
def test_columns_that_may_hold_the_answers_are_named_as_what_they_are(kind: str) -> None:
    columns, words = UNCLEAR[kind]
    gold: list[dict[str, Any]] = []
    for n in range(COUNT):
        row = {name: value for name, value in labelled(n).items() if name != "verdict"}
        gold.append(
            row
            | {name: labels[(n // (place + 1)) % 2] for place, (name, labels) in enumerate(columns.items())}
        )
    refused = evaluated(gold, [{**row, "verdict": "y"} for row in gold])
    assert refused.code == 1
    assert words in refused.err, refused.err
    assert ("--raters" in refused.err) == ("--raters" in words)


def test_one_of_several_criteria_is_scored_as_the_error_says() -> None:
    gold = []
    for n in range(COUNT):
        gold.append({**labelled(n), "verdict": "yn"[n % 2], "tone": "rs"[n // 2 % 2]})
    for row in gold:
        row["solved"] = row.pop("verdict")
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("log.jsonl"), gold)
    done = ok("evaluate", "recorded:log.jsonl#solved", "--gold", "gold.jsonl", "--column", "solved=label")
    assert "the column 'solved' of 12 rows" in done.out + done.err
