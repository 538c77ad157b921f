"""A request as the engine reads it: typed fields, instruction, demonstrations, and the inputs to judge.

Made from what our adapters were asked to render (:class:`~jurist.engines.adapters.TypedRequest`). Inputs are the
texts that the prompt shows; the outputs of demonstrations are kept as JSON, so that equal ones are equal and what
was learned from them is found again. What values an output field takes is its shape: types are read as their JSON
schema, so that ``Literal``, enums, optional and bounded types, dataclasses and pydantic models are all read alike.
Where a ``str`` stands for a label, the labels come from the description, written as ``one of: a; b; c``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import dspy
from dspy.adapters.utils import format_field_value, serialize_for_json
from pydantic import TypeAdapter

from ..draws import TypedRequest

Kind = Literal[
    "bool", "label", "labels", "echo", "tags", "tag", "bools", "indices", "texts", "score", "objects",
    "preference", "map", "text",
]  # fmt: skip
Schema = Mapping[str, Any]

_PREFERENCE: Final = frozenset({"first", "second", "tie"})
_ONE_OF: Final = re.compile(r"one of:?\s*(.+?)(?:[.。\n]|$)|其中之一[:：]?\s*(.+?)(?:[。\n]|$)", re.I)
_RANGE: Final = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s*(?:to|-|–|~|到|至|and)\s*(\d+(?:\.\d+)?)")
_CLOSING: Final = re.compile(r"</\w+>")
_LABEL_NAMES: Final = ("label", "verdict", "tag", "category", "type", "kind", "class", "标签", "类型")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One property of an object; see :class:`Shape`."""

    name: str
    role: str  # number (of a line), label, flag, score or text
    values: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 1.0
    whole: bool = False


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The values a field takes: labels of a closed set, properties of objects, or scores in a range."""

    kind: Kind
    labels: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    levels: tuple[float, ...] = ()  # the scores there are, ascending; empty if all between low and high


def shape_of(info: Any, description: str) -> Shape:
    """Return the shape of a field as the signature declares it (annotation, and constraints in ``metadata``)."""
    kind: Any = str if info.annotation is dspy.Reasoning else info.annotation
    schema = _schema(Annotated[(kind, *info.metadata)]) if info.metadata else _plain_schema(kind)
    return _shape(_resolve(schema, schema.get("$defs", {})), schema.get("$defs", {}), description)


def _schema(kind: Any) -> Schema:
    return TypeAdapter(kind).json_schema()


@lru_cache(maxsize=256)
def _plain_schema(kind: Any) -> Schema:
    """Return the schema of a type without constraints: every candidate's instruction makes a new signature of them."""
    return _schema(kind)


def _shape(schema: Schema, definitions: Schema, description: str) -> Shape:
    values, described = _values(schema), _one_of(description)
    match schema.get("type"):
        case "boolean":
            return Shape(kind="bool", labels=("True", "False"))
        case "array":
            return _listed(_resolve(schema.get("items", {}), definitions), definitions, described)
        case "object" if "properties" in schema:
            return _object(schema, definitions, described, "tag")
        case "object":
            return Shape(kind="map")
    if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        levels = tuple(sorted(float(value) for value in values))
        return Shape(
            kind="score", low=levels[0], high=levels[-1], whole=all(map(_is_whole, values)), levels=levels
        )
    if values:
        labels = tuple(str(value) for value in values)
        return Shape(
            kind="preference" if {"first", "second"} <= set(labels) <= _PREFERENCE else "label", labels=labels
        )
    if schema.get("type") in ("integer", "number"):
        low, high = _range(schema, description)
        return Shape(kind="score", low=low, high=high, whole=schema["type"] == "integer")
    if len(described) > 1 and any(tag[2:-1] in described for tag in _CLOSING.findall(description)):
        return Shape(kind="echo", labels=described)  # sentences in tags: one of the labels is shown as a tag
    return Shape(kind="label", labels=described) if len(described) > 1 else Shape(kind="text")


def _listed(item: Schema, definitions: Schema, described: tuple[str, ...]) -> Shape:
    values = _values(item)
    if values or (item.get("type") == "string" and len(described) > 1):
        return Shape(kind="labels", labels=tuple(str(value) for value in values) or described)
    match item.get("type"):
        case "integer":
            return Shape(kind="indices")
        case "boolean":
            return Shape(kind="bools", labels=("True", "False"))
        case "string":
            return Shape(kind="texts")
    shape = _object(item, definitions, described, "tags")
    if shape.kind == "text" or any(part.role == "number" for part in shape.parts):
        return shape
    return replace(shape, kind="objects")


def _object(schema: Schema, definitions: Schema, described: tuple[str, ...], kind: Kind) -> Shape:
    parts = [
        _part(name, _resolve(raw, definitions), described)
        for name, raw in schema.get("properties", {}).items()
    ]
    if not parts:
        return Shape(kind="text")
    closed = next((part.values for part in parts if part.role == "label"), ())
    return Shape(kind=kind, labels=tuple(str(value) for value in closed), parts=tuple(parts))


