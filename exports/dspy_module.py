"""The judge as one Python file with a DSPy module: signature, state and vote; it needs dspy, and no jurist."""

import json
from collections.abc import Sequence
from typing import Any

from ..keeping.dspy_state import plain_state
from .portable_file import PortableFile, executed
from .prompt import only_predictor
from .signature_source import signature_source
from .target import Messages, Row, Subject

_ADAPTERS = {
    "chat": "dspy.ChatAdapter(use_json_adapter_fallback=False)",
    "json": "dspy.JSONAdapter()",
    "xml": "dspy.XMLAdapter(use_json_adapter_fallback=False)",
}


class DSPyModule(PortableFile):
    """One file with a module that runs without jurist."""

    name = "dspy"
    limits = (
        "replies are read by DSPy's own adapters, which take more for an answer than jurist does (drafts)",
    )
    about = """It is a DSPy module.

    import dspy
    dspy.configure(lm=dspy.LM("openai/gpt-4.1-mini"))
    verdict = Judge()($call)

The prediction has ``status`` ("verdict", or "abstained" where no reply was usable), ``value``, ``votes``, ``artifact``.
``Judge().predict`` is an ordinary predictor: save it, load it, optimize it on."""
    imports = """import dspy
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, Field
from typing import Annotated, Literal"""
    code = '''STATE = json.loads($state)
"""What ``dspy.Predict.save`` writes of the compiled prompt."""


$task


class Judge(dspy.Module):
    """Asks as often as the judge does, and counts."""

    def __init__(self) -> None:
        super().__init__()
        self.predict = dspy.Predict(Task)
        self.predict.load_state(STATE)

    def adapter(self) -> dspy.Adapter:
        """Return the prompt format that the judge was proven with."""
        return $adapter

    def values(self, **inputs: Any) -> dict[str, Any]:
        """Return what the predictor is called with for one row."""
        return _JUDGE.values(inputs)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Return the verdict on one row, given by $inputs."""
        values, samples, errors = self.values(**inputs), [], []
        for number in range(_SPEC["samples"]):
            try:
                with dspy.context(adapter=self.adapter()):
                    config = {"temperature": _SPEC["settings"]["temperature"], "rollout_id": number + 1}
                    said = self.predict(**values, config=config)[_SPEC["output_field"]]
                samples.append(_JUDGE.values_of(_plain(said), inputs))
            except (AdapterParseError, ValueError) as error:
                errors.append(str(error).partition("\\n")[0])
        return dspy.Prediction(**_JUDGE.verdict(samples, errors, _JUDGE.units(inputs)))


def _plain(said: Any) -> Any:
    """Return what a field holds as JSON values."""
    if isinstance(said, list):
        return [_plain(one) for one in said]
    return said.model_dump() if isinstance(said, BaseModel) else said
'''

    def words(self, subject: Subject, spec: dict[str, Any]) -> dict[str, str]:
        """Return signature, state and adapter; the messages follow from them."""
        del spec["messages"]
        predictor = only_predictor(subject)
        return {
            "state": repr(json.dumps(plain_state(predictor))),
            "adapter": _ADAPTERS[spec["adapter"]],
            "task": signature_source(predictor.signature, "Task"),
        }

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Execute the file, which jurist has just written, and format with DSPy's own adapter."""
        judge: Any = executed(text)["Judge"]()
        signature, demos = judge.predict.signature, judge.predict.demos
        return [
            [dict(one) for one in judge.adapter().format(signature, demos, judge.values(**row.inputs))]
            for row in rows
        ]
