"""Frozen results as plain JSON types."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """Return a result as plain JSON types: what it makes of itself, else its fields, items or entries."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return plain_fields(value)
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value


def plain_fields(result: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a frozen dataclass as plain JSON types, but for those that are named in ``without``."""
    parts: dict[str, Any] = {}
    for field in fields(result):
        if field.name not in without:
            parts[field.name] = plain(getattr(result, field.name))
    return parts


def plain_parts(result: object, *names: str) -> dict[str, Any]:
    """Return some fields and properties of a result as plain JSON types, by their names."""
    return {name: plain(getattr(result, name)) for name in names}
