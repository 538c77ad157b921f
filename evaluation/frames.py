"""Scores as frames of pandas or Polars, whichever is installed."""

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from ..errors import JuristError


def score_frame(scores: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Any:
    """Return scores as a frame: a row for each judge and metric, with value, low, high, worst and best."""
    ends = ("value", "low", "high", "worst", "best")
    rows = [
        {"judge": name, "metric": metric, **{end: one[end] for end in ends}}
        for name, own in scores.items()
        for metric, one in own.items()
    ]
    for library in ("pandas", "polars"):
        if importlib.util.find_spec(library):
            return importlib.import_module(library).DataFrame(rows)
    raise JuristError("frames need pandas or Polars, and neither is installed", hint="pip install pandas")
