"""The history of a search, as an artifact keeps it: a table, a chart in text, a plot, and the prompt's changes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import JuristError
from ..keeping.artifacts import Artifact, Store, prompt_text
from ..keeping.locating import judge_of
from ..programs.state import PromptState
from ..report.plotting import Series, draw
from ..report.table import Table, table
from .printing import Part
from .watching import one_line

__all__ = ["Curve", "chart", "curve", "history_json", "history_table", "pareto_parts", "plot", "prompt_diff"]

_WIDE, _HIGH = 64, 10


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Score against calls.

    Attributes:
        metric: its name.
        tried: (calls made when it came up, where it stood in the end by all that was known) of every candidate.
        best: the same of each that was better than all before, and the last one again at the end.
        basic: the basic prompt's value.
        chosen: the point of the candidate that became the artifact, if anything is known of it.
    """

    metric: str
    tried: tuple[tuple[float, float], ...]
    best: tuple[tuple[float, float], ...]
    basic: float
    chosen: tuple[float, float] | None


def curve(artifact: Artifact) -> Curve:
    """Return an artifact's curve.

    Raises:
        JuristError: its history has no candidate with a value on dev.
    """
    card = artifact.card
    done = [row for row in artifact.history if _known(row, card) is not None]
    if not done:
        raise JuristError(
            f"{artifact.ref} has no history of scores", hint="plot an artifact that jurist compile made"
        )
    tried = tuple(
        (float(row.get("calls_dev") or row["calls"]), float(_known(row, card) or 0.0)) for row in done
    )
    best: list[tuple[float, float]] = []
    for point in sorted(tried, key=lambda point: point[0]):
        if not best or point[1] > best[-1][1]:
            best.append(point)
    last = max(row.get("calls_dev") or row["calls"] for row in artifact.history)
    if last > best[-1][0]:
        best.append((float(last), best[-1][1]))
    chosen = _chosen(artifact)
    return Curve(
        metric=str((card.get("decision") or {}).get("metric") or "value"),
        tried=tried,
        best=tuple(best),
        basic=tried[0][1],
        chosen=next((at for at, row in zip(tried, done, strict=True) if row["candidate"] == chosen), None),
    )


def _known(row: Mapping[str, Any], card: Mapping[str, Any]) -> float | None:
    """Return where a candidate stood by all that was known, or, in older artifacts, its value on the whole of dev."""
    if row.get("estimate"):
        return float(row["estimate"]["value"])
    whole = (card.get("gold") or {}).get("dev", row["dev"]["cases"])
    return None if "estimate" in row or row["dev"]["cases"] != whole else row["dev"]["value"]


def _chosen(artifact: Artifact) -> str:
    return str((artifact.card.get("optimizer") or {}).get("candidate") or "")


def history_table(artifact: Artifact) -> Table:
    """Return one row a candidate; the chosen one is marked."""
    chosen = _chosen(artifact)
    rows = [
        [
            row["step"],
            f"{row['candidate']}{' *' if row['candidate'] == chosen else ''}",
            row["parent"] or "-",
            one_line(str(row["source"])),
            row["calls"],
            _value(row["train"]),
            _value(row["dev"]),
            "-" if row.get("gain") is None else f"{row['gain']:+.3f}",
            f"{row['estimate']['value']:.3f} ± {row['estimate']['error']:.3f}"
            if row.get("estimate")
            else "-",
        ]
        for row in artifact.history
    ]
    columns = [
        "step",
        "candidate",
        "parent",
        "source",
        "calls before",
        "train",
        "dev",
        "gain on dev",
        "estimate",
    ]
    return table(f"{artifact.ref} (* became the artifact)", columns, rows)


def history_json(artifact: Artifact) -> list[dict[str, Any]]:
    """Return the history, each row saying whether it was chosen."""
    chosen = _chosen(artifact)
    return [{**row, "chosen": row["candidate"] == chosen} for row in artifact.history]


def _value(part: Mapping[str, float | None]) -> str:
    return "-" if part["value"] is None else f"{part['value']:.3f} on {part['cases']}"


