"""Programs that keep what each run gave and how it came about, for optimizers that learn from that."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import dspy

from ..programs.state import jsonable


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What one run gave."""

    said: Mapping[str, Any] = field(default_factory=dict)  # the answer's fields, as they came
    values: Mapping[str, Any] = field(default_factory=dict)  # the same as JSON types
    # predictor, inputs and outputs of each step, as JSON types
    steps: tuple[tuple[str, Mapping[str, Any], Mapping[str, Any]], ...] = ()


class Traced(dspy.Module):
    """A program that keeps what each run gave and which predictors it went through."""

    def __init__(self, program: dspy.Module) -> None:
        super().__init__()
        self.inner = program
        self.traces: dict[str, list[Trace]] = defaultdict(list)
        self._names = {id(predictor): name for name, predictor in program.named_predictors()}

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Run the program and keep what it gave."""
        with dspy.context(trace=[]):
            return self._keep(inputs, self.inner(**inputs))

    def _keep(self, inputs: Mapping[str, Any], prediction: dspy.Prediction) -> dspy.Prediction:
        # Plain values: what DSPy cannot write as JSON, it shows to a proposer as "non-serializable".
        steps = tuple(
            (self._names[id(predictor)], dict(given), jsonable(dict(said.items())))
            for predictor, given, said in dspy.settings.trace
            if id(predictor) in self._names
        )
        said = dict(prediction.items())
        self.traces[key_of(inputs)].append(Trace(said=said, values=jsonable(said), steps=steps))
        return prediction


class TracedAsync(Traced):
    """The same for a program that runs asynchronously."""

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Run the program and keep what it gave."""
        with dspy.context(trace=[]):
            return self._keep(inputs, await self.inner.acall(**inputs))


def remembering(program: dspy.Module) -> Traced:
    """Return a program that does as ``program`` does, and remembers."""
    return (TracedAsync if hasattr(program, "aforward") else Traced)(program)


def key_of(inputs: Mapping[str, Any]) -> str:
    """Return what tells inputs apart."""
    return json.dumps(dict(inputs), sort_keys=True, ensure_ascii=False, default=str)
