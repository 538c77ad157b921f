"""``jurist table cognibench-2``: words, labels, turns and places, counted by hand."""

import json
from pathlib import Path

import pytest
from small import cli, ok, write_jsonl

from jurist.papers.cognibench.statistics import PLACES, table_word_count

FIVE = ["a b.", "c d.", "e f.", "g h.", "i j."]
ROWS = [
    {
        "group": "one",
        "reference": "one two three",
        "question": "Why?",
        "sentences": FIVE,
        "labels": ["irrelevant", "faithful", "invented", "speculative", "misleading"],
    },
    {
        "group": "one",
        "reference": "one two three",
        "history": [
            {"role": "user", "content": "Why?\nuser: no turn"},
            {"role": "assistant", "content": "So."},
        ],
        "question": "And then?",
        "sentences": ["Well-known facts, 3.5 of them."],
        "labels": ["reliable"],
    },
    {
        "group": "two",
        "reference": "one two three four five",
        "question": "Who?",
        "sentences": ["It ended.", "Perhaps."],
        "labels": ["faithful", None],
    },
    {"group": "two", "reference": "one", "question": "When?", "response": "In June. Or not."},
]


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), ROWS)


def counted(*options: str) -> dict:
    return ok("table", "cognibench-2", "--gold", "gold.jsonl", *options, "--json").json


def test_sizes_are_those_of_table_2() -> None:
    found = counted("--output", "out.json")
    assert found["all_responses"] == {
        "responses": 4,
        "conversations": 2,
        "labelled_sentences": 7,
        "context_words": {"least": 1, "most": 5, "mean": 3.0},
        "response_words": {"least": 3, "most": 10, "mean": 5.5},
    }
    assert found["labelled_responses"]["responses"] == 3
    assert json.loads(Path("out.json").read_text(encoding="utf-8")) == found


def test_labels_turns_and_places_are_counted() -> None:
    found = counted()
    assert found["labels"] == {
        "irrelevant": 1,
        "faithful": 2,
        "invented": 1,
        "misleading": 1,
        "speculative": 1,
        "reliable": 1,
        "irrefutable": 0,
    }
    assert found["factual_hallucinated"]["value"] == pytest.approx(1 / 3)
    assert found["cognitive_hallucinated"]["value"] == pytest.approx(2 / 3)
    first, second = found["turns"]
    assert first == {
        "turn": 1,
        "responses": 2,
        "factual": 3,
        "cognitive": 2,
        "irrelevant": 1,
        "factual_hallucinated": 1,
        "cognitive_hallucinated": 2,
    }
    assert (second["turn"], second["cognitive"], second["cognitive_hallucinated"]) == (2, 1, 0)
    assert [place["factual_hallucinated"] for place in found["places"]] == [0, 0, 1, 0, 0]
    assert [place["cognitive_hallucinated"] for place in found["places"]] == [0, 0, 0, 1, 1]
    assert sum(place["sentences"] for place in found["places"]) == 7
    assert len(found["places"]) == PLACES


def test_responses_are_counted_by_topic() -> None:
    assert counted()["topics"] == {}
    assert "Figure 11" not in ok("table", "cognibench-2", "--gold", "gold.jsonl").people
    topics = ("tea", "mills", "tea", "")
    write_jsonl(
        Path("gold.jsonl"), [{**row, "topic": topic} for row, topic in zip(ROWS, topics, strict=True)]
    )
    assert counted()["topics"] == {"tea": 2, "mills": 1}
    assert "Figure 11" in ok("table", "cognibench-2", "--gold", "gold.jsonl").people


def test_labels_of_a_judge_are_counted_in_place_of_those_of_gold() -> None:
    ok("run", "cognibench:basic", "--input", "gold.jsonl", "--output", "labels.jsonl")
    found = counted("--labels", "recorded:labels.jsonl")
    assert found["labels_from"] == "recorded:labels.jsonl"
    assert found["labelled_responses"]["responses"] == 4
    assert sum(found["labels"].values()) == found["labelled_responses"]["labelled_sentences"] == 10


def test_responses_without_labels_have_sizes_alone() -> None:
    write_jsonl(Path("gold.jsonl"), ROWS[3:])
    found = counted()
    assert (found["labelled_responses"], found["turns"]) == (None, [])
    assert "Figure 5" not in ok("table", "cognibench-2", "--gold", "gold.jsonl").people
    assert cli("table", "cognibench-2", "--gold", "nowhere.jsonl").code != 0


@pytest.mark.parametrize(
    ("text", "words"),
    [("Well-known facts, 3.5 of them.", 5), ("磨坊在1911年关闭。", 7), ("", 0), ("  a  b ", 2)],
)
def test_words_are_parts_between_spaces_or_chinese_characters(text: str, words: int) -> None:
    assert table_word_count(text) == words
