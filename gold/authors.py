"""The format in which CogniBench was published: ``dialogues.json`` and, beside it, ``labels.json``."""

import re
from collections.abc import Mapping
from typing import Any

from ..errors import GoldError
from .files import Place, Row

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


def is_cognibench(row: Mapping[str, Any]) -> bool:
    """Say whether a row is one of ``dialogues.json``."""
    return row.keys() >= {"id", "dialogue", "current_turn", "reference"}


def turn_row(row: Row, labels: Mapping[str, Any], place: Place) -> Row | GoldError:
    """Return a dialogue turn as the ``cognibench`` judge reads it, with its labels if it has any, or what is wrong."""
    try:
        name, current, turns = row["id"], _turns(row["current_turn"]), _turns(row["dialogue"])
        response = "\n".join(text for role, text in current if role == "assistant")
        # the file's ``dialogue`` holds the turns after the current one too
        now = (at for at in range(len(turns)) if current and turns[at : at + len(current)] == current)
        history = turns[: next(now, len(turns))]
        tagged = [text.strip() for text in _TAGGED.findall(row.get("current_turn_processed") or "")]
        result: Row = {
            "id": name,
            "reference": row["reference"],
            "history": [{"role": role, "content": text} for role, text in history],
            "question": "\n".join(text for role, text in current if role == "user"),
            "group": str(row.get("group") or name.rpartition("_")[0] or name),
            "sentences": [text for text in tagged if text] or [response],
        }
        if name in labels:
            entries = labels[name]["sentence_label_dict"].items()
            ordered = sorted((position, text, own) for text, (own, position) in entries)
            result["sentences"] = _original([text for _, text, _ in ordered], response)
            result["labels"] = [LABELS[tuple(own)] for _, _, own in ordered]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        hint = f"take {DIALOGUES} and labels.json as they were published"
        return place.wrong(f"no dialogue of CogniBench with its labels: {error}", hint=hint)
    return result


def _turns(text: str) -> list[tuple[str, str]]:
    parts = _ROLE.split(text)
    return [(role, content.strip()) for role, content in zip(parts[1::2], parts[2::2], strict=True)]


def _original(sentences: list[str], response: str) -> list[str]:
    """Return the sentences as the response writes them; the labels hold them in lower case."""
    lower, written, start = response.lower(), list[str](), 0
    if len(lower) != len(response):  # of a few letters: then offsets mean nothing
        return sentences
    for text in sentences:
        position = lower.find(text, start if text in lower[start:] else 0)
        written.append(response[position : position + len(text)] if position >= 0 else text)
        start = position + len(text) if position >= 0 else start
    return written
