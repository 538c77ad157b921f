"""What the engine writes, few and right, where a request is no decision: by writers that are registered for it.

A paper registers writers for the requests of its own programs. An unregistered request is decided on.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...text.terms import neutralise
from .request import Ask, Kind

if TYPE_CHECKING:
    from .decisions import Manner

Inputs: TypeAlias = Mapping[str, str]
"""Input field -> its text."""
Written: TypeAlias = dict[str, Any]
"""Output field -> its value; a field is absent where nothing right can be written."""
Filler: TypeAlias = "Callable[[Inputs, Manner], Written]"
_LIST_KINDS: Final[frozenset[Kind]] = frozenset({"labels", "texts", "objects", "tags"})
_LIST_MARK: Final = re.compile(r"^\s*\[\d+\]\s*«?|»$")


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes the output fields of the requests that it recognises."""

    recognises: Callable[[Ask], bool]
    fill: Filler


_WRITERS: Final[list[Writer]] = []


def register_writers(writers: Iterable[Writer]) -> None:
    """Add writers; a request is written by the first one that recognises it."""
    for writer in writers:
        if writer not in _WRITERS:
            _WRITERS.append(writer)


def writer_of_fields(input_field: str, output_field: str, kind: Kind, fill: Filler) -> Writer:
    """Return a writer of requests with such an input (any, if it is empty) and an output of this kind."""

    def recognises(ask: Ask) -> bool:
        has_input = not input_field or input_field in ask.values
        return has_input and output_kinds(ask).get(output_field) == kind

    return Writer(recognises=recognises, fill=fill)


def output_kinds(ask: Ask) -> dict[str, Kind]:
    """Return the kind of each output field."""
    return {field.name: field.shape.kind for field in ask.outputs}


def filled(ask: Ask, manner: "Manner") -> Written | None:
    """Return the values of a request's output fields; ``None`` where they are decided on."""
    for writer in _WRITERS:
        if writer.recognises(ask):
            break
    else:
        return None
    written = writer.fill(ask.values, manner)
    values: Written = {}
    for name, kind in output_kinds(ask).items():
        empty: Any = [] if kind in _LIST_KINDS else ""
        value = written.get(name, empty)
        values[name] = neutralise(value) if isinstance(value, str) else value
    return values


def listed_entries(text: str) -> list[str]:
    """Return the entries of a list as an adapter shows it: JSON, or a line each, numbered in guillemets."""
    try:
        entries = json.loads(text)
    except ValueError:
        return [_LIST_MARK.sub("", line) for line in text.splitlines() if line.strip()]
    if isinstance(entries, list):
        return [str(entry) for entry in entries]
    return [str(entries)]
