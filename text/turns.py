"""What data sets keep in place of a text, as the text that a judge reads: lists of messages, numbers, dates."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import pydantic

EXACT_TYPES: Final[Mapping[str, bool]] = {"exact_types": True}
"""The context of a validation in which a text must be a text, as the JSON schema of the row says."""


def read_text(value: Any, info: pydantic.ValidationInfo) -> Any:
    """Return a value of a text field as text where a file may hold it in another type; see :func:`as_text`."""
    if info.context is EXACT_TYPES:
        return value
    return as_text(value)


def as_text(value: Any) -> Any:
    """Return a chat as text, a message a line after its role, and what is written in one way; all else as it is."""
    plain = value.tolist() if hasattr(value, "tolist") else value  # pandas reads lists as arrays
    if isinstance(plain, bool):
        return str(plain).lower()
    if hasattr(plain, "as_integer_ratio") and plain == plain:  # a number, and not NaN
        # a column with a hole, or a workbook, holds whole numbers as fractions
        return str(int(plain) if isinstance(plain, float) and plain.is_integer() else plain)
    if hasattr(plain, "isoformat"):
        return str(plain.isoformat())
    spoken = [_spoken(turn) for turn in plain] if isinstance(plain, list) else []
    return "\n".join(map(str, spoken)) if spoken and None not in spoken else value


def _spoken(turn: Any) -> str | None:
    """Return ``role: content`` of a message, its content a text, a list of texts, or what it calls; else ``None``."""
    # Its further lines are indented: what one says must not look like the next message.
    if not isinstance(turn, Mapping):
        return None
    role, content = (
        turn.get(name, turn.get(other)) for name, other in (("role", "from"), ("content", "value"))
    )
    parts = content if isinstance(content, list) else [] if content is None else [{"text": content}]
    texts = [part.get("text") if isinstance(part, Mapping) else None for part in parts]
    calls = turn.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        tool = call.get("function") if isinstance(call, Mapping) else None
        known = isinstance(tool, Mapping) and f"calls {tool.get('name')}({tool.get('arguments')})"
        texts.append(known or None)
    if not (isinstance(role, str) and texts and all(isinstance(text, str) for text in texts)):
        return None
    return f"{' '.join(role.split())}: " + "\n  ".join("\n".join(map(str, texts)).splitlines())


def dialogue(turns: Iterable[Mapping[str, Any]]) -> str:
    """Return messages as text, each after its role."""
    return "\n".join(str(_spoken(turn)) for turn in turns)


Text = Annotated[str, pydantic.BeforeValidator(read_text)]
"""A text, or a list of messages or a number, which is read as one."""
