"""A judge of short texts that even a very small language model can follow: is a customer content with a device?"""

from typing import Literal

import dspy

import jurist


class DeviceReview(dspy.Signature):
    """Decide whether a customer's review of a device is positive or negative."""

    review: str = dspy.InputField(desc="what the customer wrote")
    verdict: Literal["positive", "negative"] = dspy.OutputField()


judge = jurist.Judge(name="device-review", signature=DeviceReview, positive="negative")
