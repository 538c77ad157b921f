"""Rows in memory: mappings, DSPy's examples, or a table of pandas, Polars, PyArrow or Hugging Face ``datasets``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import GoldError

_CONVERTERS = ("to_dicts", "to_pylist", "to_list")
"""What gives the rows of a table of Polars, PyArrow and datasets."""


def records(rows: Any, name: str = "rows") -> list[dict[str, Any]]:
    """Return rows as dictionaries. Takes what :func:`each_record` takes, and raises what it raises."""
    return list(each_record(rows, name))


def each_record(rows: Any, name: str = "rows") -> Iterator[dict[str, Any]]:
    """Yield rows as dictionaries, of a generator as they come; what is missing in a table is ``None``."""
    if isinstance(rows, str | bytes | Mapping) or not (is_table(rows) or isinstance(rows, Iterable)):
        hint = "give a list of dictionaries, a DataFrame, or the path of a file"
        if isinstance(rows, Mapping) and any(
            map(is_table, rows.values())
        ):  # of datasets, or sheets of pandas
            hint = f"take one of its splits, {', '.join(map(str, rows))}: rows[{next(iter(rows))!r}]"
        raise GoldError(f"rows cannot be read from a {type(rows).__name__}", path=name, hint=hint)
    # class labels of ``datasets`` become their names
    features = (rows.features or {}) if hasattr(rows, "cast_column") else {}
    named = {key: kind.int2str for key, kind in features.items() if hasattr(kind, "int2str")}
    if is_table(rows) and not features:
        convert = next((getattr(rows, name) for name in _CONVERTERS if hasattr(rows, name)), None)
        if convert is None:  # pandas writes what is missing as NaN, which JSON does not have
            names, plain = list(rows.columns), rows.astype(object).where(rows.notna(), None)
            rows = (row_of(names, cells) for cells in plain.itertuples(index=False, name=None))
        else:
            rows = convert()
    for number, row in enumerate(rows, 1):
        fields = row.toDict() if hasattr(row, "toDict") else row  # an example of DSPy is no mapping
        if not isinstance(fields, Mapping):
            what = f"a row must be a mapping of fields, got {type(row).__name__}"
            raise GoldError(what, path=name, line=number, hint="give dictionaries")
        yield dict(fields) | {key: of(fields[key]) for key, of in named.items() if fields[key] is not None}


def row_of(names: Sequence[Any], cells: Sequence[Any]) -> dict[Any, Any]:
    """Return a row of cells. Columns of one name have the value that all say, else a list of theirs."""
    row = dict(zip(names, cells, strict=True))
    for name in row if len(row) < len(names) else ():
        own = [cell for key, cell in zip(names, cells, strict=True) if key == name]
        row[name] = own[0] if len({*map(str, own)}) == 1 else own
    return row


def is_table(rows: Any) -> bool:
    """Say whether rows are a table, of columns with one type each."""
    return any(hasattr(rows, name) for name in ("to_dict", *_CONVERTERS))
