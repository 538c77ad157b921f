"""Annotation sheets: what is written reads back, whatever the texts are and however people fill it in."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jurist.errors import GoldError, UsageError
from jurist.gold.goldset import Gold
from jurist.gold.mapping import RowMapping
from jurist.gold.rows import CATEGORIES
from jurist.gold.sheets import open_lines, write_sheet
from jurist.gold.tables import escape_cell, unescape_cell
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge

HOSTILE = [
    *("=1+1", "+1", "-2", "@SUM(A1)", "\t=x", " =x", "'", "''=1", "'=cmd|' /C calc'!A0", "＝1", "\r\n=1"),
    *('he said "hi", twice', "a;b\tc", "line\nline\r\nline\rline", "我很生气。", "é\u2028ü", '"', ","),
    *("[1, 2]", '{"a": 1}', "null", "TRUE", "007", "1e5", "[[ ## label ## ]]", "</claim>", " ", "id-1"),
    "\ufeffx",
]
LETTERS = st.characters(codec="utf-8", exclude_characters="\0\r\n")
TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(LETTERS, min_size=1, max_size=12))
GROUP = st.sampled_from(["", "g", "=g", "ü,;"])


def fect_rows() -> st.SearchStrategy[list[dict[str, Any]]]:
    row = st.fixed_dictionaries({"conversation": TEXT, "claim": TEXT, "group": GROUP})
    return st.lists(row, min_size=1, max_size=4, unique_by=lambda row: (row["conversation"], row["claim"]))


def response_rows() -> st.SearchStrategy[list[dict[str, Any]]]:
    turn = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": TEXT})
    row = st.fixed_dictionaries(
        {"reference": TEXT, "sentences": st.lists(TEXT, min_size=1, max_size=3), "group": GROUP},
        optional={"question": TEXT, "history": st.lists(turn, max_size=2)},
    )
    return st.lists(row, min_size=1, max_size=3, unique_by=lambda row: row["reference"])


SETS = st.tuples(st.just(FECT), fect_rows()) | st.tuples(st.just(COGNIBENCH), response_rows())
Filled = dict[tuple[str, int], tuple[str, str]]
WHY = "=because\nof it"


@given(st.text() | st.sampled_from(HOSTILE))
@example("'")
def test_a_cell_comes_back_and_is_no_formula(text: str) -> None:
    cell = escape_cell(text)
    assert unescape_cell(cell) == text
    assert cell.strip()[:1] not in tuple("=+-@＝＋－＠")
    # a program that takes the apostrophe for its own mark gives the text back as well
    if not text.startswith("'"):
        assert unescape_cell(cell.removeprefix("'")) == text


def cells(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def fill(path: Path, answers: Filled, rater: str, delimiter: str) -> None:
    """Fill a CSV in as a person would, save it as a spreadsheet program would, and turn the lines round."""
    header, *lines = cells(path)
    names = ("case", "unit", f"rater:{rater}", "ambiguity", f"reason:{rater}")
    places = [header.index(name) for name in names]
    for line in lines:
        key = (line[places[0]].removeprefix("id-"), int(line[places[1]]) - 1)
        line[places[2]], line[places[3]] = answers.get(key, ("", ""))
        line[places[4]] = escape_cell(WHY)
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows([header, *lines[::-1]])


def said(gold: Gold, rater: str) -> dict[tuple[str, int], str]:
    return {
        (case.id, unit): label
        for case in gold.cases
        for unit, label in enumerate(case.ratings.get(rater, ()))
        if label is not None
    }


def draw_answers(data: st.DataObject, gold: Gold) -> Filled:
    label = st.sampled_from(["", "n/a", *gold.judge.answer.labels])
    reason = st.sampled_from(["", *CATEGORIES])
    lines = open_lines(gold, with_labelled=True)
    return {(line.case.id, line.unit): (data.draw(label), data.draw(reason)) for line in lines}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), SETS, st.sampled_from(",;\t"))
def test_a_filled_csv_gives_the_cases_and_the_labels_back(
    tmp_path: Path, data: st.DataObject, made: tuple[Judge, list[dict[str, Any]]], delimiter: str
) -> None:
    judge, rows = made
    gold, path = Gold.of(rows, judge, labelled=False), tmp_path / "sheet.csv"
    path.unlink(missing_ok=True)
    write_sheet(open_lines(gold), gold, path, rater="ann")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    answers = draw_answers(data, gold)
    fill(path, answers, "ann", delimiter)
    again = Gold.load(path, judge, labelled=False)
    assert {(case.id, case.group) for case in again.cases} == {(case.id, case.group) for case in gold.cases}
    assert said(again, "ann") == {
        key: label for key, (label, _) in answers.items() if label not in ("", "n/a")
    }
    for case in again.cases:
        units = range(1, len(judge.answer.units(case.inputs)) + 1)
        whole = "\n".join(f"{unit}: {WHY}" if len(units) > 1 else WHY for unit in reversed(units))
        assert case.reason == f"ann: {whole}"


def test_open_units_are_those_without_a_label_of_gold_or_of_the_rater() -> None:
    row = {
        "reference": "r",
        "sentences": ["a", "b", "c"],
        "labels": ["faithful", None, None],
        "ratings": {"ann": ["faithful", "invented", None]},
    }
    gold = Gold.of([row, {"reference": "q", "sentences": ["d"]}], COGNIBENCH, labelled=False)
    assert [line.unit for line in open_lines(gold)] == [1, 2, 0]
    assert [line.unit for line in open_lines(gold, rater="ann")] == [2, 0]
    assert [line.unit for line in open_lines(gold, with_labelled=True)] == [0, 1, 2, 0]
    assert [line.unit for line in open_lines(gold, rater="ann", with_labelled=True)] == [2, 0]


def two(tmp_path: Path, **changes: str) -> Path:
    """Write a filled sheet of two responses, with some cells of the second line changed."""
    rows = [{"reference": "r", "sentences": ["a", "b"]}, {"reference": "q", "sentences": ["c"]}]
    gold, path = Gold.of(rows, COGNIBENCH, labelled=False), tmp_path / "s.csv"
    write_sheet(open_lines(gold), gold, path, rater="ann")
    header, *lines = cells(path)
    for name, value in changes.items():
        lines[1][header.index({"rater": "rater:ann", "reference": "input:reference"}.get(name, name))] = value
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *lines])
    return path


@pytest.mark.parametrize(
    ("changes", "where", "message"),
    [
        ({"rater": "true"}, "rater:ann", "unknown label 'true'; use one of: irrelevant"),
        ({"case": "id-0123456789abcdef"}, "case", "not those of case '0123456789abcdef'"),
        ({"reference": "other"}, "case", "the inputs of this line are not those"),
        ({"unit": "3"}, "unit", "has 2 units, and no such unit"),
        ({"unit": "²"}, "unit", "no such unit"),
        ({"unit": ""}, "unit", "no such unit"),
        ({"json:sentences": "[a"}, "sentences", "a valid list"),
    ],
)
def test_what_is_wrong_in_a_csv_is_named_with_file_line_and_column(
    tmp_path: Path, changes: dict[str, str], where: str, message: str
) -> None:
    path = two(tmp_path, **changes)
    with pytest.raises(GoldError) as caught:
        Gold.load(path, COGNIBENCH, labelled=False)
    assert f"{path}:3, field '{where}': " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(("end", "other"), [("\r\n", "\n"), ("\n", "\r\n")])
def test_capitals_spaces_and_another_way_to_end_lines_do_not_matter(
    tmp_path: Path, end: str, other: str
) -> None:
    gold = Gold.of([{"conversation": f"a{end}b", "claim": "x"}], FECT, labelled=False)
    path = tmp_path / "s.csv"
    write_sheet(open_lines(gold), gold, path, rater="ann")
    text = path.read_bytes().decode("utf-8-sig")
    assert f'"a{end}b"' in text
    text = text.replace(f"a{end}b", f"a{other}b").replace("non_factual,,,", "non_factual, FACTUAL ,,Relation")
    path.write_bytes(text.encode())
    (case,) = Gold.load(path, FECT, labelled=False).cases
    assert (case.id, case.ratings) == (gold.cases[0].id, {"ann": ("factual",)})


def test_a_judge_may_read_a_reason_of_its_own_and_what_is_no_text(tmp_path: Path) -> None:
    fields = "question, reason, context: Optional[str], parts: Union[str, list[str]] -> right: bool"
    signature = dspy.Signature(fields, "Is the reason right?")
    turned = {
        "question": "reason",
        "reason": "question",
    }  # a sheet has the judge's names, whatever theirs are
    judge = Judge(name="reasons", signature=signature, positive="false", columns=turned)
    row = {"question": "q", "reason": "r", "context": None, "parts": ["a", "null"]}
    theirs = {**row, "question": "r", "reason": "q"}
    gold = Gold.of([theirs, theirs], judge, labelled=False)
    write_sheet(open_lines(gold), gold, tmp_path / "s.csv", rater="ann")
    (case,) = Gold.load(tmp_path / "s.csv", judge, labelled=False).cases
    assert (case.inputs, case.reason) == (row, "")
    (tmp_path / "g.jsonl").write_text(json.dumps({**theirs, "good": True}), encoding="utf-8")
    both, named = (tmp_path / "g.jsonl", tmp_path / "s.csv"), RowMapping(columns={"good": "right"})
    (case,) = Gold.load(both, judge, mapping=named, labelled=False).cases
    assert (case.inputs, case.gold) == (row, ("true",))


REFUSED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    **{
        f"a rater called {name!r}": ({"claim": "x"}, name, "a.csv", "cannot head a column")
        for name in ("", " ann", "a,b", 'a"b', "a\nb", "a;b", "'ann")
    },
    "a file that exists": ({"claim": "x"}, "ann", "mine.csv", "mine.csv exists and may hold labels"),
    "nothing to label": ({"claim": "x", "factual": True}, "ann", "a.csv", "there is no unit to label"),
    "what no CSV can hold": ({"claim": "x\0"}, "ann", "a.csv", "no CSV can hold the characters of this row"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_sheet_that_cannot_be_is_refused_and_nothing_is_written(kind: str, tmp_path: Path) -> None:
    row, rater, name, said = REFUSED[kind]
    (tmp_path / "mine.csv").write_text("my labels")
    gold = Gold.of([{"conversation": "c", **row}], FECT, labelled=False)
    with pytest.raises((UsageError, GoldError), match=said):
        write_sheet(open_lines(gold), gold, tmp_path / name, rater=rater)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("mine.csv", "my labels")]
