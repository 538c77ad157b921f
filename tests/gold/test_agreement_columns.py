"""Ratings from columns ``rater:NAME``: the same as from the object ``ratings``, in every kind of file."""

import json
from pathlib import Path
from typing import Any, Literal

import dspy
import pyarrow
import pyarrow.parquet
import pytest

from jurist.errors import GoldError
from jurist.gold.goldset import Gold, import_gold
from jurist.gold.mapping import RowMapping
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge

CSV = (
    "conversation,claim,factual,rater:ann,rater: bob ,rater:cem\n"
    "c1,x,true,TRUE,factual,\n"
    "c2,y,false,false, non_factual ,true\n"
)
WANTED: list[dict[str, tuple[str, ...]]] = [
    {"ann": ("factual",), "bob": ("factual",)},
    {"ann": ("non_factual",), "bob": ("non_factual",), "cem": ("factual",)},
]


TYPED: list[dict[str, Any]] = [
    {"conversation": "c1", "claim": "x", "factual": True, "rater:ann": True, "rater:cem": None},
    {"conversation": "c2", "claim": "y", "factual": False, "rater:ann": False, "rater:cem": True},
]
BESIDE = [{**row, "ratings": {"bob": row["factual"]}} for row in TYPED]
LONG = (
    "conversation,claim,factual,rater\n"
    "c1,x,true,ann\nc2,y,false, ann \nc1,x,TRUE,bob\nc2,y,Non_Factual,bob\nc2,y,true,cem\nc1,x,,cem\n"
)


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue().to_pybytes())


FORMS: dict[str, bytes] = {
    "columns of CSV": CSV.encode(),
    "columns of JSONL beside the object": "\n".join(map(json.dumps, BESIDE)).encode(),
    "columns of Parquet beside the object": _parquet(BESIDE),
    "a row for each rater": LONG.encode(),
    "a row for each rater, and rows of nobody": (LONG + "c1,x,true,\nc2,y,false,\n").encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_ratings_are_the_same_in_every_form(form: str, tmp_path: Path) -> None:
    file = tmp_path / "gold"
    file.write_bytes(FORMS[form])
    assert [case.ratings for case in Gold.load(file, FECT, labelled=False).cases] == WANTED


def test_columns_are_imported_as_the_object(tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    file.write_text(CSV, encoding="utf-8")
    gold = import_gold(file, FECT, tmp_path / "gold.jsonl")
    first = json.loads((tmp_path / "gold.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["ratings"] == {"ann": "TRUE", "bob": "factual"}
    assert not [key for key in first if key.startswith("rater:")]
    again = Gold.load(tmp_path / "gold.jsonl", FECT)
    assert ([case.ratings for case in again.cases], again.sha256) == (WANTED, gold.sha256)


def test_a_column_holds_the_labels_of_every_sentence(tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    file.write_text(
        'reference,sentences,rater:ann\nr,"[""a"", ""b""]","[""faithful"", null]"\n', encoding="utf-8"
    )
    (case,) = Gold.load(file, COGNIBENCH, labelled=False).cases
    assert (case.gold, case.ratings) == (None, {"ann": ("faithful", None)})


def test_columns_stand_beside_the_second_file(tmp_path: Path) -> None:
    row = {"conversation": "c1", "claim": "x", "factual": True, "rater:ann": False}
    rows = [row, {**row, "claim": "y", "factual": False}]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "second.jsonl").write_text('{"row": 0, "factual": false}\n', encoding="utf-8")
    one, two = Gold.load(tmp_path, FECT).cases
    assert one.ratings == {"first": ("factual",), "second": ("non_factual",), "ann": ("non_factual",)}
    assert two.ratings == {"ann": ("non_factual",)}


@pytest.mark.parametrize(
    ("text", "line", "field", "said"),
    [
        (CSV + "c3,z,true,true,maybe,\n", 4, "rater: bob", "the rating 'maybe' does not fit the row"),
        ("conversation,claim,factual,rater:\nc,d,true,true\n", 2, "rater:", "the column names no rater"),
        (
            'conversation,claim,factual,rater:ann,ratings\nc,d,true,true,"{""ann"": ""factual""}"\n',
            2,
            "rater:ann",
            "rater 'ann' has two labels, 'factual' and 'true'",
        ),
        (
            "conversation,claim,factual,rater:ann,rater: ann\nc,d,true,true,false\n",
            2,
            "rater: ann",
            "rater 'ann' has two labels, 'true' and 'false'",
        ),
    ],
)
def test_a_fault_names_file_line_and_column(
    text: str, line: int, field: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "gold.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(GoldError) as caught:
        Gold.load(file, FECT)
    assert said in str(caught.value)
    assert (caught.value.path, caught.value.line, caught.value.field) == (str(file), line, field)


def test_a_row_for_each_rater_under_other_names_and_with_two_labels(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text(LONG.replace("rater", "who"), encoding="utf-8")
    named = Gold.load(file, FECT, labelled=False, mapping=RowMapping(columns={"who": "rater"}))
    assert [case.ratings for case in named.cases] == WANTED
    file.write_text(LONG + "c1,x,false,ann\n", encoding="utf-8")
    with pytest.raises(GoldError, match="rater 'ann' calls unit 1 both 'factual' and 'non_factual'"):
        Gold.load(file, FECT)


def test_numbers_name_raters_too(tmp_path: Path) -> None:
    rows = [{"conversation": "c1", "claim": "x", "factual": True, "rater": who} for who in (1.0, 2.0)]
    file = tmp_path / "long.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (case,) = Gold.load(file, FECT, labelled=False).cases
    assert list(case.ratings) == ["1", "2"]
    with pytest.raises(GoldError, match="what raters said is no gold yet"):
        Gold.load(file, FECT)


def test_a_rater_that_a_judge_reads_is_no_name(tmp_path: Path) -> None:
    class Who(dspy.Signature):
        """Say whether a rater may say that."""

        text: str = dspy.InputField()
        rater: str = dspy.InputField()
        label: Literal["yes", "no"] = dspy.OutputField()

    judge = Judge(name="who", signature=Who, positive=frozenset({"yes"}))
    rows = [{"text": "a", "rater": "ann", "label": "yes"}, {"text": "b", "rater": "bob", "label": "no"}]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [case.gold for case in Gold.load(file, judge).cases] == [("yes",), ("no",)]


def test_the_label_of_a_row_without_a_name_is_nobodys_rating(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text(LONG + "c1,x,true,\nc2,y,false,\n", encoding="utf-8")
    gold = Gold.load(file, FECT)
    assert [case.gold for case in gold.cases] == [("factual",), ("non_factual",)]
    assert [case.ratings for case in gold.cases] == WANTED
