"""A request as the engine reads it: declared fields, instruction, demonstrations, and the inputs as texts."""

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from ..draws import TypedRequest
from ..dspy_internals import format_field_value, serialize_for_json
from .shapes import Field, declared_field

Signature: TypeAlias = Any
"""A class of DSPy's signatures; its metaclass hides from mypy that it is hashable."""


@dataclass(frozen=True, kw_only=True)
class Demo:
    """One demonstration: (field, text) of its inputs and (field, JSON text) of its outputs, where it has them."""

    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]

    def value(self, name: str) -> object:
        """Return the value of an output, read once more if it is itself JSON text; ``None`` without one."""
        json_text = dict(self.outputs).get(name)
        if json_text is None:
            return None
        value: object = json.loads(json_text)
        if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            with suppress(ValueError):
                value = json.loads(value)
        return value


@dataclass(frozen=True, kw_only=True)
class ParsedRequest:
    """A request as the engine reads it: declared fields, demonstrations, and the case to answer."""

    input_fields: tuple[Field, ...]
    output_fields: tuple[Field, ...]
    instruction: str
    demos: tuple[Demo, ...]
    inputs: dict[str, str]  # input field -> its text; fields may be missing


@dataclass(frozen=True, kw_only=True)
class _Declaration:
    """The part of a request that a signature declares."""

    input_fields: tuple[Field, ...]
    output_fields: tuple[Field, ...]
    instruction: str


def parse_request(request: TypedRequest) -> ParsedRequest:
    """Return a typed request as the engine reads it."""
    signature: Signature = request.signature
    declaration = _read_declaration(signature)
    demos: list[Demo] = []
    for row in request.demos:
        # The prompt shows a demonstration only if it has an input and an output at least.
        if _has_any(row, signature.input_fields) and _has_any(row, signature.output_fields):
            demos.append(_parse_demo(signature, row))
    return ParsedRequest(
        input_fields=declaration.input_fields,
        output_fields=declaration.output_fields,
        instruction=declaration.instruction,
        demos=tuple(demos),
        inputs=_input_texts(signature, request.inputs),
    )


@lru_cache(maxsize=256)
def _read_declaration(signature: Signature) -> _Declaration:
    lines: list[str] = []
    for line in signature.instructions.strip().splitlines():
        lines.append(line.strip())
    return _Declaration(
        input_fields=_declared_fields(signature.input_fields),
        output_fields=_declared_fields(signature.output_fields),
        instruction="\n".join(lines),
    )


def _declared_fields(infos: Mapping[str, Any]) -> tuple[Field, ...]:
    fields: list[Field] = []
    for name, info in infos.items():
        fields.append(declared_field(name, info))
    return tuple(fields)


def _has_any(row: Mapping[str, object], names: Collection[str]) -> bool:
    return any(name in row for name in names)


def _parse_demo(signature: Signature, row: Mapping[str, object]) -> Demo:
    outputs: list[tuple[str, str]] = []
    for name in signature.output_fields:
        if row.get(name) is not None:
            outputs.append((name, json.dumps(row[name], ensure_ascii=False, default=serialize_for_json)))
    inputs = _input_texts(signature, row)
    return Demo(inputs=tuple(inputs.items()), outputs=tuple(outputs))


def _input_texts(signature: Signature, values: Mapping[str, object]) -> dict[str, str]:
    """Return input field -> its value as the prompt shows it, of the inputs that have one."""
    texts: dict[str, str] = {}
    for name, info in signature.input_fields.items():
        if name not in values:
            continue
        value = values[name]
        if not isinstance(value, str):
            value = format_field_value(field_info=info, value=value)
        texts[name] = str(value).strip()
    return texts
