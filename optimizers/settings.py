"""The settings of optimizers: as they stand on a card, and as ``--set`` or a caller gives them."""

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar, get_origin, get_type_hints

from pydantic import TypeAdapter

from ..errors import OptimizerError, suggest_name

SettingValue: TypeAlias = bool | int | float | str | list[str] | list[int] | list[float] | None
"""A setting as it stands on the card."""

_Settable = TypeVar("_Settable")

_ANY_TYPE = bool | int | float | str


def list_settings(optimizer: object) -> dict[str, SettingValue]:
    """Return the fields of a dataclass, without its name, as JSON values."""
    values: dict[str, SettingValue] = {}
    for setting in dataclasses.fields(optimizer):  # type: ignore[arg-type]
        if setting.name != "name":
            value = getattr(optimizer, setting.name)
            if isinstance(value, tuple):
                value = list(value)
            values[setting.name] = value
    return values


def change_fields(
    optimizer: _Settable, defaults: Mapping[str, SettingValue], changes: Mapping[str, object], name: str
) -> _Settable:
    """Return a dataclass with some fields changed, as :func:`read_typed_settings` reads them."""
    types = get_type_hints(type(optimizer))
    values = read_typed_settings(name, types, defaults, changes)
    return dataclasses.replace(optimizer, **values)  # type: ignore[type-var]


def read_typed_settings(
    name: str, types: Mapping[str, object], defaults: Mapping[str, object], changes: Mapping[str, object]
) -> dict[str, object]:
    """Return changed settings, each as the type of its setting.

    Args:
        name: the name of the optimizer, for messages.
        types: setting -> its type; ``NoneType`` where DSPy says nothing of it.
        defaults: every setting that there is -> its value when nobody changes it.
        changes: setting -> its new value, or text that says it.

    Raises:
        OptimizerError: a setting is unknown, of another type, or a number that is negative or infinite.
    """
    unknown = sorted(set(changes) - set(defaults))
    if unknown:
        hint = suggest_name(unknown[0], sorted(defaults))
        raise OptimizerError(f"{name} has no setting {', '.join(unknown)}", hint=hint)
    settings = {}
    for setting, value in changes.items():
        try:
            settings[setting] = _checked_value(types[setting], value)
        except (TypeError, ValueError, OverflowError) as error:
            message = f"{name}.{setting} cannot be {value!r}"
            raise OptimizerError(message, hint=_hint(defaults[setting])) from error
    return settings


def _checked_value(kind: object, value: object) -> object:
    """Return a value as a type. Raises ``ValueError`` for one of another type, and for negative or infinite numbers."""
    checked_type: Any = kind
    if kind is type(None):
        checked_type = _ANY_TYPE
    typed: object = TypeAdapter(checked_type).validate_python(_parsed(kind, value))
    numbers: tuple[object, ...] = (typed,)
    if isinstance(typed, tuple):
        numbers = typed
    for number in numbers:
        if isinstance(number, int | float) and not 0 <= number < math.inf:
            raise ValueError("out of range")
    return typed


def _parsed(kind: object, value: object) -> object:
    """Return text as JSON where the type is open, or as a list where the type is a tuple."""
    if not isinstance(value, str):
        return value
    if kind is type(None):
        try:
            return json.loads(value)
        except ValueError:
            return value
    if get_origin(kind) is tuple:
        return [item.strip() for item in value.split(",")]
    return value


def _hint(default: object) -> str:
    if isinstance(default, list | tuple):
        example = ",".join(str(item) for item in default)
        if not example:
            return "give values joined by commas"
        return f"give values joined by commas, as {example}"
    return f"give a value like {default!r}"
