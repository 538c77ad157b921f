"""Programs of several calls whose order is written once, for blocking and for asynchronous use."""

import asyncio
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
        """Yield what is asked, and return the prediction; what a step raises is raised where it was yielded."""
        raise NotImplementedError  # an abstract method would do nothing here: dspy.Module has a metaclass of its own

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Ask with blocking calls."""
        steps = self.steps(**inputs)
        go_on, said = steps.send, None
        while True:
            try:
                module, given = go_on(said)
            except StopIteration as done:
                return done.value
            try:
                go_on, said = steps.send, module(**given)
            except BaseException as bad:  # noqa: BLE001 - the step that asked is told, and ends what it has begun
                go_on, said = steps.throw, bad

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Ask without blocking."""
        steps = self.steps(**inputs)
        go_on, said = steps.send, None
        while True:
            try:
                module, given = go_on(said)
            except StopIteration as done:
                return done.value
            try:
                go_on, said = steps.send, await called(module, given)
            except BaseException as bad:  # noqa: BLE001 - the step that asked is told, and ends what it has begun
                go_on, said = steps.throw, bad


async def called(module: dspy.Module, inputs: Mapping[str, Any]) -> Any:
    """Return what a module says; a thread keeps one that has ``forward`` only from stopping all others."""
    if hasattr(module, "aforward"):
        return await module.acall(**inputs)
    return await asyncio.to_thread(module, **inputs)


@dataclass(frozen=True)
class Making:
    """Makes a program of some arguments; equal where they are, so that equal judges are equal."""

    program: type[dspy.Module]
    given: tuple[Any, ...]

    def __call__(self) -> dspy.Module:
        """Return a fresh program."""
        return self.program(*self.given)
