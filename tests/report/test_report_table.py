"""Tables: no letter of a cell is lost in any rendering, at any width; numbers and names stay whole."""

import html
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.report.render import render_html, render_markdown, render_text
from jurist.report.table import Table, table

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30)
NUMBERS = st.floats(0, 1).map(lambda value: f"{value:.3f} [{value:.3f}, {value + 0.1:.3f}]")
CELLS = st.one_of(WORDS, NUMBERS, st.lists(WORDS, max_size=12).map(" ".join), st.integers(0, 10**9))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    names = draw(st.lists(WORDS, min_size=1, max_size=7))
    row = st.lists(CELLS, min_size=len(names), max_size=len(names))
    return table(draw(st.lists(WORDS, max_size=9).map(" ".join)), names, draw(st.lists(row, max_size=5)))


def words(found: Table) -> set[str]:
    cells = [cell for place in range(len(found.columns)) for cell in found.column(place)]
    return {word for text in (found.title, *cells) for word in text.split()}


@settings(max_examples=60)
@given(tables(), st.one_of(st.none(), st.integers(40, 200)))
def test_every_word_of_every_cell_is_whole_in_the_text(found: Table, width: int | None) -> None:
    # records name their columns once a row, so a word may stand there more often, never less
    shown = render_text(found, width).split()
    shown += [word[:-1] for word in shown if word.endswith((":", ","))]
    assert words(found) <= set(shown)


@settings(max_examples=60)
@given(tables())
def test_markdown_has_every_cell_and_no_markup_of_its_own(found: Table) -> None:
    lines = [line for line in render_markdown(found).splitlines() if line.startswith("| ")]
    back = [[unescaped(cell) for cell in line[2:-2].split(" | ")] for line in lines]
    assert back[0] == [column.name for column in found.columns]
    assert back[2:] == [list(row) for row in found.rows]


def unescaped(cell: str) -> str:
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell)).replace("\u200b", "")


SCORES = table(
    "scores",
    ["metric [95 % interval]", "fect-3d-reasoning:basic", "fect-3d-reasoning@12", "n"],
    [
        ["f1 *", "0.500 [0.460, 0.536]", "0.586 [0.535, 0.633]", 163],
        ["recall", "-", "0.736 [0.673, 0.792]", 9],
    ],
)


def test_a_table_by_the_width_of_the_terminal() -> None:
    assert render_text(SCORES, 90).splitlines() == [
        "scores",
        "metric [95 % interval]  fect-3d-reasoning:basic  fect-3d-reasoning@12    n",
        "f1 *                    0.500 [0.460, 0.536]     0.586 [0.535, 0.633]  163",
        "recall                  -                        0.736 [0.673, 0.792]    9",
    ]
    records = render_text(SCORES, 40).splitlines()  # it does not fit
    assert max(map(len, records)) <= 40
    assert (records[1], records[6]) == ("metric [95 % interval]: f1 *", "  n: 163")


def test_cells_cannot_steer_a_terminal_or_a_page() -> None:
    evil = table("", ["a"], [["\x1b[31mred\n| b"], ["<script>"], ["![x](http://y)"]])
    assert "\x1b" not in render_text(evil)
    assert "<script>" not in render_html(evil)
    assert "| \\<script> |" in render_markdown(evil)
    assert "![x\\](http" in render_markdown(evil)  # no image
