"""A part of an artifact's card, or of a file beside it: a type that reads, checks and writes its JSON.

A part has defaults for what older versions of jurist did not write. What a card names as ``null`` counts as not there.
A part is written as it was read or built: with the names that were set, and with no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

_LARGEST = 1e300
"""The largest figure of a card, either way: every figure can be shown as a number with a point."""


def _check_figure(value: object) -> object:
    """Return a number as it is. Raises ``ValueError`` for another value, a truth value and an endless number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it must be a number")
    if not -_LARGEST <= value <= _LARGEST:
        raise ValueError("it must be a finite number")
    return value


Figure = Annotated[float, PlainValidator(_check_figure)]
"""A number, whole or not; it is written as it was given."""
Count = Annotated[int, Field(ge=-(2**63), le=2**63)]
"""A whole number that can be divided."""


class Part(BaseModel):
    """A part of a card."""

    # A validator is built when it is first used: commands that read no card start sooner.
    model_config = ConfigDict(strict=True, extra="allow", frozen=True, defer_build=True)

    _null_names: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="wrap")
    @classmethod
    def _read_nulls(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Return the part with its default for every name that is ``null``; a tuple counts as a list."""
        if not isinstance(data, Mapping):
            return handler(data)
        values = {}
        null_names = []
        for name, value in data.items():
            if value is None:
                null_names.append(name)
            else:
                values[name] = list(value) if isinstance(value, tuple) else value
        part = handler(values)
        part._null_names = tuple(null_names)
        return part

    @model_serializer(mode="wrap")
    def _write_set_names(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the names that were set, those that are ``null`` too."""
        content = {name: value for name, value in handler(self).items() if name in self.model_fields_set}
        return content | dict.fromkeys(self._null_names)

    def to_json(self) -> dict[str, Any]:
        """Return the part as plain JSON types."""
        return self.model_dump()

    @classmethod
    def fault(cls, data: object) -> str:
        """Return in one line where ``data`` is no such part, and why; empty if it is one."""
        try:
            cls.model_validate(data)
        except ValidationError as error:
            return fault_words(error)
        return ""


def fault_words(error: ValidationError) -> str:
    """Return the first fault of a part in one line: the place in it, and what is wrong there."""
    fault = error.errors(include_url=False, include_context=False)[0]
    message = fault["msg"].removeprefix("Value error, ")
    place = ".".join(map(str, fault["loc"]))
    if fault["type"] == "missing":
        return f"{place}: it is missing"
    try:
        value = repr(fault["input"])[:60]
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        value = "so large a number"
    return f"{place}: {message}, not {value}"
