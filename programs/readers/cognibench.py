"""The files in which CogniBench was published: ``dialogues.json`` and, beside it, ``labels.json``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DIALOGUES: Final = "dialogues.json"
SENTENCE_LABELS: Final[Mapping[tuple[str, ...], str | None]] = {
    (): None,
    ("irrelevant",): "irrelevant",
    ("faithful",): "faithful",
    ("invented",): "invented",
    ("misleading",): "misleading",
    ("rational",): "speculative",
    ("rational", "grounded"): "reliable",
    ("rational", "grounded", "irrefutable"): "irrefutable",
    ("rational", "grounded", "unequivocal"): "irrefutable",
}
"""Tests that a sentence passed, as ``labels.json`` lists them in any case -> the sentence's label.

A cognitive statement passes the tests rational, grounded and irrefutable in turn (section 2.2); the last one passed is
its tier. One release of the file calls the last test irrefutable, another unequivocal. An empty list is a misleading
sentence, which passes none, or one that nobody labelled: the lists tell.
"""
LABEL_OF_LIST: Final[Mapping[str, str]] = {
    "misleading_list": "misleading",
    "speculative_list": "speculative",
    "realiable_list": "reliable",
    "irrefutable_list": "irrefutable",
    "unequivocal_list": "irrefutable",
    "factual_hallu_list": "invented",
    "irrelevant_list": "irrelevant",
    "factual_list": "faithful",
    "cognitive_hallu_list": "misleading",
}
"""List of sentences in ``labels.json``, as its authors spell it -> the label of a sentence in no list before it.

``factual_list`` holds invented sentences, too, and ``cognitive_hallu_list`` speculative ones.
"""
FEWEST_WORDS: Final = 5
"""Words of a sentence that is looked for within a listed one; the authors leave shorter ones unlabelled as fillers."""
_KEYS: Final = frozenset({"id", "dialogue", "current_turn", "reference"})
_ROLE: Final = re.compile(r"<(user|assistant)>")
_TAGGED: Final = re.compile(r"^(.*)<[^<>]*>[^\S\n]*$", re.MULTILINE)


@dataclass(frozen=True)
class CogniBenchFiles:
    """The reader of both files; a row is a dialogue turn, as the judge ``cognibench`` takes it."""

    name: str = "cognibench"
    file_name: str = DIALOGUES
    companion: str = "labels.json"

    def records(self, file: Path) -> Iterator[Mapping[str, object]] | None:
        """Return ``None``: the file holds records in JSON, which jurist reads itself."""
        return None

    def recognises(self, record: Mapping[str, object]) -> bool:
        """Return whether a record is one of ``dialogues.json``."""
        return record.keys() >= _KEYS

    def row(self, record: Mapping[str, Any], companion: Mapping[str, Any]) -> dict[str, object]:
        """Return the row of a dialogue turn, with labels if ``labels.json`` has any for it."""
        try:
            row = _turn_row(record)
            if row["id"] in companion:
                response = _text_of(_turns(record["current_turn"]), "assistant")
                row |= _labelled_sentences(companion[row["id"]], response)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no dialogue of CogniBench with its labels: {error}") from error
        return row


reader: Final = CogniBenchFiles()


def _turn_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a dialogue turn, without labels."""
    name = record["id"]
    current_turn = _turns(record["current_turn"])
    tagged_sentences: list[str] = []
    for text in _TAGGED.findall(record.get("current_turn_processed") or ""):
        if text.strip():
            tagged_sentences.append(text.strip())
    history = _history(_turns(record["dialogue"]), current_turn)
    return {
        "id": name,
        "reference": record["reference"],
        "history": [{"role": role, "content": text} for role, text in history],
        "question": _text_of(current_turn, "user"),
        "group": str(record.get("group") or name.rpartition("_")[0] or name),
        "topic": str(record.get("topic") or ""),
        "sentences": tagged_sentences or [_text_of(current_turn, "assistant")],
    }


def _history(
    dialogue: Sequence[tuple[str, str]], current_turn: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Return the turns before the current one; the dialogue in the file holds those after it, too."""
    if current_turn:
        for start in range(len(dialogue)):
            if dialogue[start : start + len(current_turn)] == current_turn:
                return dialogue[:start]
    return dialogue


def _labelled_sentences(labels_of_turn: Mapping[str, Any], response: str) -> dict[str, object]:
    """Return the sentences of a response in their order, and their labels: by the lists, or else by the tests."""
    positions: list[tuple[Any, str, list[str]]] = []
    for sentence, (passed_tests, position) in labels_of_turn["sentence_label_dict"].items():
        positions.append((position, sentence, passed_tests))
    positions.sort()
    label_of_listed = _labels_by_list(labels_of_turn)
    sentences: list[str] = []
    labels: list[str | None] = []
    for _, sentence, passed_tests in positions:
        label = label_of_listed.get(_letters(sentence))
        if label is None:
            label = SENTENCE_LABELS[tuple(test.casefold() for test in passed_tests)]
        if label is None:
            label = _label_of_part(sentence, label_of_listed)
        sentences.append(sentence)
        labels.append(label)
    return {"sentences": _as_in_response(sentences, response), "labels": labels}


def _labels_by_list(labels_of_turn: Mapping[str, Any]) -> dict[str, str]:
    """Return letters of a sentence -> its label, for the sentences that stand in a list."""
    label_of_listed: dict[str, str] = {}
    for name, label in LABEL_OF_LIST.items():
        for sentence in labels_of_turn.get(name, ()):
            label_of_listed.setdefault(_letters(sentence), label)
    return label_of_listed


def _label_of_part(sentence: str, label_of_listed: Mapping[str, str]) -> str | None:
    """Return the label of the listed sentence that holds another one: lists run some sentences together."""
    if len(sentence.split()) < FEWEST_WORDS:
        return None
    letters = _letters(sentence)
    for listed, label in label_of_listed.items():
        if letters in listed:
            return label
    return None


def _letters(sentence: str) -> str:
    """Return the letters and digits of a sentence in lower case.

    The lists drop quotation marks and spaces that ``sentence_label_dict`` has.
    """
    return "".join(character for character in sentence.casefold() if character.isalnum())


def _turns(text: str) -> list[tuple[str, str]]:
    """Return role and text of each turn in ``<user> ... <assistant> ...``."""
    parts = _ROLE.split(text)
    return [(role, content.strip()) for role, content in zip(parts[1::2], parts[2::2], strict=True)]


def _text_of(turns: Sequence[tuple[str, str]], speaker: str) -> str:
    """Return the texts of one speaker's turns."""
    return "\n".join(text for role, text in turns if role == speaker)


def _as_in_response(sentences: list[str], response: str) -> list[str]:
    """Return sentences as the response writes them; the labels hold them in lower case."""
    lower_case = response.lower()
    if len(lower_case) != len(response):
        # A few letters change their length in lower case, so that positions mean nothing.
        return sentences
    written: list[str] = []
    end = 0  # of the sentence before
    for sentence in sentences:
        position = lower_case.find(sentence, end)
        if position < 0:
            position = lower_case.find(sentence)
        if position < 0:
            written.append(sentence)
            continue
        end = position + len(sentence)
        written.append(response[position:end])
    return written
