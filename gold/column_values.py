"""The values of a column by which cases are scored apart, such as a language."""

import re
from collections.abc import Sequence

from ..cases import Case
from ..errors import UsageError, suggest_name
from .paths import has_column, read_path

_MOST_VALUES = 50
"""The most values of a column whose rows are scored; each of more values would have too few rows."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")


def values_of_column(cases: Sequence[Case], column: str, gold_name: str) -> list[str]:
    """Return the value that each case has in a column of its row; empty where it has none.

    Raises:
        UsageError: no row has the column, or it has a value of its own in nearly every row.
    """
    values: list[str] = []
    columns: dict[str, None] = {}
    has_values = False
    for case in cases:
        row = case.source_row or case.row
        columns.update(dict.fromkeys(row))
        has_values = has_values or has_column(row, column)
        value = read_path(row, column)
        values.append("" if value is None else str(value))
    if not has_values:
        hint = suggest_name(column, columns)
        raise UsageError(f"--by {column}: no row of {gold_name} has this column", hint=hint)
    if len(set(values)) > _MOST_VALUES:
        raise UsageError(
            f"--by {column}: {gold_name} has {len(set(values))} values in this column",
            hint=_hint_of_many(values),
        )
    return values


def _hint_of_many(values: Sequence[str]) -> str:
    """Return which column to name instead of one with too many values; of dates, one with their months or years."""
    few = f"name a column with {_MOST_VALUES} values at most"
    filled = [value for value in values if value]
    if not all(map(_DATE.match, filled)):
        return f"{few}, such as a language or a source"
    months = sorted({value[:7] for value in filled})
    period, example = "month", months[0]
    if len(months) > _MOST_VALUES:
        period, example = "year", months[0][:4]
    return (
        f"{few}: these are dates from {months[0]} to {months[-1]}, so add a column with the {period}, such as "
        f"{example}, to the rows and name that one"
    )
