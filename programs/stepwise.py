"""Programs of several calls whose order is written once, for blocking and for asynchronous use."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

import dspy

from .flows import FLOWS

Step: TypeAlias = tuple[dspy.Module | str, Mapping[str, Any]]
"""A module, or its name in the program, and its inputs."""
Steps: TypeAlias = Generator[Step, dspy.Prediction, dspy.Prediction]
"""Yields each step, is sent its prediction, and returns the program's own."""
Call: TypeAlias = Callable[[dspy.Module, Mapping[str, Any]], Awaitable[Any]]
"""Asks a module."""


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
        # An abstract method would not help: DSPy's metaclass makes instances of abstract classes, too.
        if self.plan is None:
            raise NotImplementedError(f"{type(self).__name__} has neither a plan nor steps")
        return dspy.Prediction(**(yield from FLOWS[self.plan.flow](inputs, **self.plan.settings)))

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Ask with blocking calls."""
        try:
            self._asked(inputs, _blocking).send(None)  # nothing in it waits, so that it ends at once
        except StopIteration as done:
            prediction: dspy.Prediction = done.value
        return prediction

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Ask without blocking."""
        return await self._asked(inputs, called)

    async def _asked(self, inputs: Mapping[str, Any], call: Call) -> dspy.Prediction:
        steps, before = self.steps(**inputs), list[tuple[dspy.Module, Mapping[str, Any]]]()
        go_on: Callable[[Any], Step] = steps.send
        reply: Any = None
        while True:
            try:
                named, sent = go_on(reply)
            except StopIteration as done:
                prediction: dspy.Prediction = done.value
                return prediction
            module = attrgetter(named)(self) if isinstance(named, str) else named
            times = sum(asked is module and earlier == sent for asked, earlier in before)
            before.append((module, sent))
            try:
                go_on, reply = steps.send, await call(module, _drawn_apart(module, sent, times))
            except BaseException as bad:  # noqa: BLE001 - the step that asked is told, and ends what it has begun
                go_on, reply = steps.throw, bad


def _drawn_apart(module: dspy.Module, inputs: Mapping[str, Any], times: int) -> Mapping[str, Any]:
    """Return the inputs of a question; what was asked before in this run is another draw for DSPy's cache."""
    settings = getattr(dspy.settings.lm, "kwargs", {})
    if not times or not isinstance(module, dspy.Predict) or settings.get("temperature") == 0:
        return inputs  # at a temperature of 0 all draws are one, as DSPy says too
    run = settings.get("rollout_id") or 0  # whoever asks for other runs
    return {**inputs, "config": {"rollout_id": run * _RUNS + times + 1}}


async def _blocking(module: dspy.Module, inputs: Mapping[str, Any]) -> Any:
    return module(**inputs)


async def called(module: dspy.Module, inputs: Mapping[str, Any]) -> Any:
    """Return the prediction of a module; a thread keeps one that has ``forward`` only from stopping all others."""
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