def chart(found: Curve) -> Iterator[str]:
    """Yield the lines of a small chart: ``=`` best on dev so far, ``o`` candidates, ``-`` basic, ``X`` chosen."""
    values = [value for _, value in found.tried]
    low, high = min(values), max(values)
    low, high = (low, high) if high > low else (low - 0.05, high + 0.05)
    last = max(1.0, found.best[-1][0])
    cells = [[" "] * _WIDE for _ in range(_HIGH)]

    def put(calls: float, value: float, mark: str) -> None:
        across = round((_WIDE - 1) * min(calls, last) / last)
        cells[round((_HIGH - 1) * (high - value) / (high - low))][across] = mark

    for at in range(_WIDE):
        calls = last * at / (_WIDE - 1)
        put(calls, found.basic, "-")
    for at in range(_WIDE):
        calls = last * at / (_WIDE - 1)
        reached = [value for since, value in found.best if since <= calls]
        if reached:
            put(calls, reached[-1], "=")
    for calls, value in found.tried:
        put(calls, value, "o")
    if found.chosen:
        put(*found.chosen, "X")
    marks = "= best so far  o candidate  - basic  X became the artifact"
    yield f"{found.metric} by all that is known, against calls:  {marks}"
    for number, line in enumerate(cells):
        mark = {0: high, _HIGH - 1: low}.get(number)
        yield f"{'' if mark is None else f'{mark:.3f}':>7} |{''.join(line).rstrip()}"
    yield f"{'':>7} +{'-' * _WIDE}"
    yield f"{'':>8}0{last:>{_WIDE}.0f} calls"


def plot(artifact: Artifact, path: str) -> None:
    """Write the curve as SVG or PNG.

    Raises:
        JuristError: matplotlib is missing, or there is nothing to draw.
        UsageError: the file is no .svg or .png, or cannot be written.
    """
    found = curve(artifact)
    end = found.best[-1][0]
    series = [
        Series(name="best so far", points=found.best),
        Series(name="candidates", points=found.tried, style="points"),
        Series(name="basic prompt", points=((0.0, found.basic), (end, found.basic)), style="dashed"),
    ]
    if found.chosen:
        series.append(Series(name="became the artifact", points=(found.chosen,), style="points"))
    name = (artifact.card.get("optimizer") or {}).get("name", "")
    draw(
        path,
        series,
        title=f"{artifact.ref}, {name}",
        x="calls made, of judge and proposer",
        y=f"{found.metric} by all that is known",
        kind="step",
    )


def prompt_diff(artifact: Artifact, store: Store) -> str:
    """Return the unified diff of the prompt from basic to compiled; empty if compiling changed nothing.

    The basic prompt is the one that was compiled, from the history; an artifact without a history is compared
    with its judge's basic prompt of today.
    """
    state = _basic(artifact.history)
    if state is None:
        state = PromptState.of(judge_of(artifact, store).basic())
    lines = difflib.unified_diff(
        prompt_text(state).split("\n"),
        prompt_text(artifact.state).split("\n"),
        f"{artifact.judge}:basic",
        artifact.ref,
        lineterm="",
    )
    return "\n".join(lines)


def _basic(history: Sequence[Mapping[str, Any]]) -> PromptState | None:
    first = next((row for row in history if row.get("source") == "basic" and row.get("prompt")), None)
    return None if first is None else PromptState.from_json(first["prompt"])


def pareto_parts(ref: str, front: Sequence[Mapping[str, Any]], chosen: str) -> list[Part]:
    """Return the candidates that no other beats in score on dev and in cost, the cheapest first.

    Without any, one line that says why.

    Args:
        ref: the artifact, for the command in the title.
        front: the card's ``pareto``.
        chosen: the candidate that became the artifact; a star marks it, and a line says so if it is not there.
    """
    if not front:
        return ["no front of cost and score: no candidate was scored on all of dev"]
    unit = str(front[0]["unit"])
    rows = [
        [
            point["candidate"] + (" *" if point["candidate"] == chosen else ""),
            f"{point['score']:.3f}",
            f"{point['cost']:.6f}" if unit.startswith("USD") else f"{point['cost']:.0f}",
            str(point["threshold"] or "-"),
            point["source"],
        ]
        for point in front
    ]
    title = (
        f"front of cost and score on dev (jurist artifacts choose {ref} CANDIDATE makes a point the artifact)"
    )
    found: list[Part] = [table(title, ["candidate", "score", unit, "threshold", "source"], rows)]
    if chosen not in [point["candidate"] for point in front]:
        found.append(
            f"{chosen}, the artifact, is not on it: the choice is made by a lower bound on train and dev, and "
            "others have a higher score or a lower cost here"
        )
    return found
