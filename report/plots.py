"""Plots as SVG texts made from typed rows, each with its figures as a table.

Colours are classes of the page's style sheet, so that light, dark and paper have their own. A drawing is 360 units
wide with letters of 12 units, so that it can be read on a telephone. A function returns no plot where it has nothing
to draw.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, NamedTuple, TypeAlias

from ..text.terms import shorten
from .document import Plot
from .table import Table, table

Anchor: TypeAlias = Literal["start", "middle", "end"]
"""The point of a text that stands at its place."""

_WIDTH = 360
_LEFT = 40  # of a plot with figures on its left side
_RIGHT = 350
_TOP = 28  # below the line that names the marks
_BOTTOM = 230
_HEIGHT = 270
_LETTER = 6.4  # the width of a letter, about
_LINE = 13  # the height of a line of text
_NAME_LETTERS = 33
_GROUP_LETTERS = 17
_LEGEND_LETTERS = 48
_SHIFTED = 4.5  # at most, from the line of a group
_MOST_GROUPS = 24
_TICKS = 5
_LINES = ("curve", "dotted", "best")
"""Kinds of marks that are lines."""


@dataclass(frozen=True, kw_only=True)
class ScoreBar:
    """A score with its interval."""

    name: str  # who answered
    value: float  # the score
    low: float  # the end of its interval
    high: float  # the other end
    is_main: bool = False  # whether the plot is about it
    note: str = ""  # what a paired test says of the main one against it; may be empty


@dataclass(frozen=True, kw_only=True)
class ReliabilityPoint:
    """The units whose probability lies in one bin."""

    system: str  # who gave the probabilities
    probability: float  # the mean of those that were given, 0 to 1
    positive_share: float  # the share of the units that are positive, 0 to 1
    units: int  # at least 1


@dataclass(frozen=True, kw_only=True)
class ThresholdPoint:
    """A threshold of probability, and what it finds."""

    threshold: float
    units: int  # that are at least so probable
    precision: float
    recall: float


@dataclass(frozen=True, kw_only=True)
class SearchPoint:
    """A candidate of a search."""

    name: str
    calls: int  # made before it was tried
    gain: float  # over the basic prompt, as it was estimated on train and dev
    is_chosen: bool  # whether it became the artifact


@dataclass(frozen=True, kw_only=True)
class GroupScore:
    """The scores of the systems in one group of rows."""

    group: str
    values: tuple[float | None, ...]  # of each system; ``None`` where it has no answer there
    units: int


@dataclass(frozen=True, kw_only=True)
class PricePoint:
    """A score and its price."""

    name: str
    price: float  # of a row
    value: float
    low: float
    high: float
    is_main: bool = False


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """A scale of values along a line of the drawing."""

    low: float  # the value at ``start``
    high: float  # the value at ``end``
    start: float
    end: float
    step: float  # between two ticks

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> "_Axis":
        """Return the axis from the tick below the lowest value to the tick above the highest one."""
        lowest, highest = min(values), max(values)
        if lowest == highest:
            lowest, highest = lowest - 0.5, highest + 0.5
        step = _tick_step(highest - lowest)
        low = math.floor(lowest / step + 1e-9) * step
        high = math.ceil(highest / step - 1e-9) * step
        return cls(low=low, high=high, start=start, end=end, step=step)

    def place(self, value: float) -> float:
        """Return where a value stands."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """The values that have a tick."""
        count = round((self.high - self.low) / self.step)
        return [self.low + place * self.step for place in range(count + 1)]

    def words(self, tick: float) -> str:
        """Return the value of a tick as text."""
        if self.step >= 1:
            return f"{tick:,.0f}"
        decimals = max(1, -math.floor(math.log10(self.step) + 1e-9))
        return f"{tick:.{decimals}f}"


def _tick_step(span: float) -> float:
    """Return the smallest of 1, 2 or 5 times a power of ten that cuts a span into at most :data:`_TICKS` pieces."""
    power = 10.0 ** math.floor(math.log10(span / _TICKS))
    for factor in (1, 2, 5):
        if span / (factor * power) <= _TICKS:
            return factor * power
    return 10 * power


def forest_plot(
    metric: str, bars: Sequence[ScoreBar], main_name: str = "compiled", rows_name: str = "sealed rows"
) -> list[Plot]:
    """Return the scores of all that answered the same rows, below each other; nothing for fewer than two.

    Args:
        metric: the name of the scores.
        bars: a score for each that answered.
        main_name: the name of the main one.
        rows_name: what the rows are.
    """
    if len(bars) < 2:
        return []
    ends: list[float] = []
    for bar in bars:
        ends.extend([bar.value, bar.low, bar.high])
    axis = _Axis.over(ends, 8, _WIDTH - 8)
    bottom = 36 * len(bars) + 4
    marks = _horizontal_axis(axis, 4, bottom, f"{metric}, with 95 % intervals")
    main = [bar.value for bar in bars if bar.is_main]
    rows = []
    for place, bar in enumerate(bars):
        height = 36 * place
        kind = "main" if bar.is_main else "other"
        for value in main:
            marks.append(_line(axis.place(value), height + 20, axis.place(value), height + 36, "main-line"))
        figures = f"{bar.value:.3f}"
        if bar.low < bar.high:
            figures += f" [{bar.low:.3f}, {bar.high:.3f}]"
            marks.append(_line(axis.place(bar.low), height + 27, axis.place(bar.high), height + 27, kind))
        marks.append(_dot(axis.place(bar.value), height + 27, 5, kind))
        marks.append(_text(8, height + 16, shorten(bar.name, _NAME_LETTERS), kind=kind))
        marks.append(_text(_WIDTH - 8, height + 16, figures, "end", kind=kind))
        rows.append([bar.name, figures, bar.note or "-"])
    figures_table = table("", ["", f"{metric} [95 % interval]", f"{main_name} is"], rows)
    description = (
        f"{metric} with its 95 % interval, all on the same {rows_name}. The dashed line is {main_name}."
    )
    return [_plot("Against what else answers the same rows", description, bottom + 40, marks, figures_table)]


def reliability_plot(points: Sequence[ReliabilityPoint]) -> list[Plot]:
    """Return the share of positive units by the probability that a system gave them; nothing without a point.

    There is a point for each bin of each system. The plot is about the system of the last one.
    """
    if not points:
        return []
    main = points[-1].system
    across = _Axis(low=0, high=1, start=_LEFT, end=_RIGHT, step=0.2)
    up = _Axis(low=0, high=1, start=_BOTTOM, end=_TOP, step=0.2)
    marks = _both_axes(across, up, "the probability of positive that was given")
    marks.append(_line(across.place(0), up.place(0), across.place(1), up.place(1), "guide"))
    largest = max(point.units for point in points)
    for point in points:
        kind = "main" if point.system == main else "hollow"
        radius = 3 + 6 * math.sqrt(point.units / largest)
        shares = f"{point.positive_share:.0%} of {point.units} units where {point.probability:.0%} were said"
        words = f"{point.system}: {shares}"
        marks.append(
            _dot(across.place(point.probability), up.place(point.positive_share), radius, kind, words)
        )
    marks += _legend([(name, "main" if name == main else "hollow") for name in _systems(points)]).marks
    rows = []
    for point in points:
        rows.append([point.system, f"{point.probability:.2f}", f"{point.positive_share:.2f}", point.units])
    columns = ["", "probability", "share that is positive", "units"]
    description = "The share of units that are positive, by the probability; right ones lie on the diagonal."
    return [_plot("Are its probabilities right?", description, _HEIGHT, marks, table("", columns, rows))]


def _systems(points: Sequence[ReliabilityPoint]) -> list[str]:
    """Return the names of the systems of points, each once."""
    return list(dict.fromkeys([point.system for point in points]))


def threshold_plot(points: Sequence[ThresholdPoint], chosen: float | None) -> list[Plot]:
    """Return precision and recall of compiled by its threshold; nothing for fewer than two.

    Args:
        points: the thresholds in order.
        chosen: the threshold that decides; ``None`` where none of probability does.
    """
    if len(points) < 2:
        return []
    across = _Axis(low=0, high=1, start=_LEFT, end=_RIGHT, step=0.2)
    up = _Axis(low=0, high=1, start=_BOTTOM, end=_TOP, step=0.2)
    marks = _both_axes(across, up, "positive from this probability on")
    precision = []
    recall = []
    rows = []
    for point in points:
        precision.append((across.place(point.threshold), up.place(point.precision)))
        recall.append((across.place(point.threshold), up.place(point.recall)))
        rows.append([f"{point.threshold:.2f}", point.units, f"{point.precision:.3f}", f"{point.recall:.3f}"])
    description = "Precision and recall of compiled by the threshold of its probability."
    if chosen is not None:
        marks.append(_line(across.place(chosen), _TOP, across.place(chosen), _BOTTOM, "main-line"))
        description += f" The dashed line is the threshold that decides, {chosen:.3g}."
    marks.append(_path(precision, "curve"))
    marks.append(_path(recall, "dotted"))
    marks += _legend([("precision", "curve"), ("recall", "dotted")]).marks
    columns = ["probable at least", "units found", "precision", "recall"]
    return [_plot("Which threshold?", description, _HEIGHT, marks, table("", columns, rows))]


def search_plot(metric: str, points: Sequence[SearchPoint]) -> list[Plot]:
    """Return the gain of each candidate by the calls before it; nothing for fewer than two."""
    if len(points) < 2:
        return []
    ordered = sorted(points, key=lambda point: point.calls)
    across = _Axis.over([0] + [point.calls for point in ordered], _LEFT + 8, _RIGHT)
    up = _Axis.over([0.0] + [point.gain for point in ordered], _BOTTOM, _TOP)
    marks = _both_axes(across, up, "calls before it was tried")
    marks.append(_line(_LEFT + 8, up.place(0), _RIGHT, up.place(0), "guide"))
    best = 0.0
    steps = [(across.place(0), up.place(0))]
    rows = []
    for point in ordered:
        x, y = across.place(point.calls), up.place(point.gain)
        if point.gain > best:
            steps.append((x, up.place(best)))
            best = point.gain
            steps.append((x, y))
        name = point.name
        if point.is_chosen:
            name += " (chosen)"
            marks.append(_dot(x, y, 8, "ring"))
        marks.append(_dot(x, y, 4, "main" if point.is_chosen else "hollow", f"{name}: {point.gain:+.3f}"))
        rows.append([name, f"{point.calls:,}", f"{point.gain:+.3f}"])
    steps.append((_RIGHT, up.place(best)))
    marks.append(_path(steps, "best"))
    marks += _legend([("a candidate", "hollow"), ("the chosen one", "main"), ("best so far", "best")]).marks
    description = f"The gain in {metric} of {len(points)} candidates over the basic prompt, by train and dev."
    columns = ["candidate", "calls before", "estimated gain"]
    return [_plot("Gain against calls", description, _HEIGHT, marks, table("", columns, rows))]


def group_plot(
    scores: Sequence[GroupScore],
    meaning: str,
    *,
    systems: Sequence[str] = ("basic", "compiled"),
    main: str = "compiled",
    noun: str = "group",
    figures: Table | None = None,
) -> list[Plot]:
    """Return the scores of systems in each group; nothing for fewer than two groups.

    Args:
        scores: the scores in each group; the first that have room are drawn, of those without ``figures`` the lowest.
        meaning: what the scores are, such as ``share of units that are right``.
        systems: the names of those that are scored, in the order of the values.
        main: the one that the plot is about.
        noun: what a group is, such as a language.
        figures: the table below the plot, with the groups in their order, those with most rows first; default: the
            drawn scores, the lowest first, and a line between two systems, red where the main one is lower.
    """
    if len(scores) < 2:
        return []
    place_of_main = list(systems).index(main)
    has_lines = figures is None and len(systems) == 2
    drawn = scores
    if figures is None:
        drawn = sorted(scores, key=lambda score: _lowest_first(score, place_of_main))
    drawn = drawn[:_MOST_GROUPS]
    kinds = _kinds_of_systems(systems, main)
    legend = _legend([(name, kinds[place]) for place, name in enumerate(systems)])
    top = _TOP + _LINE * (legend.lines - 1)
    axis = _group_axis(drawn)
    # Without a line between them, marks of equal scores would hide each other.
    shifts = [0.0] * len(systems)
    if figures is not None and len(systems) > 1:
        shifts = [_SHIFTED * (2 * place / (len(systems) - 1) - 1) for place in range(len(systems))]
    bottom = top + 18 * len(drawn)
    marks = _horizontal_axis(axis, top - 6, bottom, meaning)
    rows = []
    for place, score in enumerate(drawn):
        height = top + 18 * place + 6
        name = score.group or f"no {noun}"
        marks.append(_text(120, height + 4, shorten(name, _GROUP_LETTERS), "end"))
        if has_lines:
            marks += _line_between(axis, height, score.values, place_of_main)
        cells = []
        for system, kind, shift, value in zip(systems, kinds, shifts, score.values, strict=True):
            cells.append("-" if value is None else f"{value:.2f}")
            if value is not None:
                words = f"{name}, {system}: {value:.2f}"
                marks.append(_dot(axis.place(value), height + shift, 4, kind, words))
        rows.append([name, *cells, score.units])
    marks += legend.marks
    description = f"The {meaning} in each {noun}, {' and '.join(systems)}."
    if has_lines:
        description += f" A red line: {main} is lower."
    if len(drawn) < len(scores):
        which = f"where {main} has least" if figures is None else "with most rows"
        description = f"The {meaning} in the {len(drawn)} {noun}s of {len(scores)} {which}."
    title = f"By {noun}" if figures is None else figures.title
    figures = figures or table("", [noun, *systems, "units"], rows)
    return [_plot(title, description, bottom + 40, marks, figures)]


def _lowest_first(score: GroupScore, place_of_main: int) -> tuple[float, list[float], str]:
    """Return the key by which groups are sorted: the value of the main system, then all others, then the name."""
    values = [-math.inf if value is None else value for value in score.values]
    return values[place_of_main], values, score.group


def _kinds_of_systems(systems: Sequence[str], main: str) -> list[str]:
    """Return the kind of mark of each system; from the third beside the main one on, all have the same."""
    kinds = []
    for system in systems:
        if system == main:
            kinds.append("main")
        else:
            kinds.append("other" if "hollow" in kinds else "hollow")
    return kinds


def _group_axis(scores: Sequence[GroupScore]) -> _Axis:
    """Return the axis of scores in groups: from 0 to 1 where all lie there."""
    start = 128
    values: list[float] = []
    for score in scores:
        values.extend(value for value in score.values if value is not None)
    if all(0 <= value <= 1 for value in values):
        return _Axis(low=0, high=1, start=start, end=_RIGHT, step=0.2)
    return _Axis.over(values, start, _RIGHT)


def _line_between(
    axis: _Axis, height: float, values: Sequence[float | None], place_of_main: int
) -> list[str]:
    """Return the line between the marks of two systems, which has another colour where the main one is lower."""
    main, other = values[place_of_main], values[1 - place_of_main]
    if main is None or other is None:
        return []
    kind = "worse" if main < other else "main"
    return [_line(axis.place(other), height, axis.place(main), height, kind)]


def price_plot(metric: str, price: str, points: Sequence[PricePoint]) -> list[Plot]:
    """Return scores by their prices; nothing where all prices are the same.

    Args:
        metric: the name of the scores.
        price: what a price is, such as ``tokens a row``.
        points: who answered.
    """
    if len({point.price for point in points}) < 2:
        return []
    ends = []
    for point in points:
        ends.extend([point.value, point.low, point.high])
    across = _Axis.over([0] + [point.price for point in points], _LEFT + 8, _RIGHT - 8)
    up = _Axis.over(ends, _BOTTOM, _TOP - 10)
    marks = _both_axes(across, up, price)
    rows = []
    name_boxes: list[tuple[float, float, float]] = []  # start, end and height of the names that stand
    for point in sorted(points, key=lambda point: -point.value):
        x, y = across.place(point.price), up.place(point.value)
        kind = "main" if point.is_main else "other"
        if point.low < point.high:
            marks.append(_line(x, up.place(point.low), x, up.place(point.high), kind))
        marks.append(_dot(x, y, 5, kind))
        marks.append(_name_beside(point.name, x, y, kind, name_boxes))
        rows.append([point.name, _price_words(point.price), f"{point.value:.3f}"])
    description = f"{metric} with its 95 % interval, by {price}."
    return [_plot("Price and quality", description, _HEIGHT, marks, table("", ["", price, metric], rows))]


def _price_words(price: float) -> str:
    """Return a price with as many digits as tell it apart."""
    return f"{price:,.0f}" if price >= 10 or not price else f"{price:.3g}"


def _name_beside(
    name: str, x: float, y: float, kind: str, name_boxes: list[tuple[float, float, float]]
) -> str:
    """Return a name beside its point, below the names that stand there; its own place is added to them."""
    width = len(name) * _LETTER
    anchor: Anchor = "start"
    start = x + 9
    if start + width > _WIDTH:
        anchor = "end"
        start = x - 9 - width
    height = y + 4
    for other_start, other_end, other_height in sorted(name_boxes, key=lambda place: place[2]):
        overlaps = start < other_end and other_start < start + width
        if overlaps and abs(height - other_height) < _LINE:
            height = other_height + _LINE
    name_boxes.append((start, start + width, height))
    return _text(x + 9 if anchor == "start" else x - 9, height, name, anchor, kind)


def _plot(title: str, description: str, height: float, marks: Sequence[str], figures: Table) -> Plot:
    """Return the plot of marks."""
    svg = (
        f'<svg role="img" viewBox="0 0 {_WIDTH} {height:g}">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(marks)}</svg>"
    )
    return Plot(title=title, description=description, svg=svg, table=figures)


def _horizontal_axis(axis: _Axis, top: float, bottom: float, name: str) -> list[str]:
    """Return an axis below a drawing, with a line up from each tick, and its name."""
    marks = []
    for tick in axis.ticks:
        x, words = axis.place(tick), axis.words(tick)
        half = len(words) * _LETTER / 2
        anchor: Anchor = "middle"
        if x < half:
            anchor = "start"
        elif x > _WIDTH - half:
            anchor = "end"
        marks.append(_line(x, top, x, bottom, "grid"))
        marks.append(_text(x, bottom + 18, words, anchor, "tick"))
    marks.append(_text((axis.start + axis.end) / 2, bottom + 35, name, "middle", "tick"))
    return marks


def _both_axes(across: _Axis, up: _Axis, name: str) -> list[str]:
    """Return the axes of a drawing with figures on its left side; ``name`` is that of the lower axis."""
    marks = _horizontal_axis(across, up.end, up.start, name)
    for tick in up.ticks:
        y = up.place(tick)
        marks.append(_line(across.start, y, across.end, y, "grid"))
        marks.append(_text(across.start - 7, y + 4, up.words(tick), "end", "tick"))
    return marks


class _Legend(NamedTuple):
    """The marks of a legend, and how many lines they take."""

    marks: list[str]
    lines: int


def _legend(entries: Sequence[tuple[str, str]]) -> _Legend:
    """Return the lines that name the marks of a drawing: of each a name, and the kind of its mark."""
    marks = []
    x, y, lines = 8.0, 9.0, 1
    for name, kind in entries:
        name = shorten(name, _LEGEND_LETTERS)
        width = 33 + len(name) * _LETTER
        if x > 8 and x + width > _WIDTH:
            x, y, lines = 8.0, y + _LINE, lines + 1
        if kind in _LINES:
            marks.append(_line(x, y, x + 16, y, kind))
        else:
            marks.append(_dot(x + 8, y, 4, kind))
        marks.append(_text(x + 21, y + 4, name, kind="tick"))
        x += width
    return _Legend(marks, lines)


def _text(x: float, y: float, text: str, anchor: Anchor = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _dot(x: float, y: float, radius: float, kind: str, words: str = "") -> str:
    """Return a round mark; its words are seen where the pointer rests on it."""
    inside = f"<title>{escape(words)}</title>" if words else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="{kind}">{inside}</circle>'


def _path(points: Sequence[tuple[float, float]], kind: str) -> str:
    """Return a line through points."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" class="{kind}"/>'
