"""Outputs that the engine writes, few and right, where a request is no decision: by writers registered for it.

A paper registers writers for the requests of its own programs. An unregistered request is decided on.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ...text.terms import neutralise
from .request import ParsedRequest
from .sampler import Sampler
from .shapes import Kind

Inputs: TypeAlias = Mapping[str, str]
"""Input field -> its text."""
Written: TypeAlias = Mapping[str, object]
"""Output field -> its value; a field is absent where nothing right can be written."""
Filler: TypeAlias = Callable[[Inputs, Sampler], Written]
_LIST_KINDS: Final[frozenset[Kind]] = frozenset({"labels", "texts", "objects", "tags"})
_LIST_MARK: Final = re.compile(r"^\s*\[\d+\]\s*«?|»$")


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes the output fields of the requests that it recognises."""

    recognises: Callable[[ParsedRequest], bool]
    fill: Filler


_WRITERS: Final[list[Writer]] = []


def register_writers(writers: Iterable[Writer]) -> None:
    """Add writers; a request is written by the first one that recognises it."""
    for writer in writers:
        if writer not in _WRITERS:
            _WRITERS.append(writer)


def writer_of_fields(input_field: str, output_field: str, kind: Kind, fill: Filler) -> Writer:
    """Return a writer of requests with such an input (any, if it is empty) and an output of this kind."""

    def recognises(request: ParsedRequest) -> bool:
        has_input = not input_field or input_field in request.inputs
        return has_input and output_kinds(request).get(output_field) == kind

    return Writer(recognises=recognises, fill=fill)


def output_kinds(request: ParsedRequest) -> dict[str, Kind]:
    """Return the kind of each output field."""
    return {field.name: field.shape.kind for field in request.output_fields}


def fill_outputs(request: ParsedRequest, sampler: Sampler) -> dict[str, object] | None:
    """Return the values of a request's output fields; ``None`` where they are decided on."""
    writer = _find_writer(request)
    if writer is None:
        return None
    written = writer.fill(request.inputs, sampler)
    values: dict[str, object] = {}
    for name, kind in output_kinds(request).items():
        empty: object = [] if kind in _LIST_KINDS else ""
        value = written.get(name, empty)
        if isinstance(value, str):
            value = neutralise(value)
        values[name] = value
    return values


def _find_writer(request: ParsedRequest) -> Writer | None:
    for writer in _WRITERS:
        if writer.recognises(request):
            return writer
    return None


def listed_entries(text: str) -> list[str]:
    """Return the entries of a list as an adapter shows it: JSON, or a line each, numbered in guillemets."""
    try:
        entries = json.loads(text)
    except ValueError:
        return _entries_of_lines(text)
    if isinstance(entries, list):
        return [str(entry) for entry in entries]
    return [str(entries)]


def _entries_of_lines(text: str) -> list[str]:
    entries: list[str] = []
    for line in text.splitlines():
        if line.strip():
            entries.append(_LIST_MARK.sub("", line))
    return entries
