"""The settings of optimizers: as they stand on a card, and as ``--set`` or a caller gives them."""

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from ..errors import OptimizerError, Within, suggest_name

SettingValue: TypeAlias = bool | int | float | str | list[str] | list[int] | list[float] | None
"""A setting as it stands on the card."""

FROM_ONE = Within(1, math.inf, "a whole number, 1 or more")
"""The range of a count without which there is no search."""
CountFromOne: TypeAlias = Annotated[int, FROM_ONE]
"""The type of a setting that counts something without which there is no search."""
CountFromZero: TypeAlias = Annotated[int, Within(0, math.inf, "a whole number, 0 or more")]
"""The type of a setting that counts something that may be left out."""
CountsFromOne: TypeAlias = Annotated[
    tuple[int, ...], Within(1, math.inf, "whole numbers of 1 or more, joined by commas, such as 4,8")
]
"""The type of a setting with several counts, one or more of them."""
NumberFromZero: TypeAlias = Annotated[float, Within(0, math.inf, "a number, 0 or more")]
"""The type of a setting that is a factor or an addend."""
ABOVE_ZERO = Within(math.nextafter(0, 1), math.inf, "a number above 0")
"""The range of a number by which something is divided."""
PositiveNumber: TypeAlias = Annotated[float, ABOVE_ZERO]
"""The type of a setting by which something is divided."""
Share: TypeAlias = Annotated[float, Within(0, 1, "a number from 0 to 1")]
"""The type of a share."""
Temperature: TypeAlias = Annotated[float, Within(0, 2, "a number from 0 to 2")]
"""The type of a temperature, as models take it."""

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
    types = get_type_hints(type(optimizer), include_extras=True)
    values = read_typed_settings(name, types, defaults, changes)
    return dataclasses.replace(optimizer, **values)  # type: ignore[type-var]


def check_ranges(optimizer: object, name: str) -> None:
    """Raise ``OptimizerError`` if a setting of a dataclass is outside the range that its type declares."""
    types = get_type_hints(type(optimizer), include_extras=True)
    for setting in dataclasses.fields(optimizer):  # type: ignore[arg-type]
        value = getattr(optimizer, setting.name)
        if not _is_within(types[setting.name], value):
            raise _setting_error(name, setting.name, value, types[setting.name], setting.default)


def read_typed_settings(
    name: str, types: Mapping[str, object], defaults: Mapping[str, object], changes: Mapping[str, object]
) -> dict[str, object]:
    """Return changed settings, each as the type of its setting.

    Args:
        name: the name of the optimizer, for messages.
        types: setting -> its type, which may declare a range; ``NoneType`` where DSPy says nothing of it.
        defaults: every setting that there is -> its value when nobody changes it.
        changes: setting -> its new value, or text that says it.

    Raises:
        OptimizerError: a setting is unknown, of another type, negative, infinite, or outside its range.
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
            raise _setting_error(name, setting, value, types[setting], defaults[setting]) from error
    return settings


def _setting_error(name: str, setting: str, value: object, kind: object, default: object) -> OptimizerError:
    """Return the error for an unusable value, with the range of the setting or an example."""
    within = range_of(kind)
    hint = _hint(default)
    if within is not None:
        hint = f"give {within.words}"
    return OptimizerError(f"{name}.{setting} cannot be {value!r}", hint=hint)


def range_of(kind: object) -> Within | None:
    """Return the range that a type declares, of a tuple that of its items; ``None`` without one."""
    if get_origin(kind) is Annotated:
        for part in get_args(kind)[1:]:
            if isinstance(part, Within):
                return part
    return None


def _is_within(kind: object, value: object) -> bool:
    """Return whether a number, or each number of a list that is not empty, is in the range that a type declares."""
    within = range_of(kind)
    if within is None:
        return True
    items: list[object] = [value]
    if isinstance(value, tuple | list):
        items = list(value)
    if not items:
        return False
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | float):
            continue
        if not within.lowest <= item <= within.highest:
            return False
    return True


def _checked_value(kind: object, value: object) -> object:
    """Return a value as a type. Raises ``ValueError`` for one of another type, and for numbers out of range."""
    plain_kind: Any = kind
    if get_origin(kind) is Annotated:
        plain_kind = get_args(kind)[0]
    checked_type = plain_kind
    if plain_kind is type(None):
        checked_type = _ANY_TYPE
    typed: object = TypeAdapter(checked_type).validate_python(_parsed(plain_kind, value))
    numbers: tuple[object, ...] = (typed,)
    if isinstance(typed, tuple):
        numbers = typed
    for number in numbers:
        if isinstance(number, int | float) and not 0 <= number < math.inf:
            raise ValueError("out of range")
    if not _is_within(kind, typed):
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
