"""Tables as text for a terminal or a file, as Markdown and as HTML.

Text never breaks a word. A table that is too wide gets cells folded at spaces. If it still does not fit, each row
becomes a record with a line ``column: cell`` for each cell.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest

from rich.cells import cell_len

from ..text.quoting import in_markdown
from .table import Column, Table

_GAP = "  "
_INDENT = "  "
_MIN_WIDTH = 16
"""A column keeps this many letters when it is folded, if it has as many."""
_MAX_LINES = 8
"""A folded table with a taller cell is harder to read than records."""
_WORD = re.compile(r"\[[^\[\]\s]+, [^\[\]\s]+\]\S*|\S+")
"""An interval such as ``[0.241, 0.354]`` stays together."""


def render_text(table: Table, width: int | None = None) -> str:
    """Return a table as lines of at most ``width`` columns, with a line feed at the end."""
    lines: list[str] = []
    if table.title:
        for line in fold_text(table.title, width):
            if line:
                lines.append(line)
    widths = None
    if table.layout != "records":
        widths = _column_widths(table, width)
    if widths is not None:
        lines.extend(_table_lines(table, widths))
    elif table.layout == "lines":
        lines.extend(_continued_lines(table, width))
    else:
        lines.extend(_record_lines(table, width))
    return "\n".join(lines) + "\n"


def render_markdown(table: Table) -> str:
    """Return a table in GitHub's Markdown, its title in bold above it; markup in cells is escaped."""
    lines: list[str] = []
    if table.title:
        lines.extend([f"**{in_markdown(table.title)}**", ""])
    names: list[str] = []
    alignments: list[str] = []
    for column in table.columns:
        names.append(in_markdown(column.name))
        alignments.append("---:" if column.kind == "number" else "---")
    lines.extend([_markdown_row(names), _markdown_row(alignments)])
    for row in table.rows:
        lines.append(_markdown_row([in_markdown(cell) for cell in row]))
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def render_html(table: Table) -> str:
    """Return a table as an HTML element; cells of numbers have the class ``number``."""
    title = ""
    if table.title:
        title = f"<caption>{escape(table.title)}</caption>"
    header = ""
    for column in table.columns:
        header += _html_cell("th", column, column.name)
    rows: list[str] = []
    for row in table.rows:
        cells = ""
        for column, cell in zip(table.columns, row, strict=True):
            cells += _html_cell("td", column, cell)
        rows.append(f"<tr>{cells}</tr>")
    body = "\n".join(rows)
    return f"<table>{title}\n<thead><tr>{header}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n"


def fold_text(text: str, width: int | None, indent: str = "") -> list[str]:
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
        space = "" if is_first_word else " "
        longer_line = line + space + word
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
        full_width = max(map(cell_len, cells))
        widths.append(full_width)
        least_width = min(_MIN_WIDTH, full_width)
        for cell in cells:
            for word in _WORD.findall(cell):
                least_width = max(least_width, cell_len(word))
        least_widths.append(least_width)
    if width is None:
        return widths
    room = width - len(_GAP) * (len(widths) - 1)
    if sum(least_widths) > room:
        return None
    while sum(widths) > room:
        _narrow_widest(widths, least_widths)
    for position, column_width in enumerate(widths):
        for cell in table.column(position):
            if len(fold_text(cell, column_width)) > _MAX_LINES:
                return None
    return widths


def _narrow_widest(widths: list[int], least_widths: Sequence[int]) -> None:
    """Take one letter from the widest column that can be narrower, in place."""
    narrowable = [position for position, width in enumerate(widths) if width > least_widths[position]]
    widest = max(narrowable, key=lambda position: widths[position])
    widths[widest] -= 1


def _table_lines(table: Table, widths: Sequence[int]) -> list[str]:
    """Return the header and the rows of a table, with cells folded to the width of their column."""
    header = [column.name for column in table.columns]
    lines = _row_lines(header, table.columns, widths)
    for row in table.rows:
        lines.extend(_row_lines(row, table.columns, widths))
    return lines


