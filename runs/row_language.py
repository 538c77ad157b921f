"""The language of a basic prompt, chosen by the rows that are to be judged."""

from dataclasses import replace
from itertools import islice
from typing import Final

from ..cases import Case
from ..gold.new_rows import Source
from ..keeping.loading import LoadedJudge

_ROWS_OF_LANGUAGE: Final = 50
"""Rows by which the language of a prompt is chosen."""


def in_language_of_rows(loaded: LoadedJudge, source: Source) -> tuple[LoadedJudge, Source]:
    """Return a judge and its source, with a basic prompt in the language of the first rows, unless one was chosen."""
    if not loaded.has_open_language or not source.can_be_read_again:
        return loaded, source
    first_cases: list[Case] = []
    for row in islice(source.rows(), _ROWS_OF_LANGUAGE):
        if isinstance(row, Case):
            first_cases.append(row)
    loaded = loaded.for_cases(first_cases)
    return loaded, replace(source, judge=loaded.judge, notes=[])


def unread_language_note(loaded: LoadedJudge, source: Source) -> str:
    """Return a note that a prompt is in English because rows of a pipe chose no language; empty where they need not."""
    if not loaded.has_open_language or source.can_be_read_again:
        return ""
    others = ", ".join(language for language in loaded.judge.languages if language != "en")
    return (
        f"{loaded.name} is asked in English, as the rows of a pipe choose no language; "
        f"to be asked in another ({others}), add --language {others}"
    )
