"""Text that is judged is data, never prompt: defuse what a prompt format would obey.

DSPy's adapters do not escape the values they insert, so a response that holds
``[[ ## label ## ]]`` forges a field. ``defuse`` rewrites exactly those sequences,
DSPy's markers of custom types and the tags of drafts, visibly and without loss for
a reader, before a value reaches any prompt. It does not detect persuasion ("ignore
your instructions"): that is a property of the judge, to be measured, not of the format.
"""

import re
from typing import Any

from .drafts import defuse_drafts

_HEADER = re.compile(r"\[(\s*)\[(?=\s*#)")
_HEADER_END = re.compile(r"(?<=#)(\s*)\](\s*)\]")
_CUSTOM_TYPE = re.compile(r"<<(?=\s*/?CUSTOM-TYPE)", re.IGNORECASE)
_SUSPICIOUS = "[]<＜◁【&`"
"""Characters one of which stands in whatever is defused."""
_SPACE = re.compile(r"\s+")  # each run of it once: a pattern that tries every part of a run takes for ever
_LINE_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def defuse(value: Any) -> Any:
    """Return ``value`` with nothing in it that an adapter could read as structure."""
    # Field headers (``[[ ## x ## ]]``) lose their double brackets, marks of drafts (``<think>``) get ``‹`` for ``<``,
    # DSPy's custom-type markers are broken, and lone surrogates, which no endpoint can receive, become U+FFFD. Applying
    # it twice changes nothing more.
    if isinstance(value, str):
        text = well_formed(value)
        if not any(map(text.__contains__, _SUSPICIOUS)):  # each row comes here several times
            return text
        text = _HEADER.sub(r"(\1(", text)
        text = _HEADER_END.sub(r"\1)\2)", text)
        text = _CUSTOM_TYPE.sub("‹‹", text)
        return defuse_drafts(text)
    if isinstance(value, list | tuple):
        return [defuse(part) for part in value]
    if isinstance(value, dict):
        return {defuse(key): defuse(part) for key, part in value.items()}
    return value


def well_formed(text: str) -> str:
    """Return ``text`` with U+FFFD for each lone surrogate, which neither a file nor an endpoint can receive."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str) -> str:
    """Return ``text`` on one line, so that a numbered list of such texts cannot be forged."""
    return _SPACE.sub(_without_line_break, text).strip()


def _without_line_break(space: re.Match[str]) -> str:
    """Return white space as it is; a single space if it breaks a line."""
    if _LINE_BREAK.search(space[0]):
        return " "
    return space[0]
