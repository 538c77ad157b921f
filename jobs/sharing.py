"""How often a run found what: shares of units, as the judge said, and without its measured errors.

Two corrections, each for every label. By the proof: what the judge's version took for what on its sealed test
(:mod:`..evaluation.prevalence`, :mod:`..evaluation.label_mix`). By labelled rows of the run itself
(:mod:`..evaluation.powered`), which needs no proof. Neither asks a model anything.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..cases import Value, Values
from ..errors import GoldError, UsageError
from ..evaluation.label_mix import label_mix
from ..evaluation.powered import Powered, powered
from ..evaluation.prevalence import Prevalence, prevalence, tallies
from ..gold.goldset import Gold
from ..keeping.loading import LoadedJudge
from ..keeping.proofs import other_conditions, proven_rows
from ..runs.formats import lines_in
from ..runs.lines import values_said
from .assessing import unseen

__all__ = ["RunShares", "Shared", "run_shares", "stamp_of"]

_GROUPS = 16_384
"""More groups than these are counted together, so that memory stays flat: blocks of groups are groups, too."""
_STAMP = ("judge", "artifact", "model", "sampling")


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The share of one label, or of all positive ones.

    Attributes:
        name: of the label, or ``positive``.
        proof: as the judge said, and corrected by what it took for what on its sealed test.
        powered: corrected by labelled rows; ``None`` where there are none.
        alone: by the labelled rows alone.
    """

    name: str
    proof: Prevalence
    powered: Powered | None = None
    alone: Powered | None = None


@dataclass(frozen=True, kw_only=True)
class RunShares:
    """The shares of a run.

    Attributes:
        judge: who judged.
        units: units with an answer.
        unanswered: units without one; they are in no share.
        shares: of each label.
        problem: why nothing is corrected by the proof; empty if it is, or if each share says why not.
        labelled: rows with labels of people.
        elsewhere: rows with labels that the run did not answer, or that the judge was compiled on.
    """

    judge: str
    units: int
    unanswered: int
    shares: tuple[Shared, ...]
    problem: str = ""
    labelled: int = 0
    elsewhere: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return asdict(self)


@dataclass(kw_only=True)
class _Found:
    """What a run found: group -> value -> units judged to be that; (group, truth, said) of labelled units."""

    said: dict[str, dict[Value, int]] = field(default_factory=dict)
    labelled: list[tuple[str, Value, Value]] = field(default_factory=list)
    rows: set[str] = field(default_factory=set)
    unanswered: int = 0

    def add(self, group: str, values: Values, gold: Values | None) -> None:
        if group not in self.said and len(self.said) >= _GROUPS:
            group = list(self.said)[zlib.crc32(group.encode()) % _GROUPS]
        counts = self.said.setdefault(group, {})
        for value, truth in zip(values, gold or (None,) * len(values), strict=True):
            if value is None:
                self.unanswered += 1
                continue
            counts[value] = counts.get(value, 0) + 1
            if truth is not None:
                self.labelled.append((group, truth, value))

    def hits(self, values: frozenset[Value]) -> dict[str, tuple[int, int]]:
        """Return group -> (units judged to be of these values, all units)."""
        return {
            group: (sum(units for value, units in counts.items() if value in values), sum(counts.values()))
            for group, counts in self.said.items()
        }

    def unlabelled(self, values: frozenset[Value]) -> dict[str, tuple[int, int]]:
        """Return the same of units without a label."""
        left = self.hits(values)
        for group, _, said in self.labelled:
            hits, of = left[group]
            left[group] = hits - (said in values), of - 1
        return left


def stamp_of(output: Path) -> Mapping[str, Any]:
    """Return what the first line of a run says of its judge.

    Raises:
        UsageError: the file cannot be read, or is no output of a run.
    """
    for _, line in _lines(output):
        return {name: line.get(name) for name in (*_STAMP, "strictness")}
    raise UsageError(f"{output} has no line", hint="name what jurist run has written")


