"""A plain judge as data: kept with its versions, so that they need no file of Python.

Plain is a judge that is one ``dspy.Predict`` or ``dspy.ChainOfThought`` of a signature of plain types, with an answer
of labels, scores or preferences, a metric by name, and no function of the user's. Others have no definition: their
code is needed.
"""

import dataclasses
import types
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import dspy
import pydantic
from dspy import make_signature

from ..errors import ArtifactError, JuristError
from .answers.base import Answer
from .answers.criteria import Criteria
from .answers.labels import OneLabel, Preference
from .answers.whole import LabelSet, Score
from .judge import Judge
from .state import PromptState

_TYPES = {kind.__name__: kind for kind in (str, int, float, bool)} | {"None": type(None)}
_ANSWERS: Mapping[str, type[Answer]] = {
    kind.__name__: kind for kind in (OneLabel, Score, LabelSet, Preference, Criteria)
}
_BOUNDS = {
    annotated_types.Ge: "ge",
    annotated_types.Le: "le",
    annotated_types.Gt: "gt",
    annotated_types.Lt: "lt",
}
_PROGRAMS: Mapping[str, Any] = {"Predict": dspy.Predict, "ChainOfThought": dspy.ChainOfThought}
_TUPLES = ("shares", "most_groups", "common", "ambiguities")
_SETTINGS = (
    *("name", "metric", "variant", "description", "bundled", "document", "most_calls"),
    *("shares", "most_groups", "common", "temperature"),
)
_READS = ("columns", "values")
"""Settings that are written only where a judge has them: how the user's own files are read."""
_OPTIONS = "options"
"""The options of a judge that declares some."""
_FORMER_SETTINGS = ("strictness", "tiers")
"""Settings of an answer that earlier versions wrote; both were empty where a judge is plain."""
_PROMPT = "prompt"
"""The prompt as the user wrote it, where a judge has one. The instruction follows from it and is not written."""
_FIELD: Mapping[str, Any] = {"bounds": {}, "said": True}
"""Defaults of a field, which are not written: it has no bounds, and the prompt says those that it has."""
_UNTYPED = "IS_TYPE_UNDEFINED"
"""DSPy's mark of a field whose type a signature in one string leaves open: it is text."""


def definition_of(judge: Judge) -> dict[str, Any] | None:
    """Return a plain judge as JSON values, from which :func:`defined` makes the same again; ``None`` of another."""
    functions = (judge.rows, judge.to_case, judge.expand, judge.demonstrations)
    if type(judge) is not Judge or callable(judge.metric) or functions != (None,) * len(functions):
        return None
    program = next((name for name, kind in _PROGRAMS.items() if type(judge.basic()) is kind), None)
    answer, signature = judge.answer, judge.signature
    if program is None or _ANSWERS.get(type(answer).__name__) is not type(answer):
        return None
    parts = (("input", signature.input_fields), ("output", signature.output_fields))
    try:
        data = {
            "settings": {name: _plain(getattr(judge, name)) for name in _SETTINGS}
            | {name: dict(names) for name in _READS if (names := getattr(judge, name))},
            "signature": signature.__name__,
            **_text_of(judge),
            "fields": [_field(name, part, info) for part, fields in parts for name, info in fields.items()],
            "program": program,
            "answer": type(answer).__name__,
            "answers": _settings_of(answer),
        }
        if judge.options:
            data[_OPTIONS] = _plain(judge.options)
        if judge.ambiguities != Judge.ambiguities:
            data["settings"]["ambiguities"] = _plain(judge.ambiguities)
        return data if _same(judge, defined(data)) else None
    except (LookupError, TypeError, ValueError, JuristError):
        return None


def _text_of(judge: Judge) -> dict[str, Any]:
    """Return a judge's prompt as JSON values: the prompt as it stands, else the instruction."""
    if judge.template is None:
        return {"instructions": judge.signature.instructions}
    return {_PROMPT: judge.template.as_prompt()}


def defined(data: Mapping[str, Any]) -> Judge:
    """Return the judge of a definition."""
    try:
        fields = {field["name"]: _made_field({**_FIELD, **field}) for field in data["fields"]}
        prompt = data.get(_PROMPT, "")
        instructions = None if prompt else data["instructions"]
        signature = make_signature(fields, instructions, data["signature"])
        answer = {
            name: _setting(value) for name, value in data["answers"].items() if name not in _FORMER_SETTINGS
        }
        settings: dict[str, Any] = {
            name: tuple(value) if name in _TUPLES and value is not None else value
            for name, value in data["settings"].items()
        }
        if _OPTIONS in data:
            settings["options"] = _setting(data[_OPTIONS])
        kind = _PROGRAMS[data["program"]]
        return Judge(
            **settings,
            signature=signature,
            prompt=prompt,
            answer=_ANSWERS[data["answer"]](**answer),
            program=None if kind is dspy.Predict else partial(kind, signature),
        )
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError, JuristError) as error:
        raise ArtifactError(
            f"the definition of the judge is damaged: {type(error).__name__}", hint="restore it from a copy"
        ) from error


