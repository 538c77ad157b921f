"""A labelled dataset as a folder (CogniBench-L): the authors' files, rows for ``datasets``, statistics, dynamics.

- ``dialogues.json``, ``labels.json``: the authors' format, as :mod:`jurist.gold.authors` reads it.
- ``responses.jsonl``: one line a response, with labels, votes and agreement; ``datasets.load_dataset(FOLDER)``
  reads it, as the card in ``README.md`` says.
- ``dialogues.jsonl``, ``rejects.jsonl``: the conversations as they were generated, and those that were rejected.
- ``statistics.json``, ``dynamics.json``, ``dynamics.csv``: what the set looks like.

``labels.json`` maps lower-case sentences to their labels, so it has no room for a sentence that its response
holds twice, nor for letters that lower case changes. Therefore every entry also holds ``sentences``, the list of
[sentence, labels] in its order, which our reader prefers; whoever reads the authors' fields gets the first of two
equal sentences, as in their own files.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...cases import Label
from ...gold.authors import LABELS
from ...gold.writing import json_text, write_jsonl, write_whole
from ...programs.cognibench import HALLUCINATED
from ...signatures.cognibench import TIERS
from ...text.escaping import one_line
from .statistics import Dynamics, describe_labelled, dynamics
from .turns import AssistantTurn, Labelled

_CARD = """\
---
configs:
- config_name: default
  data_files:
  - split: train
    path: responses.jsonl
---

# Automatically labelled dialogues

Made by `jurist generate cognibench-l`, in the layout of CogniBench-L. {responses} responses of {conversations}
conversations about {documents} documents, {sentences} labelled sentences; {unlabelled} sentences on which the
judge gave no usable answer carry no label.

**These labels were given by a judge and not by people.** Generator: `{generator}`. Judge: `{judge}` with
`{judge_model}`, {samples} samples a response, {threshold} votes for a hallucination.
Statistics and dynamics count as hallucinations: {hallucinations}.

`dialogues.json` and `labels.json` are in the format of the CogniBench authors. Where a response holds a sentence
twice, `sentence_label_dict` has room for the first only; `sentences` beside it has all of them.
`responses.jsonl` has the same rows for `datasets.load_dataset`.
"""


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


def dialogue_rows(found: Sequence[Labelled]) -> list[dict[str, Any]]:
    """Return the rows of ``dialogues.json``, one an assistant turn, in order."""
    last = {one.answer.dialogue: one.answer for one in found}
    rows = []
    for one in found:
        answer, whole = one.answer, last[one.answer.dialogue]
        language = str(answer.extra.get("language") or "")
        rows.append(
            {
                "id": answer.id,
                "group": answer.group,
                "dialogue": _tagged([*whole.history, *_current(whole)]),
                "current_turn": _tagged(_current(answer)),
                "turn_index": answer.turn,
                "reference": answer.reference,
                "language": _LANGUAGES.get(language, language),
                "type": "fact",
                "topic": str(answer.extra.get("topic") or ""),
                "current_turn_processed": "".join(f"{one_line(text)}<>\n" for text in answer.sentences),
                "num_spaces": len(answer.sentences),
                "num_irrelevant": sum(label == "irrelevant" for label in one.labels),
            }
        )
    return rows


def _current(answer: AssistantTurn) -> list[dict[str, str]]:
    return [{"role": "user", "content": answer.question}, {"role": "assistant", "content": answer.text}]


def _tagged(turns: Sequence[Any]) -> str:
    return "\n\n".join(f"<{turn['role']}> {turn['content']}" for turn in turns)


def label_entries(found: Sequence[Labelled]) -> dict[str, dict[str, Any]]:
    """Return ``labels.json``: the id of a turn -> its lists and labels."""
    entries: dict[str, dict[str, Any]] = {}
    for one in found:
        pairs = list(zip(one.answer.sentences, one.labels, strict=True))
        placed: dict[str, list[Any]] = {}
        for position, (text, label) in enumerate(pairs):
            placed.setdefault(text.lower(), [_STEPS[label], position])
        if pairs:
            entries[one.answer.id] = {
                **{name: [text for text, label in pairs if label in own] for name, own in _LISTS.items()},
                "sentence_label_dict": placed,
                "sentences": [[text, _STEPS[label]] for text, label in pairs],
            }
    return entries


def response_rows(found: Sequence[Labelled]) -> list[dict[str, Any]]:
    """Return one row a response, as the ``cognibench`` judge reads it, with votes and agreement beside the labels.

    ``agreement`` is the share of a sentence's votes that its label got, ``None`` where there is no label.
    """
    return [
        {
            "id": one.answer.id,
            **one.answer.row(),
            "labels": list(one.labels),
            "turn": one.answer.turn,
            "topic": str(one.answer.extra.get("topic") or ""),
            "language": str(one.answer.extra.get("language") or ""),
            # A string and not an object: loaders of columns would give every row every label's key.
            "votes": [json_text(dict(vote)) for vote in _votes(one)],
            "agreement": [
                round(vote.get(label, 0) / vote.total(), 4) if label is not None and vote.total() else None
                for label, vote in zip(one.labels, map(Counter, _votes(one)), strict=True)
            ],
        }
        for one in found
    ]


def _votes(one: Labelled) -> list[Mapping[Label, int]]:
    votes = list(one.verdict.votes) if one.verdict is not None else []
    return votes if len(votes) == len(one.labels) else [{}] * len(one.labels)


def write_dataset(
    folder: Path,
    found: Sequence[Labelled],
    *,
    about: Mapping[str, Any],
    positive: Collection[str] = HALLUCINATED,
) -> tuple[dict[str, Any], Dynamics]:
    """Write the folder, file by file, each whole; return its statistics and dynamics."""
    described = {**describe_labelled(found, positive=positive), "made": dict(about)}
    moving = dynamics(found, positive=positive)
    write_jsonl(response_rows(found), folder / "responses.jsonl")
    write_whole(_json(dialogue_rows(found)), folder / "dialogues.json")
    write_whole(_json(label_entries(found)), folder / "labels.json")
    write_whole(_json(moving.to_json()), folder / "dynamics.json")
    write_whole(moving.to_csv(), folder / "dynamics.csv")
    write_whole(
        _CARD.format(**{**described, **about, "hallucinations": ", ".join(sorted(positive))}),
        folder / "README.md",
    )
    # Last: a folder with statistics is a whole one.
    write_whole(_json(described), folder / "statistics.json")
    return described, moving


def _json(value: Any) -> str:
    return json_text(value, indent=1) + "\n"
