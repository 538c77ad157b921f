"""True prevalence: shares of units, as the judge said, corrected by its proof, and as people said of some rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..cases import Value, Values
from ..errors import GoldError, UsageError, plural
from ..evaluation.intervals import Share
from ..evaluation.prevalence import Prevalence, prevalence, tallies
from ..evaluation.rows import Row
from ..gold.goldset import Gold
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge, other_conditions, proven_rows
from ..programs.judge import Judge
from ..report.table import Table, table
from ..report.views import html_of
from ..runs.lines import values_said
from ..runs.outputs import lines_in
from .sealed_rows import unseen
from .surface import GoldLike, Surface

_STAMP = ("judge", "artifact", "model", "sampling")


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The share of one label, or of all positive ones."""

    name: str  # of the label, or ``positive``
    proof: Prevalence  # as the judge said, and corrected by what it took for what on its sealed test
    labelled: Share | None = (
        None  # what people said, of the labelled rows alone; ``None`` where there are none
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class RunShares:
    """The shares of a run."""

    output: str  # what the run has written
    judge: str  # who judged
    corrected_by: str  # what tells the judge's errors
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
        columns = ["share of", "as judged", f"corrected by {self.corrected_by} [95 % interval]"]
        if self.labelled:
            columns += [f"by {self.labelled} labelled rows alone"]
        rows = [
            [
                *(one.name, "-" if one.proof.raw is None else f"{one.proof.raw:.3f}", one.proof),
                *([one.labelled] if self.labelled else []),
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
        return notes

    def _repr_html_(self) -> str:
        return html_of([self.table, *self.notes])


@dataclass(kw_only=True)
class RunCounts:
    """What a run found."""

    said: dict[str, dict[Value, int]] = field(
        default_factory=dict
    )  # group -> value -> units judged to be that
    labelled: list[tuple[str, Value]] = field(default_factory=list)  # group and label of each unit with one
    rows: set[str] = field(default_factory=set)  # rows with a label, by the ids of their cases
    unanswered: int = 0  # units without an answer

    def add(self, group: str, values: Values, gold: Values | None) -> None:
        """Count a row; ``gold`` is what people said of it, if they did."""
        counts = self.said.setdefault(group, {})
        for value, truth in zip(values, gold or (None,) * len(values), strict=True):
            if value is None:
                self.unanswered += 1
                continue
            counts[value] = counts.get(value, 0) + 1
            if truth is not None:
                self.labelled.append((group, truth))

    @property
    def units(self) -> int:
        """Units with an answer."""
        return sum(sum(counts.values()) for counts in self.said.values())

    def hits(self, values: frozenset[Value]) -> dict[str, tuple[int, int]]:
        """Return group -> (units judged to be of these values, all units)."""
        return {
            group: (sum(units for value, units in counts.items() if value in values), sum(counts.values()))
            for group, counts in self.said.items()
        }

    def by_people(self, values: frozenset[Value]) -> Share | None:
        """Return the share of these values among the labels of people; ``None`` without any."""
        parts = ((group, float(truth in values), 1.0) for group, truth in self.labelled)
        return Share.over(parts) if self.labelled else None


def shares_in(output: str, gold: GoldLike | None, surface: Surface, judge: str | Judge = "") -> RunShares:
    """Return the shares of a run; ``judge`` says who judged, where the run's own name of it is not enough."""
    stamp = stamp_of(Path(output))
    loaded = load_judge(judge or str(stamp["judge"]), store=surface.store, strictness=stamp["strictness"])
    labelled_rows = None if gold is None else surface.gold(gold, loaded.judge)
    return run_shares(Path(output), loaded, labelled_rows)


def run_shares(output: Path, judge: LoadedJudge, gold: Gold | None = None) -> RunShares:
    """Return the shares of a run."""
    if not judge.judge.answer.scale.domain:
        said = f"the answers of judge {judge.judge.name} are no labels: they have no shares"
        raise UsageError(said, hint="use a judge of labels")
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
        corrected_by=f"the proof of {judge.name}",
        units=found.units,
        unanswered=found.unanswered,
        shares=_shares(judge.judge, found, [] if problem else proven_rows(judge), problem),
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


def _shares(judge: Judge, found: RunCounts, proven: Sequence[Row], problem: str = "") -> tuple[Shared, ...]:
    answer = judge.answer
    domain = answer.scale.domain
    positive = frozenset(value for value in domain if answer.scale.probability({value: 1.0}))
    known = [
        (row.group, truth, said)
        for row in proven
        for truth, said in zip(row.gold, row.predicted, strict=True)
        if truth is not None and said is not None
    ]  # of each unit of the proof that was answered
    named = ", ".join(answer.scale.text(value) for value in domain if value in positive)
    asked = {f"positive: {named}": positive} if positive else {}
    if len(domain) > 2 or not positive:
        asked |= {answer.scale.text(value): frozenset({value}) for value in domain}
    shares = []
    for name, values in asked.items():
        one = prevalence(
            found.hits(values),
            tallies((group, said in values) for group, truth, said in known if truth in values),
            tallies((group, said not in values) for group, truth, said in known if truth not in values),
        )
        proof = Prevalence(raw=one.raw, units=one.units, problem=problem) if problem else one
        shares.append(Shared(name=name, proof=proof, labelled=found.by_people(values)))
    return tuple(shares)


def stamp_of(output: Path) -> Mapping[str, Any]:
    """Return what the first line of a run says of its judge."""
    for _, line in _lines(output):
        return {name: line.get(name) for name in (*_STAMP, "strictness")}
    raise UsageError(f"{output} has no line", hint="name what jurist run has written")


def found_in(output: Path, judge: Judge, labels: Mapping[str, Values | None]) -> RunCounts:
    """Add up an output."""
    found, stamp = RunCounts(), stamp_of(output)
    for number, line in _lines(output):
        if any(line.get(name) != stamp[name] for name in _STAMP):
            said = f"{output}:{number}: by another judge than the first line"
            raise UsageError(said, hint="split the file")
        try:
            values, truth = values_said(judge, line), labels.get(line["case"])
            found.add(line["group"], values, truth)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _no_line(output, number) from error
        if truth and any(value is not None for value in values):
            found.rows.add(line["case"])
    return found


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
