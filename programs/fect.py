"""The judge of interpretive claims about contact-centre conversations (FECT)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import pydantic

from ..cases import Case, text_hash
from ..signatures.fect import FectBasic
from .judge import Judge
from .shapes import OneLabel

__all__ = ["FECT", "FectRow"]

Factual: TypeAlias = bool | Literal["factual", "non_factual"] | None
"""A label as files write it."""


class FectRow(pydantic.BaseModel):
    """A row of FECT gold: a conversation, a claim, and whether it is factual.

    The authors' column ``claim_is_factual`` is read as ``factual``.
    """

    model_config = pydantic.ConfigDict(extra="ignore")

    conversation: str = pydantic.Field(min_length=1)
    claim: str = pydantic.Field(min_length=1)
    factual: Factual = pydantic.Field(
        default=None, validation_alias=pydantic.AliasChoices("factual", "claim_is_factual")
    )
    group: str = ""
    ratings: dict[str, Factual] = pydantic.Field(default_factory=dict)


def _label(value: Factual) -> str | None:
    if isinstance(value, bool):
        return "factual" if value else "non_factual"
    return value


def _case(row: FectRow) -> Case:
    label = _label(row.factual)
    return Case(
        inputs={"conversation": row.conversation, "claim": row.claim},
        group=row.group or text_hash(row.conversation)[:12],
        gold=None if label is None else (label,),
        ratings={rater: (_label(value),) for rater, value in row.ratings.items()},
    )


FECT = Judge(
    name="fect",
    variant="basic",
    description="FECT: is an interpretive claim factual for a conversation",
    signature=FectBasic,
    labels=("factual", "non_factual"),
    positive=frozenset({"non_factual"}),
    shape=OneLabel(field="factual", values={"factual": True, "non_factual": False}, unit="claim"),
    rows=FectRow,
    to_case=_case,
)
