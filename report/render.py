"""Tables as text for a terminal or a file, as Markdown and as HTML.

In text no word is ever broken. A table that is too wide has its cells folded at spaces; where that is not enough,
every row becomes a record of ``column: cell`` lines.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape

from rich.cells import cell_len

from .table import Column, Table

_GAP = "  "
_INDENT = "  "
_COMFORT = 16
"""Letters that a column of text keeps when it is folded, if it has as many."""
_TALL = 8
"""Lines of one cell above which a folded table is harder to read than records."""
_WORD = re.compile(r"\[[^\[\]\s]+, [^\[\]\s]+\]\S*|\S+")
"""An interval such as ``[0.241, 0.354]`` stays together."""
_MARKUP = re.compile(r"([\\|`*<&]|\](?=\())")


def as_text(table: Table, width: int | None = None) -> str:
    """Return a table as lines, with a line feed at the end."""
    head = [*folded(table.title, width), ""] if table.title else []
    widths = _widths(table, width) if table.layout != "records" else None
    body = _records(table, width) if widths is None else _lines(table, widths)
    return "\n".join([*(line for line in head if line), *body]) + "\n"


def as_markdown(table: Table) -> str:
    """Return a table in GitHub's Markdown, its title in bold above it; no cell is taken for markup."""
    rule = ["---:" if column.kind == "number" else "---" for column in table.columns]
    lines = [[column.name for column in table.columns], *table.rows]
    head, *rows = ["| " + " | ".join(map(escape_markdown, line)) + " |" for line in lines]
    title = [f"**{escape_markdown(table.title)}**", ""] if table.title else []
    return "\n".join([*title, head, "| " + " | ".join(rule) + " |", *rows, ""])


def as_html(table: Table) -> str:
    """Return a table as an HTML element; numbers have the class ``number``."""
    title = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    head = "".join(_html_cell("th", column, column.name) for column in table.columns)
    body = "\n".join(
        "<tr>" + "".join(map(_html_cell, ["td"] * len(row), table.columns, row)) + "</tr>"
        for row in table.rows
    )
    return f"<table>{title}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n"


def folded(text: str, width: int | None, indent: str = "") -> list[str]:
    """Return a text as lines of at most ``width`` columns, broken at spaces only; a longer word has its own line."""
    lines = [""]
    for word in _WORD.findall(text):
        longer = f"{lines[-1]} {word}" if lines[-1].strip() else lines[-1] + word
        if width is not None and lines[-1].strip() and cell_len(longer) > width:
            lines.append(indent + word)
        else:
            lines[-1] = longer
    return lines


def _widths(table: Table, width: int | None) -> list[int] | None:
    """Return the width of each column, or ``None`` where the table does not fit."""
    places = range(len(table.columns))
    wanted = [max(map(cell_len, table.column(place))) for place in places]
    if width is None:
        return wanted
    room = width - len(_GAP) * (len(wanted) - 1)
    longest = [
        max((cell_len(word) for cell in table.column(place) for word in _WORD.findall(cell)), default=0)
        for place in places
    ]
    least = [max(longest[place], min(_COMFORT, wanted[place])) for place in places]
    if sum(least) > room:
        return None
    widths = list(wanted)
    while sum(widths) > room:  # the widest column that can still give way loses one
        place = max((place for place in places if widths[place] > least[place]), key=widths.__getitem__)
        widths[place] -= 1
    tallest = max(len(folded(cell, widths[place])) for place in places for cell in table.column(place))
    return None if tallest > _TALL else widths


def _lines(table: Table, widths: Sequence[int]) -> Iterator[str]:
    for row in ([column.name for column in table.columns], *table.rows):
        cells = [folded(cell, width) for cell, width in zip(row, widths, strict=True)]
        for number in range(max(map(len, cells))):
            parts = [
                _aligned(cell[number] if number < len(cell) else "", column, width)
                for cell, column, width in zip(cells, table.columns, widths, strict=True)
            ]
            yield _GAP.join(parts).rstrip()


def _aligned(text: str, column: Column, width: int) -> str:
    space = " " * (width - cell_len(text))
    return space + text if column.kind == "number" else text + space


def _records(table: Table, width: int | None) -> Iterator[str]:
    for row in table.rows:
        for place, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
            before = _GAP if place else ""
            lines = folded(f"{column.name}: {cell}", None if width is None else width - len(before), _INDENT)
            yield from (before + line for line in lines)
    if not table.rows:
        yield from folded(", ".join(column.name for column in table.columns), width)


def escape_markdown(text: str) -> str:
    """Return a text of one line that Markdown shows as it is, in a table too."""
    return _MARKUP.sub(lambda mark: "&amp;" if mark[0] == "&" else "\\" + mark[0], text)


def _html_cell(tag: str, column: Column, cell: str) -> str:
    kind = ' class="number"' if column.kind == "number" else ""
    scope = ' scope="col"' if tag == "th" else ""
    return f"<{tag}{scope}{kind}>{escape(cell)}</{tag}>"
