"""What the evidence reader sees of a query's intent: rules on hand-picked queries, laws, and the bundled gold."""

import itertools
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jurist
from jurist.engines.offline.conditions import Condition, conditions, instruction_of, missing_parts
from jurist.engines.offline.decisions import Manner
from jurist.engines.offline.intent import is_intent, read_intent
from jurist.engines.offline.request import Ask, Demo, Field
from jurist.engines.offline.satisfaction import mark
from jurist.engines.offline.shapes import Shape

GOLD = Path(jurist.__file__).parent / "datasets" / "faithqa-mini" / "gold.jsonl"
ROWS = [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (
            "List four red fruits from Chile.",
            [("action", "List"), ("quantity", "four"), ("subject", "red fruits"), ("location", "from Chile")],
        ),
        (
            "Write a story of at most 60 words set in Cairo in the 1950s.",
            [
                ("action", "Write a story"),
                ("quantity", "at most 60 words"),
                ("location", "set in Cairo"),
                ("time", "in the 1950s"),
            ],
        ),
        (
            "Explain how tides arise, without using numbers.",
            [("action", "Explain"), ("subject", "how tides arise"), ("other", "without using numbers")],
        ),
        (
            "用两句话介绍长江，不要提到长度。",
            [("quantity", "两句话"), ("action", "介绍"), ("subject", "长江"), ("other", "不要提到长度")],
        ),
    ],
)
def test_conditions_are_read_from_the_words(query: str, found: list[tuple[str, str]]) -> None:
    assert [(one.category, one.anchor) for one in conditions(query)] == found


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("List three rivers.", []),
        ("Does the response follow the article?\n\nArticle: Tides.\n\nResponse:", ["response"]),
        ("Does the given response answer the query?\n\nQuery: Why?\n\nArticle: Tides.", ["response"]),
        ("Compare the three articles.\n\nArticle 1: A.\n\nArticle 3: C.", ["article 2"]),
        ("Compare the two articles.\n\nArticle 1: A.\n\nArticle 2: B.", []),
        ("请比较下面三篇文章。\n\n文章1：甲。\n\n文章2：", ["article 2", "article 3"]),
        ("请根据文章评价回答。\n\n问题：为什么？\n\n文章：潮汐。\n\n回答：月亮。", []),
        ("请根据文章评价下面的回答。\n\n问题：为什么？\n\n回答：月亮。", ["article"]),
        ("Summarise the attached article. Use no numbers.", ["article"]),
        ("Rate the given response on the basis of the provided article.", ["article", "response"]),
        ("Summarise the following article:\nTides rise.", []),
        ("Answer the following question. Why did the text of the treaty change?", []),
    ],
)
def test_missing_material_is_named(query: str, missing: list[str]) -> None:
    assert missing_parts(query) == missing


@pytest.mark.parametrize(
    ("category", "anchor", "response", "label"),
    [
        ("time", "before 1990", "Fortran (1957) and C (1972)", "satisfied"),
        ("time", "before 1990", "Java (1995) and Ruby (1995)", "misinterpreted"),
        ("time", "in the 1920s", "It was built in 1875.", "misinterpreted"),
        ("time", "ruled in the second century AD", "Trajan ruled from 98 to 117 AD.", "satisfied"),
        ("location", "from Chile", "Grapes and berries from Chile", "satisfied"),
        ("location", "from Chile", "The best grow in Spain.", "misinterpreted"),
        ("location", "from Chile", "The best grow in the south.", "omitted"),
        ("quantity", "three", "- a\n- b\n- c", "satisfied"),
        ("quantity", "three", "- a\n- b", "omitted"),
        ("quantity", "three", "- a\n- b\n- c\n- d", "misinterpreted"),
        ("other", "without sugar", "Add sugar and stir.", "misinterpreted"),
        ("other", "without sugar", "Stir. No sugar is needed.", "satisfied"),
        ("other", "不要包括水能", "水能很便宜", "misinterpreted"),
        ("action", "give the year", "It opened in 1931.", "satisfied"),
        ("action", "give the year", "It opened long ago.", "omitted"),
        ("action", "List", "Sorry, that is beyond me.", "omitted"),
        ("subject", "a shy dragon", "A knight rode out.", "misinterpreted"),
    ],
)
def test_a_mark_rests_on_what_is_there(category: str, anchor: str, response: str, label: str) -> None:
    query = f"Explain it {anchor}."
    found = mark(Condition(category, anchor, 0), "", query, response)
    assert found.label == label
    assert found.evidence


