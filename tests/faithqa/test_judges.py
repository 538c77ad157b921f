"""The judges of intent hallucination: what is asked, what is not, and how replies become constraints and scores."""

import asyncio
import re
from collections.abc import Callable
from typing import Any, get_args

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.errors import GoldError
from jurist.evaluation.votes import Sampling
from jurist.gold.goldset import Gold
from jurist.programs.faithqa.constraints import Item, constraint_score, similarity
from jurist.programs.faithqa.judges import (
    CONSTRAINT_SCORE,
    CONSTRAINTS,
    INTENT_BASELINE,
    SATISFACTION,
)
from jurist.programs.faithqa.programs import AgreeingRating, MapAndScore, MapBySteps, Satisfaction
from jurist.programs.faithqa.scoring import PRIORITY, is_anchored, line_of, parse_lines
from jurist.signatures import faithqa as signatures
from jurist.signatures.faithqa import Constraint
from jurist.signatures.faithqa_labels import Category
from jurist.text.ranking import letters

QUERY = "Name three rivers in Peru in at most 12 words."
NAME = {"category": "action", "anchor": "Name", "text": "it names something"}
THREE = {"category": "quantity", "anchor": "three", "text": "three are named"}
PERU = {"category": "location", "anchor": "in Peru", "text": "they are in Peru"}
SHORT = {"category": "quantity", "anchor": "at most 12 words", "text": "the answer has at most 12 words"}
ALIEN = {"category": "time", "anchor": "in 1950", "text": "they were found in 1950"}


