"""Sentences echoed in tags: recognising that this is asked for, answering it, and learning from demonstrations of it.

The sentences are shown as ``<>text</>``, one to a line, and answered as ``<label>text</label>``.
"""

import html
import re
from collections.abc import Sequence
from typing import Final

_WRAPPED: Final = re.compile(r"<>(.*)</>", re.S)
_CLOSING: Final = re.compile(r"</\w+>")
_SPAN: Final = re.compile(r"<(\w+)>(.*?)</\1>", re.S)


def is_echo(description: str, labels: Sequence[str]) -> bool:
    """Return whether a text field asks for sentences in tags: it has labels and shows one of them as a tag."""
    return len(labels) > 1 and any(tag[2:-1] in labels for tag in _CLOSING.findall(description))


def unwrapped(line: str) -> str:
    """Return a line without the empty tags around it."""
    found = _WRAPPED.fullmatch(line.strip())
    return found[1].strip() if found else line


def echoed(pairs: Sequence[tuple[str, str]]) -> str:
    """Return (label, text) pairs as tagged sentences, word for word, one to a line."""
    return "\n".join(f"<{label}>{text}</{label}>" for label, text in pairs)


def marked(text: str, units: Sequence[str], labels: Sequence[str]) -> list[tuple[int, int]]:
    """Return (unit place, label index) pairs of a demonstration; a span goes to the next unit of its text."""
    found: list[tuple[int, int]] = []
    start = 0
    for label, body in _SPAN.findall(html.unescape(text)):
        place = next((n for n in range(start, len(units)) if html.unescape(units[n]) == body.strip()), None)
        if place is not None and label in labels:
            found.append((place, labels.index(label)))
            start = place + 1
    return found
