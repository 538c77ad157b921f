"""How a model that is assessed answers a query: by itself, without any advice."""

from __future__ import annotations

from typing import Any, Final

import dspy

from ...signatures.faithqa import AnswerQuery
from ..answers.checks import Check
from ..generator import Generator
from .steps import Steps, Stepwise

__all__ = ["ANSWER", "Answer"]


class Answer(Stepwise):
    """Answers a query; the item is the response's text."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict(AnswerQuery)

    def steps(self, **inputs: Any) -> Steps:
        """Ask once."""
        text = str((yield self.answer, inputs).get("response") or "").strip()
        verdict: Any = "yes" if text else "no"
        return dspy.Prediction(items=[text], checks=[{"answered": Check(verdict=verdict)}])


ANSWER: Final = Generator(
    name="faithqa-answer",
    signature=AnswerQuery,
    program=Answer,
    checks=("answered",),
    description="a response to a query, as a model that is assessed gives it",
)
"""Responses; what they are worth is for others to judge."""
