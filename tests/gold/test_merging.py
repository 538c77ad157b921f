"""Merging rules: what each says of a unit, of cases and of a gold set; ambiguity and its categories."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.cases import Case
from jurist.errors import GoldError
from jurist.evaluation.rows import majority
from jurist.gold.goldset import Gold
from jurist.gold.raters import RULES, Rule, merge, merge_cases, merge_gold, unit_ratings
from jurist.gold.rows import canonical_row
from jurist.gold.sheets import CATEGORIES
from jurist.gold.writing import write_jsonl
from jurist.programs.cognibench import COGNIBENCH
from jurist.programs.fect import FECT

LABEL = st.sampled_from(["a", "b", "c", None])
RATINGS = st.dictionaries(st.sampled_from(["ann", "bob", "cem", "dan"]), LABEL)


@pytest.mark.parametrize(
    ("labels", "gold", "unanimous", "most", "adjudicated"),
    [
        ("aaa", None, "a", "a", "a"),
        ("aab", None, None, "a", None),
        ("aab", "b", None, "a", "b"),
        ("aa.", None, "a", "a", "a"),
        ("ab.", "a", None, None, "a"),
        ("aabc", None, None, None, None),  # half is no majority
        ("abc", None, None, None, None),
        ("a..", "b", "a", "a", "b"),
        ("...", "b", "b", "b", "b"),
        ("", "b", "b", "b", "b"),
        ("...", None, None, None, None),
    ],
)
def test_the_rules(
    labels: str, gold: str | None, unanimous: str | None, most: str | None, adjudicated: str | None
) -> None:
    ratings = {f"r{place}": None if label == "." else label for place, label in enumerate(labels)}
    assert merge(ratings, "unanimous", gold) == unanimous
    assert merge(ratings, "majority", gold) == most
    assert merge(ratings, "adjudicated", gold) == adjudicated
    assert merge(ratings, "reviewed", gold) == (gold if most is None else most)


@settings(max_examples=100)
@given(ratings=RATINGS, gold=LABEL)
def test_laws_of_the_rules(ratings: dict[str, str | None], gold: str | None) -> None:
    unanimous, most, adjudicated, _ = (merge(ratings, rule, gold) for rule in RULES)
    given_labels = [label for label in ratings.values() if label is not None]
    # what all say, most say; the row's own label is the last word, and without it all must agree
    assert unanimous in (None, most)
    assert adjudicated == (unanimous if gold is None else gold)
    for rule in RULES:
        assert merge(ratings, rule, gold) in {gold, None, *given_labels}
        assert merge(dict(reversed(ratings.items())), rule, gold) == merge(ratings, rule, gold)
        again = {**ratings, "eve": merge(ratings, rule, gold)}
        assert merge(again, rule, gold) == merge(ratings, rule, gold)
    if majority(given_labels) is not None:
        assert given_labels.count(str(majority(given_labels))) > len(given_labels) / 2


def case(name: str, gold: Any, **ratings: Any) -> Case:
    found = {rater: tuple(labels) for rater, labels in ratings.items()}
    return Case(inputs={"x": name}, gold=gold and tuple(gold), ratings=found, source=f"f:{name}")


def test_cases_lose_the_gold_of_ambiguous_units_and_keep_the_rest() -> None:
    cases = [
        case("1", ["a", "a"], ann=["a", "b"], bob=["a", "a"]),
        case("2", ["b"], ann=["a"], bob=["b"]),
        case("3", ["b"]),
        case("4", None),
        case("5", None, ann=["a", None], bob=["a", None]),
    ]
    merged = merge_cases(cases, "unanimous", {cases[0].id: ("unknown", "sentiment")})
    assert [one.gold for one in merged.cases] == [("a", None), None, ("b",), None, ("a", None)]
    assert [(one.inputs, one.ratings, one.id) for one in merged.cases] == [
        (one.inputs, one.ratings, one.id) for one in cases
    ]
    assert [(one.source, one.unit, one.labels, one.category) for one in merged.ambiguous] == [
        ("f:1", 1, {"ann": "b", "bob": "a"}, "sentiment"),
        ("f:2", 0, {"ann": "a", "bob": "b"}, "unknown"),
    ]
    assert merged.labelled == 3
    assert merged.by_category == {"sentiment": 1, "relation": 0, "other": 0, "unknown": 1}
    assert cases[0].gold == ("a", "a")
    assert [one.gold for one in merge_cases(cases, "adjudicated").cases[:2]] == [("a", "a"), ("b",)]


@pytest.mark.parametrize(
    "wrong", [case("1", None, ann=["a"], bob=["a", "b"]), case("1", ["a"], ann=["a", "b"])]
)
def test_raters_of_different_numbers_of_units_are_refused(wrong: Case) -> None:
    with pytest.raises(GoldError, match=r"f:1.*different numbers of units \[1, 2\]"):
        unit_ratings(wrong)


def fect(claim: str, factual: Any, **more: Any) -> dict[str, Any]:
    return {"conversation": f"of {claim}", "claim": claim, "factual": factual, **more}


FECT_ROWS = [
    fect("a", True, ratings={"ann": True, "bob": False, "cem": True}, ambiguity="sentiment"),
    fect("b", False, ratings={"ann": "factual", "bob": False}, ambiguity="relation"),
    fect("c", None, ratings={"ann": False, "bob": "non_factual"}),
    fect("d", True),
    fect("e", None, ratings={"ann": True, "bob": False}),
]


@pytest.mark.parametrize(
    ("rule", "gold", "categories"),
    [
        ("unanimous", [None, None, "non_factual", "factual", None], ["sentiment", "relation", "unknown"]),
        ("majority", ["factual", None, "non_factual", "factual", None], ["relation", "unknown"]),
        ("adjudicated", ["factual", "non_factual", "non_factual", "factual", None], ["unknown"]),
    ],
)
def test_a_gold_set_is_merged_and_reads_back(
    rule: Rule, gold: list[str | None], categories: list[str], tmp_path: Path
) -> None:
    before = Gold.of(FECT_ROWS, FECT, labelled=False)
    after, merged = merge_gold(before, rule)
    assert [one.gold and one.gold[0] for one in after.cases] == gold
    assert [one.category for one in merged.ambiguous] == categories
    assert [one.ratings for one in after.cases] == [one.ratings for one in before.cases]
    write_jsonl((canonical_row(FECT, after.rows[one.id], one) for one in after.cases), tmp_path / "x.jsonl")
    again = Gold.load(tmp_path / "x.jsonl", FECT)
    assert again.skipped == gold.count(None)
    kept = [one for one in after.cases if one.gold is not None]
    assert [(one.id, one.gold, one.ratings) for one in again.cases] == [
        (one.id, one.gold, one.ratings) for one in kept
    ]


def test_a_category_for_all_sentences_or_one_for_each() -> None:
    row = {
        "reference": "r",
        "sentences": ["a", "b"],
        "ratings": {"ann": ["faithful"] * 2, "bob": ["invented"] * 2},
    }
    for given_, found in (
        ("sentiment", ["sentiment"] * 2),
        (["relation", None], ["relation", "unknown"]),
        (None, ["unknown"] * 2),
    ):
        gold = Gold.of([{**row, "ambiguity": given_}], COGNIBENCH, labelled=False)
        assert [one.category for one in merge_gold(gold, "majority")[1].ambiguous] == found


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ("mood", f"unknown category 'mood'; use one of: {', '.join(CATEGORIES)}"),
        (3, "unknown category 3"),
        (["other", "other"], "there are 2 categories for 1 units"),
    ],
)
def test_a_wrong_category_names_its_row(given_: Any, said: str, tmp_path: Path) -> None:
    write_jsonl(
        [fect("x", True, ratings={"ann": True}), fect("y", True, ratings={"ann": True}, ambiguity=given_)],
        tmp_path / "g.jsonl",
    )
    with pytest.raises(GoldError) as caught:
        merge_gold(Gold.load(tmp_path / "g.jsonl", FECT, labelled=False), "majority")
    assert said in str(caught.value)
    assert "g.jsonl:2, field 'ambiguity'" in str(caught.value)
