"""Programs of several calls whose order is written once, for blocking and for asynchronous use."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import dspy

Step: TypeAlias = tuple[dspy.Module, Mapping[str, Any]]
"""What is asked, and with which inputs."""
Steps: TypeAlias = Generator[Step, dspy.Prediction, dspy.Prediction]
"""Yields each step, is sent its prediction, and returns the program's own."""


class Stepwise(dspy.Module):
    """A program whose :meth:`steps` say what is asked in which order."""

    def steps(self, **inputs: Any) -> Steps:
        """Yield what is asked, and return the prediction; every subclass has its own."""
        raise NotImplementedError  # an abstract method would do nothing here: dspy.Module has a metaclass of its own

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Ask with blocking calls."""
        steps, said = self.steps(**inputs), None
        while True:
            try:
                module, given = steps.send(said)
            except StopIteration as done:
                return done.value
            said = module(**given)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Ask without blocking."""
        steps, said = self.steps(**inputs), None
        while True:
            try:
                module, given = steps.send(said)
            except StopIteration as done:
                return done.value
            said = await module.acall(**given)


@dataclass(frozen=True)
class Making:
    """Makes a program of some arguments; equal where they are, so that equal judges are equal."""

    program: type[dspy.Module]
    given: tuple[Any, ...]

    def __call__(self) -> dspy.Module:
        """Return a fresh program."""
        return self.program(*self.given)
