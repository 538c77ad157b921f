"""Gold repaired in one pass: all that is wrong at once, other names and shapes of rows, bad rows set aside."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pytest
from judges import CHECK, FLAG
from small import cli

from jurist.cases import Case
from jurist.errors import GoldError
from jurist.gold.goldset import Gold
from jurist.gold.mapping import RowMapping
from jurist.gold.new_rows import Source
from jurist.gold.rejects import Rejects
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge

ROOT = Path(__file__).parents[2]
OWN = f"{ROOT}/docs/may_send.py:judge"
GOOD = [{"policy": "p", "reply": f"r{n}", "verdict": "send" if n % 2 else "hold"} for n in range(4)]
CSV = """\
rule,answer,verdict,by
We refund,We will refund you in 3 days,Send,ann
We refund,hello there,HOLD,bob
We refund,maybe,perhaps,ann
,empty rule,ok,ann
We refund,too,many,cells,here
"We refund
always",last,no,bob
"""


def test_everything_that_is_wrong_is_listed_at_once_with_counts_and_places(tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(CSV, encoding="utf-8")
    done = cli("gold", "check", OWN, "--gold", file, "--json")
    problems = {(one["field"], one["reason"]): one for one in done.json["problems"]}
    assert done.code == 1
    assert [line[:6] for line in done.lines] == ["error:"]
    assert problems["policy", "the field is missing"]["rows"] == 5
    assert problems["reply", "the field is missing"]["places"][0] == f"{file}:2"
    assert problems["verdict", "unknown label 'perhaps'"]["rows"] == 1
    assert problems["", "the row has 5 cells, the header has 4"]["places"] == [f"{file}:6"]


@pytest.mark.parametrize(
    ("labels", "kept", "aside", "merged"),
    [
        (["send", "send"], ["send"], [], 1),
        (["send", "hold"], [], ["send", "hold"], 0),
        (["send", "send", "hold"], [], ["send", "send", "hold"], 0),
        (["send", None, "hold"], [], ["send", "hold"], 0),
    ],
)
def test_rows_that_contradict_each_other_are_all_set_aside(
    labels: list[str | None], kept: list[str], aside: list[str], merged: int, tmp_path: Path
) -> None:
    torn = [{"policy": "p", "reply": "again", "verdict": label} for label in labels]
    rejects = Rejects(tmp_path / "bad.jsonl")
    gold = Gold.of([*torn[:1], *GOOD, *torn[1:]], CHECK, rejects=rejects)
    found = [case.gold for case in gold.cases if case.inputs["reply"] == "again"]
    assert (found, len(gold.cases), gold.merged) == ([(one,) for one in kept], len(GOOD) + len(kept), merged)
    assert rejects.count == len(aside)
    if aside:
        written = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
        assert [line["row"]["verdict"] for line in written] == aside
        assert {line["reason"] for line in written} == {"equal inputs and different labels (hold and send)"}


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (lambda label: {"verdict": label}, "equal inputs and different labels (hold and send)"),
        (
            lambda label: {"ratings": {"ann": label}},
            "equal inputs, and rater 'ann' calls the row both 'hold' and 'send'",
        ),
    ],
)
def test_rows_that_contradict_each_other_either_way_round_are_one_problem(
    label: Callable[[str], dict[str, Any]], reason: str
) -> None:
    labels = {"first": ("send", "hold"), "second": ("hold", "send")}
    torn = []
    for reply, of_reply in labels.items():
        torn += [{"policy": "p", "reply": reply, **label(one)} for one in of_reply]
    rejects = Rejects()
    Gold.of([*GOOD, *torn], CHECK, rejects=rejects)
    assert [(problem.reason, problem.rows) for problem in rejects.problems()] == [(reason, 4)]


def test_names_of_columns_and_labels_are_mapped_and_bad_rows_set_aside_with_reasons(tmp_path: Path) -> None:
    file, aside, mended = tmp_path / "bad.csv", tmp_path / "aside.jsonl", tmp_path / "mended.jsonl"
    file.write_text(CSV, encoding="utf-8")
    # It is a copy, because gold import writes the names of columns into the judge's file.
    judge_file = tmp_path / "may_send.py"
    judge_file.write_text((ROOT / "docs" / "may_send.py").read_text("utf-8"), "utf-8")
    judge = f"{judge_file}:judge"
    names = ("--column", "rule=policy", "--column", "answer=reply", "--map", "ok=send", "--map", "NO=hold")
    done = cli("gold", "import", judge, file, *names, "--rejects", aside, "--output", mended)
    rows = [json.loads(line) for line in mended.read_text().splitlines()]
    assert done.code == 0, done.err
    assert [row["verdict"] for row in rows] == ["send", "hold", "send", "hold"]
    assert rows[0]["policy"] == "We refund"
    bad = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [(one["source"], one["reason"]) for one in bad] == [
        (f"{file}:6", "the row has 5 cells, the header has 4"),
        (f"{file}:4", "unknown label 'perhaps'"),
    ]
    assert bad[1]["row"] == {"rule": "We refund", "answer": "maybe", "verdict": "perhaps", "by": "ann"}
    for place in (file, mended):  # neither what is read nor what is written is overwritten
        refused = cli("gold", "import", judge, file, *names, "--rejects", place, "--output", mended)
        assert (refused.code, "would write into" in refused.lines[0]) == (2, True)


def test_a_bad_row_refuses_the_whole_and_the_line_says_how_many_more_there_are() -> None:
    rows = [*GOOD, {**GOOD[0], "verdict": "no"}, {"policy": "p"}]
    with pytest.raises(GoldError) as caught:
        Gold.of(rows, CHECK)
    assert str(caught.value).startswith("rows:5, field 'verdict': unknown label 'no'; use one of: send, hold")
    assert "2 rows are bad" in str(caught.value)
    aside = Rejects()
    assert len(Gold.of(rows, CHECK, rejects=aside).cases) == 4
    assert (aside.count, [one.rows for one in aside.problems()]) == (2, [1, 1])
    for number in [*range(1100), 7]:  # where each row has a fault of its own, the first ones are counted
        aside.add(GoldError(f"fault {number}", path="rows"), None)
    assert [(one.reason, one.rows) for one in aside.problems()[:1]] == [("fault 7", 2)]
    assert len(aside.problems()) == 1000


YES_OR_NO = replace(CHECK, labels=("Yes", "No"), positive="No")
SENTENCES = {"reference": "r", "sentences": ["a", "b"], "labels": ["Faithful", "made up"]}
LABELS: list[tuple[Judge, dict[str, Any], dict[str, str], tuple[Any, ...]]] = [
    (CHECK, {"policy": "p", "reply": "r", "verdict": " Hold "}, {}, ("hold",)),
    *(
        (CHECK, {"policy": "p", "reply": "r", "verdict": 1.0}, {said: "hold"}, ("hold",))
        for said in ("1", "1.0")
    ),
    (FLAG, {"message": "m", "rude": "Yes"}, {"yes": "true"}, ("true",)),
    *(
        (YES_OR_NO, {"policy": "p", "reply": "r", "verdict": said}, {}, ("No",))
        for said in (False, "FALSE", 0, "f")
    ),
    (FECT, {"conversation": "c", "claim": "d", "claim_is_factual": "OK"}, {"ok": "factual"}, ("factual",)),
    (FECT, {"conversation": "c", "claim": "d", "factual": "Non_Factual"}, {}, ("non_factual",)),
    (COGNIBENCH, SENTENCES, {"made up": "invented"}, ("faithful", "invented")),
]


@pytest.mark.parametrize(("judge", "row", "labels", "gold"), LABELS)
def test_labels_are_read_whatever_their_capitals_and_as_the_user_says(
    judge: Judge, row: dict[str, Any], labels: dict[str, str], gold: tuple[Any, ...]
) -> None:
    found = Gold.of([row], judge, labelled=False, mapping=RowMapping(labels=labels))
    assert found.cases[0].gold == gold


FRAMES = {
    "list": lambda rows: rows,
    "iterator": iter,
    "pandas": pandas.DataFrame,
    "polars": lambda rows: pytest.importorskip("polars", reason="Polars is not installed").DataFrame(rows),
    "pyarrow": pyarrow.Table.from_pylist,
}


@pytest.mark.parametrize("frame", FRAMES)
def test_lists_and_tables_are_gold(frame: str) -> None:
    rows = [{**row, "policy": 2**n, "group": 7 if n else None} for n, row in enumerate(GOOD)]
    rows[0].pop("group") if frame in ("list", "iterator") else None
    found, loaded = (read(FRAMES[frame](rows), CHECK) for read in (Gold.of, Gold.load))
    assert loaded.cases == found.cases
    assert [(*case.inputs.values(), case.gold) for case in found.cases] == [
        (str(row["policy"]), row["reply"], (row["verdict"],)) for row in rows
    ]
    assert found.cases[1].group == "7"
    assert found.cases[0].group not in ("", "nan", "None")


PATHS = {"meta.policy": "policy", "outputs.0": "reply"}
SHAPES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "nested": (
        {"meta.policy": "policy", "outputs.0": "reply", "scores.overall": "verdict"},
        {"meta": {"policy": "p"}, "outputs": ["r"], "scores": {"overall": "Send"}},
    ),
    "JSON": (PATHS, {"meta": '{"policy": "p"}', "outputs": '["r"]', "verdict": "send"}),
    "a name with a dot": ({"a.b": "policy"}, {"a.b": "p", "a": {"b": "x"}, "reply": "r", "verdict": "send"}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_column_may_be_a_path_on_the_command_line_and_in_the_judges_file(shape: str) -> None:
    columns, row = SHAPES[shape]
    other = {"policy": "q", "reply": "s", "verdict": "hold"}
    own = replace(CHECK, columns=columns)
    for found in (
        Gold.of([row], CHECK, labelled=False, mapping=RowMapping(columns=columns)),
        Gold.of([row, other], own),  # a row under the judge's own names is read too
    ):
        case = found.cases[0]
        assert (dict(case.inputs), case.gold) == ({"policy": "p", "reply": "r"}, ("send",))
    (new,) = Source(name="<rows>", judge=own, records=[row]).rows()
    assert isinstance(new, Case)
    assert new.inputs["reply"] == "r"


def test_labels_that_say_nothing_are_left_out_and_counted() -> None:
    judge = replace(CHECK, values={"OK": "send", "bad": "hold", "unsure": ""})
    labels = ["ok", "Bad", "Unsure", float("nan"), None]
    gold = Gold.of([{"policy": "p", "reply": str(n), "verdict": one} for n, one in enumerate(labels)], judge)
    assert ([case.gold for case in gold.cases], gold.skipped) == ([("send",), ("hold",)], 3)


ASIDE: dict[str, tuple[dict[str, Any], str]] = {  # what a row has instead, and why it is set aside, if it is
    "no input": ({"policy": "p", "reply": None}, "without an input"),
    "no input and no label": ({"policy": "p", "reply": None, "verdict": None}, "without an input"),
    "an input that is no number": ({"policy": "p", "reply": float("nan")}, "without an input"),
    "nothing but blanks": ({"policy": " ", "reply": ""}, "without an input"),
    "one input of two that is blank": ({"policy": "", "reply": "r"}, ""),
    "unsure": ({"verdict": " Unsure "}, "without a label"),
    "a dash": ({"verdict": "-"}, "without a label"),
    "an empty text": ({"verdict": ""}, "without a label"),
    "n/a": ({"verdict": "N/A"}, "without a label"),
    "no label": ({"verdict": None}, "without a label"),
    "a label that is no number": ({"verdict": float("nan")}, "without a label"),
}


@pytest.mark.parametrize("row", ASIDE)
def test_a_row_without_an_input_or_a_label_is_set_aside_and_counted(row: str) -> None:
    rows = [{"policy": "p", "reply": f"r{n}", "verdict": ("send", "hold")[n % 2]} for n in range(4)]
    changed, reason = ASIDE[row]
    gold = Gold.of([*rows, {"policy": "q", "reply": "s", "verdict": "send", **changed}], CHECK)
    assert (len(gold.cases), gold.skipped_by) == ((4, {reason: 1}) if reason else (5, {}))
    assert (gold.read, gold.skipped) == (5, len(gold.skipped_by))
