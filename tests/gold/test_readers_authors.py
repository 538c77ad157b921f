"""The format of CogniBench's authors: small files of our own making."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jurist.errors import GoldError
from jurist.gold.goldset import Gold, describe
from jurist.gold.sources import read
from jurist.programs.cognibench import COGNIBENCH

TURNS = [
    ("Who was Ada Byron?", "Ada Byron Was A Mathematician. She may have liked tea. Ask me more!"),
    ("And her notes?", "Her Notes describe an engine. It follows that she could compute. It is great."),
]
DIALOGUE = "".join(f"\n\n<user> {user} \n\n<assistant> {said} " for user, said in TURNS)
ALL_LABELS = {
    "her notes describe an engine.": [["faithful"], 0],
    "not in the turn": [["rational", "grounded", "unequivocal"], 3],
    "it is great.": [["misleading"], 2],
    "it follows that she could compute.": [["rational", "grounded"], 1],
}


def _turn(number: int, **more: Any) -> dict[str, Any]:
    user, said = TURNS[number]
    processed = "\n".join(f"{part.strip()}.<>" for part in said.rstrip(".!").split(".")) + "\n"
    return {
        "id": f"77_en_{number}",
        "dialogue": DIALOGUE,
        "current_turn": f"<user> {user} \n\n<assistant> {said} ",
        "reference": "Ada Byron (1815-1852) wrote notes on an engine.",
        "current_turn_processed": processed,
        **more,
    }


def _folder(place: Path, labels: Any, turns: list[dict[str, Any]] | None = None) -> Path:
    given = [_turn(0), _turn(1)] if turns is None else turns
    (place / "dialogues.json").write_text(json.dumps(given, indent=1), encoding="utf-8")
    if labels is not None:
        (place / "labels.json").write_text(json.dumps(labels), encoding="utf-8")
    return place


def test_cognibench_labels_sentences_and_dialogue(tmp_path: Path) -> None:
    first = {
        "ada byron was a mathematician.": [["invented"], 0],
        "she may have liked tea.": [["rational"], 1],
        "ask me more!": [["irrelevant"], 2],
    }
    folder = _folder(
        tmp_path, {"77_en_0": {"sentence_label_dict": first}, "77_en_1": {"sentence_label_dict": ALL_LABELS}}
    )
    gold = Gold.load(folder, COGNIBENCH)
    one, two = gold.cases
    assert one.gold == ("invented", "speculative", "irrelevant")
    whole = ["Ada Byron Was A Mathematician.", "She may have liked tea.", "Ask me more!"]
    assert one.inputs["sentences"] == whole
    assert one.inputs["dialogue"] == "user: Who was Ada Byron?"
    assert two.gold == ("faithful", "reliable", "misleading", "irrefutable")
    assert two.inputs["sentences"][0] == "Her Notes describe an engine."
    assert two.inputs["sentences"][3] == "not in the turn"
    said = f"user: Who was Ada Byron?\nassistant: {TURNS[0][1]}\nuser: And her notes?"
    assert two.inputs["dialogue"] == said
    assert one.group == two.group == "77_en"
    assert one.source == f"{folder}/dialogues.json:1"
    assert Gold.load(folder / "dialogues.json", COGNIBENCH).sha256 == gold.sha256


def test_cognibench_turns_without_labels(tmp_path: Path) -> None:
    labelled = {"she may have liked tea.": [[], 1], "ada byron was a mathematician.": [["faithful"], 0]}
    for labels, said in (
        (None, "none of the 2 rows has a label"),
        ({"77_en_0": {"sentence_label_dict": labelled}}, "no positive one"),
    ):
        folder = _folder(tmp_path, labels)
        with pytest.raises(GoldError, match=said):
            Gold.load(folder, COGNIBENCH)
        gold = Gold.load(folder, COGNIBENCH, labelled=False)
        assert [case.gold for case in gold.cases] == [("faithful", None) if labels else None, None]
    assert gold.cases[1].inputs["sentences"][1] == "It follows that she could compute."
    assert describe(gold)["unlabelled"] == 4


@pytest.mark.parametrize(
    ("labels", "changes", "said"),
    [
        ([], {}, "must be a JSON object"),
        ({"77_en_0": {}}, {}, ":1: no dialogue of CogniBench with its labels: 'sentence_label_dict'"),
        ({"77_en_0": {"sentence_label_dict": {"a b": [["grounded"], 0]}}}, {}, "labels: ('grounded',)"),
        ({"77_en_0": {"sentence_label_dict": {"a b": ["faithful"]}}}, {}, "not enough values"),
        ({}, {"dialogue": None}, "dialogues.json:1: no dialogue"),
    ],
)
def test_broken_cognibench_files(labels: Any, changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(GoldError) as caught:
        read(_folder(tmp_path, labels, [_turn(0, **changes)]))
    assert said in str(caught.value)


LISTS = {
    "hallu_list": ["She may have liked tea.", "Ada Byron Was A Mathematician.", "It is  great."],
    "irrelevant_list": ["Ask me more!"],
    "faithfulness_list": ["Her Notes describe an engine.", "It follows that she could compute."],
    "factual_hallu_list": ["Ada Byron Was A Mathematician."],
    "cognitive_hallu_list": ["She may have liked tea.", "It is  great."],
    "misleading_list": ["It is  great."],
    "speculative_list": ["She may have liked tea."],
    "realiable_list": ["It follows that she could compute."],
    "unequivocal_list": [],
    "factual_list": ["Ada Byron Was A Mathematician.", "Her Notes describe an engine."],
    "cognitive_list": ["She may have liked tea.", "It is  great.", "It follows that she could compute."],
    "sentence_label_dict": {
        "ada byron was a mathematician.": [["invented"], 0],
        "she may have liked tea.": [["rational"], 1],
        "ask me more!": [["irrelevant"], 2],
        "her notes describe an engine.": [["faithful"], 3],
        "it follows that she could compute.": [["rational", "grounded"], 4],
        "it is great.": [[], 5],
        "1.": [[], 6],
    },
}
"""The authors' lists beside their dictionary: a misleading sentence has passed no test, and its entry is empty."""


