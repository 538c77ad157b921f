"""Parts of reports that several have: scores with their intervals, and what was taken for what."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..keeping.artifact_card import Artifact
from .document import Counts, Part, Plot
from .history import curve
from .plotting import Series, element
from .scores import metric_cell, scores_table
from .table import Table, table

TAKEN = (
    "Rows are what people said, columns what the judge said; the stronger the colour, the more of the row."
)
"""What has to be said of such a table."""
Scores = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Who was scored -> metric -> value, low and high of the interval, worst and best case."""


def score_parts(scores: Scores, metric: str, where: str) -> list[Plot | Table]:
    """Return the scores of everybody as a plot of those metrics that share a scale, and as a table of all."""
    shared = [name for name in next(iter(scores.values())) if _bounded(scores, name)]
    full = scores_table("", scores, metric)
    if not shared:
        return [full]
    title = f"{' and '.join(scores)} on {where}"
    return [interval_plot("scores", title, scores, shared), full]


def interval_plot(name: str, title: str, found: Scores, shown: Sequence[str]) -> Plot:
    """Return the estimates ``shown`` of everybody below each other, each with its interval."""
    drawn = [
        Series(
            name=who,
            points=tuple((place, own[one]["value"]) for place, one in enumerate(shown)),
            low=tuple(own[one]["low"] for one in shown),
            high=tuple(own[one]["high"] for one in shown),
        )
        for who, own in found.items()
    ]
    words = "; ".join(
        f"{one}: " + ", ".join(f"{who} {metric_cell(own[one])}" for who, own in found.items())
        for one in shown
    )
    svg = element(drawn, name=name, x="value, with its 95 % interval", y="", kind="intervals", labels=shown)
    return Plot(title=title, svg=svg, words=words)


def search_parts(artifact: Artifact) -> list[Plot]:
    """Return score against calls of the search that made an artifact; nothing where no candidate has a score."""
    if not any(row.get("dev", {}).get("value") is not None for row in artifact.history):
        return []
    found = curve(artifact)
    chosen = (
        f"; {found.chosen[1]:.3f} became the artifact, found after {found.chosen[0]:.0f} calls"
        if found.chosen
        else ""
    )
    words = (
        f"the basic prompt at {found.basic:.3f}, {len(found.tried)} candidates, "
        f"the best at {found.best[-1][1]:.3f} after {found.best[-1][0]:.0f} calls{chosen}"
    )
    svg = element(found.series, name="search", kind="step", **found.names)
    return [Plot(title="score against calls", svg=svg, words=words)]


def _bounded(scores: Scores, name: str) -> bool:
    """Return whether a metric lies in [-1, 1] with its intervals, as those that share an axis must."""
    return all(-1 <= own[name][end] <= 1 for own in scores.values() for end in ("low", "value", "high"))


def confusion_counts(title: str, counts: Mapping[str, Mapping[str, int]]) -> list[Part]:
    """Return gold -> judged -> units as a table; nothing where there are none."""
    if not counts:
        return []
    columns = tuple(next(iter(counts.values())))
    rows = {gold: tuple(judged.values()) for gold, judged in counts.items()}
    return [Counts(title=title, corner="people said", columns=columns, rows=rows)]


def class_table(title: str, classes: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Return the scores of each class, given as JSON values; nothing where there are no classes."""
    rows = [
        [one["label"], one["gold"], *(metric_cell(one[name]) for name in ("precision", "recall", "f1"))]
        for one in classes
    ]
    columns = ["class", "in gold", "precision [95 % interval]", "recall", "f1"]
    return [table(title, columns, rows)] if rows else []
