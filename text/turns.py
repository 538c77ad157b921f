"""Values of data sets as the text that a judge reads: lists of messages, numbers, dates."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import pydantic

EXACT_TYPES: Final[Mapping[str, bool]] = {"exact_types": True}
"""The context of a validation that takes only texts for texts, as the JSON schema of the row says."""


def read_text(value: object, info: pydantic.ValidationInfo) -> object:
    """Return a value of a text field as text (:func:`as_text`), but unchanged in the context ``EXACT_TYPES``."""
    if info.context is EXACT_TYPES:
        return value
    return as_text(value)


def as_text(value: object) -> object:
    """Return messages, a number, a truth value or a date as text; any other value comes back unchanged.

    A message begins on a line of its own, with its role.
    """
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
    """Return a number as text: 3 for 3.0, as files and tables often turn whole numbers into floats."""
    if isinstance(number, float) and number.is_integer():
        return str(int(number))
    return str(number)


def _turn_text(turn: object) -> str | None:
    """Return ``role: content`` of a message, with the tools that it calls; ``None`` if it is no message of texts."""
    if not isinstance(turn, Mapping):
        return None
    role = turn.get("role", turn.get("from"))
    texts = _texts_of_content(turn.get("content", turn.get("value")))
    texts += _texts_of_calls(turn.get("tool_calls"))
    if not isinstance(role, str) or not texts or None in texts:
        return None
    # Further lines are indented, so that no line of a message looks like the beginning of the next one.
    lines = "\n".join(map(str, texts)).splitlines()
    return f"{' '.join(role.split())}: " + "\n  ".join(lines)


def _texts_of_content(content: object) -> list[str | None]:
    """Return the texts in the content of a message; ``None`` stands for a part that is no text."""
    texts: list[str | None] = []
    if isinstance(content, list):
        for part in content:
            text = part.get("text") if isinstance(part, Mapping) else None
            texts.append(_text_or_none(text))
    elif content is not None:
        texts.append(_text_or_none(content))
    return texts


def _text_or_none(value: object) -> str | None:
    """Return a value that is a text; ``None`` for any other."""
    return value if isinstance(value, str) else None


def _texts_of_calls(calls: object) -> list[str | None]:
    """Return a text for each call of a tool; ``None`` stands for a call of unknown form."""
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
    """Return messages as text, each beginning with its role on a line of its own."""
    return "\n".join(str(_turn_text(turn)) for turn in turns)


Text = Annotated[str, pydantic.BeforeValidator(read_text)]
"""The type of a text field, which also takes a list of messages, a number or a date, and makes a text of it."""
