"""Rows of one kind from any source that gold is read from: typed, each with an id of its own."""

from pathlib import Path
from typing import Protocol, TypeVar

import pydantic

from ..errors import GoldError
from .readers import read


class HasId(Protocol):
    """A row."""

    @property
    def id(self) -> str:
        """Its name among the others."""


R = TypeVar("R", bound=HasId)


def read_typed(source: str | Path, kind: pydantic.TypeAdapter[R], *, hint: str) -> tuple[R, ...]:
    """Read rows, in their order."""
    reading, found = read(source), dict[str, R]()
    for line, row in reading.rows:
        try:
            one = kind.validate_python(row)
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise GoldError(first["msg"], path=reading.path, line=line, field=field, hint=hint) from error
        if one.id in found:
            raise GoldError(
                f"the id {one.id!r} occurs twice", path=reading.path, line=line, hint="rename one"
            )
        found[one.id] = one
    if not found:
        raise GoldError("there are no rows", path=reading.path, hint=hint)
    return tuple(found.values())
