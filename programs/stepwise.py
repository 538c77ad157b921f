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


class _Asked:
    """What one run has asked: from the second time on, the same question is another draw for DSPy's cache."""

    def __init__(self) -> None:
        self._before: list[Step] = []

    def numbered(self, module: dspy.Module, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the inputs of a step, with a number of its own if it was asked before."""
        number = sum(one is module and inputs == given for one, inputs in self._before)
        self._before.append((module, given))
        if not number or not isinstance(module, dspy.Predict):
            return given
        settings = getattr(dspy.settings.lm, "kwargs", {})
        if settings.get("temperature") == 0:  # all draws are one, as DSPy says too
            return given
        run = settings.get("rollout_id") or 0  # whoever asks for other runs
        return {**given, "config": {"rollout_id": run * _RUNS + number + 1}}


_RUNS = 1_000  # apart from any number of a question in a run


class Stepwise(dspy.Module):
    """A program whose :meth:`steps` say what is asked in which order; what it asks again is drawn again."""

    def steps(self, **inputs: Any) -> Steps:
        """Yield what is asked, and return the prediction; what a step raises is raised where it was yielded."""
        raise NotImplementedError  # an abstract method would do nothing here: dspy.Module has a metaclass of its own

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Ask with blocking calls."""
        steps, asked = self.steps(**inputs), _Asked()
        go_on, said = steps.send, None
        while True:
            try:
                module, given = go_on(said)
            except StopIteration as done:
                return done.value
            try:
                go_on, said = steps.send, module(**asked.numbered(module, given))
            except BaseException as bad:  # noqa: BLE001 - the step that asked is told, and ends what it has begun
                go_on, said = steps.throw, bad

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Ask without blocking."""
        steps, asked = self.steps(**inputs), _Asked()
        go_on, said = steps.send, None
        while True:
            try:
                module, given = go_on(said)
            except StopIteration as done:
                return done.value
            try:
                go_on, said = steps.send, await called(module, asked.numbered(module, given))
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
