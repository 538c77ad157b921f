"""What is asked about the sentences of a response (CogniBench).

The labels are the paper's (section 2, figures 3 and 10): a factual statement is
faithful or invented; a cognitive one passes the tests rational, grounded and
irrefutable in turn, which gives its tier. Whole responses are tagged in one
call (section 3.1). The wording is ours.
"""

from __future__ import annotations

from typing import Literal, get_args

import dspy
import pydantic

__all__ = ["LABELS", "SentenceLabel", "Tag", "TagResponse"]

SentenceLabel = Literal[
    "irrelevant", "faithful", "invented", "misleading", "speculative", "reliable", "irrefutable"
]
LABELS: tuple[str, ...] = get_args(SentenceLabel)


class Tag(pydantic.BaseModel):
    """The label of one numbered sentence."""

    n: int
    label: SentenceLabel


class TagResponse(dspy.Signature):
    """Label every numbered sentence of an assistant's response by how faithful it is to the reference.

    First decide what the sentence does. It is irrelevant if it says nothing about the subject: a greeting,
    a filler, an offer of help. It is a factual statement if it states a plain fact: label it faithful if the
    reference supports all of it, invented if any part of it is not in the reference, however true it may be.
    Otherwise it is a cognitive statement, which infers, explains, evaluates or advises; ask in turn:
    Is it rational to believe, given the reference? If not, it is misleading.
    Is it grounded, does it follow from what the reference says? If not, it is speculative.
    Is it irrefutable, free of subjective wording and open to no other reading? If not, it is reliable;
    if so, it is irrefutable.
    """

    reference: str = dspy.InputField(desc="the only source of facts")
    dialogue: str = dspy.InputField(desc="the earlier turns and the user's message that is answered")
    sentences: str = dspy.InputField(desc="the response, one sentence per line, each with its number")
    labels: list[Tag] = dspy.OutputField(
        desc="exactly one item for each numbered sentence, with its number n and its label, one of: "
        + "; ".join(LABELS)
    )
