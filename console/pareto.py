"""The front of cost and score as a table, or in words where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from .tables import plain_table

__all__ = ["pareto_table"]


def pareto_table(ref: str, front: Sequence[Mapping[str, Any]], chosen: str) -> Table | Text:
    """Return the candidates that no other beats in score on dev and in cost, the cheapest first.

    Without any, one line that says why.

    Args:
        ref: the artifact, for the command in the title.
        front: the card's ``pareto``.
        chosen: the candidate that became the artifact; a star marks it, and the title says so if it is not there.
    """
    if not front:
        return Text("no front of cost and score: no candidate was scored on all of dev")
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
    if chosen not in [point["candidate"] for point in front]:
        title += (
            f"\n{chosen}, the artifact, is not on it: the choice is made by a lower bound on train and dev, and "
            "others have a higher score or a lower cost here"
        )
    return plain_table(title, ["candidate", "score", unit, "threshold", "source"], rows)
