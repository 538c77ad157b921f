"""The judges of interpretive claims about contact-centre conversations (FECT): four prompts, one task."""

from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

import pydantic

from ..cases import Case, text_hash
from ..text.turns import Text
from .answers.labels import POLICIES, OneLabel, Verified
from .judge import Judge, own_signature

Factual: TypeAlias = bool | Literal["factual", "non_factual"] | None
"""A label as files write it."""


class FectRow(pydantic.BaseModel):
    """A row of FECT gold: a conversation, a claim, and whether it is factual.

    The authors' column ``claim_is_factual`` is read as ``factual``.
    """

    model_config = pydantic.ConfigDict(extra="ignore")

    conversation: Text = pydantic.Field(min_length=1)
    claim: Text = pydantic.Field(min_length=1)
    factual: Factual = pydantic.Field(
        default=None, validation_alias=pydantic.AliasChoices("factual", "claim_is_factual")
    )
    group: str = ""
    ratings: dict[str, Factual] = pydantic.Field(default_factory=dict)


def _label_of(value: Factual) -> str | None:
    """Return the label that a file writes as a text or a bool."""
    if isinstance(value, bool):
        return "factual" if value else "non_factual"
    return value


def _case_of_claim(row: FectRow) -> Case:
    label = _label_of(row.factual)
    return Case(
        inputs={"conversation": row.conversation, "claim": row.claim},
        group=row.group or text_hash(row.conversation)[:12],
        gold=None if label is None else (label,),
        ratings={rater: (_label_of(value),) for rater, value in row.ratings.items()},
    )


def _claim_signature(name: str) -> Any:
    """Return a signature of :mod:`jurist.signatures.fect` by its name, for the declaration of a judge."""
    return own_signature("fect", name, "conversation", "claim")


_ANSWER: Final[dict[str, Any]] = {
    "field": "factual",
    "unit": "claim",
    "values": {"factual": True, "non_factual": False},
    "positive": frozenset({"non_factual"}),
}

FECT = Judge(
    name="fect",
    variant="basic",
    description="FECT: is an interpretive claim factual for a conversation",
    signature=_claim_signature("FectBasic"),
    answer=OneLabel(**_ANSWER),
    metric="f1",
    rows=FectRow,
    to_case=_case_of_claim,
    bundled="fect-mini",
    # Claims about conversations are ambiguous in a sentiment or a relation (section 2.3).
    ambiguities=("sentiment", "relation", "other"),
)
_CHECKED: Final = Verified(**_ANSWER, parts="units", holds="factual", fails="non_factual")
FECT_REASONING, FECT_3D, FECT_3D_REASONING = (
    replace(
        FECT,
        name=f"fect-{name}",
        variant=variant,
        description=description,
        signature=_claim_signature(signature),
        answer=answer,
    )
    for name, variant, description, signature, answer in (
        ("reasoning", "basic-reasoning", "FECT, with reasoning before the label", "FectBasicReasoning", FECT.answer),
        ("3d", "3d", "FECT, 3D: decompose, decouple, detach", "Fect3D", FECT.answer),
        ("3d-reasoning", "3d-reasoning",
         "FECT, 3D, with every unit's reasoning and verdict, checked against the label", "Fect3DReasoning", _CHECKED),
    )
)  # fmt: skip


FECT_3D_LABEL: Final = replace(
    FECT_3D_REASONING,  # of another name, so that versions proven under different policies are not taken for each other
    name=f"{FECT_3D_REASONING.name}-label",
    description=f"{FECT_3D_REASONING.description}; where units contradict it, {POLICIES['label']}",
    signature=_claim_signature("Fect3DReasoning"),
    answer=replace(_CHECKED, policy="label"),
)
