"""Asking a model that is assessed, zero-shot: the question as a user puts it, and its reply (C-FAITH section 4.2)."""

from __future__ import annotations

from typing import Any, Final

import dspy

from ...signatures.haluagent import AnswerQuestion
from ..answers.checks import Check
from ..generator import Generator

__all__ = ["ANSWERING", "Answering"]


class Answering(dspy.Module):
    """Replies to a prompt; its item is the text of the reply."""

    def __init__(self) -> None:
        super().__init__()
        self.reply = dspy.Predict(AnswerQuestion)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Return the reply, and whether there is one."""
        text = str((await self.reply.acall(**inputs)).response or "").strip()
        return dspy.Prediction(items=[text], checks=[{"answered": Check(verdict="yes" if text else "no")}])


ANSWERING: Final = Generator(
    name="answering",
    description="a reply to a question, as a model that is assessed gives it",
    signature=AnswerQuestion,
    program=Answering,
    checks=("answered",),
)
"""Replies; what they are worth is for others to judge."""
