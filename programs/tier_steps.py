"""The program that decides the tier of a sentence: three calls at most, the first no ends it (CogniBench, figure 3)."""

import dspy

from ..signatures.cognibench import IsGrounded, IsIrrefutable, IsRational
from ..signatures.cognibench_labels import TIERS
from .statements import STEPS
from .stepwise import Plan, Stepwise


class TierSteps(Stepwise):
    """Asks ``rational``, ``grounded`` and ``irrefutable`` in turn and stops at the first no.

    Its prediction has ``tier`` (``None`` if a decision could not be read) and ``reasoning``: one line for
    each decision that was made, with its reason.
    """

    plan = Plan("tests in turn", {"field": "tier", "steps": STEPS, "ends": TIERS})

    def __init__(self) -> None:
        super().__init__()
        self.rational = dspy.Predict(IsRational)
        self.grounded = dspy.Predict(IsGrounded)
        self.irrefutable = dspy.Predict(IsIrrefutable)
