"""Programs of several calls whose order is written once, for blocking and for asynchronous use."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

import dspy
from dspy import AdapterParseError

from .flows import FLOWS

Step: TypeAlias = tuple[dspy.Module | str, Mapping[str, object]]
"""A module, or its name in the program, and its inputs."""
Steps: TypeAlias = Generator[Step, dspy.Prediction, dspy.Prediction]
"""Yields each step, is sent its prediction, and returns the program's own."""
Result = TypeVar("Result")
PartOfSteps: TypeAlias = Generator[Step, dspy.Prediction, Result]
"""Some steps of a program: yields each, is sent its prediction, and returns their result."""
Call: TypeAlias = Callable[[dspy.Module, Mapping[str, object]], Awaitable[dspy.Prediction]]
"""Asks a module with these inputs."""


_RUNS = 1_000
"""More than the questions of a run, so that two runs never share the number of a draw."""


@dataclass(frozen=True)
class Plan:
    """One of the flows of :mod:`.flows` with its settings: all that a program is besides the prompts of its steps."""

    flow: str
    settings: Mapping[str, Any]  # what the flow takes beside the inputs: JSON values
    carries: tuple[str, ...] = ()  # modules of ours, by their paths, that an exported flow needs besides

    @property
    def step_names(self) -> Sequence[str]:
        """The names of the steps that it may ask."""
        steps = self.settings.get("steps") or [self.settings["step"]]
        return tuple(steps)


class Stepwise(dspy.Module):
    """A program whose plan, or else :meth:`steps`, says what is asked in which order.

    What it asks again is drawn again. A program with a plan can be exported.
    """

    plan: Plan | None = None
    instead: str = "its prompts to markdown"  # what can be exported in place of a program without a plan

    def steps(self, **inputs: object) -> Steps:
        """Yield what is asked, and return the prediction; what a step raises is raised where it was yielded."""
        # An abstract method would not help: DSPy's metaclass makes instances of abstract classes, too.
        if self.plan is None:
            raise NotImplementedError(f"{type(self).__name__} has neither a plan nor steps")
        return dspy.Prediction(**(yield from steps_of_flow(self.plan, inputs)))

    def forward(self, **inputs: object) -> dspy.Prediction:
        """Ask with blocking calls."""
        try:
            # Nothing in it waits, so that it ends at once.
            self._ask_steps(inputs, _call_blocking).send(None)
        except StopIteration as done:
            prediction: dspy.Prediction = done.value
        return prediction

    async def aforward(self, **inputs: object) -> dspy.Prediction:
        """Ask without blocking."""
        return await self._ask_steps(inputs, called)

    async def _ask_steps(self, inputs: Mapping[str, object], call: Call) -> dspy.Prediction:
        """Return the program's prediction, having asked its steps one after the other."""
        steps = self.steps(**inputs)
        questions: list[tuple[dspy.Module, Mapping[str, object]]] = []
        reply: dspy.Prediction | None = None
        failure: BaseException | None = None
        while True:
            try:
                step, step_inputs = steps.send(reply) if failure is None else steps.throw(failure)
            except StopIteration as done:
                prediction: dspy.Prediction = done.value
                return prediction
            module = attrgetter(step)(self) if isinstance(step, str) else step
            repeats = 0
            for asked_module, asked_inputs in questions:
                if asked_module is module and asked_inputs == step_inputs:
                    repeats += 1
            questions.append((module, step_inputs))
            failure = None
            try:
                reply = await call(module, _draw_apart(module, step_inputs, repeats))
            except BaseException as error:  # noqa: BLE001 - the step that asked is told, and ends what it has begun
                failure = error


class _UnreadableReplyError(ValueError):
    """Tells a flow that the reply of its step cannot be read; exported files raise a ``ValueError``, too."""

    def __init__(self, parse_error: AdapterParseError) -> None:
        super().__init__(str(parse_error))
        self.parse_error = parse_error


def steps_of_flow(plan: Plan, inputs: Mapping[str, object]) -> PartOfSteps[Mapping[str, object]]:
    """Yield the steps of a flow and return its output fields; a flow may go on after a reply that cannot be read."""
    flow = FLOWS[plan.flow](inputs, **plan.settings)
    outcome: Any = None
    advance: Callable[[Any], Step] = flow.send
    while True:
        try:
            step, step_inputs = advance(outcome)
        except StopIteration as done:
            fields: Mapping[str, object] = done.value
            return fields
        except _UnreadableReplyError as unreadable:  # the flow needs a reply that can be read
            raise unreadable.parse_error from None
        try:
            outcome = yield step, step_inputs
            advance = flow.send
        except AdapterParseError as error:
            outcome = _UnreadableReplyError(error)
            advance = flow.throw


def _draw_apart(module: dspy.Module, inputs: Mapping[str, object], repeats: int) -> Mapping[str, object]:
    """Return the inputs of a question; a repeated question of a run is another draw for DSPy's cache."""
    settings = getattr(dspy.settings.lm, "kwargs", {})
    if not repeats or not isinstance(module, dspy.Predict) or settings.get("temperature") == 0:
        return inputs  # at a temperature of 0 all draws are one, as DSPy says too
    run = settings.get("rollout_id") or 0  # whoever asks for other runs
    return {**inputs, "config": {"rollout_id": run * _RUNS + repeats + 1}}


async def _call_blocking(module: dspy.Module, inputs: Mapping[str, object]) -> dspy.Prediction:
    """Return the prediction of a module in a call that blocks."""
    return module(**inputs)


async def called(module: dspy.Module, inputs: Mapping[str, object]) -> dspy.Prediction:
    """Return the prediction of a module; a thread keeps one that has ``forward`` only from stopping all others."""
    if hasattr(module, "aforward"):
        return await module.acall(**inputs)
    return await asyncio.to_thread(module, **inputs)


@dataclass(frozen=True)
class Making:
    """Makes a program of some arguments; equal where they are, so that equal judges are equal."""

    program: type[dspy.Module]
    arguments: tuple[object, ...]

    def __call__(self) -> dspy.Module:
        """Return a fresh program."""
        return self.program(*self.arguments)
