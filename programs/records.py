"""Rows that are in memory: mappings, or the tables of pandas, Polars, PyArrow and Hugging Face ``datasets``."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import GoldError

__all__ = ["is_table", "records"]

_CONVERTERS = ("to_dicts", "to_pylist", "to_list")
"""What gives the rows of a table of Polars, PyArrow and datasets."""


def records(rows: Any, name: str = "rows") -> list[dict[str, Any]]:
    """Return rows as dictionaries; what is missing in a table is ``None``.

    Raises:
        GoldError: there are none, or one is no mapping, with its number from 1.
    """
    if isinstance(rows, str | bytes | Mapping) or not (is_table(rows) or isinstance(rows, Iterable)):
        hint = "give a list of dictionaries, a DataFrame, or the path of a file"
        raise GoldError(f"rows cannot be read from a {type(rows).__name__}", path=name, hint=hint)
    found = _of_table(rows) if is_table(rows) else list(rows)
    if not found:
        raise GoldError("there are no rows", path=name, hint="give at least one row")
    for number, row in enumerate(found, 1):
        if not isinstance(row, Mapping):
            what = f"a row must be a mapping of fields, got {type(row).__name__}"
            raise GoldError(what, path=name, line=number, hint="give dictionaries")
    return [dict(row) for row in found]


def is_table(rows: Any) -> bool:
    """Say whether rows are a table, of columns with one type each."""
    return any(hasattr(rows, name) for name in ("to_dict", *_CONVERTERS))


def _of_table(table: Any) -> list[Any]:
    convert = next((getattr(table, name) for name in _CONVERTERS if hasattr(table, name)), None)
    if convert is not None:
        return list(convert())
    # pandas writes what is missing as NaN, which JSON does not have
    return list(table.astype(object).where(table.notna(), None).to_dict("records"))
