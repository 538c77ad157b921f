"""Steps of a program that are asked as they are: verifiers, which no optimizer tunes.

DSPy leaves a sub-module alone whose ``_compiled`` is set, but not a bare predictor, so :func:`frozen` puts it into
a module of its own. What reaches a frozen step was often written by a model, so markers in it are defused.
"""

from __future__ import annotations

import asyncio
from typing import Any

import dspy

from ..text.escaping import defuse
from .state import jsonable

__all__ = ["Frozen", "all_predictors", "frozen", "frozen_predictors", "set_frozen_lm"]


class Frozen(dspy.Module):
    """A module whose predictors keep their prompts. Made by :func:`frozen`."""

    def __init__(self, module: dspy.Module) -> None:
        super().__init__()
        self.module = module
        self._markers = tuple(
            dict.fromkeys(name for one in all_predictors(module) for name in one.signature.fields)
        )
        self._compiled = True

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Ask the module."""
        return self.module(**defuse(jsonable(inputs), self._markers))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Ask the module without blocking."""
        given = defuse(jsonable(inputs), self._markers)
        if hasattr(self.module, "aforward"):
            return await self.module.acall(**given)
        return await asyncio.to_thread(self.module, **given)


def frozen(module: dspy.Module) -> Frozen:
    """Return a step that asks ``module`` and is never tuned: a verifier inside a generator, for one.

    Its calls are counted like all others. A model of its own answers it where one is named (``--judge-model``).
    """
    return Frozen(module)


def all_predictors(program: dspy.Module) -> list[dspy.Predict]:
    """Return every predictor of a program, the frozen ones too, each once."""
    return [one for _, one in program.named_sub_modules(type_=dspy.Predict)]


def frozen_predictors(program: dspy.Module) -> list[dspy.Predict]:
    """Return the predictors that no optimizer tunes."""
    tuned = {id(one) for one in program.predictors()}
    return [one for one in all_predictors(program) if id(one) not in tuned]


def set_frozen_lm(program: dspy.Module, lm: dspy.LM) -> None:
    """Let ``lm`` answer the frozen predictors of a program."""
    for predictor in frozen_predictors(program):
        predictor.lm = lm
