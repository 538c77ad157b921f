"""The strict JSON schema of an answer: closed objects, all fields required, no keyword that strict endpoints refuse."""

import re
from collections.abc import Mapping
from typing import Any, Final

import dspy
import pydantic

_OMITTED_KEYWORDS: Final = frozenset({"title", "default", "uniqueItems", "discriminator"})
"""Keywords that strict endpoints refuse, and without which a schema says nearly the same; replies are checked here."""
_STRICT_KEYWORDS: Final = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "type",
    }
)
_KEYWORDS_OF_TYPES: Final = frozenset({"type", "$ref", "anyOf", "enum", "const"})
"""Keywords one of which each part of a strict schema has."""


def schema_of(signature: type[dspy.Signature]) -> dict[str, Any] | None:
    """Return the strict JSON schema of an answer, its fields in their order; ``None`` where strict mode has none."""
    fields = dict[str, Any]()
    for name, field in signature.output_fields.items():
        fields[name] = (field.annotation, ...)
    model = pydantic.create_model(signature.__name__, **fields)
    schema: dict[str, Any] = _make_strict(model.model_json_schema())
    if not _is_strict(schema):
        return None
    return schema


def schema_name(signature: type[dspy.Signature]) -> str:
    """Return the name of an answer's schema, in the characters that endpoints take."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", signature.__name__)[:64]


def _make_strict(schema: object) -> Any:
    """Return a schema as strict endpoints take it; values that are no schemas stay as they are."""
    if isinstance(schema, list):
        return [_make_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:  # a reference may stand alone only
        return {"$ref": schema["$ref"]}
    strict = dict[str, Any]()
    for name, value in schema.items():
        if name in ("properties", "$defs"):  # their keys are names, which may be called like a keyword
            strict[name] = {key: _make_strict(part) for key, part in value.items()}
        elif name == "prefixItems":  # a tuple: a list of any of its parts, whose length is checked here
            strict["items"] = _any_of(value)
        elif name == "oneOf":
            strict["anyOf"] = _make_strict(value)
        elif name in ("enum", "const"):
            strict[name] = value
        elif name not in _OMITTED_KEYWORDS:
            strict[name] = _make_strict(value)
    if len(strict.get("allOf", ())) == 1:
        strict = _with_part_merged(strict)
        if "$ref" in strict:
            return {"$ref": strict["$ref"]}
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict


def _with_part_merged(strict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without its ``allOf`` of one part, merged with that part: its own keywords count."""
    merged = dict[str, Any](strict["allOf"][0])
    for name, value in strict.items():
        if name != "allOf":
            merged[name] = value
    return merged


def _any_of(parts: list[object]) -> Any:
    """Return the schema of a value that fits one of several."""
    alternatives = list[Any]()
    for part in parts:
        strict = _make_strict(part)
        if strict not in alternatives:
            alternatives.append(strict)
    if len(alternatives) == 1:
        return alternatives[0]
    return {"anyOf": alternatives}


def _is_strict(schema: object) -> bool:
    """Say whether strict endpoints take a schema: each part has a type, and each object names all of its fields."""
    if isinstance(schema, list):
        return all(_is_strict(part) for part in schema)
    if not isinstance(schema, dict) or schema.keys() - _STRICT_KEYWORDS:
        return False
    if not schema.keys() & _KEYWORDS_OF_TYPES:
        return False
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return False
    if schema.get("type") == "array" and "items" not in schema:
        return False
    parts = list(schema.get("properties", {}).values())
    parts += schema.get("$defs", {}).values()
    parts += schema.get("anyOf", [])
    if "items" in schema:
        parts.append(schema["items"])
    return _is_strict(parts)
