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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import JuristError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    target = Path(path)
    format_ = _format(target)
    if not any(one.points for one in series):
        raise JuristError(f"{target}: there is nothing to draw", hint="leave out the plot")
    drawn = _drawn(series, _Texts(title=title, x=x, y=y, labels=tuple(labels)), kind, format_, _INCHES)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(drawn)
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}", hint="name a file that can be written") from error


def check_drawable(path: Path | str) -> None:
    """Find out whether a plot can be drawn into a file, before what it shows is paid for."""
    _format(Path(path))


def _format(target: Path) -> str:
    if target.suffix.lower() not in _FORMATS:
        raise UsageError(f"{target}: a plot is .svg or .png", hint="name the file so")
    return _FORMATS[target.suffix.lower()]


def element(
    series: Sequence[Series], *, name: str, x: str, y: str, kind: Kind = "line", labels: Sequence[str] = ()
) -> str:
    """Return a plot as an ``<svg>`` element for a page, in the page's colours (the CSS variables of :data:`_THEME`)."""
    size = (_INCHES_ON_A_PAGE[0], _ROW * len(labels) + _MARGIN) if kind == "intervals" else _INCHES_ON_A_PAGE
    text = _drawn(series, _Texts(title="", x=x, y=y, labels=tuple(labels)), kind, "svg", size).decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    text = re.sub(
        r'<svg [^>]*?viewBox="([^"]+)"[^>]*>',
        r'<svg viewBox="\1" aria-hidden="true" focusable="false">',
        text,
    )
    return re.sub("|".join(_THEME), lambda found: _THEME[found[0]], text)


@dataclass(frozen=True, kw_only=True)
class _Texts:
    title: str
    x: str
    y: str
    labels: tuple[str, ...]


def _drawn(
    series: Sequence[Series], texts: _Texts, kind: Kind, format_: str, inches: tuple[float, float]
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
        _fill(axes, series, kind)
        _name(axes, texts, kind, legend=any(one.name for one in series))
        return _bytes(figure, format_)


def _fill(axes: Axes, series: Sequence[Series], kind: Kind) -> None:
    bars = [one for one in series if kind == "bars" and one.style == "kind" and one.points]
    for number, one in enumerate(one for one in series if one.points):
        colour = COLOURS[number % len(COLOURS)]
        if kind == "intervals":
            _interval(axes, one, colour, (number, len(series)))
        elif one.style != "kind":
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


def _interval(axes: Axes, one: Series, colour: str, place: tuple[int, int]) -> None:
    number, of = place
    down = [point[0] + 0.28 * (number - (of - 1) / 2) for point in one.points]
    axes.plot(
        [point[1] for point in one.points], down, "o", color=colour, label=one.name or None, markersize=5
    )
    if one.low:
        axes.hlines(down, one.low, one.high, colors=colour, linewidth=2.2, alpha=0.55)


def _whiskers(axes: Axes, one: Series, across: Sequence[float], colour: str) -> None:
    # An end on the wrong side of its point (a bootstrap's interval can miss the estimate) is drawn where it is.
    middle = [(low + high) / 2 for low, high in zip(one.low, one.high, strict=True)]
    half = [abs(high - low) / 2 for low, high in zip(one.low, one.high, strict=True)]
    axes.errorbar(across, middle, yerr=half, fmt="none", ecolor=colour, capsize=3, elinewidth=1)


def _name(axes: Axes, texts: _Texts, kind: Kind, *, legend: bool) -> None:
    axes.set_title(texts.title, loc="left")
    axes.set_xlabel(texts.x)
    axes.set_ylabel(texts.y)
    if kind == "intervals":
        axes.set_yticks(range(len(texts.labels)), list(texts.labels))
        axes.set_ylim(len(texts.labels) - 0.5, -0.5)
    elif texts.labels:
        axes.set_xticks(range(len(texts.labels)), list(texts.labels))
    if legend:
        above: dict[str, Any] = (
            {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 4} if kind == "intervals" else {}
        )
        axes.legend(frameon=False, fontsize="small", **above)


def _bytes(figure: Figure, format_: str) -> bytes:
    buffer = io.BytesIO()
    # Neither a date nor a version: they would change the bytes and say nothing about the plot.
    without = {"Date": None, "Creator": None} if format_ == "svg" else {"Software": None}
    figure.savefig(buffer, format=format_, dpi=_DOTS_PER_INCH, metadata=without)
    return buffer.getvalue()
