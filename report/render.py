"""Tables as text for a terminal or a file, as Markdown and as HTML.

Text never breaks a word. A table that is too wide gets cells folded at spaces. If it still does not fit, each row
becomes a record with a line ``column: cell`` for each cell.
"""

import re
from collections.abc import Sequence
from html import escape

from rich.cells import cell_len

from .table import Column, Table

_GAP = "  "
_INDENT = "  "
_MIN_WIDTH = 16
"""A column keeps this many letters when it is folded, if it has as many."""
_MAX_LINES = 8
"""A folded table with a taller cell is harder to read than records."""
_WORD = re.compile(r"\[[^\[\]\s]+, [^\[\]\s]+\]\S*|\S+")
"""An interval such as ``[0.241, 0.354]`` stays together."""
_MARKUP = re.compile(r"([\\|`*<&]|\](?=\())")


def as_text(table: Table, width: int | None = None) -> str:
    """Return a table as lines of at most ``width`` columns, with a line feed at the end."""
    lines: list[str] = []
    if table.title:
        lines.extend(line for line in folded(table.title, width) if line)
    widths = None if table.layout == "records" else _column_widths(table, width)
    if widths is None:
        lines.extend(_record_lines(table, width))
    else:
        lines.extend(_table_lines(table, widths))
    return "\n".join(lines) + "\n"


def as_markdown(table: Table) -> str:
    """Return a table in GitHub's Markdown, its title in bold above it; markup in cells is escaped."""
    lines: list[str] = []
    if table.title:
        lines.extend([f"**{escape_markdown(table.title)}**", ""])
    lines.append(_markdown_row([escape_markdown(column.name) for column in table.columns]))
    lines.append(_markdown_row(["---:" if column.kind == "number" else "---" for column in table.columns]))
    for row in table.rows:
        lines.append(_markdown_row([escape_markdown(cell) for cell in row]))
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def as_html(table: Table) -> str:
    """Return a table as an HTML element; cells of numbers have the class ``number``."""
    title = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    header = "".join(_html_cell("th", column, column.name) for column in table.columns)
    rows: list[str] = []
    for row in table.rows:
        cells = [_html_cell("td", column, cell) for column, cell in zip(table.columns, row, strict=True)]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(rows)
    return f"<table>{title}\n<thead><tr>{header}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n"


def folded(text: str, width: int | None, indent: str = "") -> list[str]:
    """Return a text as lines of at most ``width`` columns, broken at spaces; a longer word has its own line.

    Args:
        text: one paragraph.
        width: ``None``: one line.
        indent: the start of each line after the first.
    """
    lines: list[str] = []
    line = ""
    for word in _WORD.findall(text):
        is_first_word = not line.strip()
        longer_line = line + word if is_first_word else f"{line} {word}"
        if width is not None and not is_first_word and cell_len(longer_line) > width:
            lines.append(line)
            line = indent + word
        else:
            line = longer_line
    lines.append(line)
    return lines


def _column_widths(table: Table, width: int | None) -> list[int] | None:
    """Return the width of each column, or ``None`` if the table does not fit into ``width``."""
    widths: list[int] = []  # of unfolded cells at first
    least_widths: list[int] = []
    for position in range(len(table.columns)):
        cells = table.column(position)
        full_width = max(cell_len(cell) for cell in cells)
        widths.append(full_width)
        longest_word = max((cell_len(word) for cell in cells for word in _WORD.findall(cell)), default=0)
        least_widths.append(max(longest_word, min(_MIN_WIDTH, full_width)))
    if width is None:
        return widths
    room = width - len(_GAP) * (len(widths) - 1)
    if sum(least_widths) > room:
        return None
    while sum(widths) > room:
        _narrow_widest(widths, least_widths)
    for position, column_width in enumerate(widths):
        for cell in table.column(position):
            if len(folded(cell, column_width)) > _MAX_LINES:
                return None
    return widths


def _narrow_widest(widths: list[int], least_widths: Sequence[int]) -> None:
    """Take one letter from the widest column that can be narrower, in place."""
    narrowable = [position for position, width in enumerate(widths) if width > least_widths[position]]
    widest = max(narrowable, key=lambda position: widths[position])
    widths[widest] -= 1


def _table_lines(table: Table, widths: Sequence[int]) -> list[str]:
    """Return the header and the rows of a table, with cells folded to the width of their column."""
    lines: list[str] = []
    header = [column.name for column in table.columns]
    for row in (header, *table.rows):
        folded_cells = [folded(cell, width) for cell, width in zip(row, widths, strict=True)]
        height = max(len(cell_lines) for cell_lines in folded_cells)
        for number in range(height):
            parts: list[str] = []
            for cell_lines, column, width in zip(folded_cells, table.columns, widths, strict=True):
                part = cell_lines[number] if number < len(cell_lines) else ""
                parts.append(_aligned(part, column, width))
            lines.append(_GAP.join(parts).rstrip())
    return lines


def _aligned(text: str, column: Column, width: int) -> str:
    """Return a text with spaces to the width of its column: numbers at the right, text at the left."""
    space = " " * (width - cell_len(text))
    return space + text if column.kind == "number" else text + space


def _record_lines(table: Table, width: int | None) -> list[str]:
    """Return each row as a record: a line ``column: cell`` for each cell, all but the first indented."""
    if not table.rows:
        return folded(", ".join(column.name for column in table.columns), width)
    lines: list[str] = []
    for row in table.rows:
        for position, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
            margin = _GAP if position else ""
            text_width = None if width is None else width - len(margin)
            for line in folded(f"{column.name}: {cell}", text_width, _INDENT):
                lines.append(margin + line)
    return lines


def escape_markdown(text: str) -> str:
    """Return a text of one line that Markdown shows unchanged, in a table too."""
    return _MARKUP.sub(_escaped_mark, text)


def _escaped_mark(mark: re.Match[str]) -> str:
    """Return a mark of Markdown, escaped."""
    if mark[0] == "&":
        return "&amp;"
    return "\\" + mark[0]


def _html_cell(tag: str, column: Column, cell: str) -> str:
    """Return a cell of an HTML table, a header cell (``th``) with its scope."""
    scope = ' scope="col"' if tag == "th" else ""
    kind = ' class="number"' if column.kind == "number" else ""
    return f"<{tag}{scope}{kind}>{escape(cell)}</{tag}>"