def _labels_of(place: Path, labels: dict[str, Any]) -> tuple[Any, ...]:
    (place / "in").mkdir()
    (case,) = Gold.load(_folder(place / "in", {"77_en_0": labels}, [_turn(0)]), COGNIBENCH).cases
    assert case.gold is not None
    return case.gold


def test_a_misleading_sentence_is_read_from_the_lists(tmp_path: Path) -> None:
    said = ("invented", "speculative", "irrelevant", "faithful", "reliable", "misleading", None)
    assert _labels_of(tmp_path, LISTS) == said


def test_lists_count_before_the_dictionary(tmp_path: Path) -> None:
    moved = {**LISTS, "misleading_list": ["SHE MAY have liked tea."]}
    assert _labels_of(tmp_path, moved)[1] == "misleading"


def test_a_cognitive_hallucination_that_is_not_speculative_is_misleading(tmp_path: Path) -> None:
    assert _labels_of(tmp_path, {**LISTS, "misleading_list": []})[5] == "misleading"


TEN_MISLEADING = {
    "the mill was the envy of the valley.": "The mill was the envy of the valley.",
    "visitors always leave with a smile.": "VISITORS ALWAYS LEAVE WITH A SMILE.",
    'its "golden wheel" made everybody rich.': "Its golden wheel made everybody rich.",
    "it “never” rests, not even at night.": 'It "never" rests, not even at night.',
    "1. flour of the mill heals colds.": "1.Flour of the mill heals colds.",
    "the miller's café is\na place\n of legend.": "The miller's café is a place of legend.",
    "the mill will outlive every other one.": "The mill will outlive every other one.",
    "nobody in the valley ever disliked it.": "Nobody in the valley ever disliked it.",
    "its stones were cut by a genius.": "Its stones were cut by a genius.Its wood came from a holy forest.",
    "its wood came from a holy forest.": "Its stones were cut by a genius.Its wood came from a holy forest.",
}
"""Sentence of the dictionary -> its form in the list, in all the ways in which the authors' lists differ from it."""