def _part(name: str, schema: Schema, described: tuple[str, ...]) -> Part:
    values = _values(schema)
    if values:
        return Part(name=name, role="label", values=values)
    match schema.get("type"):
        case "boolean":
            return Part(name=name, role="flag")
        case "integer" if not {"minimum", "maximum"} <= set(schema):
            return Part(name=name, role="number")
        case "integer" | "number":
            low, high = _range(schema, str(schema.get("description", "")))
            return Part(name=name, role="score", low=low, high=high, whole=schema["type"] == "integer")
    if name.lower() in _LABEL_NAMES and described:
        return Part(name=name, role="label", values=described)
    return Part(name=name, role="text")


def _values(schema: Schema) -> tuple[Any, ...]:
    return tuple(schema.get("enum") or ([schema["const"]] if "const" in schema else []))


def _is_whole(value: float) -> bool:
    return isinstance(value, int)


def _one_of(text: str) -> tuple[str, ...]:
    match = _ONE_OF.search(text)
    if not match:
        return ()
    body = (match.group(1) or match.group(2)).strip()
    pieces = re.split("[;；、]", body)
    if len(pieces) == 1:
        pieces = re.split(r",|(?<=\s)or(?=\s)", body)
    labels = [re.sub(r"^(?:or|and)\s+", "", piece.strip()).strip(" `'\"()") for piece in pieces]
    return tuple(dict.fromkeys(label for label in labels if label and len(label) < 60))


def _range(schema: Schema, description: str) -> tuple[float, float]:
    """Return the bounds of a number: declared, else described ("0 to 10"), else 0 and 1."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    found = _RANGE.search(description)
    told = sorted((float(found.group(1)), float(found.group(2)))) if found else [0.0, 1.0]
    return (told[0] if low is None else float(low)), (told[1] if high is None else float(high))


def _resolve(schema: Schema, definitions: Schema) -> Schema:
    for _ in range(8):
        if "$ref" in schema:
            schema = definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        elif "anyOf" in schema:
            schema = next((s for s in schema["anyOf"] if s.get("type") != "null"), {})
        else:
            break
    return schema


@dataclass(frozen=True, kw_only=True)
class Field:
    """One declared field: its name, description, and (for outputs) the shape of its value."""

    name: str
    description: str
    shape: Shape


@dataclass(frozen=True, kw_only=True)
class Demo:
    """One demonstration: the input texts and the outputs as JSON, by field name; those that were supplied."""

    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What is declared, what is shown, and what is asked."""

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    instruction: str
    demos: tuple[Demo, ...]
    values: dict[str, str]


def read_request(request: TypedRequest) -> Ask:
    """Read a typed request."""
    signature: Any = request.signature  # its metaclass hides from mypy that a class is hashable
    inputs, outputs, instruction = _declared(signature)
    groups = (signature.input_fields, signature.output_fields)
    # The demonstrations that the prompt shows, in its order: incomplete ones first.
    whole = [demo for demo in request.demos if all(demo.get(name) is not None for name in signature.fields)]
    parts = [
        demo
        for demo in request.demos
        if any(demo.get(name) is None for name in signature.fields)
        and all(any(name in demo for name in group) for group in groups)
    ]
    return Ask(
        inputs=inputs,
        outputs=outputs,
        instruction=instruction,
        demos=tuple(_demo(signature, demo) for demo in (*parts, *whole)),
        values=dict(_texts(signature, request.inputs)),
    )


@lru_cache(maxsize=256)
def _declared(signature: Any) -> tuple[tuple[Field, ...], tuple[Field, ...], str]:
    """Return input fields, output fields and the instruction of a signature."""
    groups = (signature.input_fields, signature.output_fields)
    inputs, outputs = (tuple(_field(name, info) for name, info in group.items()) for group in groups)
    return inputs, outputs, "\n".join(line.strip() for line in signature.instructions.strip().splitlines())


def _field(name: str, info: Any) -> Field:
    extra = info.json_schema_extra or {}
    said = "" if extra.get("desc") == f"${{{name}}}" else extra.get("desc") or ""
    bounds = f"Constraints: {extra['constraints']}" if extra.get("constraints") else ""
    lines = [line.strip() for line in f"{said}\n{bounds}".splitlines()]
    description = "\n".join(line for line in lines if line)
    return Field(name=name, description=description, shape=shape_of(info, description))


def _texts(signature: Any, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, info in signature.input_fields.items():
        if name in values:
            value = values[name]
            text = value if isinstance(value, str) else format_field_value(field_info=info, value=value)
            yield name, str(text).strip()


def _demo(signature: Any, demo: Mapping[str, Any]) -> Demo:
    supplied = {name: demo[name] for name in signature.output_fields if demo.get(name) is not None}
    outputs = {
        name: json.dumps(value, ensure_ascii=False, default=serialize_for_json)
        for name, value in supplied.items()
    }
    return Demo(inputs=tuple(_texts(signature, demo)), outputs=tuple(outputs.items()))
