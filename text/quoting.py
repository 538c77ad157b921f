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


BREAK = "&#8203;"
"""A space without width, which ends a mention or an address: a service that makes links of them finds none."""
_MARKDOWN_MARK = re.compile(
    r"""(?x)
    (?P<escaped>
        [\\`*<|~]
        | (?<![^\W_])_ | _(?![^\W_])   # an underscore, but for one inside a word
        | \](?=[(\[:])                 # the end of the text of a link, or of the name of one
        | ^ (?: >
              | [-+=] (?=[-+=\s]|$)
              | \#{1,6} (?=\s|$) )     # a heading, a list or a quotation
    )
    | ^ (?P<number>\d{1,9}) (?P<dot>[.)]) (?=\s|$)
    | (?P<entity>&)
    | (?P<broken>
        (?<![A-Za-z0-9]) @ (?=[A-Za-z0-9])   # a mention
        | @ (?=[\w-]+\.\w)                   # an address of mail
        | \# (?=\d)                            # a reference to an issue
        | : (?=//)
        | (?i:www)\. (?=\S)
    )
    """
)


def in_markdown(text: str) -> str:
    """Return text as one line of Markdown, for a paragraph or a cell, that is shown as the same text.

    Nothing in it is a heading, a list, a link, a tag, an image or emphasis, and nothing becomes a link or a mention of
    a person, a team or an issue. Marks that mean nothing where they stand stay as they are.
    """
    return _MARKDOWN_MARK.sub(_as_text, " ".join(text.split()))


def _as_text(mark: re.Match[str]) -> str:
    """Return a mark of Markdown so that it is text."""
    if mark["escaped"]:
        return "\\" + mark[0]
    if mark["number"]:
        return f"{mark['number']}\\{mark['dot']}"
    if mark["entity"]:
        return "&amp;"
    return mark[0] + BREAK
