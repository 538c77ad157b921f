"""Rows in memory: mappings, DSPy's examples, or a table of pandas, Polars, PyArrow or Hugging Face ``datasets``."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import GoldError

__all__ = ["is_table", "records"]

_CONVERTERS = ("to_dicts", "to_pylist", "to_list")
"""What gives the rows of a table of Polars, PyArrow and datasets."""


def records(rows: Any, name: str = "rows") -> list[dict[str, Any]]:
    """Return rows as dictionaries; what is missing in a table is ``None``.

    Args:
        rows: mappings or examples of DSPy, or a table.
        name: what messages call them.

    Raises:
        GoldError: they are none, or one is no mapping, with its number from 1.
    """
    if isinstance(rows, str | bytes | Mapping) or not (is_table(rows) or isinstance(rows, Iterable)):
        hint = "give a list of dictionaries, a DataFrame, or the path of a file"
        raise GoldError(f"rows cannot be read from a {type(rows).__name__}", path=name, hint=hint)
    found = _of_table(rows) if is_table(rows) else [_plain(row) for row in rows]
    for number, row in enumerate(found, 1):
        if not isinstance(row, Mapping):
            what = f"a row must be a mapping of fields, got {type(row).__name__}"
            raise GoldError(what, path=name, line=number, hint="give dictionaries")
    return [dict(row) for row in found]


def is_table(rows: Any) -> bool:
    """Say whether rows are a table, of columns with one type each."""
    return any(hasattr(rows, name) for name in ("to_dict", *_CONVERTERS))


def _plain(row: Any) -> Any:
    """Return an example of DSPy as a dictionary, and anything else as it is."""
    return row.toDict() if hasattr(row, "toDict") else row


def _of_table(table: Any) -> list[Any]:
    convert = next((getattr(table, name) for name in _CONVERTERS if hasattr(table, name)), None)
    if convert is not None:
        return list(convert())
    # pandas writes what is missing as NaN, which JSON does not have
    return list(table.astype(object).where(table.notna(), None).to_dict("records"))
