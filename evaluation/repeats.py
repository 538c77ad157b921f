"""The mean over repeats of one experiment, with its sample standard deviation and t-interval.

Two kinds of uncertainty are kept apart. The t-interval over repeats (FECT section 3.2: ten runs) says how far the
mean would move if the same rows were asked again. The clustered interval over cases says how far it would move
with other rows; for it, and for paired tests, all repeats of a unit are left out and exchanged together, and a
metric is the mean of its values on the repeats.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from .intervals import LEVEL, t_quantile


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A metric over the repeats of one experiment."""

    values: tuple[float, ...]
    mean: float
    sd: float | None
    low: float | None
    high: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        return {**self.__dict__, "values": list(self.values)}


def spread(values: Sequence[float]) -> Spread:
    """Return mean, sd and t-interval (mean +- t sd / sqrt(n), n - 1 degrees of freedom) of one value a repeat."""
    if not values:
        raise UsageError("no repeat, no mean", hint="give one value or more")
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Spread(values=tuple(values), mean=mean, sd=None, low=None, high=None)
    sd = statistics.stdev(values)
    half = t_quantile(0.5 + LEVEL / 2, len(values) - 1) * sd / math.sqrt(len(values))
    return Spread(values=tuple(values), mean=mean, sd=sd, low=mean - half, high=mean + half)
