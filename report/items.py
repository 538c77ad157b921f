"""The report of a file of rows that no judge has seen, such as a benchmark: what it holds, and every item to read."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .document import Cases, Document, Part, Section
from .judged import case_value
from .table import table

_FEW = 12
"""Values of a field up to which they are counted; a field of more is free text."""
_KIND = "format"
"""The field that items are told apart by, where they have it."""


def items_report(path: Path, rows: Sequence[Mapping[str, Any]]) -> Document:
    """Return the report of rows with an ``id`` each."""
    kinds = tuple(Counter(str(row.get(_KIND, "item")) for row in rows))
    cases = Cases(
        systems=(),
        kinds=tuple((kind, "open", "items of this format") for kind in kinds),
        units={},
        cases=[_case(row) for row in rows],
    )
    return Document(
        subject=path.name,
        about="a file of items",
        headline=f"{len(rows)} items",
        tone="open",
        lead=(),
        sections=(
            Section(name="content", title="What is in it", parts=tuple(_counts(rows))),
            Section(name="cases", title="The items", parts=(cases,)),
        ),
    )


def _case(row: Mapping[str, Any]) -> dict[str, Any]:
    inputs = [[name, _text(value)] for name, value in row.items() if name not in ("id", "group")]
    kind = str(row.get(_KIND, "item"))
    return case_value(str(row["id"]), [kind], group=str(row.get("group") or ""), inputs=inputs)


def _counts(rows: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """Yield how often each value of a field occurs, of the fields that have few."""
    for name in dict.fromkeys(name for row in rows for name in row):
        found = Counter(_text(row[name]) for row in rows if name in row)
        if 1 < len(found) <= min(_FEW, len(rows) // 2):
            yield table("", [name, "items"], [[value, count] for value, count in found.most_common()])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
