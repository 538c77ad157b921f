"""A judge of one's own: may a drafted reply be sent? See the README."""

from typing import Literal

import dspy

import jurist


class MaySend(dspy.Signature):
    """Decide whether a drafted reply may be sent to the customer: send it if the policy supports it."""

    policy: str = dspy.InputField(desc="the product's policy")
    reply: str = dspy.InputField(desc="one drafted sentence")
    verdict: Literal["send", "hold"] = dspy.OutputField(desc="send if the policy supports it, else hold")


judge = jurist.Judge(name="may-send", signature=MaySend, positive=frozenset({"hold"}), metric="accuracy")
