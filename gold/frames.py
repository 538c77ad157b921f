"""Rows that are in memory already: mappings, and the tables of pandas, Polars, PyArrow and Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import GoldError
from .readers import Reading

__all__ = ["frame_reading"]

_CONVERTERS = ("to_dicts", "to_pylist", "to_list")
"""What gives the rows of a table of Polars, PyArrow and datasets."""


def frame_reading(rows: Any, name: str) -> Reading:
    """Return rows with their numbers, from 1. In a table, what is missing in an optional field is absent.

    Raises:
        GoldError: there are no rows, or one is no mapping.
    """
    if isinstance(rows, str | bytes | Mapping) or not (_is_frame(rows) or isinstance(rows, Iterable)):
        hint = "give a list of dictionaries, a DataFrame, or the path of a file"
        raise GoldError(f"rows cannot be read from a {type(rows).__name__}", path=name, hint=hint)
    kind, found = ("columns", _records(rows)) if _is_frame(rows) else ("json", list(rows))
    for number, row in enumerate(found, 1):
        if not isinstance(row, Mapping):
            what = f"a row must be a mapping of fields, got {type(row).__name__}"
            raise GoldError(what, path=name, line=number, hint="give dictionaries")
    if not found:
        raise GoldError("there are no rows", path=name, hint="give at least one row")
    numbered = [(number, dict(row)) for number, row in enumerate(found, 1)]
    return Reading(name=name, path=name, rows=numbered, kind="columns" if kind == "columns" else "json")


def _is_frame(rows: Any) -> bool:
    return hasattr(rows, "to_dict") or any(hasattr(rows, name) for name in _CONVERTERS)


def _records(table: Any) -> list[Any]:
    convert = next((getattr(table, name) for name in _CONVERTERS if hasattr(table, name)), None)
    if convert is not None:
        return list(convert())
    # pandas writes what is missing as NaN, which JSON does not have
    return list(table.astype(object).where(table.notna(), None).to_dict("records"))
