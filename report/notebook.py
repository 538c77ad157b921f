"""How results show themselves in a notebook: their tables and words as HTML, their figures as frames."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import JuristError
from .render import as_html, escape_html
from .table import Table

__all__ = ["frame_of", "html_of", "score_frame"]

_ENDS = ("value", "low", "high", "worst", "best")


def html_of(parts: Sequence[Table | str]) -> str:
    """Return tables and paragraphs as one HTML element; no text in them is taken for markup."""
    body = (
        as_html(part) if isinstance(part, Table) else f"<p>{escape_html(part)}</p>" for part in parts if part
    )
    return f"<div>{''.join(body)}</div>"


def frame_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a frame of pandas, or of Polars where that alone is installed.

    Raises:
        JuristError: neither is installed.
    """
    for library in ("pandas", "polars"):
        if importlib.util.find_spec(library):
            return importlib.import_module(library).DataFrame(list(rows))
    raise JuristError("frames need pandas or Polars, and neither is installed", hint="pip install pandas")


def score_frame(scores: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Any:
    """Return scores as a frame: a row for each judge and metric, with value, low, high, worst and best.

    Args:
        scores: judge -> metric -> the same numbers.

    Raises:
        JuristError: see :func:`frame_of`.
    """
    return frame_of(
        [
            {"judge": name, "metric": metric, **{end: one[end] for end in _ENDS}}
            for name, own in scores.items()
            for metric, one in own.items()
        ]
    )
