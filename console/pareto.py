"""The front of cost and score as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from .tables import plain_table

__all__ = ["pareto_table"]


def pareto_table(ref: str, front: Sequence[Mapping[str, Any]], chosen: str) -> Table:
    """Return the candidates that no other beats in score on dev and in cost, the cheapest first.

    Args:
        ref: the artifact, for the command in the title.
        front: the card's ``pareto``.
        chosen: the candidate that became the artifact; a star marks it.
    """
    unit = str(front[0]["unit"]) if front else "tokens per case"
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
    return plain_table(title, ["candidate", "score", unit, "threshold", "source"], rows)
