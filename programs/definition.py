"""The definition of a plain judge as JSON values, kept with its versions, so that these need no Python file.

A judge is plain if it is one ``dspy.Predict`` or ``dspy.ChainOfThought`` of a signature of plain types, with an answer
of labels, scores or preferences, a metric by name, and no function of the user's. Other judges have no definition:
their versions need their code.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import dspy
import pydantic
from dspy import make_signature
from pydantic.fields import FieldInfo

from ..errors import ArtifactError, JuristError, repr_in_brief
from .answers.base import Answer
from .answers.infer import PLAIN_KINDS
from .judge import Judge, is_trace_type
from .state import PromptState

_TYPES = {kind.__name__: kind for kind in (str, int, float, bool)} | {"None": type(None)}
_IMAGE = "Image"
"""The name of DSPy's type of images."""
_TRACE = "Trace"
"""The name of the type of traces, whose module is imported when a definition has it."""
_ANSWERS: Mapping[str, type[Answer]] = {kind.__name__: kind for kind in PLAIN_KINDS}
_BOUNDS = {
    annotated_types.Ge: "ge",
    annotated_types.Le: "le",
    annotated_types.Gt: "gt",
    annotated_types.Lt: "lt",
}
_PROGRAMS: Mapping[str, Callable[..., dspy.Module]] = {
    "Predict": dspy.Predict,
    "ChainOfThought": dspy.ChainOfThought,
}
_TUPLE_SETTINGS = ("shares", "most_groups", "most_cases", "common", "ambiguities")
_SETTINGS = (
    "name",
    "metric",
    "variant",
    "description",
    "bundled",
    "document",
    "most_calls",
    "shares",
    "most_groups",
    "common",
    "temperature",
)
_RARE_SETTINGS = ("columns", "values", "merge", "most_cases")
"""Settings that are written only where a judge has them."""
_OPTIONS_KEY = "options"
"""The key of the options, in the definition of a judge that declares some."""
_FORMER_SETTINGS = ("strictness", "tiers")
"""Settings of an answer that earlier versions wrote; both were empty where a judge is plain."""
_PROMPT_KEY = "prompt"
"""The key of the prompt as the user wrote it, where a judge has one; the instruction follows from it."""
_FIELD_DEFAULTS: Mapping[str, object] = {"bounds": {}, "said": True}
"""Defaults of a field, which are not written: it has no bounds, and the prompt states its bounds."""
_UNTYPED = "IS_TYPE_UNDEFINED"
"""DSPy's mark of a field whose type a signature in one string leaves open: it is text."""


def write_definition(judge: Judge) -> dict[str, object] | None:
    """Return the definition of a plain judge for :func:`read_definition`, as JSON values; ``None`` for other judges."""
    functions = (judge.rows, judge.to_case, judge.expand, judge.demonstrations)
    has_functions = any(function is not None for function in functions) or callable(judge.metric)
    if type(judge) is not Judge or has_functions:
        return None
    program_name = _program_name(judge)
    if program_name is None or _ANSWERS.get(type(judge.answer).__name__) is not type(judge.answer):
        return None
    try:
        data = _definition_data(judge, program_name)
        return data if _are_alike(judge, read_definition(data)) else None
    except (LookupError, TypeError, ValueError, JuristError):
        return None


def _program_name(judge: Judge) -> str | None:
    """Return the name of a judge's basic program, if it is one of those that a definition names."""
    kind = type(judge.basic())
    for name, program in _PROGRAMS.items():
        if program is kind:
            return name
    return None


