"""Texts that differ in case, width or white space alone are the same text."""

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any


def normalised(text: str) -> str:
    """Return ``text`` in NFKC, case-folded, with white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def strings(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value, in their order; numbers as text."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from strings(part)
    elif value is not None:
        yield str(value)
