"""Rows in memory as dictionaries: of mappings, DSPy examples, or tables of pandas, Polars, PyArrow or ``datasets``."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..cases import Case
from ..errors import GoldError

_CONVERTERS = ("to_dicts", "to_pylist", "to_list")
"""The methods that give the rows of a table of Polars, PyArrow and datasets."""


def records(rows: object, name: str = "rows") -> list[dict[str, object]]:
    """Return all rows as dictionaries; see :func:`each_record`."""
    return list(each_record(rows, name))


def each_record(rows: Any, name: str = "rows") -> Iterator[dict[str, object]]:
    """Yield rows as dictionaries, of a generator one by one; a missing cell of a table becomes ``None``.

    Args:
        rows: mappings, cases, examples of DSPy, or a table of pandas, Polars, PyArrow or Hugging Face ``datasets``.
        name: how errors call the rows.

    Raises:
        GoldError: the rows cannot be iterated, or one of them is no mapping.
    """
    _check_rows(rows, name)
    features = _features_of(rows)
    name_of_label: dict[str, Callable[[object], str]] = {}
    for column, feature in features.items():
        if hasattr(feature, "int2str"):
            name_of_label[column] = feature.int2str
    if is_table(rows) and not features:
        rows = _convert_table(rows)
    for number, row in enumerate(rows, 1):
        fields = row
        if hasattr(row, "toDict"):  # an example of DSPy is no mapping
            fields = row.toDict()
        elif isinstance(row, Case):  # of gold that was split
            fields = row.row or row.inputs
        if not isinstance(fields, Mapping):
            what = f"a row must be a mapping of fields, got {type(row).__name__}"
            raise GoldError(what, path=name, line=number, hint="give dictionaries")
        record = dict(fields)
        for column, name_label in name_of_label.items():
            if fields[column] is not None:
                record[column] = name_label(fields[column])
        yield record


def _check_rows(rows: object, name: str) -> None:
    """Refuse rows that are a path, a single mapping, or nothing that can be iterated."""
    if is_table(rows) and not isinstance(rows, str | bytes | Mapping):
        return
    if isinstance(rows, Iterable) and not isinstance(rows, str | bytes | Mapping):
        return
    hint = "give a list of dictionaries, a DataFrame, or the path of a file"
    if isinstance(rows, Mapping) and any(map(is_table, rows.values())):  # of datasets, or sheets of pandas
        hint = f"take one of its splits, {', '.join(map(str, rows))}: rows[{next(iter(rows))!r}]"
    raise GoldError(f"rows cannot be read from an object of type {type(rows).__name__}", path=name, hint=hint)


def _features_of(rows: Any) -> Mapping[str, object]:
    """Return column -> its feature, of a table of ``datasets``; empty for other rows. Features of labels have names."""
    if not hasattr(rows, "cast_column"):
        return {}
    return rows.features or {}


def _convert_table(table: Any) -> Iterable[Any]:
    """Return the rows of a table."""
    for converter in _CONVERTERS:
        if hasattr(table, converter):
            rows: Iterable[Any] = getattr(table, converter)()
            return rows
    # A missing cell of pandas is NaN, which JSON does not have.
    names = list(table.columns)
    plain_table = table.astype(object).where(table.notna(), None)
    return (join_cells(names, cells) for cells in plain_table.itertuples(index=False, name=None))


def join_cells(names: Sequence[str], cells: Sequence[object]) -> dict[str, object]:
    """Return a row of cells as a dictionary; columns of one name give their common value, or a list of their values."""
    row = dict(zip(names, cells, strict=True))
    if len(row) == len(names):
        return row
    for name in row:
        values = [cell for column, cell in zip(names, cells, strict=True) if column == name]
        all_equal = len(set(map(str, values))) == 1
        row[name] = values[0] if all_equal else values
    return row


def is_table(rows: object) -> bool:
    """Say whether rows are a table of one of the known libraries."""
    return hasattr(rows, "to_dict") or any(hasattr(rows, converter) for converter in _CONVERTERS)
