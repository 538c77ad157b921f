"""How often a run found what: shares of units, as the judge said, and without its measured errors.

Two corrections, each for every label (:mod:`..evaluation.prevalence`). By the proof: how often the judge's version was
right of that label, and of the rest, on its sealed test. By labelled rows of the run itself, which needs no proof.
Neither asks a model anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..cases import Value
from ..errors import GoldError, UsageError, plural
from ..evaluation.prevalence import Powered, Prevalence, powered, prevalence, tallies
from ..gold.goldset import Gold
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge, load_judge
from ..keeping.proofs import other_conditions, proven_rows
from ..programs.judge import Judge
from ..report.table import Table, table
from ..report.views import html_of
from ..runs.found import Found, found_in, stamp_of
from .looking import unseen


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The share of one label, or of all positive ones."""

    name: str  # of the label, or ``positive``
    proof: Prevalence  # as the judge said, and corrected by what it took for what on its sealed test
    wide: str = ""  # why the interval of ``proof`` is all from 0 to 1, in words; empty if it is not
    powered: Powered | None = None  # corrected by labelled rows; ``None`` where there are none
    alone: Powered | None = None  # by the labelled rows alone

    @property
    def unlike(self) -> str:
        """In which way the labelled rows are no random draw, in words; empty if they may be one."""
        if self.powered is None or self.powered.unlike is None:
            return ""
        ours, theirs = self.powered.unlike
        return (
            f"{self.name}: the judge found {ours:.3f} among the labelled rows and {theirs:.3f} among the others: they "
            "are no random draw, so what they correct holds for rows like them only"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class RunShares:
    """The shares of a run."""

    output: str  # what the run has written
    judge: str  # who judged
    units: int  # units with an answer
    unanswered: int  # units without one; they are in no share
    shares: tuple[Shared, ...]  # of each label
    problem: str = ""  # why nothing is corrected by the proof; empty if it is, or if each share says why not
    labelled: int = 0  # rows with labels of people
    elsewhere: int = 0  # rows with labels that the run did not answer, or that the judge was compiled on

    def __repr__(self) -> str:
        """Name the shares as they are corrected by the proof."""
        said = ", ".join(f"{one.name} {one.proof}" for one in self.shares)
        return f"<RunShares of {self.output}, {self.units} units: {said}>"

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return asdict(self)

    @property
    def table(self) -> Table:
        """Each share as judged, and as corrected."""
        columns = ["share of", "as judged", f"corrected by the proof of {self.judge} [95 % interval]"]
        if self.labelled:
            columns += [f"corrected by {self.labelled} labelled rows", "by these rows alone"]
        rows = [
            [
                *(one.name, "-" if one.proof.raw is None else f"{one.proof.raw:.3f}", one.proof),
                *([one.powered, one.alone] if self.labelled else []),
            ]
            for one in self.shares
        ]
        missing = f", {self.unanswered} without an answer left out" if self.unanswered else ""
        return table(f"{self.output}: {plural(self.units, 'unit')}{missing}", columns, rows)

    @property
    def notes(self) -> list[str]:
        """Why something is not corrected, or not used."""
        why: dict[str, list[str]] = {}
        for one in self.shares:
            if one.proof.problem:
                why.setdefault(one.proof.problem, []).append(one.name)
        notes = [
            f"not corrected by the proof ({'; '.join(names)}): {problem}" for problem, names in why.items()
        ]
        if self.elsewhere:
            notes.append(
                f"{self.elsewhere} labelled rows are not used: not answered by the run, or compiled on"
            )
        notes += [f"{one.name}: {one.wide}" for one in self.shares if one.wide]
        return notes + [one.unlike for one in self.shares if one.unlike]

    def _repr_html_(self) -> str:
        return html_of([self.table, *self.notes])


def who_judged(output: Path, store: Store, judge: str | Judge = "") -> LoadedJudge:
    """Return the judge of a run."""
    stamp = stamp_of(output)
    return load_judge(judge or str(stamp["judge"]), store=store, strictness=stamp["strictness"])


def run_shares(output: Path, judge: LoadedJudge, gold: Gold | None = None) -> RunShares:
    """Return the shares of a run."""
    domain = judge.judge.answer.comparison.domain
    if not domain:
        raise UsageError(
            f"the answers of judge {judge.judge.name} are no labels: they have no shares",
            hint="use a judge of labels",
        )
    labels = {case.id: case.gold for case in unseen(judge, gold)} if gold else {}
    found = found_in(output, judge.judge, labels)
    if gold and not found.labelled:
        raise GoldError(
            f"none of the {len(gold.cases)} labelled rows is answered in {output}, but for rows it was compiled on",
            path=gold.source,
            hint="label rows of the run's own input, drawn at random",
        )
    problem = _unproven(judge, stamp_of(output))
    return RunShares(
        output=str(output),
        judge=judge.name,
        units=found.units,
        unanswered=found.unanswered,
        shares=_shares(judge, found, problem),
        problem=problem,
        labelled=len(found.rows),
        elsewhere=len(gold.cases) - len(found.rows) if gold else 0,
    )


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


def _shares(judge: LoadedJudge, found: Found, problem: str) -> tuple[Shared, ...]:
    answer = judge.judge.answer
    domain = answer.comparison.domain
    positive = frozenset(value for value in domain if answer.probability({value: 1.0}))
    known = () if problem else tuple(_known(judge))
    named = ", ".join(answer.text(value) for value in domain if value in positive)
    asked = {f"positive: {named}": positive} if positive else {}
    if len(domain) > 2 or not positive:
        asked |= {answer.text(value): frozenset({value}) for value in domain}
    proofs = [_corrected(values, found, known) for values in asked.values()]
    return tuple(
        Shared(
            name=name,
            proof=Prevalence(raw=one.raw, units=one.units, problem=problem) if problem else one,
            wide="" if problem else _wide(one, found, known),
            **_powered(values, found),
        )
        for (name, values), one in zip(asked.items(), proofs, strict=True)
    )


def _wide(share: Prevalence, found: Found, known: Sequence[tuple[str, Value, Value]]) -> str:
    """Return why a corrected share may be anything; empty if it may not."""
    if (share.low, share.high) != (0.0, 1.0):
        return ""
    proven = len({group for group, _, _ in known})
    why = (
        f"the {len(known)} units of the proof, in {proven} groups, do not tell the judge's errors well enough"
    )
    if min(len(found.said), proven) < 2:
        why = f"all units of the {'run' if proven > 1 else 'proof'} are of one group"
    return f"any share is possible: {why}"


def _known(judge: LoadedJudge) -> Iterator[tuple[str, Value, Value]]:
    """Yield (group, truth, said) of each unit of the proof that was answered."""
    for row in proven_rows(judge):
        for truth, said in zip(row.gold, row.predicted, strict=True):
            if truth is not None and said is not None:
                yield row.group, truth, said


def _corrected(
    values: frozenset[Value], found: Found, known: Sequence[tuple[str, Value, Value]]
) -> Prevalence:
    return prevalence(
        found.hits(values),
        tallies((group, said in values) for group, truth, said in known if truth in values),
        tallies((group, said not in values) for group, truth, said in known if truth not in values),
    )


def _powered(values: frozenset[Value], found: Found) -> dict[str, Powered]:
    if not found.labelled:
        return {}
    pairs = [(group, truth in values, said in values) for group, truth, said in found.labelled]
    return {"powered": powered(pairs, found.unlabelled(values)), "alone": powered(pairs, {})}
