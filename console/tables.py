"""Tables of scores and counts, for people."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = [
    "OFFLINE",
    "Sheet",
    "counts_line",
    "markdown_table",
    "metric_cell",
    "plain_table",
    "scores_table",
    "sheet_table",
    "show_sheets",
]

OFFLINE = Text("engine: offline, an evidence reader and not a language model; --model names a real one")


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table before it is printed: a title, the names of the columns, and rows of cells."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def sheet_table(sheet: Sheet) -> Table:
    """Return a sheet for the terminal."""
    return plain_table(sheet.title, sheet.columns, sheet.rows)


def show_sheets(console: Console, sheets: Sequence[Sheet], *, markdown: bool) -> None:
    """Print sheets: as Markdown on standard output, else as tables for people."""
    if markdown:
        sys.stdout.write("\n".join(markdown_table(sheet) for sheet in sheets))
        return
    for sheet in sheets:
        console.print(sheet_table(sheet), "")


def markdown_table(sheet: Sheet) -> str:
    """Return a sheet as Markdown, its title in bold above it."""
    lines = [sheet.columns, ["---"] * len(sheet.columns), *sheet.rows]
    body = ["| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines]
    return "\n".join([f"**{sheet.title}**", "", *body, ""])


def _escaped(cell: str) -> str:
    return " ".join(cell.replace("|", "\\|").split())


def plain_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return a table whose cells are shown as they are: text from files is never markup."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table


def metric_cell(score: Mapping[str, float] | None) -> str:
    """Return ``0.712 [0.650, 0.771]``, with the worst case that unanswered units imply where there are any."""
    if score is None:
        return "-"
    text = f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"
    if score["best"] - score["worst"] > 1e-9:
        text += f" ({score['worst']:.3f} to {score['best']:.3f} if all units were answered)"
    return text


def scores_table(title: str, parts: Mapping[str, Mapping[str, Mapping[str, float]]], metric: str) -> Table:
    """Return one row a metric and one column a program; the judge's own metric is marked."""
    names = list(next(iter(parts.values())))
    rows = [
        [
            f"{name} *" if name == metric else name,
            *(metric_cell(scores.get(name)) for scores in parts.values()),
        ]
        for name in names
    ]
    return plain_table(title, ["metric [95 % interval]", *parts], rows)


def counts_line(name: str, counts: Mapping[str, Any]) -> str:
    """Return the counts of units in words."""
    units = counts["units"]
    return (
        f"{name}: {units['answered']} units answered, {units['abstained']} abstained, {units['failed']} failed, "
        f"{units['unlabelled']} unlabelled (coverage {counts['coverage']:.1%})"
    )
