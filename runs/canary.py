"""The canary of a run: rows of the sealed test, asked again before all others: has the model drifted?

It is a test that may be looked at after each row. If nothing has changed, the answer of then and that of now are two
draws of the same: whichever of them is right and the other wrong, it is as likely to be the first as the second,
however often they differ. So each row on which they are not equally right is a fair coin, and so is each row on which
one of them finds more than the other. Two bettors play against these coins: one that the judge became worse (its coin
falls so with a probability uniform from 1/2 to 1), one that it finds more or less (uniform from 0 to 1). What they
own on average, for a stake of 1 each, is the evidence: a martingale if nothing has changed, so that the chance that
it ever reaches 1 / level is at most level, whenever one stops (Ville's inequality; testing by betting, Shafer 2021).
Rows of one group need not be independent of each other.

It takes for granted that the answer of then was not picked among several for being right.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import scipy

from ..cases import Case, Values
from ..errors import UsageError
from ..keeping.loading import LoadedJudge, find_changed_conditions, read_proven_rows
from ..programs.answers.base import Answer

LEVEL = 0.05
"""The chance that drift is shown where there is none, at most."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The evidence for drift in the rows asked so far."""

    rows: int = 0  # compared
    other: int = 0  # rows that are answered otherwise than in the proof
    worse: int = 0  # rows whose answer is less right than in the proof
    better: int = 0  # rows whose answer is more right
    more: int = 0  # rows in which more is found than in the proof
    fewer: int = 0  # rows in which less is found

    def with_row(self, *, is_changed: bool, right_change: float, found_change: float) -> "Drift":
        """Return the evidence with one more row, whose answer is so much more right, and finds so much more."""
        return replace(
            self,
            rows=self.rows + 1,
            other=self.other + is_changed,
            worse=self.worse + (right_change < 0),
            better=self.better + (right_change > 0),
            more=self.more + (found_change > 0),
            fewer=self.fewer + (found_change < 0),
        )

    @property
    def evidence(self) -> float:
        """The mean wealth of the two bettors, at least 0."""
        share_above_half = float(scipy.special.betainc(self.better + 1, self.worse + 1, 0.5))
        one_sided = _wealth(self.worse, self.better) * 2 * share_above_half
        return (one_sided + _wealth(self.more, self.fewer)) / 2

    @property
    def shown(self) -> bool:
        """Whether that is enough."""
        return self.evidence >= 1 / LEVEL

    def to_json(self) -> dict[str, object]:
        """Return the counts and the evidence as plain JSON types."""
        data = asdict(self)
        data["evidence"] = self.evidence
        data["shown"] = self.shown
        return data

    def __str__(self) -> str:
        if not self.rows:
            return "not one of its rows was answered"
        answers = "all answered as in the proof"
        if self.other:
            answers = (
                f"{self.other} answered otherwise than in the proof: {self.worse} worse and {self.better} better, "
                f"{self.more} with more found and {self.fewer} with less"
            )
        evidence = f"evidence {self.evidence:.3g} to 1; {1 / LEVEL:.0f} to 1 shows drift"
        return f"{self.rows} rows asked again, {answers} ({evidence})"


def _wealth(heads: int, tails: int) -> float:
    """Return the wealth of a bettor with a coin uniform from 0 to 1, after so many heads and tails."""
    return math.exp((heads + tails) * math.log(2) + float(scipy.special.betaln(heads + 1, tails + 1)))


@dataclass(frozen=True, kw_only=True)
class Canary:
    """The canary rows that are asked before a run."""

    rows: Sequence[tuple[Case, Values]]  # cases with the gold of the proof, and what the judge said in it
    on_row: Callable[[], None] = lambda: None  # called after each row
    tell: Callable[[str], None] = lambda words: None  # called with what was found, before the run goes on

    def ask(self, judge: LoadedJudge) -> Drift:
        """Ask a judge, and compare."""
        # An unreadable reply of the proof was not drawn again.
        asker = replace(judge, settings=replace(judge.settings, redraws=0)).asker()
        drift = Drift()
        concurrency = asker.settings.concurrency
        for start in range(0, len(self.rows), concurrency):
            rows = self.rows[start : start + concurrency]
            verdicts = asker.ask_all([case for case, _ in rows], lambda index, verdict: self.on_row())
            for (case, proven_values), verdict in zip(rows, verdicts, strict=True):
                if verdict.status != "failed" and not drift.shown:
                    drift = _with_compared_row(drift, judge.judge.answer, case, proven_values, verdict.values)
            if drift.shown:
                break
        self.tell(f"canary: {_outcome_of(drift, judge)}: {drift}")
        return drift


def _outcome_of(drift: Drift, judge: LoadedJudge) -> str:
    """Return the outcome of the rows in words: of the version's own model drift, of another one a difference."""
    tested = "in how right the answers are, or in how much they find"
    if judge.artifact is not None and judge.other_model:
        models = f"{judge.model.name} now and {judge.artifact.model} in the proof are two models, so this is no drift"
        return (
            f"{models}; a difference is shown"
            if drift.shown
            else f"{models}; no difference is shown {tested}"
        )
    return "the model has drifted" if drift.shown else f"no drift is shown {tested}"


def canary_of(judge: LoadedJudge, cases: Sequence[Case]) -> tuple[tuple[Case, Values], ...]:
    """Return the rows of a judge's sealed test that are among some cases, in the order of their ids."""
    proven_by_id = {row.id: row for row in read_proven_rows(judge)}
    if not proven_by_id or judge.artifact is None:
        raise UsageError(
            f"{judge.name} has no proof to compare with", hint="leave out --canary, or compile the judge"
        )
    differences = find_changed_conditions(judge, judge.stamp())
    differences.pop("model", None)  # whether another one judges the same is what a canary tells
    if differences:
        raise UsageError(
            f"the canary cannot be compared with the proof of {judge.name}: {', '.join(differences.values())}",
            hint="leave out --canary, or ask as in the proof",
        )
    cases_by_id = {case.id: case for case in cases}
    rows = []
    for case_id in sorted(proven_by_id.keys() & cases_by_id.keys()):
        proven_row = proven_by_id[case_id]
        rows.append((replace(cases_by_id[case_id], gold=proven_row.gold), proven_row.predicted))
    if not rows:
        raise UsageError(
            f"none of the {len(proven_by_id)} rows of the sealed test of {judge.name} is in the canary's gold",
            hint="put the gold that it was compiled with back in its place",
        )
    return tuple(rows)


def _with_compared_row(
    drift: Drift, answer: Answer, case: Case, proven_values: Values, new_values: Values
) -> Drift:
    """Return the evidence with a row of which the proof has one answer, and a new one was given."""
    gold = case.gold or ()
    return drift.with_row(
        is_changed=proven_values != new_values,
        right_change=_credit(answer, gold, new_values) - _credit(answer, gold, proven_values),
        found_change=_positive_count(answer, new_values) - _positive_count(answer, proven_values),
    )


def _credit(answer: Answer, gold: Values, values: Values) -> float:
    """Return how right values are, added up over the labelled units."""
    credit = 0.0
    for label, value in zip(gold, values, strict=True):
        if label is not None:
            credit += answer.scale.credit(label, value)
    return credit


def _positive_count(answer: Answer, values: Values) -> float:
    """Return how much values find: the sum of how positive each of them is, from 0 to 1."""
    count = 0.0
    for value in values:
        if value is not None:
            count += answer.scale.probability({value: 1.0}) or 0.0
    return count
