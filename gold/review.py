"""What people should look at next: the most informative units, uncertainty first.

Everybody who spoke of a unit has one vote: each rater (or the gold label, where no raters are known) and the judge,
whose vote is divided as its samples are, or as the probabilities of their tokens, with the threshold that decides
moved to one half. A label is worth the *spread* of these votes: for closed labels their entropy, divided by that of
an even spread over all labels. So a unit on which nobody is at odds is worth 0, and one of which nothing is known 1.
It is the vote entropy of a committee with soft votes (Dagan and Engelson 1995), people and judge together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..cases import Case, Value, Values
from ..errors import GoldError
from ..evaluation.rows import Row
from .files import Place, bytes_of, parse
from .raters import unit_ratings
from .sheets_out import SheetLine

if TYPE_CHECKING:
    from ..programs.judge import Judge

Reason: TypeAlias = Literal["raters differ", "no verdict", "judge wavers", "differs from gold"]
_LINE = {"id", "status", "units"}
_SAID = ("votes", "probabilities")
_SURE = 0.9
"""The share of its vote from which the judge does not waver."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One line of a run."""

    id: str  # of the case
    values: Values  # the verdict of each unit; ``None`` where there is none
    votes: tuple[Mapping[str, int], ...]  # value, as the file has it, -> samples, of each unit
    # value -> share of the judge's vote, of each unit; empty where it has none
    shares: tuple[Mapping[str, float], ...]
    failed: bool  # the machinery failed
    samples: int  # how many were asked for
    threshold: float  # positive votes that make a positive verdict, or below 1 their share
    source: str  # ``file:line`` of the row
    line: int  # of the run's file


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A unit to review."""

    case: str  # the id of its case
    unit: int  # its place in the case, from 0
    value: Value | None  # the judge's verdict
    votes: Mapping[str, int]  # value, as the file has it, -> samples of the judge
    worth: float  # of its label, 0 to 1
    reasons: tuple[Reason, ...]  # why it is one


def read_judged(path: str | Path, judge: Judge) -> list[Judged]:
    """Read the output of ``jurist run``."""
    name = str(path)
    rows = parse(bytes_of(Path(path), name), name).rows
    return [_judged(row, judge, name, line) for line, row in rows]


def candidates(
    judged: Iterable[Judged], judge: Judge, gold: Mapping[str, Case] | None = None
) -> list[Candidate]:
    """Return the units to review, the most informative first."""
    lines: dict[str, Judged] = {}
    for line in judged:
        if not line.failed:
            lines.setdefault(line.id, line)
    known = gold or {}
    found = [
        one
        for case in {**lines, **known}
        for one in _of_case(case, lines.get(case), known.get(case), judge)
        if one.reasons
    ]
    return sorted(found, key=lambda one: -round(one.worth, 9))


def judged_in_search(
    matrix: Iterable[Mapping[str, Any]], chosen: str, judge: Judge, known: Collection[str]
) -> list[Judged]:
    """Return what all prompts of a search said, as if each had been a sample: where they differ, a label says most.

    They are cases of train and dev: what people read of the sealed test would prove nothing any more.
    """
    asked: dict[str, dict[str, Values]] = {}
    for row in matrix:
        values = tuple(None if one is None else judge.answer.scale.of_json(one) for one in row["labels"])
        if row["case"] in known:
            asked.setdefault(row["case"], {})[row["candidate"]] = values
    found = []
    for line, (case, said) in enumerate(asked.items(), 1):
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
                samples=len(said),
                threshold=0.5,
                source="",
                line=line,
            )
        )
    return found


def review_lines(found: Iterable[Candidate], cases: Mapping[str, Case]) -> list[SheetLine]:
    """Return candidates as lines of a sheet, with the columns ``why``, ``worth`` and ``votes``.

    ``votes`` says how the samples fell apart (``3:2``), and not for which labels: the person who labels should
    not be led.
    """
    found = list(found)
    missing = sorted({one.case for one in found} - cases.keys())
    if missing:
        raise GoldError(
            f"{len(missing)} of the cases to review are not in the rows, such as {missing[0]}",
            hint="name the rows that were judged with --input",
        )
    return [
        SheetLine(
            case=cases[one.case],
            unit=one.unit,
            notes={
                "why": ", ".join(one.reasons),
                "worth": f"{one.worth:.3f}",
                "votes": " to ".join(str(count) for count in sorted(one.votes.values(), reverse=True)),
            },
        )
        for one in found
    ]


def rows_of(judged: Iterable[Judged], cases: Mapping[str, Case]) -> list[Row]:
    """Return the lines of a run as rows of the evaluation; those of other cases are left out."""
    return [
        Row(
            id=line.id,
            group=cases[line.id].group,
            gold=cases[line.id].gold or (None,) * len(line.values),
            predicted=line.values,
            failed=line.failed,
        )
        for line in judged
        if line.id in cases
    ]


def sources_of(judged: Iterable[Judged], without: Collection[str]) -> list[str]:
    """Return the files that the rows of a run came from, but for the cases that are known."""
    files = (line.source.rpartition(":")[0] for line in judged if line.id not in without)
    return list(dict.fromkeys(file for file in files if file))


def _of_case(id: str, line: Judged | None, known: Case | None, judge: Judge) -> Iterator[Candidate]:
    people = unit_ratings(known) if known else ()
    labels = (known.gold if known else None) or (None,) * (len(people) or len(line.values if line else ()))
    if line and len(labels) != len(line.values):
        raise GoldError(
            f"case {id} has {len(line.values)} units here and {len(labels)} in the gold set",
            hint="give the gold set of the rows that were judged",
        )
    for unit, label in enumerate(labels):
        said = list(people[unit].values()) if people else []
        yield _candidate(id, unit, line, judge, (label, said))


def _candidate(
    case: str, unit: int, line: Judged | None, judge: Judge, people: tuple[Value | None, list[Value]]
) -> Candidate:
    (gold, raters), reasons = people, list[Reason]()
    value, votes = (line.values[unit], line.votes[unit]) if line else (None, {})
    shares: Mapping[str, float] = {}
    if line and line.shares[unit]:
        between = line.threshold if line.threshold < 1 else (line.threshold - 0.5) / line.samples
        shares = judge.answer.scale.centred(line.shares[unit], between)
    if len(set(raters)) > 1:
        reasons.append("raters differ")
    if line and value is None:
        reasons.append("no verdict")
    elif len(votes) > 1 or max(shares.values(), default=1.0) < _SURE:
        reasons.append("judge wavers")
    if None not in (gold, value) and gold != value:
        reasons.append("differs from gold")
    pooled = Counter[str]()
    for one in raters or ([] if gold is None else [gold]):
        pooled[judge.answer.scale.text(one)] += 1
    every = {name: pooled[name] + shares.get(name, 0.0) for name in {**pooled, **shares}}
    worth = judge.answer.scale.spread(every) if every else 1.0
    return Candidate(case=case, unit=unit, value=value, votes=votes, worth=worth, reasons=tuple(reasons))


def _counted(votes: Any) -> bool:
    """Say whether something is a mapping to finite numbers of 0 or more."""
    return isinstance(votes, Mapping) and all(
        isinstance(one, int | float) and 0 <= one < math.inf for one in votes.values()
    )


def _shares(votes: Mapping[str, float]) -> dict[str, float]:
    """Return votes, or probabilities, as shares of their sum."""
    total = sum(votes.values())
    return {name: count / total for name, count in votes.items() if count} if total else {}


def _judged(row: Mapping[str, Any], judge: Judge, path: str, line: int) -> Judged:
    hint, place = "give the file that jurist run wrote", Place(path, line)
    if not row.keys() >= _LINE or not isinstance(row["units"], list):
        raise place.wrong("not a line of a run", hint=hint)
    units: Sequence[Any] = row["units"]
    values: list[Value | None] = []
    for unit in units:
        if not isinstance(unit, Mapping) or not all(_counted(unit.get(name, {})) for name in _SAID):
            raise place.wrong("not a line of a run", "units", hint=hint)
        values.append(_value(unit, judge, place))
    sampling = row.get("sampling") if isinstance(row.get("sampling"), Mapping) else {}
    samples = _count(sampling, "samples", max((_total(unit) for unit in units), default=1))
    return Judged(
        id=str(row.get("case", row["id"])),
        values=tuple(values),
        votes=tuple(dict(unit.get("votes", {})) for unit in units),
        shares=tuple(_shares(unit.get("probabilities") or unit.get("votes", {})) for unit in units),
        failed=row["status"] == "failed",
        samples=samples,
        threshold=_threshold(sampling, samples),
        source=str(row.get("source") or ""),
        line=line,
    )


def _value(unit: Mapping[str, Any], judge: Judge, place: Place) -> Value | None:
    try:
        said = [name for field in _SAID for name in unit.get(field, {})]
        unknown = [name for name in said if judge.answer.scale.cell(name) is None]
        if unknown:
            raise ValueError(f"no {judge.answer.scale.noun} {unknown[0]!r}")
        return judge.answer.unit_value(unit)
    except ValueError as error:
        hint = "name the judge that wrote the file"
        raise place.wrong(f"judge {judge.name!r} has {error}", "units", hint=hint) from error


def _total(unit: Mapping[str, Any]) -> int:
    return sum(count for count in unit.get("votes", {}).values() if isinstance(count, int))


def _threshold(sampling: Any, samples: int) -> float:
    value = sampling.get("threshold")
    return (
        value
        if isinstance(value, float) and 0 < value < 1
        else _count(sampling, "threshold", samples // 2 + 1)
    )


def _count(sampling: Any, name: str, default: int) -> int:
    value = sampling.get(name)
    return value if isinstance(value, int) and value > 0 else max(default, 1)
