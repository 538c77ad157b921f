"""Tables: no letter of a cell is lost in any rendering, at any width; numbers and names stay whole."""

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from jurist.report.render import as_html, as_markdown, as_text, folded
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
    shown = as_text(found, width).split()
    shown += [word[:-1] for word in shown if word.endswith((":", ","))]
    assert words(found) <= set(shown)


@settings(max_examples=60)
@given(tables(), st.integers(40, 200))
def test_a_line_is_wider_than_the_terminal_only_where_one_word_is(found: Table, width: int) -> None:
    interval = max((cell_len(part) for row in found.rows for cell in row for part in parts(cell)), default=0)
    names = max(cell_len(column.name) for column in found.columns)
    longest = max([interval, names, *(cell_len(word) for word in found.title.split())])
    lines, wide = as_text(found, width).splitlines(), as_text(found, None).splitlines()
    assert all(cell_len(line) <= max(width, longest + names + 4) for line in lines)
    assert lines == wide or max(map(cell_len, wide)) > width  # what fits is not folded


def parts(cell: str) -> list[str]:
    return re.findall(r"\[[^\[\]\s]+, [^\[\]\s]+\]\S*|\S+", cell)


@settings(max_examples=60)
@given(tables())
def test_markdown_has_every_cell_and_no_markup_of_its_own(found: Table) -> None:
    lines = [line for line in as_markdown(found).splitlines() if line.startswith("| ")]
    back = [[unescaped(cell) for cell in line[2:-2].split(" | ")] for line in lines]
    assert back[0] == [column.name for column in found.columns]
    assert back[2:] == [list(row) for row in found.rows]


def unescaped(cell: str) -> str:
    return html.unescape(re.sub(r"\\([\\|`*<\]])", r"\1", cell))


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data.strip():
            self.rows[-1][-1] += data


@settings(max_examples=60)
@given(tables())
def test_html_has_every_cell(found: Table) -> None:
    read = _Cells()
    read.feed(as_html(found))
    assert read.rows == [[column.name for column in found.columns], *(list(row) for row in found.rows)]


@settings(max_examples=60)
@given(st.lists(WORDS).map(" ".join), st.integers(1, 120))
def test_folding_keeps_the_words_in_their_order(text: str, width: int) -> None:
    lines = folded(text, width)
    assert " ".join(lines).split() == text.split()
    assert all(cell_len(line) <= width or " " not in line or "[" in line for line in lines)


SCORES = table(
    "scores",
    ["metric [95 % interval]", "fect-3d-reasoning:basic", "fect-3d-reasoning@12", "n"],
    [
        ["f1 *", "0.500 [0.460, 0.536]", "0.586 [0.535, 0.633]", 163],
        ["recall", "-", "0.736 [0.673, 0.792]", 9],
    ],
)


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            90,
            [
                "metric [95 % interval]  fect-3d-reasoning:basic  fect-3d-reasoning@12    n",
                "f1 *                    0.500 [0.460, 0.536]     0.586 [0.535, 0.633]  163",
                "recall                  -                        0.736 [0.673, 0.792]    9",
            ],
        ),
        (
            40,
            [
                "metric [95 % interval]: f1 *",
                "  fect-3d-reasoning:basic: 0.500",
                "    [0.460, 0.536]",
                "  fect-3d-reasoning@12: 0.586",
                "    [0.535, 0.633]",
                "  n: 163",
                "metric [95 % interval]: recall",
                "  fect-3d-reasoning:basic: -",
                "  fect-3d-reasoning@12: 0.736",
                "    [0.673, 0.792]",
                "  n: 9",
            ],
        ),
    ],
    ids=["fits", "does not fit"],
)
def test_a_table_by_the_width_of_the_terminal(width: int, lines: list[str]) -> None:
    assert as_text(SCORES, width).splitlines() == ["scores", *lines]


def test_cells_cannot_steer_a_terminal_or_a_page() -> None:
    evil = table("", ["a"], [["\x1b[31mred\n| b"], ["<script>"], ["![x](http://y)"]])
    assert "\x1b" not in as_text(evil)
    assert "<script>" not in as_html(evil)
    assert "| \\<script> |" in as_markdown(evil)
    assert "![x\\](http" in as_markdown(evil)  # no image


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="2 cells"):
        table("t", ["a", "b"], [["1"]])
