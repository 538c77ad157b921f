"""Plots: what they hold, the same bytes every time, and one line for what cannot be drawn."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from jurist.errors import JuristError, UsageError
from jurist.report.plotting import Series, density, draw, draw_densities

ROOT = "{http://www.w3.org/2000/svg}"
LINE = Series(
    name="best so far", points=((0, 0.5), (10, 0.6), (40, 0.7)), low=(0.4, 0.5, 0.6), high=(0.6, 0.7, 0.8)
)
DOTS = Series(name="tried", points=((0, 0.5), (7, 0.2)), style="points")
BASIC = Series(name="basic", points=((0, 0.5), (40, 0.5)), style="dashed")


def texts(path: Path) -> str:
    return " ".join(text for one in ET.parse(path).iter(f"{ROOT}text") for text in one.itertext())


@pytest.mark.parametrize(
    ("kind", "suffix"), [("line", "svg"), ("step", "png"), ("bars", "SVG"), ("intervals", "svg")]
)
def test_same_series_same_bytes_and_a_changed_interval_shows(tmp_path: Path, kind: Any, suffix: str) -> None:
    paths = [tmp_path / f"{name}.{suffix}" for name in "abc"]
    wider = Series(name=LINE.name, points=LINE.points, low=(0.1, 0.2, 0.3), high=LINE.high)
    for path, line in zip(paths, (LINE, LINE, wider), strict=True):
        draw(path, [line, DOTS, BASIC], title="a title", x="calls", y="f1", kind=kind, labels=("no", "yes"))
    first, second, third = (path.read_bytes() for path in paths)
    assert first == second != third
    assert first.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")


@pytest.mark.parametrize("numbers", [[0.0], [1.5] * 9, [-3.0, 0.0, 0.5, 1.0, 4.0]])
def test_a_density_has_an_area_of_one_and_the_mean_of_its_numbers(numbers: list[float]) -> None:
    across, up = zip(*density(numbers, -10, 10), strict=True)
    step = across[1] - across[0]
    assert sum(up) * step == pytest.approx(1, abs=0.02)
    assert sum(x * y for x, y in zip(across, up, strict=True)) * step == pytest.approx(
        sum(numbers) / len(numbers), abs=0.1
    )


def test_a_name_without_numbers_has_no_line(tmp_path: Path) -> None:
    draw_densities(tmp_path / "a.svg", {"one": [1.0], "two": []}, 0, 2, title="t", x="gap")
    assert "one" in texts(tmp_path / "a.svg")
    assert "two" not in texts(tmp_path / "a.svg")


def test_the_users_matplotlib_settings_change_nothing(tmp_path: Path) -> None:
    import matplotlib

    draw(tmp_path / "a.svg", [LINE], title="t", x="x", y="y")
    with matplotlib.rc_context({"lines.linewidth": 9, "svg.hashsalt": "other", "axes.facecolor": "red"}):
        draw(tmp_path / "b.svg", [LINE], title="t", x="x", y="y")
        assert matplotlib.rcParams["lines.linewidth"] == 9, "drawing put the user's settings back"
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_names_are_text_in_any_script_and_a_dollar_is_money(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "plot.svg"
    draw(path, [LINE, BASIC], title="评分 cost $1 and $2", x="calls", y="f1", labels=("no", "yes"))
    shown = texts(path)
    for text in ("评分 cost $1 and $2", "calls", "f1", "best so far", "basic", "no", "yes"):
        assert text in shown
    assert "<dc:date>" not in path.read_text(encoding="utf-8")


def test_bars_of_two_series_stand_side_by_side(tmp_path: Path) -> None:
    pair = [Series(name=name, points=((0, 1.0), (1, 2.0))) for name in ("one", "two")]
    draw(tmp_path / "a.svg", pair, title="t", x="x", y="y", kind="bars")
    draw(tmp_path / "b.svg", pair[:1], title="t", x="x", y="y", kind="bars")
    assert (tmp_path / "a.svg").read_text().count("clip-path") - (tmp_path / "b.svg").read_text().count(
        "clip-path"
    ) == 2


@pytest.mark.parametrize(
    ("path", "series", "error", "words"),
    [
        ("plot.pdf", [LINE], UsageError, "a plot is .svg or .png"),
        ("plot", [LINE], UsageError, "a plot is .svg or .png"),
        ("plot.svg", [], JuristError, "nothing to draw"),
        ("plot.svg", [Series(name="none", points=())], JuristError, "nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    tmp_path: Path, path: str, series: list[Series], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        draw(tmp_path / path, series, title="t", x="x", y="y")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="name a file that can be written"):
        draw(tmp_path / "file" / "plot.svg", [LINE], title="t", x="x", y="y")


@pytest.mark.parametrize(("low", "high"), [((0.1,), ()), ((0.1,), (0.2,)), ((), (0.1, 0.2, 0.3))])
def test_an_interval_without_a_point_is_refused(low: tuple[float, ...], high: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="3 points"):
        Series(name="n", points=LINE.points, low=low, high=high)
