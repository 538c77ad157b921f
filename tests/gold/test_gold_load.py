"""Loading gold: labels, groups, ratings and duplicates; every error with its file, line and field."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pyarrow
import pyarrow.parquet
import pydantic
import pytest
from judges import CHECK, FLAG, Flag

from jurist.cases import Case, case_id
from jurist.errors import GoldError
from jurist.gold.goldset import Gold, describe
from jurist.programs.catalogue import find
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge


def fect(conversation: str, claim: str, factual: Any = True, **more: Any) -> dict[str, Any]:
    return {"conversation": conversation, "claim": claim, "factual": factual, **more}


GOOD = [fect("c1", "x"), fect("c2", "y", factual=False)]


def _write(place: Path, rows: list[Any], name: str = "gold.jsonl") -> Path:
    file = place / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


ERRORS: dict[str, tuple[Judge, list[Any], int | None, str, str]] = {
    "missing column": (
        FECT,
        [*GOOD, {"conversation": "c", "factual": True}],
        3,
        "claim",
        "the field is missing",
    ),
    "ill-typed": (FECT, [fect("c", 7)], 1, "claim", "valid string"),  # type: ignore[arg-type]
    "empty text": (FECT, [fect("c", "")], 1, "claim", "at least 1 character"),
    "unknown label": (
        FECT,
        [*GOOD, fect("c", "d", "maybe")],
        3,
        "factual",
        "unknown label 'maybe'; use one of",
    ),
    "unknown label, authors' column": (
        FECT,
        [{"conversation": "c", "claim": "d", "claim_is_factual": "perhaps"}],
        1,
        "claim_is_factual",
        "unknown label 'perhaps'; use one of: factual, non_factual",
    ),
    "unknown label, own judge": (
        CHECK,
        [{"policy": "p", "reply": "r", "verdict": "holt"}],
        1,
        "verdict",
        "unknown label 'holt'; use one of: send, hold",
    ),
    "unknown label, bool judge": (
        FLAG,
        [{"message": "m", "rude": "very"}],
        1,
        "rude",
        "unknown label 'very'",
    ),
    "unknown label, one sentence": (
        COGNIBENCH,
        [{"reference": "r", "sentences": ["a", "b"], "labels": ["faithful", "true"]}],
        1,
        "labels[1]",
        "unknown label 'true'; use one of: irrelevant, faithful",
    ),
    "labels for other sentences": (
        COGNIBENCH,
        [{"reference": "r", "sentences": ["a", "b"], "labels": ["faithful"]}],
        1,
        "",
        "1 entries for 2 sentences",
    ),
    "no labels": (
        FECT,
        [fect("c", "d", None), fect("c", "e", None)],
        None,
        "factual",
        "none of the 2 rows has a",
    ),
    "only positive": (
        FECT,
        [fect("c", "d", False)],
        None,
        "",
        "there is no negative one; add rows labelled factual",
    ),
    "only negative": (FECT, [fect("c", "d"), fect("c", "e")], None, "", "there is no positive one; add rows"),
    "ratings of a wrong kind": (FECT, [fect("c", "d", ratings=["x"])], 1, "ratings", "must be an object"),
    "rating of a wrong kind": (
        FECT,
        [fect("c", "d", ratings={"ann": "hm"})],
        1,
        "ratings.ann",
        "'hm' does not fit",
    ),
    "rating too short": (
        COGNIBENCH,
        [{"reference": "r", "sentences": ["a"], "labels": ["faithful"], "ratings": {"ann": []}}],
        1,
        "ratings.ann",
        "does not fit the row",
    ),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_names_file_line_and_field_in_one_line(kind: str, tmp_path: Path) -> None:
    judge, rows, line, field, said = ERRORS[kind]
    file = _write(tmp_path, rows)
    with pytest.raises(GoldError) as caught:
        Gold.load(file, judge)
    assert said in str(caught.value)
    assert (caught.value.path, caught.value.line, caught.value.field) == (str(file), line, field)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_equal_rows_of_two_groups_are_one_case_of_the_first_by_name() -> None:
    rows = [
        fect("c", "d", group="h", ratings={"ann": True}),
        fect("c", "d", group="g", ratings={"bob": True}),
        fect("c", "d"),
    ]
    for given in (rows, rows[::-1]):
        (case,) = Gold.of(given, FECT, labelled=False).cases
        assert (case.group, sorted(case.ratings)) == ("g", ["ann", "bob"])


def test_duplicates_that_agree_are_merged_and_counted() -> None:
    rows = [
        fect("c", "d", ratings={"ann": True}),
        *GOOD,
        fect("c", "d", ratings={"bob": False, "ann": "factual"}),
    ]
    gold = Gold.of([*rows, *GOOD], FECT)
    assert (len(gold.cases), gold.merged) == (3, 3)
    assert gold.cases[0].ratings == {"ann": ("factual",), "bob": ("non_factual",)}
    assert gold.sha256 == Gold.of(rows[:3], FECT).sha256


def test_a_labelled_duplicate_wins_over_an_unlabelled_one() -> None:
    rows = [fect("c", "d", None), fect("c", "d", False)]
    for given in (rows, rows[::-1]):
        (case,) = Gold.of(given, FECT, labelled=False).cases
        assert case.gold == ("non_factual",)


def test_rows_without_labels_are_left_out_and_counted_or_kept() -> None:
    rows = [*GOOD, fect("c", "d", None)]
    assert (len(Gold.of(rows, FECT).cases), Gold.of(rows, FECT).skipped) == (2, 1)
    new = Gold.of(rows, FECT, labelled=False)
    assert [case.gold for case in new.cases] == [("factual",), ("non_factual",), None]
    assert new.skipped == 0


@pytest.mark.parametrize("rows", [[], iter(())])
def test_no_rows(rows: Any) -> None:
    with pytest.raises(GoldError, match="there are no rows"):
        Gold.of(rows, FECT)


def test_the_hash_is_of_content_and_not_of_order_or_format(tmp_path: Path) -> None:
    gold = Gold.of(GOOD, FECT)
    assert gold.sha256 == Gold.of(GOOD[::-1], FECT, name="other").sha256
    assert gold.sha256 == Gold.load(_write(tmp_path, GOOD), FECT).sha256
    table = tmp_path / "gold.csv"
    table.write_text("claim,conversation,claim_is_factual\nx,c1,TRUE\ny,c2,FALSE\n", encoding="utf-8-sig")
    assert gold.sha256 == Gold.load(table, FECT).sha256
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(GOOD), tmp_path / "gold.parquet")
    assert gold.sha256 == Gold.load(tmp_path / "gold.parquet", FECT).sha256


@pytest.mark.parametrize(
    "change", [fect("c2", "y", True), fect("c2", "z", False), fect("c2", "y", False, group="other")]
)
def test_the_hash_changes_with_label_input_and_group(change: dict[str, Any]) -> None:
    rows = [fect("c0", "x", False), fect("c1", "x")]
    assert Gold.of([*rows, GOOD[1]], FECT).sha256 != Gold.of([*rows, change], FECT).sha256


@pytest.mark.parametrize("given", [True, "true", "TRUE", " True "])
def test_a_bool_judge_reads_bools_and_their_names(given: Any, tmp_path: Path) -> None:
    gold = Gold.of([{"message": "m", "rude": given}, {"message": "n", "rude": False}], FLAG)
    assert [case.gold for case in gold.cases] == [("true",), ("false",)]
    table = tmp_path / "x.csv"
    table.write_text(f"message,rude\nm,{given}\nn,no\n", encoding="utf-8")
    with pytest.raises(GoldError, match="unknown label 'no'"):
        Gold.load(table, FLAG)


def test_csv_cells_of_lists_are_json_and_empty_cells_are_absent(tmp_path: Path) -> None:
    table = tmp_path / "x.csv"
    table.write_text(
        "reference,question,sentences,labels,group,ratings\n"
        '[r],,"[""a"",""b""]","[""faithful"", null]",,"{""ann"": [null, ""invented""]}"\n'
        's,q,"[""a""]","[""invented""]",g,\n'
        't,q,"[""a""]",,g,\n',
        encoding="utf-8",
    )
    gold = Gold.load(table, COGNIBENCH)
    one, two = gold.cases
    assert one.inputs == {"reference": "[r]", "dialogue": "", "sentences": ["a", "b"]}
    assert one.gold == ("faithful", None)
    assert one.ratings == {"ann": (None, "invented")}
    assert (one.group != "", two.group, two.ratings, gold.skipped) == (True, "g", {}, 1)


def test_absent_columns_of_parquet_are_absent(tmp_path: Path) -> None:
    rows = [
        {
            "policy": "p",
            "reply": "r",
            "verdict": "hold",
            "group": None,
            "ratings": {"ann": "send", "bob": None},
        },
        {"policy": "p2", "reply": "r", "verdict": "send", "group": "g", "ratings": None},
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "x")
    one, two = Gold.load(tmp_path / "x", CHECK).cases
    assert one.ratings == {"ann": ("send",)}
    assert (len(one.group), two.group, two.ratings) == (12, "g", {})


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


def test_a_judge_with_nothing_but_the_unit_has_a_group_for_each_case() -> None:
    gold = Gold.of([{"message": "a", "rude": True}, {"message": "b", "rude": False}], FLAG)
    assert [case.group for case in gold.cases] == [case_id({"message": "a"}), case_id({"message": "b"})]


class OwnRow(pydantic.BaseModel):
    text: str
    verdict_of_people: Literal["yes", "no"] | None = pydantic.Field(default=None, alias="verdict")
    ratings: dict[str, str] = pydantic.Field(default_factory=dict)


def _own_case(row: OwnRow) -> Case:
    label = {"yes": "true", "no": "false", None: None}[row.verdict_of_people]
    ratings = {rater: (value,) for rater, value in row.ratings.items()}
    return Case(inputs={"message": row.text}, gold=label and (label,), ratings=ratings)  # type: ignore[arg-type]


OWN = Judge(name="own", signature=Flag, positive=frozenset({"true"}), rows=OwnRow, to_case=_own_case)


def test_a_row_model_that_hides_the_label_keeps_its_own_ratings() -> None:
    rows = [{"text": "a", "verdict": "yes", "ratings": {"ann": "false"}}, {"text": "b", "verdict": "no"}]
    gold = Gold.of(rows, OWN)
    assert [case.gold for case in gold.cases] == [("true",), ("false",)]
    assert gold.cases[0].ratings == {"ann": ("false",)}


def _folder(place: Path, second: list[Any], gold: list[Any] = GOOD) -> Path:
    _write(place, gold)
    _write(place, second, "second.jsonl")
    return place


def test_the_second_rater_stands_beside_the_gold(tmp_path: Path) -> None:
    gold = Gold.load(_folder(tmp_path, [{"row": 1, "factual": True}]), FECT)
    assert gold.cases[0].ratings == {}
    assert gold.cases[1].ratings == {"first": ("non_factual",), "second": ("factual",)}
    assert gold.cases[1].gold == ("non_factual",)
    assert describe(gold)["raters"] == {"first": 1, "second": 1}


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"row": 0, "label": True}, "gold.jsonl:1: the second rater's labels are missing in second.jsonl"),
        ({"row": 0, "factual": "hm"}, "gold.jsonl:1, field 'ratings.second': the rating 'hm' does not fit"),
    ],
)
def test_faults_of_the_second_rater_name_the_row(second: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(GoldError) as caught:
        Gold.load(_folder(tmp_path, [second]), FECT)
    assert said in str(caught.value)


def test_a_second_rater_of_another_layout_is_read_for_its_sentences(tmp_path: Path) -> None:
    row = {
        "reference": "r",
        "question": "q",
        "sentences": ["a", "b"],
        "labels": ["faithful", "invented"],
        "group": "g",
    }
    second = {"row": 0, "labels": ["faithful", "faithful"]}
    gold = Gold.load(_folder(tmp_path, [second], [row]), find("factual"))
    assert [case.ratings["first"] == case.ratings["second"] for case in gold.cases] == [True, False]


def test_gold_of_another_judge_says_so_before_its_second_rater_is_missed() -> None:
    for gold, judge, field in (
        ("fect-mini", COGNIBENCH, "reference"),
        ("cognibench-mini", FECT, "conversation"),
    ):
        with pytest.raises(GoldError, match=rf"{gold}/gold.jsonl:1, field '{field}': the field is missing"):
            Gold.load(gold, judge)


def test_describe_counts_everything() -> None:
    rows = [
        {"reference": "r", "sentences": ["a", "b"], "labels": ["faithful", None], "group": "g"},
        {"reference": "r", "sentences": ["c"], "labels": ["invented"], "group": "g"},
        {"reference": "r", "sentences": ["c"], "labels": ["invented"], "group": "g"},
        {
            "reference": "s",
            "sentences": ["d"],
            "labels": ["faithful"],
            "group": "h",
            "ratings": {"x": ["invented"]},
        },
        {"reference": "s", "sentences": ["e"], "group": "h"},
    ]
    found = describe(Gold.of(rows, COGNIBENCH, name="tiny"))
    assert json.loads(json.dumps(found)) == found
    assert (found["name"], found["judge"]) == ("tiny", "cognibench")
    assert (found["cases"], found["groups"], found["units"], found["unlabelled"]) == (3, 2, 4, 1)
    assert {label: count for label, count in found["labels"].items() if count} == {
        "faithful": 2,
        "invented": 1,
    }
    assert found["positive"] == pytest.approx(1 / 3)
    assert (found["raters"], found["skipped"], found["merged"]) == ({"x": 1}, 1, 1)
    new = describe(Gold.of(rows, COGNIBENCH, labelled=False))
    assert (new["units"], new["unlabelled"]) == (5, 2)
    assert describe(Gold.of([rows[4]], COGNIBENCH, labelled=False))["positive"] is None


def test_the_gold_modules_import_no_dspy_and_no_datasets() -> None:
    heavy = {"dspy", "datasets", "pyarrow", "numpy", "sklearn"}
    code = f"import sys, jurist.gold.goldset; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])
