"""A conversation as chat APIs and data sets keep it, a list of messages, as the text that a judge reads."""

from collections.abc import Mapping
from typing import Annotated, Any

import pydantic


def as_text(value: Any) -> Any:
    """Return a list of messages as text, each after its role, a message a line; anything else as it is."""
    turns = value.tolist() if hasattr(value, "tolist") else value  # pandas reads lists as arrays
    said = [_spoken(turn) for turn in turns] if isinstance(turns, list) else []
    return "\n".join(map(str, said)) if said and None not in said else value


def _spoken(turn: Any) -> str | None:
    """Return ``role: content`` of a message, whose content may be a list of texts; ``None`` if it is none."""
    if not isinstance(turn, Mapping):
        return None
    role, content = (
        turn.get(name, turn.get(other)) for name, other in (("role", "from"), ("content", "value"))
    )
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") if isinstance(part, Mapping) else None for part in parts]
    if not (isinstance(role, str) and texts and all(isinstance(text, str) for text in texts)):
        return None
    return f"{role}: " + "\n".join(map(str, texts))


Text = Annotated[str, pydantic.BeforeValidator(as_text)]
"""A text, or a list of messages, which is read as one."""