def run_shares(output: Path, judge: LoadedJudge, gold: Gold | None = None) -> RunShares:
    """Return the shares of a run.

    Args:
        output: what ``jurist run`` has written.
        judge: who judged, as loaded for the first line.
        gold: rows of the run's input with labels of people, drawn at random.

    Raises:
        UsageError: the file is no output of this judge, the judge gives no labels, or none of the labelled rows was
            answered by the run.
    """
    domain = judge.judge.answer.comparison.domain
    if not domain:
        raise UsageError(
            f"the answers of judge {judge.judge.name} are no labels: they have no shares",
            hint="use a judge of labels",
        )
    labels = {case.id: case.gold for case in unseen(judge, gold)} if gold else {}
    found, stamp = _Found(), stamp_of(output)
    for number, line in _lines(output):
        if any(line.get(name) != stamp[name] for name in _STAMP):
            raise UsageError(
                f"{output}:{number}: by another judge than the first line", hint="split the file"
            )
        try:
            values, truth = values_said(judge.judge, line), labels.get(line["case"])
            found.add(line["group"], values, truth)
        except (KeyError, TypeError, ValueError) as error:
            raise _no_line(output, number) from error
        if truth and None not in values:
            found.rows.add(line["case"])
    if gold and not found.labelled:
        raise GoldError(
            f"none of the {len(gold.cases)} labelled rows is answered in {output}, but for rows it was compiled on",
            path=gold.source,
            hint="label rows of the run's own input, drawn at random",
        )
    problem = _unproven(judge, stamp)
    return RunShares(
        judge=judge.name,
        units=sum(sum(counts.values()) for counts in found.said.values()),
        unanswered=found.unanswered,
        shares=_shares(judge, found, problem),
        problem=problem,
        labelled=len(found.rows),
        elsewhere=len(gold.cases) - len(found.rows) if gold else 0,
    )


def _lines(output: Path) -> Iterator[tuple[int, Any]]:
    try:
        for number, line in lines_in(output):
            if not isinstance(line, dict) or not {"case", "group", "units", *_STAMP} <= line.keys():
                raise _no_line(output, number)
            yield number, line
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}", hint="name what jurist run has written") from error


def _no_line(output: Path, number: int) -> UsageError:
    return UsageError(f"{output}:{number}: not a line of a run", hint="name what jurist run has written")


def _unproven(judge: LoadedJudge, stamp: Mapping[str, Any]) -> str:
    """Return why the errors that the proof measured are not those of a run; empty if they are."""
    if judge.artifact is None:
        return f"{judge.name} has no proof that tells its errors"
    if not proven_rows(judge):
        return f"{judge.name} kept no answers of its proof"
    if stamp["artifact"] != judge.artifact.sha256:
        return f"the run was made by another {judge.name} than the one in the store"
    other = ", ".join(other_conditions(judge, stamp).values())
    return f"its errors were measured under other conditions: the run has {other}" if other else ""


def _shares(judge: LoadedJudge, found: _Found, problem: str) -> tuple[Shared, ...]:
    answer = judge.judge.answer
    domain = answer.comparison.domain
    positive = frozenset(value for value in domain if answer.probability({value: 1.0}))
    known = () if problem else tuple(_known(judge))
    named = ", ".join(answer.text(value) for value in domain if value in positive)
    asked = {f"positive: {named}": positive} if positive else {}
    if len(domain) > 2 or not positive:
        asked |= {answer.text(value): frozenset({value}) for value in domain}
    proofs = list(_mixed(domain, found, known)) if len(asked) > 1 else []
    if positive:
        proofs.insert(0, _corrected(positive, found, known))
    return tuple(
        Shared(
            name=name,
            proof=Prevalence(raw=one.raw, units=one.units, problem=problem) if problem else one,
            **_powered(values, found),
        )
        for (name, values), one in zip(asked.items(), proofs, strict=True)
    )


def _known(judge: LoadedJudge) -> Iterator[tuple[str, Value, Value]]:
    """Yield (group, truth, said) of each unit of the proof that was answered."""
    for row in proven_rows(judge):
        for truth, said in zip(row.gold, row.said, strict=True):
            if truth is not None and said is not None:
                yield row.group, truth, said


def _corrected(
    values: frozenset[Value], found: _Found, known: Sequence[tuple[str, Value, Value]]
) -> Prevalence:
    return prevalence(
        found.hits(values),
        tallies((group, said in values) for group, truth, said in known if truth in values),
        tallies((group, said not in values) for group, truth, said in known if truth not in values),
    )


def _mixed(
    domain: Sequence[Value], found: _Found, known: Sequence[tuple[str, Value, Value]]
) -> tuple[Prevalence, ...]:
    counts = {group: [one.get(value, 0) for value in domain] for group, one in found.said.items()}
    return label_mix(domain, counts, known)


def _powered(values: frozenset[Value], found: _Found) -> dict[str, Powered]:
    if not found.labelled:
        return {}
    pairs = [(group, truth in values, said in values) for group, truth, said in found.labelled]
    return {"powered": powered(pairs, found.unlabelled(values)), "alone": powered(pairs, {})}
