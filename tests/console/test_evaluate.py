"""``jurist evaluate`` and ``jurist.evaluate``: one judge of any kind of answer, scored and explained."""

import itertools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import claims, cli, ok, write_jsonl

import jurist
from jurist.arguments.groups import Form
from jurist.cli import build_parser
from jurist.console.printing import Result, result_text
from jurist.report.table import table
from jurist.report.verdict import VerdictCard

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def test_the_positive_label_of_f1_is_named() -> None:
    evaluated = ok("evaluate", "fect:basic", "--gold", "gold.jsonl")
    assert evaluated.out.splitlines()[0] == "fect:basic on gold: 42 cases, positive: non_factual"
    compared = ok("compare", "fect:basic", "fect-3d:basic", "--gold", "gold.jsonl", "--json")
    assert compared.json["positive"] == ["non_factual"]


def test_the_numbers_fit_each_other(serve: Callable[..., Any]) -> None:
    model = ("--model", "openai/x", "--api-base", serve().url, "--yes")
    found = ok("evaluate", "fect:basic", "--gold", "gold.jsonl", *model, "--json").json
    units = found["counts"]["units"]
    assert (found["cases"], units["answered"], found["left_out"]) == (42, 42, 0)
    right = sum(found["confusion"][label][label] for label in found["confusion"])
    assert sum(sum(judged.values()) for judged in found["confusion"].values()) == 42
    assert found["scores"]["accuracy"]["value"] == pytest.approx(right / 42)
    assert len(found["disagreements"]) == 42 - right > 0
    for one in found["classes"]:
        judged = {gold: row[one["label"]] for gold, row in found["confusion"].items()}
        assert one["gold"] == sum(found["confusion"][one["label"]].values())
        assert one["recall"]["value"] == pytest.approx(judged[one["label"]] / one["gold"])
        assert one["precision"]["value"] == pytest.approx(judged[one["label"]] / max(1, sum(judged.values())))
        assert one["f1"]["low"] <= one["f1"]["value"] <= one["f1"]["high"]


@pytest.mark.parametrize(
    ("argv", "function"),
    [
        (("evaluate", "fect:basic"), lambda: jurist.evaluate("fect:basic", "gold.jsonl")),
        (
            ("evaluate", "harden", "fect:basic", "--cases", 5),
            lambda: jurist.harden("fect:basic", "gold.jsonl", cases=5),
        ),
        (
            ("compare", "fect:basic", "fect-3d:basic", "--repeats", 2),
            lambda: jurist.compare(["fect:basic", "fect-3d:basic"], "gold.jsonl", repeats=2),
        ),
        (
            ("gate", "fect:basic", "--min", "f1=0", "--not-worse-than", "fect-3d:basic"),
            lambda: jurist.gate(
                "fect:basic", "gold.jsonl", minimum={"f1": 0}, not_worse_than="fect-3d:basic"
            ),
        ),
    ],
    ids=["evaluate", "harden", "compare", "gate"],
)
def test_python_gives_what_the_command_prints(argv: tuple[object, ...], function: Callable[[], Any]) -> None:
    found = json.loads(json.dumps(function().to_json()))
    shown = cli(*argv, "--gold", "gold.jsonl", "--json").json
    assert found == {name: shown[name] for name in found}
    assert shown.keys() - found.keys() <= {"forecast", "spend", "ceiling"}


