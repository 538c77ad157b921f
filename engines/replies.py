"""A field of a reply as its type. DSPy takes ``on`` and ``1`` for True; here a label must have been said.

How a text is read is for :mod:`jurist.text.replies`; this knows types, no signatures and no formats.
"""

import enum
import types
from collections.abc import Mapping
from typing import Any, Final, Literal, Union, get_args, get_origin

import dspy
import pydantic
from dspy.adapters.utils import parse_value

from ..text.replies import choice, data
from .kept import Kept

_reader: Final[Kept[pydantic.TypeAdapter[Any]]] = Kept(pydantic.TypeAdapter)


def value_of(given: Any, annotation: Any) -> Any:
    """Return a field's value as its type."""
    if get_origin(annotation) is Literal:
        return choice(given, get_args(annotation))
    if annotation is str or _by_dspy(annotation):
        return parse_value(given, annotation)
    raw = data(given) if isinstance(given, str) and not _may_be_text(annotation) else given
    value = _reader(annotation).validate_python(raw)
    _check_booleans(raw, value)
    return value


def _may_be_text(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType) and str in get_args(annotation)


def _by_dspy(annotation: Any) -> bool:
    """Whether a type has a parser of its own."""
    return isinstance(annotation, enum.EnumMeta) or (
        isinstance(annotation, type) and issubclass(annotation, dspy.Type)
    )


def _check_booleans(raw: Any, value: Any) -> None:
    """Refuse what a lax reading makes of booleans, at whatever depth."""
    if isinstance(value, pydantic.BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping) and isinstance(raw, Mapping):
        for name in value.keys() & raw.keys():
            _check_booleans(raw[name], value[name])
    elif isinstance(value, list | tuple) and isinstance(raw, list | tuple):
        for one, two in zip(raw, value, strict=False):
            _check_booleans(one, two)
    elif isinstance(raw, bool) != isinstance(value, bool):
        word = raw.strip().lower() if isinstance(raw, str) else ""
        if not (isinstance(value, bool) and word in ("true", "false")):
            raise ValueError(
                f"{str(raw)[:100]!r} is not {'True or False' if isinstance(value, bool) else 'a number'}"
            )
