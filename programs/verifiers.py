"""Compiled judges as the verifiers of a generator: their prompts take the place of those of its frozen steps."""

from dataclasses import dataclass

import dspy

from ..text.wording import Language
from .frozen import Frozen
from .state import PredictorPrompt


@dataclass(frozen=True, kw_only=True)
class CompiledVerifier:
    """The prompt of a version, for the frozen steps of a generator that ask what its judge decides."""

    reference: str  # such as ``label-check@2``
    sha256: str  # of the version's content
    attribute: str  # the attribute of the program that holds them: a frozen step, or a list of them
    prompt: PredictorPrompt
    language: Language = "en"  # of the prompt

    def put_into(self, program: dspy.Module) -> None:
        """Give the prompt to the frozen steps of a program."""
        for predictor in verifying_predictors(program, self.attribute):
            self.prompt.put_into(predictor)


def verifying_predictors(program: dspy.Module, attribute: str) -> list[dspy.Predict]:
    """Return the predictors of the frozen steps in an attribute of a program: of one step, or of a list."""
    steps = getattr(program, attribute)
    if isinstance(steps, Frozen):
        steps = [steps]
    return [step.module for step in steps]
