"""Merging rules: what each says of a unit and of a gold set, and ``gold import --merge`` with raw labels that stay."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judges import FLAG
from small import cli, ok

from jurist.errors import GoldError, UsageError
from jurist.evaluation.votes import majority
from jurist.gold.goldset import Gold, convert_gold
from jurist.gold.raters import RULES, Rule, merge, merge_case, merge_gold, strata
from jurist.gold.rows import CATEGORIES
from jurist.gold.writing import write_jsonl
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.signatures.cognibench_labels import LABELS
from jurist.text.wording import spaced_alike

ANY = st.sampled_from(["a", "b", "c", None])
RATINGS = st.dictionaries(st.sampled_from(["ann", "bob", "cem", "dan"]), ANY)


@pytest.mark.parametrize(
    ("labels", "gold", "unanimous", "most", "adjudicated"),
    [
        ("aaa", None, "a", "a", "a"),
        ("aab", None, None, "a", None),
        ("aab", "b", None, "a", "b"),
        ("aa.", None, "a", "a", "a"),
        ("ab.", "a", None, None, "a"),
        ("aabc", None, None, None, None),  # half is no majority
        ("a..", "b", "a", "a", "b"),
        ("...", "b", "b", "b", "b"),
        ("...", None, None, None, None),
    ],
)
def test_the_rules(
    labels: str, gold: str | None, unanimous: str | None, most: str | None, adjudicated: str | None
) -> None:
    ratings = {f"r{place}": None if label == "." else label for place, label in enumerate(labels)}
    wanted = (unanimous, most, adjudicated, gold if most is None else most)
    assert tuple(merge(ratings, rule, gold) for rule in RULES[:4]) == wanted


def test_scores_have_a_median_and_a_mean() -> None:
    scores: list[dict[str, Any]] = [{"a": 2, "b": 5, "c": None}, {"a": 1.5, "b": 3.0, "c": 3.0}, {"a": None}]
    assert [[merge(given, rule) for rule in RULES[4:]] for given in scores] == [
        [2, 4],
        [3.0, 2.5],
        [None, None],
    ]
    with pytest.raises(
        UsageError, match='merge="median" is of scores, and fect gives none; use one of unanimous'
    ):
        merge_gold(Gold.load("fect-mini", FECT), "median")


@settings(max_examples=50)
@given(ratings=RATINGS, gold=ANY)
def test_laws_of_the_rules(ratings: dict[str, str | None], gold: str | None) -> None:
    unanimous, most, adjudicated, _ = (merge(ratings, rule, gold) for rule in RULES[:4])
    labels = [label for label in ratings.values() if label is not None]
    # what all say, most say; the row's own label is the last word, and without it all must agree
    assert unanimous in (None, most)
    assert adjudicated == (unanimous if gold is None else gold)
    for rule in RULES[:4]:
        assert merge(ratings, rule, gold) in {gold, None, *labels}
        assert merge(dict(reversed(ratings.items())), rule, gold) == merge(ratings, rule, gold)
        again = {**ratings, "eve": merge(ratings, rule, gold)}
        assert merge(again, rule, gold) == merge(ratings, rule, gold)
    if majority(labels) is not None:
        assert labels.count(str(majority(labels))) > len(labels) / 2


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("mood", f"unknown category 'mood'; use one of: {', '.join(CATEGORIES)}"),
        (3, "unknown category 3"),
        (["other", "other"], "there are 2 categories for 1 units"),
    ],
)
def test_a_wrong_category_names_its_row(why: Any, said: str, tmp_path: Path) -> None:
    row = {"conversation": "c", "factual": True, "ratings": {"ann": True}}
    write_jsonl([{**row, "claim": "x"}, {**row, "claim": "y", "ambiguity": why}], tmp_path / "g.jsonl")
    with pytest.raises(GoldError) as caught:
        merge_gold(Gold.load(tmp_path / "g.jsonl", FECT, labelled=False), "majority")
    assert said in str(caught.value)
    assert "g.jsonl:2, field 'ambiguity'" in str(caught.value)


RATERS = ["ann", "bob", "cem"]
TEXT = st.sampled_from(["a", "b", " ", "é\u2028ü", "第一行\nline", '"a", [b]']) | st.text(
    st.characters(codec="utf-8"), min_size=1, max_size=9
)
GROUP = st.sampled_from(["", "g", "ü"])
TURN = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": TEXT})
LABEL = st.sampled_from([*LABELS[:3], None])
REASON = st.sampled_from([*CATEGORIES, None])
FECT_ROW = st.fixed_dictionaries(
    {"conversation": TEXT, "claim": TEXT},
    optional={
        "group": GROUP,
        "industry": TEXT,
        "factual": st.sampled_from([True, "non_factual", None]),
        "ratings": st.dictionaries(st.sampled_from(RATERS), st.sampled_from([True, False, "factual", None])),
        "ambiguity": REASON,
    },
)


def response(sentences: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    size = len(sentences)
    labels = st.lists(LABEL, min_size=size, max_size=size)
    return st.fixed_dictionaries(
        {"reference": TEXT, "sentences": st.just(sentences)},
        optional={
            "group": GROUP,
            "question": TEXT | st.just(""),
            "history": st.lists(TURN, max_size=2),
            "dialogue": TEXT | st.none(),
            "labels": labels,
            "ratings": st.dictionaries(st.sampled_from(RATERS), labels),
            "ambiguity": REASON | st.lists(REASON, min_size=size, max_size=size),
        },
    )


RESPONSE = st.lists(st.sampled_from("stu"), min_size=1, max_size=3).flatmap(response)
CHECK_ROW = st.fixed_dictionaries(
    {"message": TEXT, "rude": st.sampled_from([True, "false", None])},
    optional={"ratings": st.just({"ann": False})},
)


def sets(judge: Judge, row: st.SearchStrategy[dict[str, Any]], *names: str) -> st.SearchStrategy[Any]:
    """Return a judge with rows of it that differ in these fields by more than white space."""
    unique = st.lists(
        row, min_size=1, max_size=5, unique_by=lambda row: tuple(spaced_alike(row[name]) for name in names)
    )
    return st.tuples(st.just(judge), unique)


SETS = st.one_of(
    sets(FECT, FECT_ROW, "conversation", "claim"),
    sets(COGNIBENCH, RESPONSE, "reference"),
    sets(FLAG, CHECK_ROW, "message"),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SETS, st.sampled_from(RULES[:4]))
def test_what_is_imported_by_a_rule_reads_back_with_the_same_ratings(
    tmp_path: Path, made: tuple[Judge, list[dict[str, Any]]], rule: Rule
) -> None:
    judge, rows = made
    raw, out = tmp_path / "raw.jsonl", tmp_path / "out.jsonl"
    write_jsonl(rows, raw)
    before = Gold.load(raw, judge, labelled=False)
    labels = [labels for case in before.cases for labels in (*case.ratings.values(), case.gold or ())]
    if not any(map(any, labels)):
        with pytest.raises(GoldError, match="has a label or a rating"):
            convert_gold(raw, judge, out, merge=rule)
        return
    written = convert_gold(raw, judge, out, merge=rule)
    again = Gold.load(out, judge, labelled=False)
    kept = {case.id for case in (*written.cases, *written.ambiguous)}
    assert [case.id for case in again.cases] == [case.id for case in before.cases if case.id in kept]
    wanted = {case.id: merge_case(case, rule) for case in before.cases}
    for case in again.cases:
        assert case.ratings == wanted[case.id].ratings
        assert (case.gold if case.labels else None) == wanted[case.id].gold
    # the file says itself what is ambiguous: adjudicated takes its labels as they are
    assert strata(before, rule).ambiguous == strata(again).ambiguous
    convert_gold(out, judge, raw, merge="adjudicated")
    assert raw.read_bytes() == out.read_bytes()


def test_ambiguous_rows_are_written_with_ratings_and_category_and_no_label(tmp_path: Path) -> None:
    rows = [
        {"conversation": "c", "claim": "1", "ratings": {"ann": True, "bob": False}, "ambiguity": "relation"},
        {"conversation": "c", "claim": "2", "ratings": {"ann": True, "bob": False}},
        {"conversation": "c", "claim": "3", "ratings": {"ann": False, "bob": False}},
        {"conversation": "c", "claim": "4"},
        {"conversation": "c", "claim": "5", "factual": True},
    ]
    write_jsonl(rows, tmp_path / "raw.jsonl")
    gold = convert_gold(tmp_path / "raw.jsonl", FECT, tmp_path / "g.jsonl", merge="unanimous")
    assert (len(gold.cases), len(gold.ambiguous), gold.skipped) == (2, 2, 3)
    assert gold.skipped_by == {"without a label": 1, "on which raters differ": 2}
    lines = [json.loads(line) for line in (tmp_path / "g.jsonl").read_text().splitlines()]
    assert [(line["claim"], line.get("factual"), line.get("ambiguity")) for line in lines] == [
        ("1", None, "relation"),
        ("2", None, "unknown"),
        ("3", "non_factual", None),
        ("5", True, None),
    ]
    again = Gold.load(tmp_path / "g.jsonl", FECT)
    assert [case.inputs["claim"] for case in again.ambiguous] == ["1", "2"]
    assert again.skipped == 2
    assert again.sha256 == Gold.of([rows[2] | {"factual": False}, rows[4]], FECT).sha256


def columns(place: Path, rater: str, labels: dict[str, str], reason: str = "") -> Path:
    path = place / f"{rater}.csv"
    lines = [f"c,{claim},{label},{reason}" for claim, label in labels.items()]
    path.write_text("\n".join([f"conversation,claim,rater:{rater},ambiguity", *lines]), encoding="utf-8")
    return path


def test_the_files_of_several_raters_are_joined_and_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    sheets = {"ann": {"1": "true", "2": "false", "3": ""}, "bob": {"1": "true", "2": "true", "3": "false"}}
    files = [columns(tmp_path, rater, labels, "sentiment") for rater, labels in sheets.items()]
    gold = convert_gold(files, FECT, tmp_path / "g.jsonl", merge="unanimous")
    labels = {case.inputs["claim"]: case.gold for case in gold.cases}
    assert labels == {"1": ("factual",), "3": ("non_factual",)}
    (ambiguous,) = gold.ambiguous
    assert list(ambiguous.ratings.items()) == [("ann", ("non_factual",)), ("bob", ("factual",))]
    command = ("gold", "import", "fect", *files, "--output", tmp_path / "g.jsonl", "--merge")
    done = ok(*command, "unanimous")
    assert "3 cases written" in done.out
    assert "1 of them without any label; 0 that nobody labelled" in done.out
    assert "1 ambiguous and in no score (sentiment 1)" in done.out
    assert cli(*command, "most").code == 2


def halves(first: Any, second: Any, **more: Any) -> list[dict[str, Any]]:
    row = {"reference": "r", "sentences": ["a", "b"]}
    return [row | {"ratings": {"ann": first}, **more}, row | {"ratings": {"ann": second}}]


def test_a_refusal_counts_all_rows_on_which_a_rater_differs_from_himself() -> None:
    rows = [{"conversation": "c", "claim": "d", "ratings": {"ann": label}} for label in (True, False)]
    rows.append({"conversation": "c", "claim": "e", "ratings": {"ann": True}})
    with pytest.raises(GoldError, match=r"rater 'ann' calls the row both .*; 2 rows are bad"):
        Gold.of(rows, FECT, labelled=False)


def test_two_halves_of_one_raters_work_are_one() -> None:
    rows = halves(["faithful", None], [None, "invented"], ambiguity=["other", None])
    rows[1]["ambiguity"] = ["sentiment", "relation"]
    gold = Gold.of(rows, COGNIBENCH, labelled=False)
    (case,) = gold.cases
    assert case.ratings == {"ann": ("faithful", "invented")}
    assert case.row["ratings"] == {"ann": ["faithful", "invented"]}
    assert case.row["ambiguity"] == ["unknown", "relation"]
    with pytest.raises(
        GoldError, match=r"rows:1 and rows:2: .*'ann' calls unit 2 both 'invented' and 'misleading'"
    ):
        Gold.of(halves(["faithful", "invented"], [None, "misleading"]), COGNIBENCH, labelled=False)