@given(st.text(alphabet="abc XYZ 19,.;:?\n“”三不要用字写Writelist", max_size=120))
def test_anchors_are_words_of_the_query_and_apart(query: str) -> None:
    found = conditions(query)
    asked = instruction_of(query)
    for one in found:
        assert one.anchor in asked
        assert asked[one.start :].startswith(one.anchor)
    assert all(one.start + len(one.anchor) <= other.start for one, other in itertools.pairwise(found))
    missing_parts(query)


def asked(values: dict[str, str], outputs: list[str], demos: tuple[Demo, ...] = ()) -> Ask:
    shape = Shape(kind="text")
    return Ask(
        inputs=tuple(Field(name=name, description="", shape=shape) for name in values),
        outputs=tuple(Field(name=name, description="", shape=shape) for name in outputs),
        instruction="",
        demos=demos,
        values=values,
    )


COOL = Manner(temperature=0.0, rng=random.Random(0))


def test_demonstrations_change_what_a_reading_is_called() -> None:
    query = "List four fruits."
    said = json.dumps([{"category": "subject", "anchor": "List", "text": "List"}])
    demo = Demo(inputs=(("query", "List two birds."),), outputs=(("constraints", said),))
    plain = read_intent(asked({"query": query}, ["constraints"]), COOL)["constraints"]
    taught = read_intent(asked({"query": query}, ["constraints"], (demo,) * 4), COOL)["constraints"]
    assert [one["category"] for one in plain] == ["action", "quantity", "subject"]
    assert [one["category"] for one in taught] == [
        "subject"
    ]  # the demonstrations list neither number nor kind


def test_a_query_with_a_missing_article_gets_no_constraints() -> None:
    query = "Summarise the article.\n\nArticle:"
    ask = asked({"query": query}, ["missing", "constraints"])
    assert is_intent(ask)
    assert read_intent(ask, COOL) == {"missing": ["article"], "constraints": []}


PRIORITY = {"qualifier": 1, "quantity": 1, "other": 2}


def f1(mapper: Any) -> float:
    """Share of gold's constraints whose category and most of whose words were found, both ways."""
    hits = gold = found = 0
    for row in ROWS:
        named = [one for one in row["constraints"] if one["category"] != "missing"]
        said = [(one["category"], set(re.findall(r"\w", one["anchor"]))) for one in named]
        mine = [(category, set(re.findall(r"\w", anchor))) for category, anchor in mapper(row["query"])]
        gold, found = gold + len(said), found + len(mine)
        for category, letters in said:
            near = [
                one
                for one in mine
                if one[0] == category and 2 * len(one[1] & letters) > len(one[1] | letters)
            ]
            hits += bool(near)
            if near:
                mine.remove(near[0])
    return 2 * hits / (gold + found)


def test_the_bundled_gold_is_mapped_better_than_clause_by_clause() -> None:
    def by_clause(query: str) -> list[tuple[str, str]]:
        clauses = re.split(r"[,.;:，。；：]| and ", instruction_of(query))
        return [("action", clause.strip()) for clause in clauses if clause.strip()]

    def by_rules(query: str) -> list[tuple[str, str]]:
        return [] if missing_parts(query) else [(one.category, one.anchor) for one in conditions(query)]

    assert f1(by_rules) > 0.7 > 0.3 > f1(by_clause)


def test_the_bundled_gold_names_what_is_missing() -> None:
    said = [[one["text"] for one in row["constraints"] if one["category"] == "missing"] for row in ROWS]
    assert [missing_parts(row["query"]) for row in ROWS] == said


def test_marks_of_the_bundled_gold_beat_always_satisfied() -> None:
    pairs = []
    for row in ROWS:
        for response in row["responses"]:
            for one, label in zip(row["constraints"], response["marks"], strict=False):
                if one["category"] == "missing":
                    continue
                held = Condition(one["category"], one["anchor"], 0)
                seen = mark(held, one["text"], row["query"], response["response"])
                pairs.append((label == "satisfied", seen.label == "satisfied"))
    right = sum(one == other for one, other in pairs)
    assert right > sum(one for one, _ in pairs)
