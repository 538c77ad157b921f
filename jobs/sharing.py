"""True prevalence: the share of each label in a run, as judged, and corrected by the errors that the proof measured."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from ..cases import Value
from ..evaluation.prevalence import Prevalence, prevalence, tallies
from ..keeping.loading import LoadedJudge, other_conditions, proven_rows
from ..runs.lines import unit_values
from ..runs.outputs import lines_in

POSITIVE = "positive: "
"""What the name of the share of all positive labels begins with."""
TOO_WIDE = 0.8
"""The width of an interval of a share from which it says hardly anything."""


@dataclass(frozen=True, kw_only=True)
class LabelShare:
    """The share of one label, or of all positive ones."""

    name: str  # of the label, or ``positive``
    proof: Prevalence  # as the judge said, and corrected by what it took for what on its sealed test

    @property
    def words(self) -> str:
        """Return the share in one sentence: as the judge found it, and without the errors that it is known to make."""
        label, share = self.name.removeprefix(POSITIVE), self.proof
        found = f"the judge says {label} of {100 * (share.raw or 0.0):.1f} % of the answered units"
        if share.value is None or share.low is None or share.high is None:
            return f"{found}; this is not corrected for the judge's errors: {share.problem}"
        ends = f"{100 * share.low:.1f} to {100 * share.high:.1f} %"
        if share.high - share.low > TOO_WIDE:
            return f"{found}; its sealed test is too small to correct that for its errors (it may be {ends})"
        return (
            f"{found}; corrected for the errors of its sealed test: {100 * share.value:.1f} % "
            f"(95 % interval {ends})"
        )


def label_shares(output: Path, judge: LoadedJudge) -> tuple[LabelShare, ...]:
    """Return the shares in what a judge has written, of units that have an answer; none of what is no label."""
    scale = judge.judge.answer.scale
    counts: Counter[tuple[str, Value]] = Counter()
    for _, line in lines_in(output) if judge.artifact and scale.domain else ():
        values = unit_values(judge.judge, line)
        counts.update((line["group"], value) for value in values if value is not None)
    if not counts:
        return ()
    positive = frozenset(value for value in scale.domain if scale.probability({value: 1.0}))
    named = ", ".join(scale.text(value) for value in scale.domain if value in positive)
    values_of = {f"{POSITIVE}{named}": positive} if positive else {}
    if len(scale.domain) > 2 or not positive:
        values_of |= {scale.text(value): frozenset({value}) for value in scale.domain}
    problem = _unproven(judge)
    return tuple(
        LabelShare(name=name, proof=_corrected(judge, counts, values, problem))
        for name, values in values_of.items()
    )


def _unproven(judge: LoadedJudge) -> str:
    """Return why the errors that the proof measured are not those of a run; empty if they are."""
    if not proven_rows(judge):
        return f"{judge.name} kept no answers of its proof"
    other = ", ".join(other_conditions(judge, judge.stamp()).values())
    return f"its errors were measured under other conditions: the run has {other}" if other else ""


def _corrected(
    judge: LoadedJudge, counts: Counter[tuple[str, Value]], values: frozenset[Value], problem: str
) -> Prevalence:
    """Return the share of some values, corrected where there is no problem."""
    units = ((group, value in values) for group, value in counts.elements())
    answered = [
        (row.group, gold, predicted)
        for row in ([] if problem else proven_rows(judge))
        for gold, predicted in zip(row.gold, row.predicted, strict=True)
        if gold is not None and predicted is not None
    ]
    share = prevalence(
        tallies(units),
        tallies((group, predicted in values) for group, gold, predicted in answered if gold in values),
        tallies(
            (group, predicted not in values) for group, gold, predicted in answered if gold not in values
        ),
    )
    return replace(share, problem=problem) if problem else share
