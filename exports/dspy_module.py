"""The judge as one Python file with a DSPy module: signature, state and vote; it needs dspy, and no jurist."""

from __future__ import annotations

import json
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import annotated_types

from ..errors import UsageError
from ..keeping.dspy_state import plain_state
from ..programs.remembering import Remembering
from .portable_file import PortableFile, executed
from .target import Messages, Row, Subject, only_predictor

if TYPE_CHECKING:
    import dspy

_ADAPTERS = {
    "chat": "dspy.ChatAdapter(use_json_adapter_fallback=False)",
    "json": "dspy.JSONAdapter()",
    "xml": "dspy.XMLAdapter(use_json_adapter_fallback=False)",
}


class DSPyModule(PortableFile):
    """One file with a module that runs without jurist."""

    name = "dspy"
    limits = (
        "replies are read by DSPy's own adapters, which parse more leniently than jurist does (drafts)",
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

    def demos(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the demonstrations that go with these values."""
        return [*self.predict.demos, *map(dspy.Example, _JUDGE.near(values))]

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Return the verdict on one row, given by $inputs."""
        values, samples, errors = self.values(**inputs), [], []
        for number in range(_SPEC["samples"]):
            try:
                with dspy.context(adapter=self.adapter()):
                    config = {"temperature": _SPEC["settings"]["temperature"], "rollout_id": number + 1}
                    said = self.predict(**values, config=config, demos=self.demos(values))
                samples.append(_JUDGE.values_of({name: _plain(said[name]) for name in _JUDGE.answers}, inputs))
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
        if isinstance(predictor, Remembering):
            spec["nearest"]["shown_as"] = list(predictor.remembered.rows.values())
        return {
            "state": repr(json.dumps(plain_state(predictor))),
            "adapter": _ADAPTERS[spec["adapter"]],
            "task": signature_source(predictor.signature, "Task"),
        }

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Execute the file, which jurist has just written, and format with DSPy's own adapter."""
        judge: Any = executed(text)["Judge"]()
        asked = [judge.values(**row.inputs) for row in rows]
        form = judge.adapter()
        return [
            [dict(part) for part in form.format(judge.predict.signature, judge.demos(one), one)]
            for one in asked
        ]


_BOUNDS = {
    annotated_types.Ge: "ge",
    annotated_types.Le: "le",
    annotated_types.Gt: "gt",
    annotated_types.Lt: "lt",
}
_PLAIN = (str, int, float, bool)


def signature_source(signature: type[dspy.Signature], name: str) -> str:
    """Return source that defines the signature under a name, and above it the models of its fields.

    It needs ``dspy``, ``BaseModel`` and ``Field`` of pydantic, ``Annotated`` and ``Literal``.
    """
    models: dict[str, str] = {}
    lines = [f"class {name}(dspy.Signature):", f"    {signature.instructions!r}", ""]
    for kind, fields in (("Input", signature.input_fields), ("Output", signature.output_fields)):
        for field, info in fields.items():
            about, written = {"desc": info.json_schema_extra["desc"]}, _annotation(info.annotation, models)
            bounds = _bounds(info, f"{name}.{field}")
            if (
                bounds and "constraints" not in info.json_schema_extra
            ):  # in the type, and not said in the prompt
                written = f"Annotated[{written}, Field({_arguments(bounds)})]"
            else:
                about |= bounds
            lines.append(f"    {field}: {written} = dspy.{kind}Field({_arguments(about)})")
    return "\n\n\n".join([*models.values(), "\n".join(lines)])


def _annotation(kind: Any, models: dict[str, str]) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return str(kind.__name__)
    if kind is type(None):
        return "None"
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(_annotation(one, models) for one in inner)
    if origin in (list, dict, tuple):
        return f"{origin.__name__}[{', '.join(_annotation(one, models) for one in inner)}]"
    if hasattr(kind, "model_fields"):
        if kind.__name__ not in models:
            models[kind.__name__] = _model(kind, models)
        return str(kind.__name__)
    raise _unwritable(str(kind))


def _model(model: Any, models: dict[str, str]) -> str:
    decorated = model.__pydantic_decorators__
    if (
        decorated.field_validators
        or decorated.model_validators
        or decorated.computed_fields
        or model.model_config
    ):
        raise _unwritable(f"the model {model.__name__} with code or settings of its own")
    lines = [f"class {model.__name__}(BaseModel):", f"    {model.__doc__ or ''!r}", ""]
    for field, info in model.model_fields.items():
        if not info.is_required():
            raise _unwritable(f"{model.__name__}.{field}, which may be left out")
        about = {**({"description": info.description} if info.description else {}), **_bounds(info, field)}
        lines.append(f"    {field}: {_annotation(info.annotation, models)} = Field({_arguments(about)})")
    return "\n".join(lines)


def _bounds(info: Any, place: str) -> dict[str, Any]:
    unknown = [rule for rule in info.metadata if type(rule) not in _BOUNDS]
    if unknown:
        raise _unwritable(f"{place} with the rule {unknown[0]}")
    return {_BOUNDS[type(rule)]: getattr(rule, _BOUNDS[type(rule)]) for rule in info.metadata}


def _arguments(about: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in about.items())


def _unwritable(what: str) -> UsageError:
    return UsageError(
        f"{what} cannot be written as a file that stands alone",
        hint="export it to messages, or load the artifact's program.json into the judge's own program",
    )