class Scripted(dspy.Module):
    """Gives the scripted predictions in turn and keeps what it was asked; one too many fails."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        super().__init__()
        self.replies = list(replies)
        self.asked: list[dict[str, Any]] = []

    def forward(self, **inputs: Any) -> dspy.Prediction:
        self.asked.append(inputs)
        return dspy.Prediction(**self.replies.pop(0))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return self.forward(**inputs)


def blocking(program: dspy.Module, **inputs: Any) -> Any:
    return program(**inputs)


def waiting(program: dspy.Module, **inputs: Any) -> Any:
    return asyncio.run(program.acall(**inputs))


def read(judge: Any, reply: dict[str, Any], inputs: dict[str, Any]) -> Any:
    return judge.read(dspy.Prediction(**reply), inputs)


def test_constraints_without_words_of_the_query_are_named_and_counted() -> None:
    found = read(CONSTRAINTS, {"missing": [], "constraints": [NAME, PERU, ALIEN]}, {"query": QUERY})
    kept = CONSTRAINTS.answer.scale.to_json(found.values[0])
    assert {one["anchor"] for one in kept} == {"Name", "in Peru", ALIEN["anchor"]}
    assert found.counts == {"unanchored": 1}
    assert ALIEN["anchor"] in found.reasoning


def test_a_query_that_lacks_its_article_is_refused_and_the_part_named() -> None:
    reply = {"missing": ["Article "], "constraints": [NAME]}
    found = read(CONSTRAINTS, reply, {"query": "Name the point of the article.\n\nArticle:"})
    assert CONSTRAINTS.answer.scale.to_json(found.values[0]) == [
        {"category": "missing", "anchor": "", "text": "article"}
    ]
    assert CONSTRAINTS.answer.row_parts(found.values)["missing"] == ["article"]


@pytest.mark.parametrize(
    "reply", [{}, {"constraints": "Name"}, {"constraints": [{"category": "mood"}]}, {"constraints": None}]
)
def test_an_unreadable_mapping_is_an_abstention(reply: dict[str, Any]) -> None:
    assert read(CONSTRAINTS, reply, {"query": QUERY}).values == (None,)


def test_several_samples_combine_to_their_medoid() -> None:
    values = [
        read(CONSTRAINTS, {"constraints": some}, {"query": QUERY}).values[0]
        for some in ([NAME, THREE, PERU], [NAME, PERU], [SHORT])
    ]
    votes = dict.fromkeys(values, 1)
    assert CONSTRAINTS.answer.scale.combine(votes, Sampling(samples=3)) == values[0]


FOUR = "Amazon, Rimac and Mantaro."
BAN = {"category": "other", "anchor": "no snow", "text": 'the word "snow" does not occur'}


def marks_of(labels: str) -> list[dict[str, Any]]:
    words = {"s": "satisfied", "o": "omitted", "m": "misinterpreted"}
    return [{"n": n, "evidence": "", "label": words[one]} for n, one in enumerate(labels, 1)]


def _lines(*constraints: Constraint) -> str:
    return "\n".join(f"{number}. {line_of(one)}" for number, one in enumerate(constraints, 1))


@pytest.mark.parametrize("call", [blocking, waiting])
@pytest.mark.parametrize("response", [FOUR, "", " \n"])
def test_the_model_marks_all_and_an_empty_response_satisfies_nothing(
    response: str, call: Callable[..., Any]
) -> None:
    program = Satisfaction()
    program.judge = Scripted({"marks": marks_of("oss")})
    lines = _lines(*(Constraint(**one) for one in (SHORT, PERU, BAN)))
    found = call(program, query=QUERY, constraints=lines, response=response)
    assert [one["constraints"] for one in program.judge.asked] == ([lines] if response.strip() else [])
    given = {"query": QUERY, "constraints": ["a", "b", "c"], "response": response}
    marks = ("omitted", "satisfied", "satisfied") if response.strip() else ("omitted",) * 3
    assert read(SATISFACTION, {"marks": found.marks}, given).values == marks


def scored(
    mapped: dict[str, Any], marks: list[Any], response: str, call: Callable[..., Any] = blocking
) -> Any:
    program = MapAndScore()
    program.map = Scripted(mapped)
    program.satisfaction.judge = Scripted({"marks": marks})
    return call(program, query=QUERY, response=response)


@pytest.mark.parametrize("call", [blocking, waiting])
@pytest.mark.parametrize(
    ("mapped", "labels", "score", "words", "counts"),
    [
        # 3 + 3 + 2 of 3 + 2 + 3 + 2; the counts by priority are those of Table 7
        ({"constraints": [NAME, THREE, PERU, SHORT]}, "soss", 80 / 10, "(three are named): omitted: two",
         "mandatory 2/2, important 1/2"),
        ({"constraints": [NAME, THREE, {**PERU, "anchor": "Peruvian"}]}, "sos", 60 / 8, "does not say 'Peruvian'",
         "mandatory 2/2, important 0/1"),
        ({"missing": ["article"], "constraints": []}, "sos", 40 / 7, "missing: article",
         "mandatory 1/2, optional 1/1"),
    ],
)  # fmt: skip
def test_the_score_is_computed_from_marks_and_weights(
    mapped: dict[str, Any], labels: str, score: float, words: str, counts: str, call: Callable[..., Any]
) -> None:
    marks = [{**mark, "evidence": "two"} for mark in marks_of(labels)]
    said = scored(mapped, marks, "Amazon and Rimac", call)
    assert said.score == pytest.approx(score)
    assert words in said.reasoning
    assert said.reasoning.endswith(f"\n{counts}; {score:.2f}: {'major' if score < 6 else 'partial'}")


@pytest.mark.parametrize(
    ("query", "anchors"),
    [
        (QUERY, ["Name", "three rivers", "Peruvian"]),  # a paraphrase
        (QUERY, ["Naming", "three rivers", "in Peru"]),  # inflected
        (QUERY, ["rivers three", "", "..."]),  # in another order, and empty
        ("写一首四行的诗，不要出现春字。", ["写一首诗", "4行", "不出现春"]),
    ],
)
@pytest.mark.parametrize("labels", ["sss", "sos", "oss"])
def test_a_constraint_with_a_paraphrased_anchor_keeps_its_weight(
    query: str, anchors: list[str], labels: str
) -> None:
    categories = ("action", "quantity", "location")
    mapped = [
        {"category": category, "anchor": anchor, "text": "x"}
        for category, anchor in zip(categories, anchors, strict=True)
    ]
    program = MapAndScore()
    program.map = Scripted({"constraints": mapped})
    program.satisfaction.judge = Scripted({"marks": marks_of(labels)})
    said = program(query=query, response="x")
    assert said.score == pytest.approx(constraint_score(categories, [label == "s" for label in labels]))
    assert (said.score == 10) == (labels == "sss")
    verdict = read(CONSTRAINT_SCORE, said.toDict(), {"query": query, "response": "x"})
    assert verdict.counts["unanchored"] == said.reasoning.count("the query does not say") > 0


@pytest.mark.parametrize(
    ("mapped", "marks"),
    [
        ({"constraints": []}, []),
        ({"constraints": None}, []),
        ({"constraints": [NAME, PERU]}, [{"n": 1, "label": "satisfied"}]),  # one is not marked
        ({"constraints": [NAME]}, [{"n": 1, "label": "satisfied"}, {"n": 1, "label": "omitted"}]),
        ({"constraints": [NAME]}, "all satisfied"),
    ],
)
def test_a_score_without_all_marks_is_an_abstention(mapped: dict[str, Any], marks: Any) -> None:
    said = scored(mapped, marks, "Amazon")
    assert read(CONSTRAINT_SCORE, said.toDict(), {"query": QUERY, "response": "Amazon"}).values == (None,)


@pytest.mark.parametrize(
    ("given", "score", "calls"),
    [
        ([7, 7], 7, 2),
        ([7, 8, 7], 7, 3),
        ([7, 8, 8], 8, 3),
        ([None, None, 6, 6], 6, 4),
        ([1, 2, 3, 4, 5], None, 5),
    ],
)
@pytest.mark.parametrize("call", [blocking, waiting])
def test_the_baseline_rates_until_two_agree(
    given: list[int | None], score: int | None, calls: int, call: Callable[..., Any]
) -> None:
    program = AgreeingRating()
    program.rate = Scripted(*({"score": one} for one in given))
    assert call(program, query=QUERY, response="Amazon").score == score
    assert len(program.rate.asked) == calls
    assert INTENT_BASELINE.calls == 5


def test_the_steps_hand_on_what_they_found_and_stop_where_something_is_missing() -> None:
    program = MapBySteps()
    program.missing = Scripted({"missing": ["response"]}, {"missing": []})
    program.core = Scripted({"subject": ["rivers"], "action": ["name"], "context": None})
    program.extract = Scripted({"constraints": [NAME]})
    assert program(query=QUERY).missing == ["response"]
    assert program.extract.asked == []
    assert program(query=QUERY).constraints == [NAME]
    known = {"subject": ["rivers"], "action": ["name"], "context": []}
    assert program.extract.asked == [{"query": QUERY, **known}]


ROW = {
    "group": "g",
    "query": QUERY,
    "constraints": [NAME, PERU],
    "responses": [
        {"response": "Amazon", "marks": ["satisfied", "omitted"], "score": 5.5},
        {"response": "Rimac", "marks": ["satisfied", "satisfied"], "score": 10},
    ],
}


def test_a_row_of_a_query_serves_every_judge() -> None:
    other = {**ROW, "query": "Name it.", "group": "h"}
    (first, _) = Gold.of([ROW, {**other, "constraints": [NAME]}], CONSTRAINTS).cases
    assert len(first.gold[0]) == 2
    marks = Gold.of([ROW], SATISFACTION).cases
    assert [case.gold for case in marks] == [("satisfied", "omitted"), ("satisfied", "satisfied")]
    assert marks[0].inputs["constraints"][1] == "location: they are in Peru [in Peru]"
    scores = Gold.of([ROW], CONSTRAINT_SCORE).cases
    assert [case.gold for case in scores] == [(5.5,), (10.0,)]
    assert {case.group for case in (*marks, *scores)} == {"g"}


@pytest.mark.parametrize(
    ("change", "judge"),
    [
        ({"responses": [{"response": "a", "score": 11}]}, CONSTRAINT_SCORE),
        ({"responses": [{"response": "a", "marks": ["satisfied"]}]}, SATISFACTION),
        ({"responses": [{"response": "a", "marks": ["good", "bad"]}]}, SATISFACTION),
        ({"constraints": [{"category": "mood", "text": "glad"}]}, CONSTRAINTS),
        ({"query": ""}, CONSTRAINTS),
        ({"query": ""}, SATISFACTION),
        ({"query": ""}, CONSTRAINT_SCORE),
    ],
)
def test_a_wrong_row_is_refused(change: dict[str, Any], judge: Any) -> None:
    with pytest.raises(GoldError):
        Gold.of([{**ROW, **change}], judge)


def test_other_weights_give_another_score() -> None:
    program = MapAndScore({"mandatory": 5, "important": 2.5, "optional": 1})
    program.map = Scripted({"constraints": [NAME, THREE]})
    program.satisfaction.judge = Scripted({"marks": marks_of("so")})
    assert program(query=QUERY, response="x").score == pytest.approx(50 / 7.5)


ANCHORS = st.sampled_from(["Name", "three rivers", "rivers in Peru", "at most 12 words", "三条", ""])
ITEMS = st.builds(
    Item, category=st.sampled_from(get_args(Category)), anchor=ANCHORS, text=st.just("x")
) | st.builds(Item, category=st.just("missing"), text=st.sampled_from(["article", "query"]))


@given(ITEMS, ITEMS)
def test_laws_of_similarity(one: Item, other: Item) -> None:
    assert 0 <= similarity(one, other) <= 1
    assert similarity(one, other) == similarity(other, one)
    assert similarity(one, one) == 1


LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40)


@given(
    st.lists(
        st.builds(Constraint, category=st.sampled_from(get_args(Category)), anchor=LINES, text=LINES),
        max_size=5,
    )
)
def test_lines_keep_number_category_and_order(constraints: list[Constraint]) -> None:
    found = parse_lines(_lines(*constraints))
    assert list(found) == list(range(1, len(constraints) + 1))
    assert [one.category for one in found.values()] == [one.category for one in constraints]


TABLE_2 = (
    "List three European explorers who circumnavigated the globe before the 18th century and were not born in "
    "England or Portugal."
)


@pytest.mark.parametrize(
    ("query", "anchor", "stands"),
    [
        (TABLE_2, "not born in England", True),
        (TABLE_2, "not born in Portugal", True),
        (TABLE_2, "before the 18th century", True),
        (TABLE_2, "not born in Spain", False),
        (TABLE_2, "born not in England", False),
        ("Use the word “sea”.", 'the word "sea"', True),
        ("Use my grandmother’s name.", "my grandmother's name", True),
        ("不要出现「秋」字", "不要出现“秋”字", True),
        ("Use ＡＢＣ in it", "abc", True),
        ("Cafés in Bogotá", "cafes in Bogota", True),
        ("不要提到英国或葡萄牙", "不要提到葡萄牙", True),
        ("Name two rivers", "", False),
        ("Name two rivers", "...", False),
    ],
)
def test_an_anchor_stands_in_the_query_in_its_order(query: str, anchor: str, stands: bool) -> None:
    constraint = Constraint(category="other", anchor=anchor, text="x")
    assert is_anchored(constraint, query) is stands


@given(st.text(max_size=60), st.randoms(use_true_random=False))
def test_some_of_the_words_of_a_query_in_their_order_anchor(query: str, random: Any) -> None:
    words = [word for word in query.split() if any(one.isalnum() for one in word)]
    some = " ".join(word for word in words if random.random() < 0.7)
    constraint = Constraint(category="other", anchor=some, text="x")
    assert is_anchored(constraint, query) or not letters(some)


def test_the_worked_example_of_satisfaction_is_what_its_constraints_and_the_baseline_say() -> None:
    prompts = {
        name: value.instructions
        for name, value in vars(signatures).items()
        if isinstance(value, type) and issubclass(value, dspy.Signature)
    }
    (query,) = set(re.findall(r'"(Name two rivers of Italy in[^"]*)"', " ".join(map(str, prompts.values()))))
    mapped = re.findall(r"(\w+) \[([^]]+)\]", prompts["MapConstraints"])
    assert len(mapped) == 6
    for category, anchor in mapped:
        assert category in PRIORITY
        assert is_anchored(Constraint(category=category, anchor=anchor, text="x"), query)
    response = "The Po and the Rhône."
    assert len(response.split()) <= 10
    for name in ("SatisfiedConstraints", "IntentRating"):
        assert response in " ".join(prompts[name].split())
    # Of six constraints a place and an action are not met: 3 + 2 + 3 + 2 of 16.
    score = constraint_score([category for category, _ in mapped], [True] * 3 + [False, True, False])
    assert f"conditions fail: {round(score)}." in prompts["IntentRating"]
    assert "Six conditions; four are met" in " ".join(prompts["IntentRating"].split())
