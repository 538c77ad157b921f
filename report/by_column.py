"""Scores by the values of a column, such as a language: a table, and a plot with that table as its figures."""

from collections.abc import Mapping

from .document import Plot, Section
from .plots import GroupScore, group_plot
from .scores import ResultData, metric_cell, scores_in
from .table import Table, table

ScoresByName = Mapping[str, ResultData]
"""The judge or system that answered -> the scores by the values of one column, as JSON; all have the same values."""


def scores_by_name(data: ResultData) -> ScoresByName:
    """Return the scores by a column in the JSON of an evaluation or a comparison; empty where no column was named."""
    by_column = data.get("by_column") or {}
    if "values" in by_column:
        return {data["judge"]: by_column}
    return by_column


def column_tables(scores: ScoresByName) -> list[Table]:
    """Return the table of scores by the values of a column; none where no column was named."""
    if not scores:
        return []
    first = next(iter(scores.values()))
    rows = []
    for place, value in enumerate(first["values"]):
        row = [value["value"] or "(empty)", value["cases"], value["units"]]
        for by_column in scores.values():
            row.append(metric_cell(scores_in({"score": by_column["values"][place]["score"]})["score"]))
        rows.append(row)
    column, metric = first["column"], first["metric"]
    names = [metric] if len(scores) == 1 else list(scores)
    title = f"{metric} by {column}"
    if len(rows) > 1:
        title += f" (the differences between these {len(rows)} are not tested: some may be chance)"
    return [table(title, [column, "cases", "labelled units", *names], rows)]


def column_section(scores: ScoresByName, main: str) -> list[Section]:
    """Return the section of scores by a column, whose plot is about ``main``; none where no column was named."""
    tables = column_tables(scores)
    if not tables:
        return []
    first = next(iter(scores.values()))
    groups = []
    for place, value in enumerate(first["values"]):
        values: list[float | None] = []
        for by_column in scores.values():
            value_score = by_column["values"][place]["score"]
            values.append(None if value_score is None else value_score["value"])
        groups.append(
            GroupScore(group=value["value"] or "(empty)", values=tuple(values), units=value["units"])
        )
    plots: list[Plot] = group_plot(
        groups,
        first["metric"],
        systems=tuple(scores),
        main=main,
        noun=first["column"],
        figures=tables[0],
    )
    return [Section("column", f"By {first['column']}", plots or tables)]
