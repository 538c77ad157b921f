"""What an optimizer maximises; a unit without a usable answer counts as wrong, so that abstaining never pays."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..cases import Case
from ..evaluation.measured import objective_score
from ..evaluation.rows import Row
from ..programs.judge import Judge
from ..programs.verdicts import Verdict

_SHOWN = 300  # characters of a reason that feedback quotes


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one case went: ``score`` is the mean credit of the labelled units, in [0, 1]."""

    row: Row
    score: float
    feedback: str


def row_of(case: Case, verdict: Verdict) -> Row:
    """Return a case and its verdict as a row of the evaluation."""
    gold = case.gold if case.gold is not None else (None,) * len(verdict.values)
    return Row(
        id=case.id, group=case.group, gold=gold, predicted=verdict.values, failed=verdict.status == "failed"
    )


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The metric of a judge as an optimizer uses it."""

    judge: Judge

    def outcome(self, case: Case, verdict: Verdict) -> Outcome:
        """Score one case and say in words what was wrong with it."""
        row, answer = row_of(case, verdict), self.judge.answer
        wrong: list[str] = []
        lost = 0.0
        for text, gold, value in zip(answer.units(case.inputs), row.gold, row.predicted, strict=True):
            if gold is not None and (missed := 1 - answer.scale.credit(gold, value)):
                lost += missed
                wrong.append(answer.scale.feedback(text, gold, value))
        if wrong and verdict.reasoning:
            wrong.append(f"reason given: {verdict.reasoning[:_SHOWN]}")
        score = 1 - lost / len(case.known) if case.known else 0.0
        return Outcome(row=row, score=score, feedback="\n".join(wrong))

    def aggregate(self, outcomes: Sequence[Outcome]) -> float:
        """Return the judge's metric over a set, an error negated, so that more is better; 0 without a labelled unit."""
        rows = [outcome.row for outcome in outcomes if outcome.row.labelled]
        return objective_score(rows, self.judge.metric, self.judge.comparison) if rows else 0.0
