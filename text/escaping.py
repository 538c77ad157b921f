"""Text that is judged is data, never prompt: defuse what a prompt format would obey.

DSPy's adapters do not escape the values they insert, so a response that holds
``[[ ## label ## ]]`` forges a field, and under the XML adapter ``</response>``
does. ``defuse`` rewrites exactly those sequences, visibly and without loss for a
reader: headers and DSPy's custom types before a value reaches any prompt, tags
where the XML adapter writes it, for elsewhere ``<label for="x">`` is plain text.
It does not detect persuasion ("ignore your instructions"): that is a property of
the judge, to be measured, not of the format.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_HEADER = re.compile(r"\[(\s*)\[(?=\s*#)")
_HEADER_END = re.compile(r"(?<=#)(\s*)\](\s*)\]")
_CUSTOM_TYPE = re.compile(r"<<(?=\s*/?CUSTOM-TYPE)", re.IGNORECASE)
_SPACE = re.compile(r"\s+")  # each run of it once: a pattern that tries every part of a run takes for ever
_LINE_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def defuse(value: Any, tags: Iterable[str] = ()) -> Any:
    """Return ``value`` with nothing in it that an adapter could read as structure."""
    # Field headers (``[[ ## x ## ]]``) lose their double brackets, the ``tags``, and those of drafts (``<think>``), get
    # ``‹`` for ``<``, DSPy's custom-type markers are broken, and lone surrogates, which no endpoint can receive, become
    # U+FFFD. Applying it twice changes nothing more.
    marks = _tags(tuple(tags))

    def walk(item: Any) -> Any:
        if isinstance(item, str):
            return _defuse_text(item, marks)
        if isinstance(item, list | tuple):
            return [walk(part) for part in item]
        if isinstance(item, dict):
            return {walk(key): walk(part) for key, part in item.items()}
        return item

    return walk(value)


@lru_cache(maxsize=64)
def _tags(fields: tuple[str, ...]) -> re.Pattern[str]:
    own = ("completed", "dspy_root") if fields else ()
    names = "|".join(sorted(map(re.escape, {*fields, *own, "think", "thinking"}), key=len, reverse=True))
    return re.compile(rf"<(?=\s*(?:/\s*)?(?:{names})\b)", re.IGNORECASE)


def _defuse_text(text: str, tags: re.Pattern[str]) -> str:
    text = well_formed(text)
    if not ("[" in text or "]" in text or "<" in text):
        return text
    text = _HEADER.sub(r"(\1(", text)
    text = _HEADER_END.sub(r"\1)\2)", text)
    text = _CUSTOM_TYPE.sub("‹‹", text)
    return tags.sub("‹", text)


def well_formed(text: str) -> str:
    """Return ``text`` with U+FFFD for each lone surrogate, which neither a file nor an endpoint can receive."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str) -> str:
    """Return ``text`` on one line, so that a numbered list of such texts cannot be forged."""
    return _SPACE.sub(lambda run: " " if _LINE_BREAK.search(run[0]) else run[0], text).strip()
