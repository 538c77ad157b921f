"""A judge with four labels: which team answers a customer's message?"""

from typing import Literal

import dspy

import jurist


class MessageTeam(dspy.Signature):
    """Decide which team of a shop answers a customer's message.

    billing: charges, invoices, payments, prices, refunds that have not come. delivery: parcels on their way.
    returns: items that the customer wants to give back or exchange. technical: devices and the app, and their use.
    """

    message: str = dspy.InputField(desc="what the customer wrote")
    team: Literal["billing", "delivery", "returns", "technical"] = dspy.OutputField()


judge = jurist.Judge(name="message-team", signature=MessageTeam)
