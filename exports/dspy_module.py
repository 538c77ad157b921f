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
from .target import Messages, Row, Subject, planned

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
$predictors of ``Judge()`` are ordinary predictors: save them, load them, optimize them on."""
    imports = """import asyncio
import dspy
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, Field
from typing import Annotated, Literal"""
    code = '''STATES = json.loads($states)
"""What ``dspy.Predict.save`` writes of the compiled prompt of each step."""


$tasks


class Judge(dspy.Module):
    """Asks as often as the judge does, and counts."""

    def __init__(self) -> None:
        super().__init__()
$made
        for step, name in $names.items():
            getattr(self, name).load_state(STATES[step])

    def adapter(self) -> dspy.Adapter:
        """Return the prompt format that the judge was proven with."""
        return $adapter

    def asked(self, step: str, values: Mapping[str, Any]) -> tuple[dspy.Predict, dict[str, Any], list[Any]]:
        """Return who is asked in a step, with which inputs and which demonstrations."""
        predict = getattr(self, $names[step])
        shown = defuse(dict(values), _SPEC["steps"][step]["tags"])
        return predict, shown, [*predict.demos, *map(dspy.Example, _JUDGE.near(step, shown))]

    def _called(self, step: str, values: Mapping[str, Any], before: Counter) -> tuple[dspy.Predict, dict[str, Any]]:
        predict, shown, demos = self.asked(step, values)
        before[said_as := repr((step, shown))] += 1  # the same again is another draw for DSPy's cache
        config = {"temperature": _SPEC["settings"]["temperature"], "rollout_id": before[said_as]}
        return predict, {**shown, "config": config, "demos": demos}

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Return the verdict on one row, given by $inputs."""
        walk, before = _JUDGE.walk(inputs), Counter()
        go_on, said = walk.send, None
        while True:
            try:
                predict, call = self._called(*go_on(said), before)
            except StopIteration as done:
                return dspy.Prediction(**done.value)
            try:
                with dspy.context(adapter=self.adapter()):
                    go_on, said = walk.send, _plain(predict(**call))
            except (AdapterParseError, ValueError) as error:
                go_on, said = walk.throw, ValueError(str(error).partition("\\n")[0])

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Do the same without blocking, in a thread."""
        return await asyncio.to_thread(self.forward, **inputs)


def _plain(said: Any) -> Any:
    """Return what a prediction or a field holds as JSON values."""
    if isinstance(said, dict | dspy.Prediction):
        return {name: _plain(one) for name, one in said.items()}
    if isinstance(said, list):
        return [_plain(one) for one in said]
    return said.model_dump() if isinstance(said, BaseModel) else said
'''

    def words(self, subject: Subject, spec: dict[str, Any]) -> dict[str, str]:
        """Return signatures, states and adapter; the messages follow from them."""
        _, predictors = planned(subject)
        for name, predictor in predictors.items():
            del spec["steps"][name]["messages"]
            if isinstance(predictor, Remembering):
                spec["steps"][name]["nearest"]["shown_as"] = list(predictor.remembered.rows.values())
        single = len(predictors) == 1
        names = {name: "predict" if single else name.replace(".", "_") for name in predictors}
        tasks = {
            step: "Task" if single else f"{name.title().replace('_', '')}Task" for step, name in names.items()
        }
        written: dict[str, str] = {}  # models that steps share
        classes = [signature_source(one.signature, tasks[step], written) for step, one in predictors.items()]
        return {
            "states": repr(json.dumps({name: plain_state(one) for name, one in predictors.items()})),
            "adapter": _ADAPTERS[spec["adapter"]],
            "tasks": "\n\n\n".join([*written.values(), *classes]),
            "made": "\n".join(
                f"        self.{names[step]} = dspy.Predict({task})" for step, task in tasks.items()
            ),
            "names": repr(names),
            "predictors": " and ".join(f"``{name}``" for name in names.values()),
        }

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Execute the file, which jurist has just written, and format the first step with DSPy's own adapter."""
        file = executed(text)
        judge = file["Judge"]()

        def asked(row: Row) -> Messages:
            first = next(file["_JUDGE"].walk(row.inputs), None)
            if first is None:
                return []
            predict, values, demos = judge.asked(*first)
            return [dict(one) for one in judge.adapter().format(predict.signature, demos, values)]

        return [asked(row) for row in rows]


_BOUNDS = {
    annotated_types.Ge: "ge",
    annotated_types.Le: "le",
    annotated_types.Gt: "gt",
    annotated_types.Lt: "lt",
}
_PLAIN = (str, int, float, bool)
_HARMLESS = {"frozen": True, "extra": "ignore"}  # settings of a model that change nothing here


def signature_source(signature: type[dspy.Signature], name: str, models: dict[str, str]) -> str:
    """Return source that defines the signature under a name; the models of its fields are added to ``models``.

    It needs ``dspy``, ``BaseModel`` and ``Field`` of pydantic, ``Annotated`` and ``Literal``.
    """
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
    return "\n".join(lines)


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
        source = _model(kind, models)
        if models.setdefault(kind.__name__, source) != source:
            raise _unwritable(f"a second model called {kind.__name__}")
        return str(kind.__name__)
    raise _unwritable(str(kind))


def _model(model: Any, models: dict[str, str]) -> str:
    decorated = model.__pydantic_decorators__
    if (
        decorated.field_validators
        or decorated.model_validators
        or decorated.computed_fields
        or not dict(model.model_config).items() <= _HARMLESS.items()
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