@pytest.mark.parametrize(
    ("last_test", "last_list"), [("unequivocal", "unequivocal_list"), ("Irrefutable", "irrefutable_list")]
)
def test_ten_of_ten_misleading_sentences_are_read_in_both_releases(
    last_test: str, last_list: str, tmp_path: Path
) -> None:
    sentences = {sentence: [[], place] for place, sentence in enumerate(TEN_MISLEADING)}
    sentences["nobody in the valley ever disliked it."][0] = ["misleading"]
    sentences |= {
        "of course!": [[], 10],
        "the mill has two wheels.": [["faithful"], 11],
        "so it has more than one.": [["rational", "grounded", last_test], 12],
        "two wheels suffice for this.": [["rational", "grounded", last_test], 13],
    }
    listed = list(dict.fromkeys(TEN_MISLEADING.values()))
    lists = {
        "hallu_list": listed,
        "misleading_list": [text for text in listed if "outlive" not in text and "disliked" not in text],
        "cognitive_hallu_list": [text for text in listed if "disliked" not in text],
        "factual_list": ["The mill has two wheels."],
        last_list: ["So it has more than one."],
        "cognitive_list": [*listed, "So it has more than one."],
        "sentence_label_dict": sentences,
    }
    labels = _labels_of(tmp_path, lists)
    assert labels == (*["misleading"] * 10, None, "faithful", "irrefutable", "irrefutable")


def _check_lists_against_labels(folder: Path) -> int:
    """Hold the sentences of each list against the labels of the gold; return the number of misleading ones."""
    tallies = Counter[str]()
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    by_list = {name: Counter[str]() for name in LABELS_OF_LIST}
    turns = json.loads((folder / "dialogues.json").read_text(encoding="utf-8"))
    for turn, case in zip(turns, Gold.load(folder, COGNIBENCH, labelled=False).cases, strict=True):
        if turn["id"] not in labels:
            continue
        lists = labels[turn["id"]]
        for sentence, label in zip(case.inputs["sentences"], case.gold or (), strict=True):
            words = re.findall(r"\w", sentence.lower())
            for name in LABELS_OF_LIST:
                in_list = [re.findall(r"\w", listed.lower()) for listed in lists.get(name, ())]
                by_list[name][str(label)] += words in in_list
            tallies[str(label)] += 1
    for name, listed_labels in LABELS_OF_LIST.items():
        assert set(+by_list[name]) <= listed_labels, name
    listed = sum(len(lists["misleading_list"]) for lists in labels.values())
    assert by_list["misleading_list"]["misleading"] == tallies["misleading"] == listed
    return tallies["misleading"]


LABELS_OF_LIST = {
    "hallu_list": {"invented", "misleading", "speculative"},
    "irrelevant_list": {"irrelevant"},
    "faithfulness_list": {"faithful", "reliable", "irrefutable"},
    "factual_hallu_list": {"invented"},
    "cognitive_hallu_list": {"misleading", "speculative"},
    "misleading_list": {"misleading"},
    "speculative_list": {"speculative"},
    "realiable_list": {"reliable"},
    "irrefutable_list": {"irrefutable"},
    "unequivocal_list": {"irrefutable"},
    "factual_list": {"faithful", "invented"},
    "cognitive_list": {"misleading", "speculative", "reliable", "irrefutable"},
}


def test_counts_by_list_are_counts_by_label(tmp_path: Path) -> None:
    assert _check_lists_against_labels(_folder(tmp_path, {"77_en_0": LISTS}, [_turn(0)])) == 1


def test_the_authors_files_keep_their_misleading_sentences() -> None:
    folder = Path(__file__).parents[3] / "shared" / "data" / "cognibench"
    if not folder.exists():
        pytest.skip("needs the authors' files in ../shared/data/cognibench")
    assert _check_lists_against_labels(folder) > 0