def _row_lines(row: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    """Return a row as lines, as many as its cell with the most lines has."""
    folded_cells: list[list[str]] = []
    for cell, width in zip(row, widths, strict=True):
        folded_cells.append(fold_text(cell, width))
    lines: list[str] = []
    for cell_parts in zip_longest(*folded_cells, fillvalue=""):
        aligned_parts: list[str] = []
        for part, column, width in zip(cell_parts, columns, widths, strict=True):
            aligned_parts.append(_align(part, column, width))
        lines.append(_GAP.join(aligned_parts).rstrip())
    return lines


def _align(text: str, column: Column, width: int) -> str:
    """Return a text with spaces to the width of its column: numbers at the right, text at the left."""
    space = " " * (width - cell_len(text))
    if column.kind == "number":
        return space + text
    return text + space


def _continued_lines(table: Table, width: int | None) -> list[str]:
    """Return the header and the rows, each with the columns that do not fit on further lines, which are indented."""
    full_widths: list[int] = []
    for position in range(len(table.columns)):
        full_widths.append(max(map(cell_len, table.column(position))))
    lines: list[str] = []
    for cells in (tuple(column.name for column in table.columns), *table.rows):
        line = ""
        for cell, column, full_width in zip(cells, table.columns, full_widths, strict=True):
            if width is not None and line.strip() and cell_len(line) + full_width > width:
                lines.append(line.rstrip())
                line = _INDENT
            line += _align(cell, column, full_width) + _GAP
        lines.append(line.rstrip())
    return lines


def _record_lines(table: Table, width: int | None) -> list[str]:
    """Return each row as a record: a line ``column: cell`` for each cell, all but the first indented."""
    if not table.rows:
        return fold_text(", ".join([column.name for column in table.columns]), width)
    lines: list[str] = []
    for row in table.rows:
        for position, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
            margin = "" if position == 0 else _GAP
            text_width = None
            if width is not None:
                text_width = width - len(margin)
            for line in fold_text(f"{column.name}: {cell}", text_width, _INDENT):
                lines.append(margin + line)
    return lines


def _html_cell(tag: str, column: Column, cell: str) -> str:
    """Return a cell of an HTML table, a header cell (``th``) with its scope."""
    attributes = ""
    if tag == "th":
        attributes += ' scope="col"'
    if column.kind == "number":
        attributes += ' class="number"'
    return f"<{tag}{attributes}>{escape(cell)}</{tag}>"


def html_of(parts: Iterable[Table | str]) -> str:
    """Return tables and paragraphs as one HTML element for a notebook; no text in them is taken for markup."""
    elements = []
    for part in parts:
        if isinstance(part, Table):
            elements.append(render_html(part))
        else:
            elements.append(f"<p>{escape(part)}</p>")
    return f"<div>{''.join(elements)}</div>"


_LATEX_MARKS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
"""Mark of LaTeX -> how it is written as text."""


def render_latex(table: Table, *further: Table, caption: str = "", label: str = "") -> str:
    """Return tables in LaTeX with the rules of ``booktabs``; with a caption they float together.

    Args:
        table: its cells are texts, whose marks are escaped.
        further: the tables below it, each with its title above it.
        caption: LaTeX, above the first table; empty: no float.
        label: for references to it.
    """
    lines = _latex_tabular(table)
    for further_table in further:
        lines.append(r"\par\medskip")
        if further_table.title:
            lines += [escape_latex(further_table.title), r"\par\smallskip"]
        lines += _latex_tabular(further_table)
    if caption:
        heading = rf"\caption{{{caption}}}"
        if label:
            heading += rf"\label{{{label}}}"
        lines = [r"\begin{table}", r"\centering", heading, *lines, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_tabular(table: Table) -> list[str]:
    """Return the lines of a table in LaTeX, without its title."""
    alignments = "".join("r" if column.kind == "number" else "l" for column in table.columns)
    lines = [rf"\begin{{tabular}}{{{alignments}}}", r"\toprule"]
    lines.append(_latex_row([column.name for column in table.columns]))
    lines.append(r"\midrule")
    for row in table.rows:
        lines.append(_latex_row(row))
    lines.extend([r"\bottomrule", r"\end{tabular}"])
    return lines


def _latex_row(cells: Sequence[str]) -> str:
    """Return a row of a table in LaTeX."""
    return " & ".join(map(escape_latex, cells)) + r" \\"


def escape_latex(text: str) -> str:
    """Return a text of one line that LaTeX shows unchanged."""
    return "".join(_LATEX_MARKS.get(mark, mark) for mark in text)
