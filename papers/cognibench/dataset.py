"""A labelled dataset as a folder (CogniBench-L): the authors' files, rows for ``datasets``, statistics, dynamics.

- ``dialogues.json``, ``labels.json``: the authors' format; ``jurist compile cognibench --gold FOLDER`` reads it.
- ``responses.jsonl``: one line a response, with labels, votes and agreement; ``datasets.load_dataset(FOLDER)``
  reads it, as the card in ``README.md`` says.
- ``dialogues.jsonl``, ``rejects.jsonl``: the conversations as they were generated, and those that were rejected.
- ``statistics.json``, ``dynamics.json``, ``dynamics.csv``: what the set looks like.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...cases import Label
from ...gold.writing import json_text, write_jsonl, write_whole
from ...programs.cognibench import HALLUCINATED
from .authors_format import dialogue_rows, label_entries
from .describing import describe_labelled
from .dynamics import Dynamics, dynamics
from .turns import Labelled

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
                _agreement(label, vote) for label, vote in zip(one.labels, _votes(one), strict=True)
            ],
        }
        for one in found
    ]


def _votes(one: Labelled) -> list[Mapping[Label, int]]:
    votes = list(one.verdict.votes) if one.verdict is not None else []
    return votes if len(votes) == len(one.labels) else [{}] * len(one.labels)


def _agreement(label: str | None, vote: Mapping[Label, int]) -> float | None:
    total = sum(vote.values())
    return round(vote.get(label, 0) / total, 4) if label is not None and total else None


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
