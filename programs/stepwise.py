"""Programs of several calls whose order is written once, for blocking and for asynchronous use."""

import asyncio
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

import dspy

from .flows import FLOWS

Step: TypeAlias = tuple[dspy.Module | str, Mapping[str, Any]]
"""What is asked, or its name in the program, and with which inputs."""
Steps: TypeAlias = Generator[Step, dspy.Prediction, dspy.Prediction]
"""Yields each step, is sent its prediction, and returns the program's own."""


class _Asked:
    """What one run has asked: from the second time on, the same question is another draw for DSPy's cache."""

    def __init__(self) -> None:
        self._before: list[Step] = []

    def numbered(self, program: dspy.Module, step: Step) -> tuple[dspy.Module, Mapping[str, Any]]:
        """Return a step's module and its inputs, with a number of its own if it was asked before."""
        named, given = step
        module = attrgetter(named)(program) if isinstance(named, str) else named
        return module, self._apart(module, given)

    def _apart(self, module: dspy.Module, given: Mapping[str, Any]) -> Mapping[str, Any]:
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


@dataclass(frozen=True)
class Plan:
    """One of the flows of :mod:`.flows` with its settings: all that a program is besides the prompts of its steps."""

    flow: str
    settings: Mapping[str, Any]  # JSON values
    carries: tuple[str, ...] = ()  # modules of ours, by their paths, that an exported flow needs besides

    @property
    def asked(self) -> Sequence[str]:
        """The names of the steps that it may ask."""
        steps = self.settings.get("steps") or [self.settings["step"]]
        return tuple(steps)


class Stepwise(dspy.Module):
    """A program whose plan, or else :meth:`steps`, says what is asked in which order.

    What it asks again is drawn again. A program with a plan can be exported.
    """

    plan: Plan | None = None
    instead: str = "its prompts to markdown"  # what can be exported in place of a program without a plan

    def steps(self, **inputs: Any) -> Steps:
        """Yield what is asked, and return the prediction; what a step raises is raised where it was yielded."""
        if self.plan is None:
            raise NotImplementedError(f"{type(self).__name__} has neither a plan nor steps")
        return dspy.Prediction(**(yield from FLOWS[self.plan.flow](inputs, **self.plan.settings)))

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Ask with blocking calls."""
        steps, asked = self.steps(**inputs), _Asked()
        go_on, said = steps.send, None
        while True:
            try:
                module, given = asked.numbered(self, go_on(said))
            except StopIteration as done:
                return done.value
            try:
                go_on, said = steps.send, module(**given)
            except BaseException as bad:  # noqa: BLE001 - the step that asked is told, and ends what it has begun
                go_on, said = steps.throw, bad

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Ask without blocking."""
        steps, asked = self.steps(**inputs), _Asked()
        go_on, said = steps.send, None
        while True:
            try:
                module, given = asked.numbered(self, go_on(said))
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
