"""A request as the engine reads it: typed fields, instruction, demonstrations, and the inputs to judge.

Made from what our adapters were asked to render (:class:`~jurist.engines.adapters.TypedRequest`). Inputs are the
texts that the prompt shows; the outputs of demonstrations are kept as JSON, so that equal ones are equal and what
was learned from them is found again.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dspy.adapters.utils import format_field_value, serialize_for_json

from ..typed import TypedRequest
from .shapes import Shape, shape_of


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
