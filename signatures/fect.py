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
    """One statement of a claim, or a relation between statements, and whether it was verified."""

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
    """Decide whether a claim about a contact-centre conversation is factual, statement by statement.

    1. Decompose. Split the claim into the smallest statements that it makes. "The customer was annoyed about the slow
    delivery" makes four: there was a delivery; it was slow; the customer was annoyed; the slow delivery was the reason.
    2. Decouple. Give each statement the evidence that its kind of words needs.
    Concrete words (people, things, amounts, dates, plain acts) need a mention; a synonym, a pronoun or a shorter name
    is one. Where a word can be read in several ways, one reading that the conversation bears out is enough.
    Descriptive words, which qualify the concrete ones, need a message that states or implies them.
    Words of interpretation (feelings, attitudes, wishes, choices) need a small sign: one message that implies them.
    What the customer does can be the sign: asking again, questioning a charge, asking for a supervisor, taking an
    offer. Without any sign the statement does not hold.
    3. Detach. Leave the meaning of the words aside and look at the relations between them: who did what to whom, in
    which order, and why. The words may all be right and a relation wrong. A reason holds if a speaker gives it, or if
    it can be inferred from what is said directly before the act; a reason that nothing suggests does not.
    4. Decide. The claim is factual only if every statement and every relation holds. If one of them does not, the claim
    is not factual, however much of the rest is right.

    Examples, for this conversation:
    Customer: My lamp still isn't here, and you said Monday.
    Agent: I can send another one, or pay you back.
    Customer: This is my third call. Just send it, by express this time.
    "The impatient customer chose a new lamp over a refund because of the late delivery." factual: the third call and
    "just" are signs of impatience, "just send it" is the choice, and the reason stands directly before it.
    "The customer was pleased with the offer of a refund." not factual: the refund was offered, but no message shows
    that the customer was pleased.
    "The agent suggested the express delivery." not factual: every word is mentioned, but the customer asked for it.
    """


Fect3DReasoning = Fect3D.prepend(
    "units",
    dspy.OutputField(
        desc="every statement of the claim in its order, and after them each relation between them. Of each: its text; "
        "its kind, one of: concrete; descriptive; interpretation; relation.\n"
        "Its reasoning says which message is the evidence, or that there is none; verified is True if "
        "that meets what its kind needs"
    ),
    list[Unit],
)
"""The 3D prompt with every unit's reasoning and verdict before the label."""
