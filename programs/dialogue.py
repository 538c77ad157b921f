"""The programs that converse: one writes both sides of an exchange, one answers a user.

They wire signatures and keep field markers in documents and earlier turns from being read as structure. They know
neither checks nor files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from ..signatures.dialogue import NextTurn, Reply
from ..text.escaping import defuse

__all__ = ["Converse", "Respond", "rendered"]


def rendered(turns: Sequence[Mapping[str, str]]) -> str:
    """Return earlier turns as text: ``role: content``, one turn a paragraph."""
    return "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)


class _Speaker(dspy.Module):
    """One predictor whose inputs are defused."""

    def __init__(self, signature: type[dspy.Signature]) -> None:
        super().__init__()
        self.speak = dspy.Predict(signature)
        self._names = [*signature.input_fields, *signature.output_fields]

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Ask, and return the messages as predicted."""
        return self.speak(**defuse(inputs, self._names))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Do the same without blocking."""
        return await self.speak.acall(**defuse(inputs, self._names))


class Converse(_Speaker):
    """Writes the next exchange of a conversation; see :class:`~jurist.signatures.dialogue.NextTurn`."""

    def __init__(self) -> None:
        super().__init__(NextTurn)


class Respond(_Speaker):
    """Answers a user's message; see :class:`~jurist.signatures.dialogue.Reply`."""

    def __init__(self) -> None:
        super().__init__(Reply)
