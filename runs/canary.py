"""The canary of a run: rows of the sealed test, asked again before all others: has the model drifted?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..cases import Case, Values
from ..errors import ModelError, UsageError
from ..evaluation.drift import Drift
from ..evaluation.rows import Row
from ..keeping.loading import LoadedJudge, other_conditions, proven_rows
from ..programs.answers.base import Answer

OnDrift = Literal["warn", "stop"]


@dataclass(frozen=True, kw_only=True)
class Canary:
    """What is asked before a run."""

    rows: Sequence[tuple[Case, Row]]  # cases with what the proof has of them
    on_drift: OnDrift  # whether drift ends the run
    on_row: Callable[[], None] = lambda: None  # called after each row
    tell: Callable[[Drift], None] = lambda drift: None  # called with what was found, before the run goes on

    def ask(self, judge: LoadedJudge) -> Drift:
        """Ask a judge, and compare."""
        asker, drift = judge.asker(), Drift()
        for start in range(0, len(self.rows), asker.concurrency):
            rows = self.rows[start : start + asker.concurrency]
            verdicts = asker.ask_all([case for case, _ in rows], lambda index, verdict: self.on_row())
            for (_, then), verdict in zip(rows, verdicts, strict=True):
                if verdict.status != "failed" and not drift.shown:
                    drift = _compared(drift, judge.judge.answer, then, verdict.values)
            if drift.shown:
                break
        if drift.shown and self.on_drift == "stop":
            raise ModelError(
                f"the model has drifted from {judge.name}: {drift}",
                hint="find out what changed or compile again; --resume --on-drift warn judges the rows all the same",
            )
        self.tell(drift)
        return drift


def canary_of(judge: LoadedJudge, cases: Sequence[Case]) -> tuple[tuple[Case, Row], ...]:
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
    found = sorted(
        (case.id, case) for case in {case.id: case for case in cases}.values() if case.id in proven
    )
    if not found:
        raise UsageError(
            f"none of the {len(proven)} rows of the sealed test of {judge.name} is in the canary's gold",
            hint="give the gold that it was compiled with: --canary-gold",
        )
    return tuple((case, proven[name]) for name, case in found)


def _compared(drift: Drift, answer: Answer, then: Row, now: Values) -> Drift:
    def right(values: Values) -> float:
        pairs = zip(then.gold, values, strict=True)
        return sum(answer.scale.credit(gold, value) for gold, value in pairs if gold is not None)

    def positive(values: Values) -> float:
        return sum(answer.scale.probability({one: 1.0}) or 0.0 for one in values if one is not None)

    return drift.after(
        other=then.predicted != now,
        right=right(now) - right(then.predicted),
        found=positive(now) - positive(then.predicted),
    )