def _same(judge: Judge, made: Judge) -> bool:
    """Return whether a judge that was made of a definition asks, reads and is described as the judge itself."""
    return (
        _asks(judge) == _asks(made)
        and judge.answer == made.answer
        and judge.template == made.template
        and judge.options == made.options
        and judge.ambiguities == made.ambiguities
        and all(getattr(judge, name) == getattr(made, name) for name in (*_SETTINGS, *_READS))
        and judge.row_model.model_json_schema() == made.row_model.model_json_schema()
    )


def _asks(judge: Judge) -> list[Any]:
    """Return settings, prompts and fields of a judge's predictors."""
    program = judge.basic()
    fields = [
        (name, predictor.config, key, info.annotation, info.metadata, info.is_required(), _about(info))
        for name, predictor in program.named_predictors()
        for key, info in predictor.signature.fields.items()
    ]
    return [PromptState.of(program), fields]


def _about(info: Any) -> dict[str, Any]:
    return {key: value for key, value in info.json_schema_extra.items() if key != _UNTYPED}


def _field(name: str, part: str, info: Any) -> dict[str, Any]:
    about = info.json_schema_extra
    field = {
        "name": name,
        "part": part,
        "type": _written(info.annotation),
        "desc": about["desc"],
        "bounds": {_BOUNDS[type(rule)]: getattr(rule, _BOUNDS[type(rule)]) for rule in info.metadata},
        "said": "constraints" in about or not info.metadata,
    }
    return {key: value for key, value in field.items() if key not in _FIELD or value != _FIELD[key]}


def _made_field(field: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return type and description of a field; its bounds stand in the one that the prompt says."""
    kind, make = _type(field["type"]), {"input": dspy.InputField, "output": dspy.OutputField}[field["part"]]
    if field["said"]:
        return kind, make(desc=field["desc"], **field["bounds"])
    return Annotated[kind, pydantic.Field(**field["bounds"])], make(desc=field["desc"])


def _written(kind: Any) -> Any:
    """Return a plain type as JSON values. Raises ``TypeError`` for another."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _TYPES.values():
        return "None" if kind is type(None) else kind.__name__
    if origin is Literal:
        return {"literal": list(inner)}
    if origin is list:
        return {"list": _written(inner[0])}
    if origin in (Union, types.UnionType):
        return {"any": [_written(option) for option in inner]}
    raise TypeError(f"{kind} is no plain type")


def _type(data: Any) -> Any:
    """Return the type that :func:`_written` gave."""
    if isinstance(data, str):
        return _TYPES[data]
    ((kind, inner),) = data.items()
    if kind == "literal":
        return Literal[tuple(inner)]
    if kind == "list":
        return list[_type(inner)]  # type: ignore[misc]
    return Union[tuple(map(_type, inner))]  # noqa: UP007


def _settings_of(answer: Answer) -> dict[str, Any]:
    return {item.name: _plain(getattr(answer, item.name)) for item in dataclasses.fields(answer)}


def _plain(value: Any) -> Any:
    """Return a setting as JSON values: a set is told from a list. Raises ``TypeError`` for code."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, frozenset):
        return {"set": sorted(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if _ANSWERS.get(type(value).__name__) is type(value):
        return {"answer": {type(value).__name__: _settings_of(value)}}
    if isinstance(value, Mapping):
        return {"map": {str(key): _plain(item) for key, item in value.items()}}
    raise TypeError(f"{value!r:.80} is no data")


def _setting(data: Any) -> Any:
    """Return the setting of an answer that :func:`_plain` wrote."""
    if isinstance(data, list):
        return tuple(_setting(item) for item in data)
    if not isinstance(data, dict):
        return data
    ((kind, inner),) = data.items()
    if kind == "answer":
        ((name, settings),) = inner.items()
        return _ANSWERS[name](**{key: _setting(item) for key, item in settings.items()})
    return frozenset(inner) if kind == "set" else {key: _setting(item) for key, item in inner.items()}
