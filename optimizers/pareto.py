"""What an artifact keeps of a search besides its best: the front of cost and score, and rows of the matrix."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .base import Job
from .board import Board
from .candidate import Candidate

MOST_CELLS = 200_000
"""Rows that an artifact keeps, about 30 MB; a search this large keeps the candidates with the most rows."""


def front(job: Job, board: Board, without: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the candidates scored on all of dev that no other beats in cost and score, the cheapest first, as JSON."""
    able = [one for one in board.candidates.values() if one.id not in without]
    done = [one for one in able if board.scored(one, job.dev)]
    taken = [spent for one in done if (spent := board.spent(one, job.dev)) is not None]
    priced = [spent.cost for spent in taken if spent.cost is not None]
    in_money = len(priced) == len(done) and any(priced)
    costs = priced if in_money else [spent.tokens for spent in taken]
    points = [(cost, board.value(one, job.dev), one) for one, cost in zip(done, costs, strict=True)]
    best: list[tuple[float, float, Candidate]] = []
    for point in sorted(points, key=lambda each: (each[0], -each[1])):
        if not best or point[1] > best[-1][1]:
            best.append(point)
    return [
        {
            "candidate": one.id,
            "source": one.source,
            "score": round(score, 6),
            "cost": round(cost, 9),
            "unit": "USD per case" if in_money else "tokens per case",
            "threshold": one.setting.threshold,
            **({} if one.setting.weights is None else {"weights": dict(one.setting.weights)}),
        }
        for cost, score, one in best
    ]


def bounded(
    rows: Sequence[Mapping[str, Any]], keep: Sequence[str], most: int = MOST_CELLS
) -> tuple[list[Mapping[str, Any]], int]:
    """Return the rows of as many whole candidates as fit, in their order, and how many rows were left out."""
    if len(rows) <= most:
        return list(rows), 0
    counts = Counter(row["candidate"] for row in rows)
    first = [one for one in dict.fromkeys(keep) if one in counts]
    kept, room = set[str](), most
    for one in dict.fromkeys([*first, *sorted(counts, key=lambda one: -counts[one])]):
        if counts[one] <= room:
            kept.add(one)
            room -= counts[one]
    left = [row for row in rows if row["candidate"] in kept]
    return left, len(rows) - len(left)
