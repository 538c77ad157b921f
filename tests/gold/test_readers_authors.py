"""The format of CogniBench's authors: small files of our own making."""

import json
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
