"""Text that is put into a file of another language: what a stranger wrote never becomes code there."""

import re

_NAMED_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\n"}


def in_docstring(text: str) -> str:
    """Return text as it can stand inside a Python string between three double quotes: it cannot end the string."""
    return "".join(_docstring_character(character) for character in text)


def _docstring_character(character: str) -> str:
    if character in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[character]
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


_MARKDOWN_MARK = re.compile(r"[\\`*_{}\[\]<>()#+\-.!|&~]")


def in_markdown(text: str) -> str:
    """Return text on one line of Markdown as the same text: no mark of it is a heading, a link, a tag or emphasis."""
    return _MARKDOWN_MARK.sub(r"\\\g<0>", " ".join(text.split()))