def _definition_data(judge: Judge, program_name: str) -> dict[str, object]:
    """Return the definition of a judge with one of the known programs."""
    signature = judge.signature
    fields: list[dict[str, object]] = []
    for name, info in signature.input_fields.items():
        fields.append(_field_data(name, "input", info))
    for name, info in signature.output_fields.items():
        fields.append(_field_data(name, "output", info))
    data: dict[str, object] = {"settings": _judge_settings(judge), "signature": signature.__name__}
    if judge.template is None:
        data["instructions"] = signature.instructions
    else:
        data[_PROMPT_KEY] = judge.template.as_prompt()
    data["fields"] = fields
    data["program"] = program_name
    data["answer"] = type(judge.answer).__name__
    data["answers"] = _answer_settings(judge.answer)
    if judge.options:
        data[_OPTIONS_KEY] = _setting_data(judge.options)
    return data


def _judge_settings(judge: Judge) -> dict[str, object]:
    """Return the settings of a judge as JSON values."""
    settings: dict[str, object] = {}
    for name in _SETTINGS:
        settings[name] = _setting_data(getattr(judge, name))
    for name in _RARE_SETTINGS:
        setting = getattr(judge, name)
        if isinstance(setting, Mapping) and setting:
            settings[name] = dict(setting)
        elif setting:
            settings[name] = _setting_data(setting)
    if judge.ambiguities != Judge.ambiguities:
        settings["ambiguities"] = _setting_data(judge.ambiguities)
    return settings


def read_definition(data: Mapping[str, Any]) -> Judge:
    """Return the judge that a definition describes. Raises ``ArtifactError`` for a damaged one."""
    try:
        fields: dict[str, tuple[Any, FieldInfo]] = {}
        for field in data["fields"]:
            fields[field["name"]] = _make_field({**_FIELD_DEFAULTS, **field})
        prompt = data.get(_PROMPT_KEY, "")
        instructions = None if prompt else data["instructions"]
        signature = make_signature(fields, instructions, data["signature"])
        answer_settings = _read_settings(data["answers"])
        settings: dict[str, Any] = {}
        for name, value in data["settings"].items():
            is_tuple = name in _TUPLE_SETTINGS and value is not None
            settings[name] = tuple(value) if is_tuple else value
        if _OPTIONS_KEY in data:
            settings["options"] = _read_setting(data[_OPTIONS_KEY])
        program = _PROGRAMS[data["program"]]
        return Judge(
            **settings,
            signature=signature,
            prompt=prompt,
            answer=_ANSWERS[data["answer"]](**answer_settings),
            program=None if program is dspy.Predict else partial(program, signature),
        )
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError, JuristError) as error:
        raise ArtifactError(
            f"the definition of the judge is damaged: {type(error).__name__}", hint="restore it from a copy"
        ) from error


def _are_alike(judge: Judge, copy: Judge) -> bool:
    """Say whether a judge that was read from a definition has the settings, prompts and fields of the judge itself."""
    for name in (*_SETTINGS, *_RARE_SETTINGS, "answer", "template", "options", "ambiguities"):
        if getattr(judge, name) != getattr(copy, name):
            return False
    if _prompts_and_fields(judge) != _prompts_and_fields(copy):
        return False
    return judge.row_model.model_json_schema() == copy.row_model.model_json_schema()


def _prompts_and_fields(judge: Judge) -> list[object]:
    """Return the prompts of a judge's predictors and all properties of their fields, to be compared."""
    program = judge.basic()
    fields: list[object] = []
    for name, predictor in program.named_predictors():
        for key, info in predictor.signature.fields.items():
            extra = dict(_extra_of(info))
            extra.pop(_UNTYPED, None)
            fields.append(
                (name, predictor.config, key, info.annotation, info.metadata, info.is_required(), extra)
            )
    return [PromptState.of(program), fields]


def _extra_of(info: FieldInfo) -> Mapping[str, object]:
    """Return the entries that DSPy adds to a field. Raises ``TypeError`` for a field without any."""
    if not isinstance(info.json_schema_extra, Mapping):
        raise TypeError("the field is none of a signature")
    return info.json_schema_extra


