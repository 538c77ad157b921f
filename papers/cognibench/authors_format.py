"""CogniBench's own files, written: ``dialogues.json`` and ``labels.json``, as :mod:`jurist.gold.authors` reads them.

``labels.json`` maps lower-case sentences to their labels, so it has no room for a sentence that its response
holds twice, nor for letters that lower case changes. Therefore every entry also holds ``sentences``, the list of
[sentence, labels] in its order, which our reader prefers; whoever reads the authors' fields gets the first of two
equal sentences, as in their own files.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...gold.authors import LABELS
from ...programs.cognibench import HALLUCINATED
from ...signatures.cognibench import TIERS
from ...text.escaping import one_line
from .turns import AssistantTurn, Labelled

_STEPS = {label: list(passed) for passed, label in LABELS.items()}
_LISTS: Mapping[str, Collection[str]] = {
    "hallu_list": HALLUCINATED,
    "irrelevant_list": ("irrelevant",),
    "faithfulness_list": ("faithful", "reliable", "irrefutable"),
    "factual_hallu_list": ("invented",),
    "cognitive_hallu_list": ("misleading", "speculative"),
    "misleading_list": ("misleading",),
    "speculative_list": ("speculative",),
    "realiable_list": ("reliable",),  # as the authors spell it
    "unequivocal_list": ("irrefutable",),
    "factual_list": ("faithful", "invented"),
    "cognitive_list": TIERS,
}
"""List of a response's sentences -> the labels of those that are in it."""
_LANGUAGES = {"en": "english", "zh": "chinese"}


def steps(label: str | None) -> list[str]:
    """Return a label as the authors write it: the tests that a cognitive statement passed, in turn."""
    return list(_STEPS[label])


def dialogue_rows(found: Sequence[Labelled]) -> list[dict[str, Any]]:
    """Return the rows of ``dialogues.json``, one an assistant turn, in order."""
    last: dict[str, AssistantTurn] = {}
    for one in found:
        last[one.answer.dialogue] = one.answer
    return [_row(one, last[one.answer.dialogue]) for one in found]


def _row(one: Labelled, last: AssistantTurn) -> dict[str, Any]:
    answer = one.answer
    return {
        "id": answer.id,
        "group": answer.group,
        "dialogue": _tagged([*last.history, *_current(last)]),
        "current_turn": _tagged(_current(answer)),
        "turn_index": answer.turn,
        "reference": answer.reference,
        "language": _LANGUAGES.get(
            str(answer.extra.get("language")), str(answer.extra.get("language") or "")
        ),
        "type": "fact",
        "topic": str(answer.extra.get("topic") or ""),
        "current_turn_processed": "".join(f"{one_line(text)}<>\n" for text in answer.sentences),
        "num_spaces": len(answer.sentences),
        "num_irrelevant": sum(label == "irrelevant" for label in one.labels),
    }


def _current(answer: AssistantTurn) -> list[dict[str, str]]:
    return [{"role": "user", "content": answer.question}, {"role": "assistant", "content": answer.text}]


def _tagged(turns: Sequence[Any]) -> str:
    return "\n\n".join(f"<{turn['role']}> {turn['content']}" for turn in turns)


def label_entries(found: Sequence[Labelled]) -> dict[str, dict[str, Any]]:
    """Return ``labels.json``: the id of a turn -> its lists and labels."""
    return {one.answer.id: _entry(one) for one in found if one.answer.sentences}


def _entry(one: Labelled) -> dict[str, Any]:
    pairs = list(zip(one.answer.sentences, one.labels, strict=True))
    placed: dict[str, list[Any]] = {}
    for position, (text, label) in enumerate(pairs):
        placed.setdefault(text.lower(), [steps(label), position])

    lists = {name: [text for text, label in pairs if label in labels] for name, labels in _LISTS.items()}
    return {
        **lists,
        "sentence_label_dict": placed,
        "sentences": [[text, steps(label)] for text, label in pairs],
    }
