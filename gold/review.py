"""What people should look at next: the most informative units, uncertainty first.

A label is worth the spread of the votes on its unit: one of each rater, and the judge's, divided as its samples are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cases import Case, Values
from ..errors import GoldError
from .raters import unit_ratings
from .rows import RESOLVED
from .sheets import SheetLine
from .sources import read

if TYPE_CHECKING:
    from ..programs.judge import Judge

_SURE = 0.9  # the share of its vote from which the judge does not waver


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the judge says of one case."""

    id: str  # of the case
    values: Values  # the verdict of each unit; ``None`` where there is none
    # value -> share of the judge's vote, of each unit; empty where it has none
    shares: tuple[Mapping[str, float], ...]


def read_judged(path: str | Path, judge: Judge) -> list[Judged]:
    """Read the output of ``jurist run``, without rows on which the machinery failed."""
    judged: list[Judged] = []
    for place, row in read(path).rows:
        try:
            judged += [] if row["status"] == "failed" else [_judged(row, judge)]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = f"no line of a run of judge {judge.name!r}: {error}"
            raise place.wrong(message, hint="give the file that this judge wrote") from error
    return judged


def _judged(row: Mapping[str, Any], judge: Judge) -> Judged:
    """Return what a line says. Raises whatever a line of another kind does."""
    units, scale = row["units"], judge.answer.scale
    votes = [unit.get("probabilities") or unit.get("votes", {}) for unit in units]
    for name, vote in (item for of_unit in votes for item in of_unit.items()):
        if scale.cell(name) is None or vote < 0:
            raise ValueError(f"it has no {scale.noun} {name!r}")
    return Judged(
        id=str(row.get("case") or row["id"]),
        values=tuple(map(judge.answer.unit_value, units)),
        shares=tuple(map(_shares, votes)),
    )


def review_lines(judged: Iterable[Judged], judge: Judge, known: Mapping[str, Case]) -> list[SheetLine]:
    """Return the units to review, most informative first."""
    lines: dict[str, Judged] = {}
    for line in judged:
        lines.setdefault(line.id, line)
    if missing := sorted(lines.keys() - known.keys()):
        raise GoldError(
            f"{len(missing)} of the judged cases are not in the rows, such as {missing[0]}",
            hint="name the rows that were judged",
        )
    worth = {
        (case, unit): value
        for case in {**lines, **known}
        for unit, value in worths(known[case], lines.get(case), judge).items()
    }
    ordered = sorted(worth, key=lambda key: -round(worth[key], 9))
    return [SheetLine(case=known[case], unit=unit) for case, unit in ordered]


def worths(case: Case, line: Judged | None, judge: Judge) -> dict[int, float]:
    """Return the units of a case on which raters, gold and judge are at odds, with what a label is worth."""
    people, scale, worth = unit_ratings(case), judge.answer.scale, dict[int, float]()
    labels = case.gold or (None,) * (len(people) or len(line.values if line else ()))
    if line and len(labels) != len(line.values):
        raise GoldError(
            f"case {case.id} has {len(line.values)} units here and {len(labels)} in the gold set",
            hint="give the gold set of the rows that were judged",
        )
    for unit, label in enumerate(labels):
        ratings = people[unit] if people else {}
        raters = [ratings[RESOLVED]] if RESOLVED in ratings else list(ratings.values())
        value = line.values[unit] if line else None
        shares: Mapping[str, float] = line.shares[unit] if line else {}
        unsure = line is not None and (value is None or max(shares.values(), default=1.0) < _SURE)
        if len(set(raters)) > 1 or unsure or (None not in (label, value) and label != value):
            votes = Counter(map(scale.text, raters or ([] if label is None else [label])))
            every = {name: votes[name] + shares.get(name, 0.0) for name in {**votes, **shares}}
            worth[unit] = scale.spread(every) if every else 1.0
    return worth


def _shares(votes: Mapping[str, float]) -> dict[str, float]:
    """Return votes, or probabilities, as shares of their sum."""
    total = sum(votes.values())
    return {name: count / total for name, count in votes.items() if count} if total else {}
