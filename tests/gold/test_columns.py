"""Data in its own shape: paths into rows, columns and labels that a judge's file names, labels that say nothing."""

import json
from dataclasses import replace
from typing import Any

import pytest
from judges import CHECK

from jurist.errors import GoldError
from jurist.gold.goldset import Gold
from jurist.gold.mapping import RowMapping
from jurist.gold.new_rows import BadRow, NewRow, Source
from jurist.programs.definition import defined, definition_of

PARTS = {"parts[].text": "reply", "parts[].ok": "verdict"}
PATHS = {"meta.policy": "policy", "outputs.0": "reply"}
SHAPES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "nested": (
        {"meta.policy": "policy", "outputs.0": "reply", "scores.overall": "verdict"},
        {"meta": {"policy": "p"}, "outputs": ["r"], "scores": {"overall": "Send"}},
    ),
    "JSON": (PATHS, {"meta": '{"policy": "p"}', "outputs": '["r"]', "verdict": "send"}),
    "a name with a dot": ({"a.b": "policy"}, {"a.b": "p", "a": {"b": "x"}, "reply": "r", "verdict": "send"}),
    "a list": (PARTS, {"policy": "p", "parts": [{"text": "r", "ok": "send"}]}),
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
    (new,) = Source(name="<rows>", judge=own, given=[row]).rows()
    assert isinstance(new, NewRow)
    assert new.case.inputs["reply"] == "r"


def test_each_item_of_a_list_is_a_row_and_those_of_one_row_belong_together() -> None:
    rows = [
        {"policy": f"p{n}", "parts": [{"text": f"{n}{k}", "ok": ["send", "hold"][k % 2]} for k in range(3)]}
        for n in range(4)
    ]
    gold = Gold.of(rows, replace(CHECK, columns=PARTS, common=("policy",)))
    assert (len(gold.cases), len({case.group for case in gold.cases})) == (12, 4)
    torn = {"policy": "p", "parts": [{"text": "a"}], "marks": ["send", "hold"]}
    with pytest.raises(GoldError, match="differ in length: marks has 2, parts has 1"):
        Gold.of([torn], other := replace(CHECK, columns={"parts[].text": "reply", "marks[]": "verdict"}))
    (bad,) = Source(name="<rows>", judge=other, given=[torn]).rows()
    assert isinstance(bad, BadRow)
    assert bad.error.source == "<rows>:1"


def test_labels_that_say_nothing_are_left_out_and_counted() -> None:
    judge = replace(CHECK, values={"OK": "send", "bad": "hold", "unsure": ""})
    labels = ["ok", "Bad", "Unsure", float("nan"), None]
    gold = Gold.of([{"policy": "p", "reply": str(n), "verdict": one} for n, one in enumerate(labels)], judge)
    assert ([case.gold for case in gold.cases], gold.skipped) == ([("send",), ("hold",)], 3)


def test_how_files_are_read_is_kept_with_the_definition_and_flags_go_before_it() -> None:
    judge = replace(CHECK, columns={"answer": "reply"}, values={"ok": "send"})
    data = definition_of(judge)
    assert data
    again = defined(json.loads(json.dumps(data)))
    assert (again.columns, again.values) == (judge.columns, judge.values)
    row = {"policy": "p", "answer": "a", "other": "b", "verdict": "ok"}
    flags = RowMapping(columns={"other": "reply"}, labels={"ok": "hold"})
    (case,) = Gold.of([row], again, labelled=False, mapping=flags).cases
    assert (case.inputs["reply"], case.gold) == ("b", ("hold",))


ASIDE: dict[str, tuple[dict[str, Any], bool]] = {
    "no input": ({"policy": "p", "reply": None}, True),
    "an input that is no number": ({"policy": "p", "reply": float("nan")}, True),
    "nothing but blanks": ({"policy": " ", "reply": ""}, True),
    "one input of two that is blank": ({"policy": "", "reply": "r"}, False),
    "unsure": ({"verdict": " Unsure "}, True),
    "n/a": ({"verdict": "N/A"}, True),
    "no label": ({"verdict": None}, True),
    "a label that is no number": ({"verdict": float("nan")}, True),
}


@pytest.mark.parametrize("row", ASIDE)
def test_a_row_without_an_input_or_a_label_is_set_aside_and_counted(row: str) -> None:
    rows = [{"policy": "p", "reply": f"r{n}", "verdict": ("send", "hold")[n % 2]} for n in range(4)]
    changed, aside = ASIDE[row]
    gold = Gold.of([*rows, {"policy": "q", "reply": "s", "verdict": "send", **changed}], CHECK)
    assert (len(gold.cases), gold.skipped) == ((4, 1) if aside else (5, 0))


@pytest.mark.parametrize("label", ["-", "perhaps", "no"])
def test_a_label_that_nobody_knows_is_no_unsure_one(label: str) -> None:
    with pytest.raises(GoldError, match="unknown label"):
        Gold.of(
            [
                {"policy": "p", "reply": "r", "verdict": "send"},
                {"policy": "p", "reply": "s", "verdict": label},
            ],
            CHECK,
        )
