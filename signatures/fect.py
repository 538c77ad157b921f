"""What is asked about interpretive claims (FECT).

The task is that of the paper's sections 1 and 2.2: a one-sentence claim about a
contact-centre conversation is factual only if the conversation bears out all of
it. The wording is ours. Variants subclass, so that each text stands once.
"""

from __future__ import annotations

import dspy

__all__ = ["FectBasic"]


class FectBasic(dspy.Signature):
    """Decide whether a claim about a contact-centre conversation is factual.

    The claim is factual only if everything it says is borne out by the conversation, whether stated
    outright or clearly implied. It is not factual if any part of it is missing from the conversation or
    contradicted by it.
    """

    conversation: str = dspy.InputField(desc="the transcript, one turn per line with its speaker")
    claim: str = dspy.InputField(desc="one sentence that interprets the conversation")
    factual: bool = dspy.OutputField(desc="True if the claim is factual, False if it is not")
