"""What is asked about interpretive claims (FECT).

The task is that of the paper's sections 1 and 2.2: a one-sentence claim about a
contact-centre conversation is factual only if the conversation bears out all of
it. Four prompts (section 3.1): basic and 3D (decompose, decouple, detach), each
with and without reasoning before the label. The wording is ours. Variants
subclass, so that each text stands once.
"""

from typing import Literal

import dspy
import pydantic


class Unit(pydantic.BaseModel):
    """One minimal unit of a claim, and whether it was verified."""

    # The line above stands in the prompt: pydantic puts it into the schema. Steps 1 to 4 of section 2.2.

    text: str
    kind: Literal["concrete", "descriptive", "interpretation", "relation"]
    reasoning: str
    verified: bool


class FectBasic(dspy.Signature):
    """Decide whether a claim about a contact-centre conversation is factual.

    The claim is factual only if everything it says is borne out by the conversation, whether stated
    outright or clearly implied. It is not factual if any part of it is missing from the conversation or
    contradicted by it.
    """

    conversation: str = dspy.InputField(desc="the transcript, one turn per line with its speaker")
    claim: str = dspy.InputField(desc="one sentence that interprets the conversation")
    factual: bool = dspy.OutputField(desc="True if the claim is factual, False if it is not")


FectBasicReasoning = FectBasic.prepend(
    "reasoning",
    dspy.OutputField(desc="weigh the messages that speak for and against the claim before deciding"),
    str,
)
"""The basic prompt with free reasoning before the label."""


class Fect3D(FectBasic):
    """Decide whether a claim about a contact-centre conversation is factual, unit by unit.

    1. Decompose. Split the claim into its minimal units: single words, or short phrases that cannot be
    split without losing what they mean.
    2. Decouple. Sort the units by what they need as evidence.
    Concrete words (people, things, amounts, dates, acts with a plain meaning) need an explicit mention; a
    synonym or a pronoun that clearly refers to them is one.
    Descriptive words, which qualify the concrete ones, need evidence that is explicit or implicit.
    Words of subjective interpretation (feelings, attitudes, preferences, intentions, and choices that show
    them) need at least minimal implicit evidence: a message to point at that a careful reader takes that
    way. How most people would feel in that situation is no evidence.
    3. Detach. Leave the meaning of the words aside and look at how the claim ties them together: who did
    what to whom, why and how. Verify this relation on its own, by explicit or implicit evidence; the words
    may all be right and the relation wrong.
    4. Decide. The claim is factual only if every unit and the relation hold. If one of them cannot be
    verified, it is not factual, however much of the rest is right.
    """


Fect3DReasoning = Fect3D.prepend(
    "units",
    dspy.OutputField(
        desc="every minimal unit of the claim in its order, and last its relation. Of each: its text; "
        "its kind, one of: concrete; descriptive; interpretation; relation.\n"
        "Its reasoning says which message is the evidence, or that there is none; verified is True if "
        "that meets what its kind needs"
    ),
    list[Unit],
)
"""The 3D prompt with every unit's reasoning and verdict before the label."""
