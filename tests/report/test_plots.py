"""Plots: what is drawn stands in their tables, places follow values, and nothing is drawn of nothing."""

import itertools
import re
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hostile import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from jurist.report.document import Plot
from jurist.report.plots import (
    GroupScore,
    PricePoint,
    ReliabilityPoint,
    ScoreBar,
    SearchPoint,
    ThresholdPoint,
    forest_plot,
    group_plot,
    price_plot,
    reliability_plot,
    search_plot,
    threshold_plot,
)
from jurist.report.table import table

SHARES = st.floats(0, 1).map(lambda share: round(share, 3))
SCORES = st.floats(-50, 50).map(lambda score: round(score, 3))


def bar(name: str, value: float, reach: float = 0.1, *, is_main: bool = False) -> ScoreBar:
    return ScoreBar(name=name, value=value, low=value - reach, high=value + reach, is_main=is_main)


def every_plot(name: str) -> dict[str, list[Plot]]:
    """Return one plot of each kind, in which a name from outside stands wherever one can."""
    return {
        "forest": forest_plot(name, [bar(name, 0.9, is_main=True), bar(name, 0.5, 0)]),
        "reliability": reliability_plot(
            [
                ReliabilityPoint(system=name, probability=0.2, positive_share=0.1, units=3),
                ReliabilityPoint(system=f"{name}.", probability=0.8, positive_share=0.9, units=30),
            ]
        ),
        "threshold": threshold_plot(
            [
                ThresholdPoint(threshold=0.2, units=9, precision=0.5, recall=1.0),
                ThresholdPoint(threshold=0.7, units=4, precision=0.8, recall=0.6),
            ],
            0.5,
        ),
        "search": search_plot(
            name,
            [
                SearchPoint(name="basic", calls=0, gain=0, is_chosen=False),
                SearchPoint(name=name, calls=90, gain=0.2, is_chosen=True),
            ],
        ),
        "group": group_plot(
            [
                GroupScore(group=name, values=(0.5, 0.75), units=4),
                GroupScore(group="", values=(0.5, 0.25), units=4),
            ],
            name,
        ),
        "column": group_plot(
            [
                GroupScore(group=name, values=(0.5, None, -3.0), units=4),
                GroupScore(group="", values=(7.5, 0.25, 1.0), units=4),
            ],
            name,
            systems=(name, f"{name} / openai/a-model-with-a-long-name", "b" * 90),
            main=name,
            noun=name,
            figures=table(f"f1 by {name}", [name, "units"], [[name, 4], ["", 4]]),
        ),
        "price": price_plot(
            name,
            name,
            [
                PricePoint(name=name, price=0, value=0.5, low=0.4, high=0.6),
                PricePoint(name="compiled", price=1200, value=0.9, low=0.8, high=1.0, is_main=True),
            ],
        ),
    }


KINDS = list(every_plot("a"))


def drawn(plot: Plot) -> ElementTree.Element:
    return ElementTree.fromstring(plot.svg)


