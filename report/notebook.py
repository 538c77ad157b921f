"""How results show themselves in a notebook: their tables and words as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from .render import as_html, escape_html
from .table import Table

__all__ = ["html_of"]


def html_of(parts: Sequence[Table | str]) -> str:
    """Return tables and paragraphs as one HTML element; no text in them is taken for markup."""
    body = (
        as_html(part) if isinstance(part, Table) else f"<p>{escape_html(part)}</p>" for part in parts if part
    )
    return f"<div>{''.join(body)}</div>"
