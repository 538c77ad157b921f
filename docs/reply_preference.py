"""A pairwise judge: which of two drafted replies is better? See docs/own-judge.md."""

from typing import Literal

import dspy

import jurist


class BetterReply(dspy.Signature):
    """Say which of two replies to the customer the facts support better."""

    facts: str = dspy.InputField(desc="what the company has laid down")
    question: str = dspy.InputField(desc="what the customer wrote")
    first: str = dspy.InputField(desc="one drafted reply")
    second: str = dspy.InputField(desc="another drafted reply")
    better: Literal["first", "second"] = dspy.OutputField()


judge = jurist.Judge(name="reply-preference", signature=BetterReply)
