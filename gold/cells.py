"""Cells of an annotation sheet: texts that no spreadsheet program takes for a formula, and back again.

A program that opens a CSV file runs a cell that starts with ``=``, ``+``, ``-`` or ``@``. Such a cell, also one
with white space before the sign, one with the full-width form of it, and one that starts with an apostrophe, is
written with an apostrophe in front. Reading takes one leading apostrophe off; so every text comes back as it was,
also from a program that hides or removes the apostrophe itself.
"""

import json
import re
from typing import Any

from .files import Place

CELL_LIMIT = 32_767
"""The longest text, in characters, that Excel keeps in one cell."""
_RISKY = re.compile(r"\s*['=+\-@＝＋－＠]|[\t\r\n]")


def safe(text: str) -> str:
    """Return a text as a cell holds it."""
    return "'" + text if _RISKY.match(text) else text


def plain(cell: str) -> str:
    """Return the text that a cell holds: the inverse of :func:`safe`."""
    return cell.removeprefix("'")


def json_of(cell: str, column: str, place: Place) -> Any:
    """Return the JSON value that a cell holds."""
    try:
        return json.loads(plain(cell))
    except (ValueError, RecursionError) as error:
        hint = "copy the cell again from the sheet as it was written"
        raise place.wrong("the cell is not the JSON that was written", column, hint=hint) from error