def dots(plot: Plot) -> list[tuple[float, float]]:
    return [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in drawn(plot).iter("circle")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_plot_says_in_words_and_figures_what_it_draws(kind: str) -> None:
    (plot,) = every_plot("fect")[kind]
    image = drawn(plot)
    assert image.attrib["role"] == "img"
    assert image.findtext("title") == plot.title
    assert image.findtext("desc") == plot.description
    assert len(plot.description) > 20
    assert len(plot.table.rows) == 2
    width, height = (float(part) for part in image.attrib["viewBox"].split()[2:])
    assert width <= 390  # a telephone shows its letters as large as they are
    for element in image.iter():
        for name, most in (("x", width), ("x1", width), ("cx", width), ("y", height), ("y2", height)):
            assert 0 <= float(element.attrib.get(name, 0)) <= most


@pytest.mark.parametrize("text", [text.replace("\x00", "").replace("\x1b", "") for text in HOSTILE])
@pytest.mark.parametrize("kind", KINDS)
def test_no_name_becomes_an_element(kind: str, text: str) -> None:
    (plain,), (hostile,) = every_plot("harmless")[kind], every_plot(text)[kind]
    expected = [element.tag for element in drawn(plain).iter()]
    assert [element.tag for element in drawn(hostile).iter()] == expected


@pytest.mark.parametrize(
    "plots",
    [
        forest_plot("f1", [bar("compiled", 0.9)]),
        reliability_plot([]),
        threshold_plot([ThresholdPoint(threshold=0.5, units=1, precision=1, recall=1)], None),
        search_plot("f1", [SearchPoint(name="basic", calls=0, gain=0, is_chosen=True)]),
        group_plot([GroupScore(group="a", values=(0, 1), units=1)], "share"),
        price_plot("f1", "tokens", [PricePoint(name="a", price=3, value=0, low=0, high=0)] * 2),
    ],
)
def test_there_is_no_frame_around_nothing(plots: list[Plot]) -> None:
    assert plots == []


@given(st.lists(st.tuples(SCORES, st.floats(0, 9)), min_size=2, max_size=8))
def test_scores_stand_in_their_order_within_their_intervals(scores: Sequence[tuple[float, float]]) -> None:
    (plot,) = forest_plot("mse", [bar(str(place), *score) for place, score in enumerate(scores)])
    places = [x for x, _ in dots(plot)]
    for (one, _), one_place in zip(scores, places, strict=True):
        for (other, _), other_place in zip(scores, places, strict=True):
            assert one_place <= other_place or one > other
    for line in drawn(plot).iter("line"):
        if line.attrib["class"] == "other":
            start, end = float(line.attrib["x1"]), float(line.attrib["x2"])
            assert any(start <= place <= end for place in places)


@given(st.lists(st.tuples(st.integers(0, 10_000), SCORES), min_size=2, max_size=30))
def test_the_best_so_far_never_falls(candidates: Sequence[tuple[int, float]]) -> None:
    points = [SearchPoint(name="a", calls=calls, gain=gain, is_chosen=False) for calls, gain in candidates]
    (plot,) = search_plot("f1", points)
    (line,) = drawn(plot).iter("polyline")
    heights = [float(place.split(",")[1]) for place in line.attrib["points"].split()]
    assert heights == sorted(heights, reverse=True)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=60))
def test_of_many_groups_those_with_the_least_are_shown(shares: Sequence[tuple[float, float]]) -> None:
    scores = [GroupScore(group=f"g{n}", values=pair, units=1) for n, pair in enumerate(shares)]
    (plot,) = group_plot(scores, "share")
    shown = {row[0] for row in plot.table.rows}
    left = [score.values[1] for score in scores if score.group not in shown]
    assert len(shown) == min(24, len(scores))
    assert all(value >= max(s.values[1] for s in scores if s.group in shown) for value in left)
    assert (f"of {len(scores)}" in plot.description) == bool(left)


@pytest.mark.parametrize("count", [2, 40])
def test_scores_by_a_column_stand_in_the_order_of_their_table(count: int) -> None:
    scores = [GroupScore(group=f"g{n}", values=(0.5, 0.5), units=1) for n in range(count)]
    figures = table("f1 by tier", ["tier"], [[score.group] for score in scores])
    (plot,) = group_plot(scores, "f1", systems=("a", "b"), main="a", noun="tier", figures=figures)
    names = [text.text for text in drawn(plot).iter("text") if text.attrib["text-anchor"] == "end"]
    assert names == [f"g{n}" for n in range(min(count, 24))]
    assert plot.table is figures
    assert (f"the 24 tiers of {count} with most rows" in plot.description) == (count > 24)
    assert len(set(dots(plot))) == len(dots(plot))  # equal scores do not hide each other
    assert not [line for line in drawn(plot).iter("line") if line.attrib["class"] in ("main", "worse")]


def test_names_of_points_at_one_price_stand_below_each_other() -> None:
    names = ("words", "neighbours", "constant", "basic")
    points = [PricePoint(name=name, price=0, value=0.5, low=0.4, high=0.6) for name in names]
    compiled = PricePoint(name="compiled", price=100, value=0.9, low=0.8, high=1, is_main=True)
    (plot,) = price_plot("f1", "tokens a row", [*points, compiled])
    heights = []
    for text in drawn(plot).iter("text"):
        if text.text in names:
            heights.append(float(text.attrib["y"]))
    heights.sort()
    assert all(below - above >= 12 for above, below in itertools.pairwise(heights))


def test_ticks_are_round() -> None:
    (plot,) = forest_plot("f1", [bar("a", 0.512, 0.0311), bar("b", 0.7, 0.05)])
    ticks = [text.text or "" for text in drawn(plot).iter("text") if text.attrib["class"] == "tick"]
    figures = [tick for tick in ticks if re.fullmatch(r"[\d.]+", tick)]
    assert figures == ["0.4", "0.5", "0.6", "0.7", "0.8"]
