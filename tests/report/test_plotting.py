"""Plots: every name and value stands in them, whatever its letters, and the same series give the same bytes."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.report.plotting import Kind, Series, element

ROOT = "{http://www.w3.org/2000/svg}"
SEARCH = [
    Series(name="best so far", points=((0, 0.5), (10, 0.6), (40, 0.7))),
    Series(name="candidates", points=((0, 0.5), (7, 0.2)), style="points"),
    Series(name="<basic> $1", points=((0, 0.5), (40, 0.5)), style="dashed"),
    Series(name="none", points=()),
]
SCORES = [
    Series(name=name, points=((0, value), (1, 0.9)), low=(0.1, 0.8), high=(0.7, 0.95))
    for name, value in (("basic", 0.5), ("评分", 0.6))
]


@pytest.mark.parametrize(
    ("kind", "series", "labels"), [("step", SEARCH, ()), ("intervals", SCORES, ("f1", "<b>"))]
)
def test_names_are_text_and_every_point_is_drawn(
    kind: Kind, series: list[Series], labels: tuple[str, ...]
) -> None:
    svg = element(series, x="calls", y="f1 & more", kind=kind, labels=labels)
    assert svg == element(series, x="calls", y="f1 & more", kind=kind, labels=labels)
    plot = ET.fromstring(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
    shown = [text.text for text in plot.iter(f"{ROOT}text")]
    drawn = [one for one in series if one.points]
    assert {"calls", "f1 & more", *labels, *(one.name for one in drawn)} <= set(shown)
    dots = sum(len(one.points) for one in drawn if kind == "intervals" or one.style == "points")
    assert len(list(plot.iter(f"{ROOT}circle"))) == dots + len(drawn)  # and those of the names


@settings(max_examples=40)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_every_point_stands_inside(values: list[float]) -> None:
    series = Series(name="a", points=tuple(enumerate(values)), style="points")
    svg = element([series], x="x", y="y", kind="step")
    width, height = map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', svg)[0])
    places = [(float(x), float(y)) for x, y in re.findall(r'cx="(\S+)" cy="(\S+)"', svg)]
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)
