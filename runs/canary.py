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
from typing import Any

import scipy

from ..cases import Case, Values
from ..errors import UsageError
from ..keeping.loading import LoadedJudge, other_conditions, proven_rows
from ..programs.answers.base import Answer

LEVEL = 0.05
"""The chance that drift is shown where there is none, at most."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The evidence for drift in the rows asked so far."""

    rows: int = 0  # compared
    # of them, answered otherwise than then. worse, better: of them, less right than then, and more. more,
    # fewer: of them, with more found than then, and with less
    other: int = 0
    worse: int = 0
    better: int = 0
    more: int = 0
    fewer: int = 0

    def after(self, *, other: bool, right: float, found: float) -> "Drift":
        """Return the evidence with one more row."""
        return replace(
            self,
            rows=self.rows + 1,
            other=self.other + other,
            worse=self.worse + (right < 0),
            better=self.better + (right > 0),
            more=self.more + (found > 0),
            fewer=self.fewer + (found < 0),
        )

    @property
    def evidence(self) -> float:
        """The mean wealth of the two bettors, at least 0."""
        one_sided = (
            _owned(self.worse, self.better)
            * 2
            * float(scipy.special.betainc(self.better + 1, self.worse + 1, 0.5))
        )
        return (one_sided + _owned(self.more, self.fewer)) / 2

    @property
    def shown(self) -> bool:
        """Whether that is enough."""
        return self.evidence >= 1 / LEVEL

    def to_json(self) -> dict[str, Any]:
        """Return the counts and the evidence as plain JSON types."""
        return {**asdict(self), "evidence": self.evidence, "shown": self.shown}

    def __str__(self) -> str:
        if not self.rows:
            return "not one of its rows was answered"
        changed = (
            f"{self.other} answered otherwise than in the proof: {self.worse} worse and {self.better} better, "
            f"{self.more} with more found and {self.fewer} with less"
        )
        return (
            f"{self.rows} rows asked again, {changed if self.other else 'all answered as in the proof'} "
            f"(evidence {self.evidence:.3g} to 1; {1 / LEVEL:.0f} to 1 shows drift)"
        )


def _owned(heads: int, tails: int) -> float:
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
            for (case, then), verdict in zip(rows, verdicts, strict=True):
                if verdict.status != "failed" and not drift.shown:
                    drift = _compared(drift, judge.judge.answer, case.gold or (), then, verdict.values)
            if drift.shown:
                break
        outcome = "the model has drifted" if drift.shown else "no drift of the model is shown"
        self.tell(f"canary: {outcome}: {drift}")
        return drift


def canary_of(judge: LoadedJudge, cases: Sequence[Case]) -> tuple[tuple[Case, Values], ...]:
    """Return the rows of a judge's sealed test that are among some cases, in the order of their ids."""
    proven = {row.id: row for row in proven_rows(judge)}
    if not proven or judge.artifact is None:
        raise UsageError(
            f"{judge.name} has no proof to compare with", hint="leave out --canary, or compile the judge"
        )
    other = other_conditions(judge, judge.stamp())
    other.pop("model", None)  # whether another one judges the same is what a canary tells
    if other:
        raise UsageError(
            f"the canary cannot be compared with the proof of {judge.name}: {', '.join(other.values())}",
            hint="leave out --canary, or ask as in the proof",
        )
    alike = {case.id: case for case in cases if case.id in proven}
    if not alike:
        raise UsageError(
            f"none of the {len(proven)} rows of the sealed test of {judge.name} is in the canary's gold",
            hint="put the gold that it was compiled with back in its place",
        )
    rows = [(case, proven[name]) for name, case in sorted(alike.items())]
    return tuple((replace(case, gold=row.gold), row.predicted) for case, row in rows)


def _compared(drift: Drift, answer: Answer, gold: Values, then: Values, now: Values) -> Drift:
    def right(values: Values) -> float:
        pairs = zip(gold, values, strict=True)
        return sum(answer.scale.credit(wanted, value) for wanted, value in pairs if wanted is not None)

    def positive(values: Values) -> float:
        return sum(answer.scale.probability({value: 1.0}) or 0.0 for value in values if value is not None)

    return drift.after(
        other=then != now,
        right=right(now) - right(then),
        found=positive(now) - positive(then),
    )
