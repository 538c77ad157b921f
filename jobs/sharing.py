"""True prevalence: the share of each label in a run, as judged, and corrected by the errors that the proof measured."""

import os
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..cases import Value
from ..errors import UsageError, as_data, checked, suggest_file
from ..evaluation.plain import plain
from ..evaluation.prevalence import Prevalence, prevalence, tallies
from ..evaluation.scale import Scale
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge, find_changed_conditions, read_proven_rows
from ..report.shown import Shown
from ..report.table import Table, table
from ..runs.lines import unit_values
from ..runs.outputs import lines_in
from .judges import JudgeLike, load_for_new_rows
from .surface import open_store

POSITIVE = "positive: "
"""The beginning of the name of the share of all positive labels."""
TOO_WIDE = 0.8
"""The width of an interval of a share from which it says hardly anything."""


@dataclass(frozen=True, kw_only=True)
class LabelShare:
    """The share of one label, or of all positive ones."""

    name: str  # of the label, or ``positive``
    proof: Prevalence  # as the judge said, and corrected by what it took for what on its sealed test

    @property
    def words(self) -> str:
        """The share in one sentence: as the judge found it, and corrected by the errors of its sealed test."""
        label, share = self.name.removeprefix(POSITIVE), self.proof
        judged = f"the judge says {label} of {100 * (share.raw or 0.0):.1f} % of the answered units"
        if share.value is None or share.low is None or share.high is None:
            return f"{judged}; this is not corrected for the judge's errors: {share.problem}"
        ends = f"{100 * share.low:.1f} to {100 * share.high:.1f} %"
        if share.high - share.low > TOO_WIDE:
            return f"{judged}; its sealed test is too small to correct that for its errors (it may be {ends})"
        return (
            f"{judged}; corrected for the errors of its sealed test: {100 * share.value:.1f} % "
            f"(95 % interval {ends})"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Shares(Shown):
    """The shares of the labels in a file of verdicts, as judged and corrected by the errors of the sealed test."""

    judge: str  # ``JUDGE@VERSION``
    output: str  # the file
    shares: tuple[LabelShare, ...]  # empty where nothing is known of the judge's errors

    def parts(self) -> list[Table | str]:
        """Return the shares."""
        rows = []
        for share in self.shares:
            corrected = str(share.proof) if not share.proof.problem else share.proof.problem
            raw = "-" if share.proof.raw is None else f"{share.proof.raw:.3f}"
            rows.append([share.name, raw, corrected, share.proof.units])
        columns = ["label", "as judged", "corrected [95 % interval]", "units"]
        return [table(f"{self.judge} in {self.output}", columns, rows)]

    def records(self) -> list[dict[str, object]]:
        """Return a row for each label."""
        return [{"label": share.name, **asdict(share.proof)} for share in self.shares]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {"judge": self.judge, "output": self.output, "shares": plain(self.records())}


@checked
def share(
    output: str | os.PathLike[str],
    judge: JudgeLike,
    *,
    store: str | os.PathLike[str] | Store | None = None,
) -> Shares:
    """Return the share of each label in what :func:`jurist.run` wrote, corrected by the errors of the sealed test.

    Args:
        output: the file of verdicts.
        judge: the version that wrote it; see :data:`JudgeLike`.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.

    Raises:
        UsageError: there is no such file, or the judge is a basic prompt, of whose errors no sealed test tells.
    """
    path = Path(output)
    if not path.is_file():
        hint = suggest_file(path, f"*{path.suffix}") or "name a file that jurist.run wrote"
        raise UsageError(f"{as_data(path)}: there is no such file", hint=hint)
    loaded = load_for_new_rows(judge, None, open_store(store), {})
    if loaded.artifact is None:
        raise UsageError(
            f"{loaded.name} has no sealed test to correct shares by", hint="name a version, JUDGE@VERSION"
        )
    return Shares(judge=loaded.name, output=str(path), shares=label_shares(path, loaded))


def label_shares(output: Path, judge: LoadedJudge) -> tuple[LabelShare, ...]:
    """Return the shares of the labels in the file that a judge has written, over the units that have an answer.

    It is empty for a basic prompt, for answers without labels, and where no unit has an answer.
    """
    scale = judge.judge.answer.scale
    if not (judge.artifact and scale.domain):
        return ()
    counts = _count_values(output, judge)
    if not counts:
        return ()
    problem = _unproven(judge)
    shares = []
    for name, values in _value_sets(scale).items():
        shares.append(LabelShare(name=name, proof=_corrected(judge, counts, values, problem)))
    return tuple(shares)


def _count_values(output: Path, judge: LoadedJudge) -> Counter[tuple[str, Value]]:
    """Return (group, value) -> how many answered units of the file have both."""
    counts: Counter[tuple[str, Value]] = Counter()
    for _, line in lines_in(output):
        for value in unit_values(judge.judge, line):
            if value is not None:
                counts[line["group"], value] += 1
    return counts


def _value_sets(scale: Scale) -> dict[str, frozenset[Value]]:
    """Return the values whose shares are told, by the name of the share: all positive ones, then each label."""
    # Where there are two labels, the share of the positive one tells that of the other.
    positive, positive_names = set(), []
    for value in scale.domain:
        if scale.probability({value: 1.0}):
            positive.add(value)
            positive_names.append(scale.text(value))
    value_sets = {}
    if positive:
        value_sets[POSITIVE + ", ".join(positive_names)] = frozenset(positive)
    if len(scale.domain) > 2 or not positive:
        for value in scale.domain:
            value_sets[scale.text(value)] = frozenset({value})
    return value_sets


def _unproven(judge: LoadedJudge) -> str:
    """Return the reason why the errors of the proof do not hold for a run, in words; empty if they hold."""
    if not read_proven_rows(judge):
        return f"{judge.name} kept no answers of its proof"
    differences = ", ".join(find_changed_conditions(judge, judge.stamp()).values())
    if not differences:
        return ""
    return f"its errors were measured under other conditions: the run has {differences}"


def _corrected(
    judge: LoadedJudge, counts: Counter[tuple[str, Value]], values: frozenset[Value], problem: str
) -> Prevalence:
    """Return the share of units with one of some values; it is corrected unless there is a problem."""
    units = ((group, value in values) for group, value in counts.elements())
    if problem:
        return replace(prevalence(tallies(units), {}, {}), problem=problem)
    # Of the units of the proof: the values among those with a label of the set, and other values among the rest.
    positives, negatives = [], []
    for row in read_proven_rows(judge):
        for gold, predicted in zip(row.gold, row.predicted, strict=True):
            if gold is None or predicted is None:
                continue
            if gold in values:
                positives.append((row.group, predicted in values))
            else:
                negatives.append((row.group, predicted not in values))
    return prevalence(tallies(units), tallies(positives), tallies(negatives))
