"""A pairwise judge: which of two drafted replies is better? See docs/own-judge.md."""

from typing import Literal

import dspy

import jurist


class BetterReply(dspy.Signature):
    """Say which of two support replies answers the customer better."""

    question: str = dspy.InputField(desc="what the customer wrote")
    first: str = dspy.InputField(desc="one drafted reply")
    second: str = dspy.InputField(desc="another drafted reply")
    better: Literal["first", "second", "tie"] = dspy.OutputField()


judge = jurist.Judge(name="reply-preference", signature=BetterReply)
