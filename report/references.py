"""References as a table, to stand below scores: a constant answer, words, neighbours and people."""

from collections.abc import Mapping
from typing import Any

from .scores import metric_cell
from .table import Table, table

_ORDER = ("constant", "words", "neighbours", "people")


def reference_tables(card: Mapping[str, Any] | None, metric: str, where: str = "") -> list[Table]:
    """Return what answers without a language model reach, and people; nothing where there is none of them."""
    found = card or {}
    rows = [
        [name, one["answer"], metric_cell({**one, "value": one["score"]})]
        for name in _ORDER
        if (one := found.get(name))
    ]
    title = f"references{where}: what needs no language model reaches, and people where several rated"
    return [table(title, ["reference", "answers", f"{metric} [95 % interval]"], rows)] if rows else []
