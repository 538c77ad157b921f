"""Plots of lines, steps, bars and intervals, written as SVG or PNG, or as an SVG element for a page.

The same series give the same bytes: the fonts, the colours and the identifiers in the file depend on nothing of
the machine's settings, and no date is written. Text is kept as text: an SVG can be searched, and a title in any
script is drawn with the reader's fonts. matplotlib is imported when something is drawn. Knows
nothing of judges or artifacts.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.stats import norm

from ..errors import JuristError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["line", "step", "bars", "intervals"]

_INCHES = (8.0, 4.8)
_INCHES_ON_A_PAGE = (5.8, 3.4)
"""Small, so that its letters can still be read on a telephone."""
_ROW, _MARGIN = 0.42, 0.9
"""Inches of height that a place of a plot of intervals takes, and all others together."""
_DOTS_PER_INCH = 150
_MARKED = 30
"""Points of a line up to which each has a mark; more would hide the line."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#b09500")
"""Told apart by people who are colour-blind (after Okabe and Ito)."""
_THEME = {
    **{colour: f"var(--series-{number})" for number, colour in enumerate(COLOURS, 1)},
    "#000000": "var(--ink)",
    "#222222": "var(--ink)",
    "#cccccc": "var(--rule)",
    "#b0b0b0": "var(--rule)",
    "#ffffff": "transparent",
    "'DejaVu Sans'": "system-ui",
}
"""What a page puts in the place of a colour or a font of the file."""
_FORMATS = (".svg", ".png")
_SETTINGS: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 100,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib
    "grid.alpha": 0.3,
    "svg.fonttype": "none",
    "svg.hashsalt": "jurist",
    "text.parse_math": False,  # a dollar in a title is money
}


@dataclass(frozen=True, kw_only=True)
class Series:
    """One named run of points."""

    name: str  # as in the legend; an empty one is not in it
    # (x, y); of bars, x is the place of the group of bars; of intervals, of the line from above. low, high:
    # the ends of each point's interval, as values of y; both empty or one a point
    points: tuple[tuple[float, float], ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    # ``kind`` as the whole plot is drawn, ``points`` as single points, ``dashed`` as a dashed line
    style: Literal["kind", "points", "dashed"] = "kind"

    def __post_init__(self) -> None:
        """Refuse an interval that does not belong to a point."""
        if len(self.low) != len(self.high) or (self.low and len(self.low) != len(self.points)):
            raise ValueError(
                f"{self.name}: {len(self.points)} points, {len(self.low)} low and {len(self.high)} high ends"
            )


def draw(
    path: Path | str,
    series: Sequence[Series],
    *,
    title: str,
    x: str,
    y: str,
    kind: Kind = "line",
    labels: Sequence[str] = (),
) -> None:
    """Write a plot."""
    target, format_ = Path(path), check_drawable(path)
    if not any(one.points for one in series):
        raise JuristError(f"{target}: there is nothing to draw", hint="leave out the plot")
    drawn = _drawn(series, kind, format_, _INCHES, title=title, x=x, y=y, labels=labels)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(drawn)
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}", hint="name a file that can be written") from error


def check_drawable(path: Path | str) -> str:
    """Return the format of a plot's file; refuse one before what it shows is paid for."""
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise UsageError(f"{path}: a plot is .svg or .png", hint="name the file so")
    return suffix[1:]


def element(
    series: Sequence[Series], *, name: str, x: str, y: str, kind: Kind = "line", labels: Sequence[str] = ()
) -> str:
    """Return a plot as an ``<svg>`` element for a page, in the page's colours (the CSS variables of :data:`_THEME`)."""
    size = (_INCHES_ON_A_PAGE[0], _ROW * len(labels) + _MARGIN) if kind == "intervals" else _INCHES_ON_A_PAGE
    text = _drawn(series, kind, "svg", size, x=x, y=y, labels=labels).decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    text = re.sub(
        r'<svg [^>]*?viewBox="([^"]+)"[^>]*>',
        r'<svg viewBox="\1" aria-hidden="true" focusable="false">',
        text,
    )
    return re.sub("|".join(_THEME), lambda found: _THEME[found[0]], text)


def _drawn(
    series: Sequence[Series],
    kind: Kind,
    format_: str,
    inches: tuple[float, float],
    *,
    title: str = "",
    x: str,
    y: str,
    labels: Sequence[str] = (),
) -> bytes:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        # A script that the font lacks is drawn by the SVG's reader.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        matplotlib.rcdefaults()  # a user's own settings would change the bytes
        matplotlib.rcParams.update(_SETTINGS)
        figure = Figure(figsize=inches, layout="constrained")
        axes = figure.add_subplot()
        drawn = [one for one in series if one.points]
        apart = 0.8 / max(1, len(drawn)) if kind == "bars" else 0.28
        for number, one in enumerate(drawn):
            _add(axes, one, COLOURS[number % len(COLOURS)], kind, apart, number - (len(drawn) - 1) / 2)
        axes.set_title(title, loc="left")
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        above: dict[str, Any] = {}
        if kind == "intervals":
            axes.set_yticks(range(len(labels)), list(labels))
            axes.set_ylim(len(labels) - 0.5, -0.5)
            above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 4}
        elif labels:
            axes.set_xticks(range(len(labels)), list(labels))
        if any(one.name for one in series):
            axes.legend(frameon=False, fontsize="small", **above)
        buffer = io.BytesIO()
        # Neither a date nor a version: they would change the bytes and say nothing about the plot.
        without = {"Date": None, "Creator": None} if format_ == "svg" else {"Software": None}
        figure.savefig(buffer, format=format_, dpi=_DOTS_PER_INCH, metadata=without)
        return buffer.getvalue()


def _add(axes: Axes, one: Series, colour: str, kind: Kind, apart: float, aside: float) -> None:
    """Add a series; of bars and intervals, ``aside`` of the middle of each place, in steps of ``apart``."""
    across, up = zip(*one.points, strict=True)
    about: dict[str, Any] = {"color": colour, "label": one.name or None}
    beside = [place + apart * aside for place in across]
    if kind == "intervals":
        axes.plot(up, beside, "o", markersize=5, **about)
        if one.low:
            axes.hlines(beside, one.low, one.high, colors=colour, linewidth=2.2, alpha=0.55)
    elif one.style != "kind":
        axes.plot(across, up, "--" if one.style == "dashed" else "o", alpha=0.7, markersize=4, **about)
        if one.style == "points":
            _whiskers(axes, one, across, colour)
    elif kind == "bars":
        axes.bar(beside, up, apart, **about)
        _whiskers(axes, one, beside, "#222222")
    else:
        step = kind == "step"
        marker = "o" if len(up) <= _MARKED and not step else None
        axes.plot(
            across, up, drawstyle="steps-post" if step else "default", marker=marker, markersize=4, **about
        )
        if one.low and len(up) > 1:
            where: Literal["post"] | None = "post" if step else None
            axes.fill_between(across, one.low, one.high, color=colour, alpha=0.15, linewidth=0, step=where)
        else:
            _whiskers(axes, one, across, colour)


def _whiskers(axes: Axes, one: Series, across: Sequence[float], colour: str) -> None:
    # An end on the wrong side of its point (a bootstrap's interval can miss the estimate) is drawn where it is.
    middle = [(low + high) / 2 for low, high in zip(one.low, one.high, strict=True)]
    half = [abs(high - low) / 2 for low, high in zip(one.low, one.high, strict=True)]
    if middle:
        axes.errorbar(across, middle, yerr=half, fmt="none", ecolor=colour, capsize=3, elinewidth=1)


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
