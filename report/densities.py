"""The density of numbers on a scale, as a line to draw (the kernel density estimate of FAITHQA's Figure 3)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import norm

from .plotting import Series, draw

_POINTS = 201
_NARROWEST = 1 / 200  # of the scale: equal numbers have no spread of their own, and are drawn as a peak


def density(numbers: Sequence[float], low: float, high: float) -> tuple[tuple[float, float], ...]:
    """Return (number, density) from ``low`` to ``high``: a Gaussian kernel with Scott's bandwidth."""
    found = np.asarray(numbers, dtype=np.float64)
    spread = float(found.std(ddof=1)) if len(found) > 1 else 0.0
    width = max(spread * len(found) ** -0.2, (high - low) * _NARROWEST)
    places = np.linspace(low, high, _POINTS)
    heights = norm.pdf(places[:, np.newaxis], loc=found, scale=width).mean(axis=1)
    return tuple(zip(places.tolist(), heights.tolist(), strict=True))


def draw_densities(
    path: Path | str, numbers: Mapping[str, Sequence[float]], low: float, high: float, *, title: str, x: str
) -> None:
    """Write a plot with a line for each name that has numbers."""
    series = [Series(name=name, points=density(some, low, high)) for name, some in numbers.items() if some]
    draw(path, series, title=title, x=x, y="density")