def test_a_card_is_framed_on_a_terminal_and_plain_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words in both; what a judge is called cannot steer a terminal."""
    card = VerdictCard(
        tone="good",
        decision="x\x1b[2J is better " * 9,
        parts=[table("", ["a", "b"], [["one", 0.5]]), "next: run"],
    )
    result = Result(data={}, body=[card])
    plain = result_text(result, Form())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    framed = result_text(result, Form())
    assert "\x1b[2J" not in plain + framed
    lines = re.sub(r"\x1b\[[0-9;]*m", "", framed).splitlines()
    assert (lines[0][0], lines[-1][0]) == ("╭", "╰")
    assert {len(line) for line in lines} == {60}
    assert " ".join(plain.split()) == " ".join(" ".join(line[1:-1] for line in lines[1:-1]).split())


@pytest.mark.parametrize(
    "line",
    [
        "evaluate fect:basic --gold gold.jsonl",
        "gate fect:basic --gold gold.jsonl --max f1=0.001",
        "gold check fect gold.jsonl",
        "compile fect --gold gold.jsonl --optimizer threshold --anyway",
    ],
)
def test_every_command_that_is_to_be_pasted_names_the_store_that_was_named(line: str) -> None:
    write_jsonl(Path("gold.jsonl"), claims(groups=14))
    done = cli(*shlex.split(line), "--store", "my store")
    assert done.code in (0, 3), done.err
    steps = [words for words in done.results if words.startswith(("next: ", "or: "))]
    assert steps
    for step in steps:
        command = step.partition(": ")[2].partition(" (")[0]
        assert "--store 'my store'" in command, step
        build_parser().parse_args(shlex.split(command.replace("=LIMIT", "=0.5"))[1:])


def test_the_precision_of_a_class_that_was_never_given_is_a_dash() -> None:
    rows = claims(groups=14)
    write_jsonl(Path("gold.jsonl"), rows)
    write_jsonl(Path("log.jsonl"), [{**row, "factual": False} for row in rows])
    done = cli("evaluate", "recorded:log.jsonl", "--gold", "gold.jsonl")
    cells = {line.split()[0]: line.split()[1] for line in done.results if line[:1].isalpha() and " " in line}
    assert cells["precision"] == "-"
    assert cells["recall"] == "0.000"


@pytest.mark.parametrize(
    ("judge", "gold", "words"),
    [
        ("fect:basic", "fect-mini", r"(\d+) of 174 cases are judged otherwise than their gold label says"),
        (
            f"{ROOT / 'docs' / 'reply_score.py'}:judge:basic",
            "reply-score",
            r"an answer is 0\.661 from its gold score on average; (\d+) of 180 cases are not answered with exactly the",
        ),
    ],
)
def test_scores_say_how_far_they_are_from_gold_in_both_forms(judge: str, gold: str, words: str) -> None:
    data = ok("evaluate", judge, "--gold", gold, "--json").json
    for options in ((), ("--verbose",)):
        told = ok("evaluate", judge, "--gold", gold, *options).out
        (count,) = re.findall(words, told)
        assert int(count) == len(data["disagreements"])


def test_rows_that_are_left_out_are_counted_by_reason() -> None:
    unlabelled = {"conversation": "c", "factual": None}
    differing = {"conversation": "c", "claim": "d", "ratings": {"ann": True, "bob": False}}
    cases = {
        "": [],
        "1 row set aside: 1 without a label": [{**unlabelled, "claim": "a"}],
        "3 rows set aside: 2 without a label, 1 without an input": [
            {**unlabelled, "claim": "a"},
            {**unlabelled, "claim": "b"},
            {"conversation": "c", "claim": None, "factual": True},
        ],
    }
    for words, more in cases.items():
        write_jsonl(Path("more.jsonl"), [*claims(), *more, differing])
        done = cli("evaluate", "fect:basic", "--gold", "more.jsonl", "--verbose")
        assert done.code == 0
        assert ("set aside" in done.err) == bool(words)
        assert words in done.err
        left_out = ", ".join(filter(None, [words.partition(": ")[2], "1 on which raters differ"]))
        assert f"{len(more) + 1} left out: {left_out}" in " ".join(done.out.split())


def rows_with_languages() -> list[dict[str, Any]]:
    """Return the claims with a language each, which the last one lacks."""
    rows = [{**row, "language": ("de", "en", "en")[number // 3 % 3]} for number, row in enumerate(claims())]
    del rows[-1]["language"]
    return rows


def test_each_value_of_a_column_has_its_score() -> None:
    rows = rows_with_languages()
    found = jurist.evaluate("fect:basic", rows, by="language")
    assert found.by_column is not None
    cases = {value.value: value.cases for value in found.by_column.values}
    assert cases == {"en": 26, "de": 15, "": 1}
    german = [row for row in rows if row.get("language") == "de"]
    alone = jurist.evaluate("fect:basic", german)
    metric = found.by_column.metric
    (score,) = [value.score for value in found.by_column.values if value.value == "de"]
    assert score == alone[metric]
    frame = found.to_frame()
    of_german = frame[frame["language"] == "de"]
    assert (of_german["value"].item(), of_german["cases"].item()) == (score.value, 15)
    assert f"{metric} by language" in found._repr_html_()
    latex = found.to_latex(caption="FECT")
    assert latex.count(r"\toprule") == 2
    assert f"de & 15 & 15 & {score.value:.3f} " in latex
    assert alone.to_latex().count(r"\toprule") == 1


def test_the_command_prints_and_keeps_the_scores_of_a_column() -> None:
    write_jsonl(Path("languages.jsonl"), rows_with_languages())
    command = ("evaluate", "fect:basic", "--gold", "languages.jsonl", "--by", "language")
    for options in ((), ("--verbose",)):
        told = ok(*command, *options).out
        assert told.count("f1 by language") == 1
        assert re.search(r"\(empty\) +1 +1 ", told)
    kept = ok(*command, "--json").json["by_column"]
    assert [value["cases"] for value in kept["values"]] == [26, 15, 1]
    assert "by_column" not in ok(*command[:-2], "--json").json


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("langage", "--by langage: no row of languages has this column; did you mean language?"),
        ("claim", "40 values at most, such as a language or a source"),
        (
            "date",
            "these are dates from 2025-01 to 2025-05, so add a column with the month, such as 2025-01, to the rows",
        ),
        (
            "time",
            "these are dates from 1960-01 to 2001-01, so add a column with the year, such as 1960, to the rows",
        ),
    ],
)
def test_a_column_that_says_nothing_is_refused_before_a_call(
    column: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = itertools.islice(itertools.product(range(1, 6), range(1, 11)), len(claims()))
    rows = []
    for number, ((month, day), row) in enumerate(zip(days, rows_with_languages(), strict=True)):
        times = {"date": f"2025-{month:02}-{day:02}", "time": f"{1960 + number}-01-02 10:00:00"}
        rows.append({**row, **times})
    write_jsonl(Path("languages.jsonl"), rows)
    monkeypatch.setattr("jurist.gold.column_values._MOST_VALUES", 40)
    refused = cli("evaluate", "fect:basic", "--gold", "languages.jsonl", "--by", column)
    assert (refused.code, words in refused.err) == (2, True), refused.err
