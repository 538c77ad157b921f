"""Values as JSON: frozen results as plain types, and lines of journals and of what a run writes."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson


def plain(value: Any) -> Any:
    """Return a result as plain JSON types: what it makes of itself, else its fields, items or entries."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return plain_fields(value)
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def plain_fields(result: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a frozen dataclass as plain JSON types, but for those that are named."""
    names = (one.name for one in fields(result) if one.name not in without)
    return {name: plain(getattr(result, name)) for name in names}


def json_line(value: Any) -> str:
    """Return a value as JSON on one line, without its end; a number that is none becomes null."""
    # What cells of tables hold besides, dates, decimals, durations, bytes and values of numpy, is text or numbers.
    try:
        return orjson.dumps(value, default=_of_cell).decode()
    except TypeError:  # whole numbers of more than 64 bits, and halves of surrogate pairs, which stay escapes
        text = json.dumps(value, default=_of_cell)
        return json.dumps(json.loads(text, parse_constant=lambda name: None), separators=(",", ":"))


def _of_cell(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta | UUID):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")
