"""Plots as small SVG elements in the colours of the page around them: the steps of a search, and intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["step", "intervals"]
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#b09500")
"""Told apart by people who are colour-blind (after Okabe and Ito)."""
_WIDTH, _HEIGHT, _ROW = 560, 250, 38  # of a plot; of a place of intervals
_LETTER = 7.2  # pixels that a letter takes, about


@dataclass(frozen=True, kw_only=True)
class Series:
    """One named run of points."""

    name: str
    points: tuple[tuple[float, float], ...]  # (x, y); of intervals x is the line from above, and y the value
    low: tuple[float, ...] = ()  # the ends of each point's interval; empty, or one a point
    high: tuple[float, ...] = ()
    style: Literal["kind", "points", "dashed"] = "kind"  # as the whole plot, single points, or a dashed line


def element(series: Sequence[Series], *, x: str, y: str, kind: Kind, labels: Sequence[str] = ()) -> str:
    """Return a plot as an ``<svg>`` element; its colours are the page's variables ``--series-1`` and so on."""
    from jinja2 import Environment  # not needed by a command that prints tables

    drawn = [one for one in series if one.points]
    values = [value for one in drawn for value in (*(point[1] for point in one.points), *one.low, *one.high)]
    left = 20 + _LETTER * max(map(len, labels)) if labels else 70
    top, height = 18 * len(drawn) + 8, _ROW * len(labels) if kind == "intervals" else _HEIGHT
    bottom, right = top + height, _WIDTH - 20
    if kind == "intervals":
        level = _ticks(values)
        across = _scale(level, left, right)
        rows = [(top + _ROW * (place + 0.5), label) for place, label in enumerate(labels)]
        marks = [_intervals(one, across, rows, number, len(drawn)) for number, one in enumerate(drawn)]
        columns = [(across(value), f"{value:g}") for value in level]
    else:
        calls, level = _ticks([point[0] for one in drawn for point in one.points]), _ticks(values)
        across, up = _scale(calls, left, right), _scale(level, bottom, top)
        marks = [_steps(one, across, up) for one in drawn]
        columns = [(across(value), f"{value:g}") for value in calls]
        rows = [(up(value), f"{value:g}") for value in level]
    template = (resources.files(__package__ or "") / "data" / "plot.svg").read_text(encoding="utf-8")
    return (
        Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        .from_string(template)
        .render(
            width=_WIDTH,
            height=bottom + 48,
            **{"left": left, "right": right, "top": top, "bottom": bottom, "x": x, "y": y},
            **{"names": [one.name for one in drawn], "across": columns, "up": rows, "marks": marks},
        )
    )


_Scale: TypeAlias = Callable[[float], float]
_Mark: TypeAlias = tuple[str, bool, list[tuple[float, float]]]
"""The path of a series, whether it is dashed, and the places of its dots."""


def _ticks(values: Sequence[float]) -> list[float]:
    """Return a few round numbers that span the values."""
    low, high = min(values), max(values)
    span = high - low if high - low > 1e-6 else 1.0  # values that are all the same need some room
    unit = 10.0 ** math.floor(math.log10(span / 2))
    step = unit * next(times for times in (1, 2, 5, 10) if span <= 6 * times * unit)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(place * step, 10) for place in range(first, max(last, first + 1) + 1)]


def _scale(ticks: Sequence[float], start: float, end: float) -> _Scale:
    """Return what turns a value into its place on an axis from the first tick to the last."""
    share = (end - start) / (ticks[-1] - ticks[0])
    return lambda value: round(start + share * (value - ticks[0]), 1)


def _intervals(one: Series, across: _Scale, rows: Sequence[tuple[float, str]], number: int, of: int) -> _Mark:
    """Return each point on its line, beside those of the other series, with its interval."""
    aside = round((number - (of - 1) / 2) * min(10.0, _ROW / of), 1)
    places = [rows[round(place)][0] + aside for place, _ in one.points]
    ends = zip(places, one.low, one.high, strict=True) if one.low else ()
    path = "".join(f"M{across(low)} {place}H{across(high)}" for place, low, high in ends)
    return path, False, [(across(point[1]), place) for place, point in zip(places, one.points, strict=True)]


def _steps(one: Series, across: _Scale, up: _Scale) -> _Mark:
    """Return a series as steps that hold until the next point, as a dashed line, or as dots."""
    places = [(across(x), up(y)) for x, y in one.points]
    if one.style == "points":
        return "", False, places
    if one.style == "dashed":
        return "M" + "L".join(f"{x} {y}" for x, y in places), True, []
    (x, y), *rest = places
    return f"M{x} {y}" + "".join(f"H{x}V{y}" for x, y in rest), False, []
