"""How a model that is assessed answers: zero-shot, by itself, without any advice."""

from typing import Any

import dspy

from ..evaluation.checked_items import Check
from ..text.escaping import well_formed
from .generator import Generator
from .stepwise import Making, Steps, Stepwise


class Answering(Stepwise):
    """Asks once; the item is the text of the reply."""

    def __init__(self, signature: type[dspy.Signature]) -> None:
        super().__init__()
        self.reply = dspy.Predict(signature)
        (self._field,) = signature.output_fields

    def steps(self, **inputs: Any) -> Steps:
        """Return the reply, and whether there is one."""
        text = well_formed(str((yield self.reply, inputs).get(self._field) or "")).strip()
        return dspy.Prediction(items=[text], checks=[{"answered": Check(verdict="yes" if text else "no")}])


def answering(name: str, signature: type[dspy.Signature]) -> Generator:
    """Return the generator of one answer; what it is worth is for others to judge."""
    return Generator(
        name=name,
        signature=signature,
        program=Making(Answering, (signature,)),
        checks=("answered",),
        description="a reply, as a model that is assessed gives it",
    )
