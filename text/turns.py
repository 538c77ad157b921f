"""Texts of what data sets keep in place of a text: lists of messages, numbers, dates."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import pydantic

EXACT_TYPES: Final[Mapping[str, bool]] = {"exact_types": True}
"""The context of a validation in which a text must be a text, as the JSON schema of the row says."""


def read_text(value: object, info: pydantic.ValidationInfo) -> object:
    """Return a value of a text field as text where a file may hold it in another type; see :func:`as_text`."""
    if info.context is EXACT_TYPES:
        return value
    return as_text(value)


def as_text(value: object) -> object:
    """Return a chat as text, a message a line after its role, and what is written in one way; all else as it is."""
    plain = value
    if hasattr(value, "tolist"):  # pandas reads lists as arrays
        plain = value.tolist()
    if isinstance(plain, bool):
        return str(plain).lower()
    if hasattr(plain, "as_integer_ratio") and plain == plain:  # a number, and not NaN
        return _number_text(plain)
    if hasattr(plain, "isoformat"):
        return str(plain.isoformat())
    if isinstance(plain, list) and plain:
        texts = [_turn_text(turn) for turn in plain]
        if None not in texts:
            return "\n".join(map(str, texts))
    return value


def _number_text(number: object) -> str:
    """Return a number as text; a column with a hole, or a workbook, holds whole numbers as fractions."""
    if isinstance(number, float) and number.is_integer():
        return str(int(number))
    return str(number)


def _turn_text(turn: object) -> str | None:
    """Return ``role: content`` of a message, its content a text, a list of texts, or what it calls; else ``None``."""
    if not isinstance(turn, Mapping):
        return None
    role = turn.get("role", turn.get("from"))
    texts = _texts_of_content(turn.get("content", turn.get("value")))
    texts += _texts_of_calls(turn.get("tool_calls"))
    if not isinstance(role, str) or not texts or None in texts:
        return None
    # Its further lines are indented: what one says must not look like the next message.
    lines = "\n".join(map(str, texts)).splitlines()
    return f"{' '.join(role.split())}: " + "\n  ".join(lines)


def _texts_of_content(content: object) -> list[str | None]:
    """Return the texts of a message's content, of which it may have none; ``None`` for a part that is no text."""
    texts: list[str | None] = []
    if isinstance(content, list):
        for part in content:
            text = part.get("text") if isinstance(part, Mapping) else None
            texts.append(_text_or_none(text))
    elif content is not None:
        texts.append(_text_or_none(content))
    return texts


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts_of_calls(calls: object) -> list[str | None]:
    """Return a text for each tool that a message calls; ``None`` for a call of another form."""
    texts: list[str | None] = []
    if not isinstance(calls, list):
        return texts
    for call in calls:
        text = None
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            text = f"calls {function.get('name')}({function.get('arguments')})"
        texts.append(text)
    return texts


def dialogue_text(turns: Iterable[Mapping[str, object]]) -> str:
    """Return messages as text, each after its role."""
    return "\n".join(str(_turn_text(turn)) for turn in turns)


Text = Annotated[str, pydantic.BeforeValidator(read_text)]
"""A text, or a list of messages or a number, which is read as one."""
