"""Plots of lines, steps and bars with intervals, written as SVG or PNG.

The same series give the same bytes: the fonts, the colours and the identifiers in the file depend on nothing of
the machine's settings, and no date is written. Text is kept as text: an SVG can be searched, and a title in any
script is drawn with the reader's fonts. matplotlib is imported when something is drawn, and is an extra. Knows
nothing of judges or artifacts.
"""

from __future__ import annotations

import importlib.util
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import JuristError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Kind", "Series", "check_drawable", "check_matplotlib", "draw"]

Kind = Literal["line", "step", "bars"]

_INCHES = (8.0, 4.8)
_DOTS_PER_INCH = 150
_MARKED = 30
"""Points of a line up to which each has a mark; more would hide the line."""
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#b09500")
"""Told apart by people who are colour-blind (after Okabe and Ito)."""
_ABSENT, _INSTALL = "plots need matplotlib, which is not installed", "pip install 'jurist[plots]'"
_FORMATS = {".svg": "svg", ".png": "png"}
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
    """One named run of points.

    Attributes:
        name: as in the legend; an empty one is not in it.
        points: (x, y); of bars, x is the place of the group of bars.
        low, high: the ends of each point's interval, as values of y; both empty or one a point.
        style: ``kind`` as the whole plot is drawn, ``points`` as single points, ``dashed`` as a dashed line.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
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
    """Write a plot.

    Args:
        path: the file to write; its suffix, ``.svg`` or ``.png``, says which format.
        series: what is drawn; at least one point in all.
        title: above the plot.
        x: name of the horizontal axis.
        y: name of the vertical axis.
        kind: ``line`` and ``step`` shade their intervals, ``bars`` stand side by side with whiskers.
        labels: names of the places 0, 1, ... on the horizontal axis, instead of numbers.

    Raises:
        UsageError: another suffix, or the file cannot be written.
        JuristError: matplotlib is not installed, or there is no point to draw.
    """
    target = Path(path)
    format_ = _format(target)
    if not any(one.points for one in series):
        raise JuristError(f"{target}: there is nothing to draw")
    drawn = _drawn(series, (title, x, y), kind, labels, format_)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(drawn)
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}", hint="name a file that can be written") from error


def check_drawable(path: Path | str) -> None:
    """Find out whether a plot can be drawn into a file, before what it shows is paid for.

    Raises:
        UsageError: the file's suffix is none of a plot's. JuristError: matplotlib is not installed.
    """
    _format(Path(path))
    check_matplotlib()


def check_matplotlib() -> None:
    """Refuse to go on where nothing can be drawn.

    Raises:
        JuristError: matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise JuristError(_ABSENT, hint=_INSTALL)


def _format(target: Path) -> str:
    if target.suffix.lower() not in _FORMATS:
        raise UsageError(f"{target}: a plot is .svg or .png", hint="name the file so")
    return _FORMATS[target.suffix.lower()]


def _drawn(
    series: Sequence[Series], texts: tuple[str, str, str], kind: Kind, labels: Sequence[str], format_: str
) -> bytes:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise JuristError(_ABSENT, hint=_INSTALL) from error
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A script that the font lacks is drawn by the SVG's reader.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        matplotlib.rcdefaults()  # a user's own settings would change the bytes
        matplotlib.rcParams.update(_SETTINGS)
        figure = Figure(figsize=_INCHES, layout="constrained")
        axes = figure.add_subplot()
        _fill(axes, series, kind)
        _name(axes, texts, labels, legend=any(one.name for one in series))
        return _bytes(figure, format_)


def _fill(axes: Axes, series: Sequence[Series], kind: Kind) -> None:
    bars = [one for one in series if kind == "bars" and one.style == "kind" and one.points]
    for number, one in enumerate(one for one in series if one.points):
        colour = _COLOURS[number % len(_COLOURS)]
        if one.style != "kind":
            _plain(axes, one, colour)
        elif kind == "bars":
            _bars(axes, one, colour, (bars.index(one), len(bars)))
        else:
            _line(axes, one, colour, step=kind == "step")


def _plain(axes: Axes, one: Series, colour: str) -> None:
    across, up = zip(*one.points, strict=True)
    marks = "--" if one.style == "dashed" else "o"
    axes.plot(across, up, marks, color=colour, label=one.name or None, alpha=0.7, markersize=4)
    if one.low and one.style == "points":
        _whiskers(axes, one, across, colour)


def _line(axes: Axes, one: Series, colour: str, *, step: bool) -> None:
    across, up = zip(*one.points, strict=True)
    marker = "o" if len(up) <= _MARKED and not step else None
    style = "steps-post" if step else "default"
    axes.plot(across, up, color=colour, label=one.name or None, drawstyle=style, marker=marker, markersize=4)
    if not one.low:
        return
    if len(up) == 1:
        _whiskers(axes, one, across, colour)
    else:
        where: Literal["post"] | None = "post" if step else None
        axes.fill_between(across, one.low, one.high, color=colour, alpha=0.15, linewidth=0, step=where)


def _bars(axes: Axes, one: Series, colour: str, place: tuple[int, int]) -> None:
    number, of = place
    width = 0.8 / of
    across = [point[0] + (number - (of - 1) / 2) * width for point in one.points]
    axes.bar(across, [point[1] for point in one.points], width, color=colour, label=one.name or None)
    if one.low:
        _whiskers(axes, one, across, "#222222")


def _whiskers(axes: Axes, one: Series, across: Sequence[float], colour: str) -> None:
    # An end on the wrong side of its point (a bootstrap's interval can miss the estimate) is drawn where it is.
    middle = [(low + high) / 2 for low, high in zip(one.low, one.high, strict=True)]
    half = [abs(high - low) / 2 for low, high in zip(one.low, one.high, strict=True)]
    axes.errorbar(across, middle, yerr=half, fmt="none", ecolor=colour, capsize=3, elinewidth=1)


def _name(axes: Axes, texts: tuple[str, str, str], labels: Sequence[str], *, legend: bool) -> None:
    title, x, y = texts
    axes.set_title(title, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if labels:
        axes.set_xticks(range(len(labels)), list(labels))
    if legend:
        axes.legend(frameon=False, fontsize="small")


def _bytes(figure: Figure, format_: str) -> bytes:
    buffer = io.BytesIO()
    # Neither a date nor a version: they would change the bytes and say nothing about the plot.
    without = {"Date": None, "Creator": None} if format_ == "svg" else {"Software": None}
    figure.savefig(buffer, format=format_, dpi=_DOTS_PER_INCH, metadata=without)
    return buffer.getvalue()
