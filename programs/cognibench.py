"""The judge of every sentence of a response (CogniBench), and what its labels imply.

One label per sentence says everything: whether it is hallucinated (section 2.2:
invented, misleading or speculative), its type, and, for cognitive statements,
its tier.
"""

from __future__ import annotations

from typing import Literal, Self

import pydantic

from ..cases import Case, Label, text_hash
from ..signatures.cognibench import LABELS, SentenceLabel, TagResponse
from .judge import Judge
from .shapes import Sentences

__all__ = ["COGNIBENCH", "HALLUCINATED", "CogniBenchRow", "Turn", "statement_type", "verdict_word"]

HALLUCINATED = frozenset({"invented", "misleading", "speculative"})
_TYPES: dict[Label, str] = {"irrelevant": "irrelevant", "faithful": "factual", "invented": "factual"}


def statement_type(label: Label) -> str:
    """Return ``irrelevant``, ``factual`` or ``cognitive``."""
    return _TYPES.get(label, "cognitive")


def verdict_word(label: Label) -> str:
    """Return ``irrelevant``, ``faithful`` or ``hallucinated``: the tags of whole-response labelling."""
    if label in HALLUCINATED:
        return "hallucinated"
    return "irrelevant" if label == "irrelevant" else "faithful"


class Turn(pydantic.BaseModel):
    """One earlier message of a dialogue."""

    role: Literal["user", "assistant"]
    content: str


class CogniBenchRow(pydantic.BaseModel):
    """One response: its reference, the dialogue before it, its sentences and their labels.

    ``labels`` is as long as ``sentences``; ``null`` stands for an unlabelled sentence.
    """

    model_config = pydantic.ConfigDict(extra="ignore")

    reference: str = pydantic.Field(min_length=1)
    sentences: list[str] = pydantic.Field(min_length=1)
    history: list[Turn] = pydantic.Field(default_factory=list)
    question: str = ""
    labels: list[SentenceLabel | None] | None = None
    group: str = ""
    ratings: dict[str, list[SentenceLabel | None]] = pydantic.Field(default_factory=dict)

    @pydantic.model_validator(mode="after")
    def _same_length(self) -> Self:
        for name, labels in (("labels", self.labels), *self.ratings.items()):
            if labels is not None and len(labels) != len(self.sentences):
                raise ValueError(f"{name} has {len(labels)} entries for {len(self.sentences)} sentences")
        return self


def _case(row: CogniBenchRow) -> Case:
    turns = [*row.history, *([Turn(role="user", content=row.question)] if row.question else [])]
    return Case(
        inputs={
            "reference": row.reference,
            "dialogue": "\n".join(f"{turn.role}: {turn.content}" for turn in turns),
            "sentences": row.sentences,
        },
        group=row.group or text_hash(row.reference)[:12],
        gold=None if row.labels is None else tuple(row.labels),
        ratings={rater: tuple(labels) for rater, labels in row.ratings.items()},
    )


def _details(label: Label) -> dict[str, str | None]:
    kind = statement_type(label)
    return {"verdict": verdict_word(label), "type": kind, "tier": label if kind == "cognitive" else None}


COGNIBENCH = Judge(
    name="cognibench",
    variant="basic",
    description="CogniBench: every sentence of a response, faithful, hallucinated or irrelevant, with type and tier",
    signature=TagResponse,
    labels=LABELS,
    positive=HALLUCINATED,
    shape=Sentences(field="labels", unit="sentences", labels=LABELS),
    rows=CogniBenchRow,
    to_case=_case,
    details=_details,
    bundled="cognibench-mini",
)
