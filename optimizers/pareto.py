"""The front of cost and score: the candidates that no other beats in both.

Read off the board after any optimizer: the score on dev, and what asking took
per case of dev, both of answers that were paid anyway. Cost is in US dollars
where the price of every call is known and not nothing; otherwise in tokens, and
each point says which.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .base import Job
from .board import Board, Candidate
from .matrix import prices

HALF = 0.5
"""Of the price of the chosen candidate, the most that another one is named for as cheaper."""
SEEN = 0.5
"""Of the cases of dev that the chosen candidate has met, the share that a cheaper one must have met."""
MOST = 3
"""Cheaper candidates that are named."""
Unit = Literal["USD per case", "tokens per case"]


@dataclass(frozen=True, kw_only=True)
class Point:
    """A candidate's place."""

    candidate: str  # its id
    source: str  # what made it
    score: float  # the metric on dev
    cost: float  # per case of dev, in ``unit``
    unit: Unit  # dollars or tokens
    threshold: float | None = None  # the one of its own, of votes or below 1 of probability, if it has one

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a plain mapping, rounded."""
        return {
            "candidate": self.candidate,
            "source": self.source,
            "score": round(self.score, 6),
            "cost": round(self.cost, 9),
            "unit": self.unit,
            "threshold": self.threshold,
        }


def points(job: Job, board: Board, without: Collection[str] = ()) -> list[Point]:
    """Return the place of every candidate that was scored on the whole of dev, in the order they were tried."""
    able = [one for one in board.candidates.values() if one.id not in without]
    done = [one for one in able if board.scored(one, job.dev)]
    taken = [spent for one in done if (spent := board.spent(one, job.dev)) is not None]
    priced = [spent.cost for spent in taken if spent.cost is not None]
    in_money = len(priced) == len(done) and any(priced)
    costs = priced if in_money else [spent.tokens for spent in taken]
    return [
        Point(
            candidate=one.id,
            source=one.source,
            score=board.value(one, job.dev),
            cost=cost,
            unit="USD per case" if in_money else "tokens per case",
            threshold=one.setting.threshold,
        )
        for one, cost in zip(done, costs, strict=True)
    ]


def cheaper(job: Job, board: Board, chosen: Candidate, without: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the candidates that cost at most half and are within one error of the chosen one, the best first.

    They have met at least half of the cases of dev that the chosen one has.
    """
    found = {one.id: one for one in board.standings(chosen)}
    own = board.spent(chosen, job.dev)
    if own is None or not found:
        return []
    best, known, seen = found[chosen.id], [], SEEN * board.met(chosen, job.dev)
    for one in board.candidates.values():
        taken = board.spent(one, job.dev)
        able = (
            board.met(one, job.dev) >= seen and one.id not in (*without, chosen.id) and found[one.id].gain > 0
        )
        if taken is None or not able or best.gain - found[one.id].gain > best.doubt:
            continue
        price, full = prices([taken, own])
        if full and price <= HALF * full:
            known.append((found[one.id].gain, one, price / full, taken))
    return [
        {
            "candidate": one.id,
            "name": board.name(one),
            "less": round(best.gain - gain, 6),
            "error": round(best.doubt, 6),
            "price": round(share, 4),
            "tokens_per_row": taken.per_row(),
        }
        for gain, one, share, taken in sorted(known, key=lambda each: -each[0])[:MOST]
    ]


def dominant(found: Sequence[Point]) -> list[Point]:
    """Return the points that no other beats, the cheapest first.

    A point is beaten by one that costs no more and scores no less, and is better in one of the two; of equal
    points the first stays.
    """
    front: list[Point] = []
    for point in sorted(found, key=lambda one: (one.cost, -one.score)):
        if not front or point.score > front[-1].score:
            front.append(point)
    return front


def front(job: Job, board: Board, without: Collection[str] = ()) -> list[Point]:
    """Return the front of a job's candidates, the cheapest first; the arguments are those of :func:`points`."""
    return dominant(points(job, board, without))
