"""A judge that scores: how good is a drafted reply, from 1 to 5? See docs/own-judge.md."""

from typing import Literal

import dspy

import jurist


class ScoreReply(dspy.Signature):
    """Score how well the facts support a reply to the customer, from 1 (not at all) to 5 (fully)."""

    facts: str = dspy.InputField(desc="what the company has laid down")
    question: str = dspy.InputField(desc="what the customer wrote")
    reply: str = dspy.InputField(desc="the drafted reply")
    score: Literal[1, 2, 3, 4, 5] = dspy.OutputField()


judge = jurist.Judge(name="reply-score", signature=ScoreReply)
