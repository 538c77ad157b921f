"""Texts that differ in case, width or white space alone are the same text."""

from __future__ import annotations

import unicodedata

__all__ = ["normalised"]


def normalised(text: str) -> str:
    """Return ``text`` in NFKC, case-folded, with white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
