"""Values as lines of JSON: of journals, and of what a run writes."""

import json
from typing import Any

import orjson

__all__ = ["json_line"]


def json_line(value: Any) -> str:
    """Return a value as JSON on one line, without its end; a number that is none becomes null."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # whole numbers of more than 64 bits, and halves of surrogate pairs, which stay escapes
        return json.dumps(json.loads(json.dumps(value), parse_constant=_null), separators=(",", ":"))


def _null(name: str) -> None:
    """Stand for NaN and infinities."""
