"""How results show themselves in a notebook: their tables and words as HTML, their figures as frames."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import JuristError
from .document import Plot
from .plotting import COLOURS
from .render import as_html, escape_html
from .table import Table

__all__ = ["frame_of", "html_of", "score_frame"]

_STYLE = ";".join(
    [
        "max-width:44em;margin:0;--ink:currentColor;--rule:rgb(128 128 128/.5)",
        *(f"--series-{number}:{colour}" for number, colour in enumerate(COLOURS, 1)),
    ]
)
"""What a plot takes for the colours of a page: a notebook has its own, light or dark."""

_ENDS = ("value", "low", "high", "worst", "best")


def html_of(parts: Sequence[Table | Plot | str]) -> str:
    """Return tables, plots and paragraphs as one HTML element; no text in them is taken for markup."""
    return f"<div>{''.join(_html(part) for part in parts if part)}</div>"


def _html(part: Table | Plot | str) -> str:
    if isinstance(part, Table):
        return as_html(part)
    if isinstance(part, Plot):
        said = escape_html(f"{part.title}: {part.words}")
        return f'<figure role="img" aria-label="{said}" style="{_STYLE}">{part.svg}</figure>'
    return f"<p>{escape_html(part)}</p>"


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
