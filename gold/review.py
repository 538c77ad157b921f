"""What people should look at next: the most informative units, uncertainty first.

A label is worth the spread of the votes on its unit: one of each rater, and the judge's, divided as its samples are.
It is the vote entropy of a committee with soft votes (Dagan and Engelson 1995), people and judge together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
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
    """One line of a run."""

    id: str  # of the case
    values: Values  # the verdict of each unit; ``None`` where there is none
    votes: tuple[Mapping[str, int], ...]  # value, as the file has it, -> samples, of each unit
    # value -> share of the judge's vote, of each unit; empty where it has none
    shares: tuple[Mapping[str, float], ...]
    failed: bool  # the machinery failed
    between: float  # the share of positive votes that lies between the two verdicts
    source: str  # ``file:line`` of the row


def read_judged(path: str | Path, judge: Judge) -> list[Judged]:
    """Read the output of ``jurist run``."""
    judged = list[Judged]()
    for place, row in read(path).rows:
        try:
            judged.append(_judged(row, judge))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            said = f"no line of a run of judge {judge.name!r}: {error}"
            raise place.wrong(said, hint="give the file that this judge wrote") from error
    return judged


def _judged(row: Mapping[str, Any], judge: Judge) -> Judged:
    """Return what a line says. Raises whatever a line of another kind does."""
    units, sampling = row["units"], row.get("sampling") or {}
    votes = tuple(unit.get("votes", {}) for unit in units)
    for said in (*votes, *(unit.get("probabilities", {}) for unit in units)):
        for name, share in said.items():
            if judge.answer.scale.cell(name) is None or share < 0:
                raise ValueError(f"it has no {judge.answer.scale.noun} {name!r}")
    samples = sampling.get("samples") or max(1, *(sum(one.values()) for one in votes))
    threshold = sampling.get("threshold") or samples // 2 + 1
    return Judged(
        id=str(row.get("case") or row["id"]),
        values=tuple(map(judge.answer.unit_value, units)),
        votes=votes,
        shares=tuple(_shares(unit.get("probabilities") or unit.get("votes", {})) for unit in units),
        failed=row["status"] == "failed",
        between=threshold if threshold < 1 else (threshold - 0.5) / samples,
        source=row.get("source") or "",
    )


def review_lines(judged: Iterable[Judged], judge: Judge, known: Mapping[str, Case]) -> list[SheetLine]:
    """Return the units to review, most informative first; ``votes`` names no labels, so that nobody is led."""
    lines: dict[str, Judged] = {}
    for line in judged:
        if not line.failed:
            lines.setdefault(line.id, line)
    every = {case: list(_units(case, lines.get(case), known.get(case), judge)) for case in {**lines, **known}}
    missing = sorted(case for case, units in every.items() if units and case not in known)
    if missing:
        raise GoldError(
            f"{len(missing)} of the cases to review are not in the rows, such as {missing[0]}",
            hint="name the rows that were judged with --input",
        )
    found = [(worth, case, unit, notes) for case, units in every.items() for worth, unit, notes in units]
    found.sort(key=lambda one: -round(one[0], 9))
    return [SheetLine(case=known[case], unit=unit, notes=notes) for _, case, unit, notes in found]


def judged_in_search(
    matrix: Iterable[Mapping[str, Any]], chosen: str, judge: Judge, known: Collection[str]
) -> list[Judged]:
    """Return what all prompts of a search said of train and dev, as if each had been a sample."""
    asked: dict[str, dict[str, Values]] = {}
    for row in matrix:
        values = tuple(None if one is None else judge.answer.scale.of_json(one) for one in row["labels"])
        if row["case"] in known:
            asked.setdefault(row["case"], {})[row["candidate"]] = values
    found = []
    for case, said in asked.items():
        counts = [
            Counter(value for value in unit if value is not None) for unit in zip(*said.values(), strict=True)
        ]
        most = tuple(max(unit, key=lambda value: unit[value], default=None) for unit in counts)
        votes = tuple(
            {judge.answer.scale.text(value): count for value, count in unit.items()} for unit in counts
        )
        found.append(
            Judged(
                id=case,
                values=said.get(chosen, most),
                votes=votes,
                shares=tuple(map(_shares, votes)),
                failed=False,
                between=0.5,
                source="",
            )
        )
    return found


def _units(
    id_: str, line: Judged | None, known: Case | None, judge: Judge
) -> Iterator[tuple[float, int, dict[str, str]]]:
    """Yield the units of a case that are to be reviewed: what a label is worth, its place, and its notes."""
    people, scale = unit_ratings(known) if known else (), judge.answer.scale
    labels = (known.gold if known else None) or (None,) * (len(people) or len(line.values if line else ()))
    if line and len(labels) != len(line.values):
        raise GoldError(
            f"case {id_} has {len(line.values)} units here and {len(labels)} in the gold set",
            hint="give the gold set of the rows that were judged",
        )
    for unit, label in enumerate(labels):
        said, reasons = people[unit] if people else {}, list[str]()
        raters = [said[RESOLVED]] if RESOLVED in said else list(said.values())
        value, votes = (line.values[unit], line.votes[unit]) if line else (None, {})
        shares: Mapping[str, float] = {}
        if line and line.shares[unit]:
            shares = scale.centred(line.shares[unit], line.between)
        if len(set(raters)) > 1:
            reasons.append("raters differ")
        if line and value is None:
            reasons.append("no verdict")
        elif len(votes) > 1 or max(shares.values(), default=1.0) < _SURE:
            reasons.append("judge wavers")
        if None not in (label, value) and label != value:
            reasons.append("differs from gold")
        pooled = Counter(map(scale.text, raters or ([] if label is None else [label])))
        every = {name: pooled[name] + shares.get(name, 0.0) for name in {**pooled, **shares}}
        if reasons:
            worth = scale.spread(every) if every else 1.0
            split = " to ".join(map(str, sorted(votes.values(), reverse=True)))
            yield worth, unit, {"why": ", ".join(reasons), "worth": f"{worth:.3f}", "votes": split}


def _shares(votes: Mapping[str, float]) -> dict[str, float]:
    """Return votes, or probabilities, as shares of their sum."""
    total = sum(votes.values())
    return {name: count / total for name, count in votes.items() if count} if total else {}