def _field_data(name: str, part: str, info: FieldInfo) -> dict[str, object]:
    """Return a field of a signature as JSON values without defaults; ``part`` is ``input`` or ``output``."""
    extra = _extra_of(info)
    bounds: dict[str, object] = {}
    for rule in info.metadata:
        bound = _BOUNDS[type(rule)]
        bounds[bound] = getattr(rule, bound)
    field: dict[str, object] = {
        "name": name,
        "part": part,
        "type": _type_data(info.annotation),
        "desc": extra["desc"],
    }
    if bounds != _FIELD_DEFAULTS["bounds"]:
        field["bounds"] = bounds
    is_said = "constraints" in extra or not info.metadata
    if is_said != _FIELD_DEFAULTS["said"]:
        field["said"] = is_said
    return field


def _make_field(field: Mapping[str, Any]) -> tuple[Any, FieldInfo]:
    """Return the type and DSPy's description of a field.

    Bounds that the prompt has are part of the description, other bounds part of the type.
    """
    make = {"input": dspy.InputField, "output": dspy.OutputField}[field["part"]]
    kind = _read_type(field["type"])
    if field["said"]:
        return kind, make(desc=field["desc"], **field["bounds"])
    return Annotated[kind, pydantic.Field(**field["bounds"])], make(desc=field["desc"])


def _type_data(kind: object) -> object:
    """Return a plain type as JSON values. Raises ``TypeError`` for another."""
    for name, plain_type in _TYPES.items():
        if kind == plain_type:
            return name
    if kind is dspy.Image:
        return _IMAGE
    if is_trace_type(kind) and kind is _trace_type():
        return _TRACE
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"literal": list(arguments)}
    if origin is list:
        return {"list": _type_data(arguments[0])}
    if origin in (Union, types.UnionType):
        return {"any": [_type_data(option) for option in arguments]}
    raise TypeError(f"{kind} is no plain type")


def _trace_type() -> type:
    """Return the type of traces."""
    from ..text.traces import Trace

    return Trace


def _read_type(data: Any) -> Any:
    """Return the type that :func:`_type_data` wrote."""
    if data == _IMAGE:
        return dspy.Image
    if data == _TRACE:
        return _trace_type()
    if isinstance(data, str):
        return _TYPES[data]
    ((kind, arguments),) = data.items()
    if kind == "literal":
        return Literal[tuple(arguments)]
    if kind == "list":
        return list[_read_type(arguments)]  # type: ignore[misc]
    return Union[tuple(map(_read_type, arguments))]  # noqa: UP007


def _answer_settings(answer: Answer) -> dict[str, object]:
    """Return the settings of an answer as JSON values."""
    return {item.name: _setting_data(getattr(answer, item.name)) for item in dataclasses.fields(answer)}


def _setting_data(value: object) -> object:
    """Return a setting as JSON values, with the kind of a set, mapping or answer. Raises ``TypeError`` for code."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, frozenset):
        return {"set": sorted(value)}
    if isinstance(value, tuple):
        return [_setting_data(item) for item in value]
    if isinstance(value, Answer) and _ANSWERS.get(type(value).__name__) is type(value):
        return {"answer": {type(value).__name__: _answer_settings(value)}}
    if isinstance(value, Mapping):
        return {"map": {str(key): _setting_data(item) for key, item in value.items()}}
    raise TypeError(f"{repr_in_brief(value)} is no data")


def _read_settings(data: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings of an answer that :func:`_answer_settings` wrote, now or in an earlier version."""
    settings: dict[str, Any] = {}
    for name, value in data.items():
        if name not in _FORMER_SETTINGS:
            settings[name] = _read_setting(value)
    return settings


def _read_setting(data: object) -> object:
    """Return the setting that :func:`_setting_data` wrote."""
    if isinstance(data, list):
        return tuple(_read_setting(item) for item in data)
    if not isinstance(data, dict):
        return data
    ((kind, inner),) = data.items()
    if kind == "answer":
        ((name, settings),) = inner.items()
        return _ANSWERS[name](**_read_settings(settings))
    if kind == "set":
        return frozenset(inner)
    return {key: _read_setting(item) for key, item in inner.items()}
