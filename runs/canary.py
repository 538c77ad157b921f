"""The canary of a run: rows of the sealed test, asked again before all others: has the model drifted?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..cases import Case, Values
from ..errors import UsageError
from ..keeping.loading import LoadedJudge, other_conditions, proven_rows
from ..programs.answers.base import Answer
from .drift import Drift


@dataclass(frozen=True, kw_only=True)
class Canary:
    """What is asked before a run."""

    rows: Sequence[tuple[Case, Values]]  # cases with the gold of the proof, and what the judge said in it
    on_row: Callable[[], None] = lambda: None  # called after each row
    tell: Callable[[str], None] = lambda words: None  # called with what was found, before the run goes on

    def ask(self, judge: LoadedJudge) -> Drift:
        """Ask a judge, and compare."""
        asker, drift = judge.asker(), Drift()
        for start in range(0, len(self.rows), asker.concurrency):
            rows = self.rows[start : start + asker.concurrency]
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
            hint="give the gold that it was compiled with: --canary-gold",
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
