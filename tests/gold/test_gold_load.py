"""Loading gold: labels, groups, ratings in every form, and duplicates; every error with its file, line and field."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from judges import CHECK, FLAG

from jurist.cases import case_id
from jurist.errors import GoldError
from jurist.gold.goldset import Gold
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge


def fect(conversation: str, claim: str, factual: Any = True, **more: Any) -> dict[str, Any]:
    return {"conversation": conversation, "claim": claim, "factual": factual, **more}


def response(*labels: str | None, **more: Any) -> dict[str, Any]:
    return {"reference": "r", "sentences": ["a", "b"][: len(labels)], "labels": list(labels), **more}


GOOD = [fect("c1", "x"), fect("c2", "y", factual=False)]


def write(place: Path, rows: list[Any] | str | pyarrow.Table, name: str = "gold.jsonl") -> Path:
    file = place / name
    if isinstance(rows, pyarrow.Table):
        pyarrow.parquet.write_table(rows, file)
        return file
    text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
    file.write_text(text, encoding="utf-8")
    return file


COLUMNS = (
    "conversation,claim,factual,rater:ann,rater: bob ,rater:cem\n"
    "c1,x,true,TRUE,factual,\n"
    "c2,y,false,false, non_factual ,true\n"
)
HEAD = "conversation,claim,factual,"
AUTHORS = {"conversation": "c", "claim": "d", "claim_is_factual": "perhaps"}
TORN, SHORT = {**response("faithful"), "sentences": ["a", "b"]}, response("faithful", ratings={"a": []})
OWN_ROW = {"policy": "p", "reply": "r", "verdict": "holt"}
ERRORS: dict[str, tuple[Judge, list[Any] | str, int | None, str, str]] = {
    "missing column": (FECT, [*GOOD, {"conversation": "c"}], 3, "claim", "the field is missing"),
    "a list": (FECT, [fect(["c"], "d")], 1, "conversation", "text, got a list; say what in it is the text: mapping="),  # type: ignore[arg-type]
    "columns of one name": (FECT, "conversation,claim,claim\nc,d,e\n", 2, "claim", 'mapping={"claim.0": "claim"}'),
    "an object": (FECT, [fect("c", {"a": 7})], 1, "claim", "got an object; say what in it is the text"),  # type: ignore[arg-type]
    "empty text": (FECT, [fect("c", "")], 1, "claim", "at least 1 character"),
    "unknown label": (FECT, [*GOOD, fect("c", "d", "maybe")], 3, "factual", "'maybe'; use one of"),
    "of the authors": (FECT, [AUTHORS], 1, "claim_is_factual", "'perhaps'; use one of: factual, non_factual"),
    "of an own judge": (CHECK, [OWN_ROW], 1, "verdict", "unknown label 'holt'; use one of: send, hold"),
    "of a bool judge": (FLAG, [{"message": "m", "rude": "very"}], 1, "rude", "unknown label 'very'"),
    "of one sentence": (COGNIBENCH, [response("faithful", "true")], 1, "labels[1]", "unknown label 'true'"),
    "labels for other sentences": (COGNIBENCH, [TORN], 1, "", "1 entries for 2 sentences"),
    "no labels": (FECT, [fect("c", "d", None), fect("c", "e", None)], None, "factual", "none of the 2 rows"),
    "only positive": (FECT, [fect("c", "d", False)], None, "", "no negative one; add rows labelled factual"),
    "only negative": (FECT, [fect("c", "d"), fect("c", "e")], None, "", "there is no positive one; add rows"),
    "ratings of a wrong kind": (FECT, [fect("c", "d", ratings=["x"])], 1, "ratings", "must be an object"),
    "rating of a wrong kind": (FECT, [fect("c", "d", ratings={"a": "hm"})], 1, "ratings.a", "'hm' does not fit"),
    "rating too short": (COGNIBENCH, [SHORT], 1, "ratings.a", "does not fit"),
    "rating in a column": (FECT, COLUMNS + "c3,z,true,true,maybe,\n", 4, "rater: bob", "'maybe' does not fit the row"),
    "column of no rater": (FECT, HEAD + "rater:\nc,d,true,true\n", 2, "rater:", "the column names no rater"),
    "rating given twice": (FECT, HEAD + "rater:a,rater: a\nc,d,1,x,y\n", 2, "rater: a", "two labels, 'x' and 'y'"),
    "and in the object": (FECT, HEAD + 'rater:a,ratings\nc,d,1,x,"{""a"": ""y""}"\n', 2, "rater:a", "has two labels"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_names_file_line_and_field_in_one_line(kind: str, tmp_path: Path) -> None:
    judge, rows, line, field, said = ERRORS[kind]
    file = write(tmp_path, rows, "gold.csv" if isinstance(rows, str) else "gold.jsonl")
    with pytest.raises(GoldError) as caught:
        Gold.load(file, judge)
    assert said in str(caught.value)
    assert (caught.value.path, caught.value.line, caught.value.field) == (str(file), line, field)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_duplicates_that_agree_are_merged_and_counted_and_a_label_wins_over_none() -> None:
    rated = fect("c", "d", ratings={"bob": False, "ann": "factual"})
    rows = [fect("c", "d", ratings={"ann": True}), *GOOD, rated]
    gold = Gold.of([*rows, *GOOD], FECT)
    assert (len(gold.cases), gold.merged) == (3, 3)
    assert gold.cases[0].ratings == {"ann": ("factual",), "bob": ("non_factual",)}
    assert gold.sha256 == Gold.of(rows[:3], FECT).sha256
    assert Gold.of([*GOOD, *({**fect("c", "d"), "rater": who} for who in "aba")], FECT).merged == 1
    rows = [fect("c", "d", None), fect("c", "d", False)]
    for given in (rows, rows[::-1]):
        (case,) = Gold.of(given, FECT, labelled=False).cases
        assert case.gold == ("non_factual",)


def test_the_hash_is_of_content_and_not_of_order_or_format(tmp_path: Path) -> None:
    gold = Gold.of(GOOD, FECT)
    assert gold.sha256 == Gold.of(GOOD[::-1], FECT, name="other").sha256
    table = "\ufeffclaim,conversation,claim_is_factual\nx,c1,TRUE\ny,c2,FALSE\n"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(GOOD), tmp_path / "gold.parquet")
    for file in (write(tmp_path, GOOD), write(tmp_path, table, "gold.csv"), tmp_path / "gold.parquet"):
        assert gold.sha256 == Gold.load(file, FECT).sha256
    for change in (fect("c2", "y", True), fect("c2", "z", False), fect("c2", "y", False, group="other")):
        rows = [fect("c0", "x", False), fect("c1", "x")]
        assert Gold.of([*rows, GOOD[1]], FECT).sha256 != Gold.of([*rows, change], FECT).sha256


def test_csv_cells_of_lists_are_json_and_empty_cells_are_absent(tmp_path: Path) -> None:
    table = (
        "reference,question,sentences,labels,group,ratings\n"
        '[r],,"[""a"",""b""]","[""faithful"", null]",,"{""ann"": [null, ""invented""]}"\n'
        's,q,"[""a""]","[""invented""]",g,\n'
        't,q,"[""a""]",,g,\n'
    )
    gold = Gold.load(write(tmp_path, table, "x.csv"), COGNIBENCH)
    one, two = gold.cases
    assert one.inputs == {"reference": "[r]", "dialogue": "", "sentences": ["a", "b"]}
    assert (one.gold, one.ratings) == (("faithful", None), {"ann": (None, "invented")})
    assert (one.group != "", two.group, two.ratings, gold.skipped) == (True, "g", {}, 1)


def test_rows_about_one_document_share_a_group_whatever_their_spacing() -> None:
    rows = [
        {"policy": "Be kind.", "reply": "a", "verdict": "send"},
        {"policy": "be  KIND.\n", "reply": "b", "verdict": "hold"},
        {"policy": "Be brief.", "reply": "a", "verdict": "send", "group": None},
        {"policy": "Be brief.", "reply": "c", "verdict": "send", "group": "mine"},
    ]
    groups = [case.group for case in Gold.of(rows, CHECK).cases]
    assert groups[0] == groups[1] != groups[2]
    assert groups[3] == "mine"
    # a judge with nothing but the unit has a group for each case
    gold = Gold.of([{"message": "a", "rude": True}, {"message": "b", "rude": False}], FLAG)
    assert [case.group for case in gold.cases] == [case_id({"message": "a"}), case_id({"message": "b"})]


WANTED: list[dict[str, tuple[str, ...]]] = [
    {"ann": ("factual",), "bob": ("factual",)},
    {"ann": ("non_factual",), "bob": ("non_factual",), "cem": ("factual",)},
]
BESIDE: list[dict[str, Any]] = [
    {**fect("c1", "x"), "rater:ann": True, "rater:cem": None, "ratings": {"bob": True}},
    {**fect("c2", "y", False), "rater:ann": False, "rater:cem": True, "ratings": {"bob": False}},
]
LONG = (
    "conversation,claim,factual,rater\n"
    "c1,x,true,ann\nc2,y,false, ann \nc1,x,TRUE,bob\nc2,y,Non_Factual,bob\nc2,y,true,cem\nc1,x,,cem\n"
)
NOBODY = "c1,x,true,\nc2,y,false,\n"
FORMS: dict[str, Any] = {
    "columns of CSV": COLUMNS,
    "columns of JSONL beside the object": BESIDE,
    "columns of Parquet beside the object": pyarrow.Table.from_pylist(BESIDE),
    "a row for each rater": LONG,
    "a row for each rater, and rows of nobody": LONG + NOBODY,
}


@pytest.mark.parametrize("form", FORMS)
def test_ratings_are_the_same_in_every_form(form: str, tmp_path: Path) -> None:
    gold = Gold.load(write(tmp_path, FORMS[form], "gold"), FECT, labelled=False)
    assert [case.ratings for case in gold.cases] == WANTED
    if form.endswith("of nobody"):  # the label of a row without a name is nobody's rating
        assert [case.gold for case in gold.cases] == [("factual",), ("non_factual",)]
