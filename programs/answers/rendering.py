"""How an input is written into a prompt, by the name that an export gives it; for filling exports in."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .sentences import numbered
from .spans import lines_of
from .tags import Echoed

CUSTOM: Final = "custom"
"""The rule of an input that is written by the judge's own code."""


def _tagged(value: Any, labels: Sequence[str]) -> Any:
    return Echoed(unit="text", labels=tuple(labels)).render({"text": value})["text"]


RULES: Final[Mapping[str, Callable[[Any, Sequence[str]], Any]]] = {
    "as-is": lambda value, labels: value,
    "numbered": lambda value, labels: numbered(value),
    "tagged": _tagged,
    "lines": lambda value, labels: "\n".join(lines_of(value)),
}
"""Rule -> (the input, defused; the judge's labels) -> what is written."""
