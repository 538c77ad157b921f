"""A judge of one's own: may a drafted reply be sent? See docs/own-judge.md."""

from typing import Literal

import dspy

import jurist


class MaySend(dspy.Signature):
    """Decide what happens to a drafted reply: send if the policy supports it, hold if it is not supported."""

    policy: str = dspy.InputField(desc="the product's policy")
    reply: str = dspy.InputField(desc="one drafted sentence")
    verdict: Literal["send", "hold"] = dspy.OutputField()


judge = jurist.Judge(name="may-send", signature=MaySend, positive=frozenset({"hold"}))
