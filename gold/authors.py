"""The formats in which the papers' authors published their gold sets.

FECT is a CSV with the columns ``conversation``, ``claim`` and
``claim_is_factual``, which the ``fect`` judge's rows take as they are.
CogniBench is ``dialogues.json`` (the turns with their reference) and
``labels.json`` (the labels of each sentence), joined by dialogue id.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..errors import GoldError
from .files import Row, Rows

FECT_COLUMNS = frozenset({"conversation", "claim", "claim_is_factual"})
_DIALOGUE = ("id", "dialogue", "current_turn", "reference")
_ROLE = re.compile(r"<(user|assistant)>")
_TAGGED = re.compile(r"(.*)<[^<>]*>\s*")

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


def is_cognibench(row: Mapping[str, Any]) -> bool:
    """Say whether a row is one of ``dialogues.json``."""
    return all(key in row for key in _DIALOGUE)


def cognibench_rows(dialogues: Rows, labels: Mapping[str, Any], *, path: str, labels_path: str) -> Rows:
    """Return one row a dialogue turn, as the ``cognibench`` judge reads them."""
    return [(line, _row(turn, labels, path, labels_path, line)) for line, turn in dialogues]


def _row(turn: Row, labels: Mapping[str, Any], path: str, labels_path: str, line: int) -> Row:
    for key in _DIALOGUE:
        if not isinstance(turn.get(key), str):
            raise GoldError(
                "the field is missing or not text", path=path, line=line, field=key, hint="restore it"
            )
    name = turn["id"]
    current = _turns(turn["current_turn"])
    response = "\n".join(text for role, text in current if role == "assistant")
    row: Row = {
        "id": name,
        "reference": turn["reference"],
        "history": [{"role": role, "content": text} for role, text in _before(turn["dialogue"], current)],
        "question": "\n".join(text for role, text in current if role == "user"),
        "group": str(turn.get("group") or name.rpartition("_")[0] or name),
    }
    if name in labels:
        listed = _listed(labels[name], name, labels_path)
        if listed:
            return {**row, "sentences": [text for text, _ in listed], "labels": [x for _, x in listed]}
        pairs = _labelled(labels[name], name, labels_path)
        return {
            **row,
            "sentences": _original([text for text, _ in pairs], response),
            "labels": [x for _, x in pairs],
        }
    return {**row, "sentences": _processed(turn, response)}


def _turns(text: str) -> list[tuple[str, str]]:
    parts = _ROLE.split(text)
    return [(role, said.strip()) for role, said in zip(parts[1::2], parts[2::2], strict=True)]


def _before(dialogue: str, current: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the turns before the current one; the file's ``dialogue`` holds those after it too."""
    turns = _turns(dialogue)
    for start in range(len(turns)):
        if current and turns[start : start + len(current)] == current:
            return turns[:start]
    return turns


def _processed(turn: Row, response: str) -> list[str]:
    lines = str(turn.get("current_turn_processed") or "").split("\n")
    found = [match[1].strip() for line in lines if (match := _TAGGED.fullmatch(line)) and match[1].strip()]
    return found or [response]


def _listed(entry: Any, name: str, path: str) -> list[tuple[str, str | None]]:
    """Return the sentences that our own writer lists as they are, repeated ones too; the authors' files have none."""
    given = entry.get("sentences") if isinstance(entry, Mapping) else None
    found: list[tuple[str, str | None]] = []
    for item in given if isinstance(given, list) else []:
        match item:
            case [str(text), [*labels]] if (key := tuple(map(str, labels))) in LABELS:
                found.append((text, LABELS[key]))
            case _:
                raise GoldError(
                    f"dialogue {name}: {str(item)[:60]!r} is no labelled sentence",
                    path=path,
                    field="sentences",
                    hint="write [sentence, [labels]], or remove the field",
                )
    return found


def _labelled(entry: Any, name: str, path: str) -> list[tuple[str, str | None]]:
    sentences = entry.get("sentence_label_dict") if isinstance(entry, Mapping) else None
    if not isinstance(sentences, Mapping) or not sentences:
        raise GoldError(
            f"dialogue {name} has no sentence_label_dict", path=path, hint="restore it, or remove the entry"
        )
    placed: list[tuple[int, str, str | None]] = []
    for text, value in sentences.items():
        match value:
            case [[*given], int(position)] if (key := tuple(map(str, given))) in LABELS:
                placed.append((position, text, LABELS[key]))
            case _:
                raise GoldError(
                    f"dialogue {name}: unknown label {value!r} of the sentence {text[:60]!r}",
                    path=path,
                    field="sentence_label_dict",
                    hint="write [[labels], position] with the labels of the CogniBench format",
                )
    return [(text, label) for _, text, label in sorted(placed, key=lambda item: item[0])]


def _original(sentences: list[str], response: str) -> list[str]:
    """Return the sentences as the response writes them; the labels hold them in lower case."""
    lower, found, start = response.lower(), [], 0
    for text in sentences:
        position = lower.find(text, start)
        if position < 0:
            position = lower.find(text)
        # lower-casing a few letters changes the length, and then offsets mean nothing
        if position < 0 or len(lower) != len(response):
            found.append(text)
            continue
        start = position + len(text)
        found.append(response[position:start])
    return found
