"""The format in which CogniBench was published: ``dialogues.json`` and, beside it, ``labels.json``."""

import re
from collections.abc import Mapping
from typing import Any

import pydantic

from .files import Place, Row, validated

DIALOGUES = "dialogues.json"
_ROLE = re.compile(r"<(user|assistant)>")
_TAGGED = re.compile(r"^(.*)<[^<>]*>[^\S\n]*$", re.MULTILINE)

LABELS: dict[tuple[str, ...], str | None] = {
    (): None,
    ("irrelevant",): "irrelevant",
    ("faithful",): "faithful",
    ("invented",): "invented",
    ("misleading",): "misleading",
    ("rational",): "speculative",
    ("rational", "grounded"): "reliable",
    ("rational", "grounded", "unequivocal"): "irrefutable",
}
"""What the authors write of a sentence -> its label. A cognitive statement passes the tests rational, grounded and
unequivocal in turn (section 2.2); the last one passed is its tier. An empty list is a sentence nobody labelled."""


class _Turn(pydantic.BaseModel):
    id: str
    dialogue: str
    current_turn: str
    reference: str
    current_turn_processed: str | None = None
    group: Any = None


class _Labelled(pydantic.BaseModel):
    sentence_label_dict: dict[str, tuple[list[str], int]] = {}
    # what our own writer lists as they are, repeated ones too; the authors' files have none
    sentences: list[tuple[str, list[str]]] = []


_TURNS, _LABELLED = pydantic.TypeAdapter(_Turn), pydantic.TypeAdapter(_Labelled)


def is_cognibench(row: Mapping[str, Any]) -> bool:
    """Say whether a row is one of ``dialogues.json``."""
    return row.keys() >= {"id", "dialogue", "current_turn", "reference"}


def turn_row(row: Row, labels: Mapping[str, Any], place: Place, labels_place: Place) -> Row:
    """Return a dialogue turn as the ``cognibench`` judge reads it, with the labels that there are of it."""
    turn = validated(_TURNS, row, place, hint="restore it")
    current = _turns(turn.current_turn)
    response = "\n".join(text for role, text in current if role == "assistant")
    # the file's ``dialogue`` holds the turns after the current one too
    turns = _turns(turn.dialogue)
    now = (at for at in range(len(turns)) if current and turns[at : at + len(current)] == current)
    result: Row = {
        "id": turn.id,
        "reference": turn.reference,
        "history": [{"role": role, "content": text} for role, text in turns[: next(now, len(turns))]],
        "question": "\n".join(text for role, text in current if role == "user"),
        "group": str(turn.group or turn.id.rpartition("_")[0] or turn.id),
    }
    if turn.id in labels:
        return {**result, **_sentences(labels[turn.id], turn.id, response, labels_place)}
    tagged = _TAGGED.findall(turn.current_turn_processed or "")
    return {**result, "sentences": [text.strip() for text in tagged if text.strip()] or [response]}


def _turns(text: str) -> list[tuple[str, str]]:
    parts = _ROLE.split(text)
    return [(role, content.strip()) for role, content in zip(parts[1::2], parts[2::2], strict=True)]


def _sentences(entry: Any, name: str, response: str, place: Place) -> Row:
    """Return the sentences that are labelled, and their labels."""
    hint = f"restore the entry of dialogue {name}, or remove it"
    labelled = validated(_LABELLED, entry, place, hint=hint)
    ordered = sorted(labelled.sentence_label_dict.items(), key=lambda item: item[1][1])
    pairs = labelled.sentences or [(text, labels) for text, (labels, _) in ordered]
    if not pairs:
        raise place.wrong(f"dialogue {name} has no sentence_label_dict", hint=hint)
    for text, labels in pairs:
        if tuple(labels) not in LABELS:
            raise place.wrong(f"dialogue {name}: unknown label {labels!r} of {text[:60]!r}", hint=hint)
    texts = [text for text, _ in pairs]
    return {
        "sentences": texts if labelled.sentences else _original(texts, response),
        "labels": [LABELS[tuple(labels)] for _, labels in pairs],
    }


def _original(sentences: list[str], response: str) -> list[str]:
    """Return the sentences as the response writes them; the labels hold them in lower case."""
    lower, written, start = response.lower(), list[str](), 0
    if len(lower) != len(response):  # of a few letters: then offsets mean nothing
        return sentences
    for text in sentences:
        after = lower.find(text, start)
        position = after if after >= 0 else lower.find(text)
        written.append(response[position : position + len(text)] if position >= 0 else text)
        start = position + len(text) if position >= 0 else start
    return written
