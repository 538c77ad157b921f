"""The judge as one Python file with a DSPy module: signature, state and vote; it needs dspy, and no jurist."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..keeping.dspy_state import plain_state
from .bundle import portable_source
from .portable_file import executed
from .portable_spec import portable_spec
from .prompt import only_predictor
from .signature_source import signature_source
from .target import Messages, Row, Subject, Target

__all__ = ["DSPyModule"]

_HEAD = '''"""{ref}: a compiled judge as a DSPy module, made by jurist.

    import dspy
    dspy.configure(lm=dspy.LM("openai/gpt-4.1-mini"))
    verdict = Judge()({call})

The prediction has ``status`` ("verdict", or "abstained" where no reply was usable), ``value``, ``votes``, ``artifact``.
``Judge().predict`` is an ordinary predictor: save it, load it, optimize it on.
"""

from __future__ import annotations

import dspy
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, Field
from typing import Annotated, Literal

'''
_FOOT = '''

_SPEC = json.loads({spec!r})
STATE = json.loads({state!r})
"""What ``dspy.Predict.save`` writes of the compiled prompt."""


class Judge(dspy.Module):
    """Asks as often as the judge does, and counts."""

    def __init__(self) -> None:
        super().__init__()
        self.predict = dspy.Predict(Task)
        self.predict.load_state(STATE)
        self._portable = PortableJudge(_SPEC)

    def adapter(self) -> dspy.Adapter:
        """Return the prompt format that the judge was proven with."""
        return {adapter}

    def values(self, **inputs: Any) -> dict[str, Any]:
        """Return what the predictor is called with for one row."""
        return self._portable.values(inputs)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Return the verdict on one row, given by {inputs}."""
        values, samples, errors = self.values(**inputs), [], []
        for number in range(_SPEC["samples"]):
            try:
                with dspy.context(adapter=self.adapter()):
                    config = {{"temperature": _SPEC["settings"]["temperature"], "rollout_id": number + 1}}
                    said = self.predict(**values, config=config)[_SPEC["output_field"]]
                samples.append(self._portable.values_of(_plain(said), inputs))
            except (AdapterParseError, ValueError) as error:
                errors.append(str(error).partition("\\n")[0])
        return dspy.Prediction(**self._portable.verdict(samples, errors, self._portable.units(inputs)))


def _plain(said: Any) -> Any:
    """Return what a field holds as JSON values."""
    if isinstance(said, list):
        return [_plain(one) for one in said]
    return said.model_dump() if isinstance(said, BaseModel) else said
'''
_ADAPTERS = {
    "chat": "dspy.ChatAdapter(use_json_adapter_fallback=False)",
    "json": "dspy.JSONAdapter()",
    "xml": "dspy.XMLAdapter(use_json_adapter_fallback=False)",
}


class DSPyModule(Target):
    """One file with a module that runs without jurist."""

    name = "dspy"
    suffix = ".py"
    prepares = True
    limits = (
        "replies are read by DSPy's own adapters, which take more for an answer than jurist does (drafts)",
    )

    def render(self, subject: Subject) -> str:
        """Return the source.

        Raises:
            UsageError: the judge's answers, or its types, cannot stand without jurist.
        """
        predictor, spec = only_predictor(subject), portable_spec(subject)
        del spec["messages"]
        names = [one["name"] for one in spec["inputs"]]
        foot = {
            "spec": json.dumps(spec),
            "state": json.dumps(plain_state(predictor)),
            "adapter": _ADAPTERS[spec["adapter"]],
            "inputs": ", ".join(names),
        }
        task = signature_source(predictor.signature, "Task")
        call = ", ".join(f"{name}=..." for name in names)
        head = _HEAD.format(ref=subject.ref, call=call)
        return "".join([head, portable_source(), "\n\n\n", task, "\n", _FOOT.format(**foot)])

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Execute the file, which jurist has just written, and format with DSPy's own adapter."""
        judge: Any = executed(text)["Judge"]()
        signature, demos = judge.predict.signature, judge.predict.demos
        return [
            [dict(one) for one in judge.adapter().format(signature, demos, judge.values(**row.inputs))]
            for row in rows
        ]
