"""Values of demonstrations and answers as plain JSON types."""

from collections.abc import Mapping
from typing import Any


def jsonable(value: Any) -> Any:
    """Return a value of a demonstration, or of an answer, as plain JSON types; models become their fields."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return value
