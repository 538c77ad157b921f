"""Scores as frames of pandas or Polars, whichever is installed."""

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import JuristError

_ENDS = ("value", "low", "high", "worst", "best")


def frame_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a frame of pandas, or of Polars where that alone is installed."""
    for library in ("pandas", "polars"):
        if importlib.util.find_spec(library):
            return importlib.import_module(library).DataFrame(list(rows))
    raise JuristError("frames need pandas or Polars, and neither is installed", hint="pip install pandas")


def score_frame(scores: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Any:
    """Return scores as a frame: a row for each judge and metric, with value, low, high, worst and best."""
    return frame_of(
        [
            {"judge": name, "metric": metric, **{end: one[end] for end in _ENDS}}
            for name, own in scores.items()
            for metric, one in own.items()
        ]
    )
