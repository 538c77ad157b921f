"""The objective that an optimizer maximises. A unit without a usable answer counts as wrong: abstaining never pays."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..cases import Case, Value
from ..evaluation.measured import objective_score
from ..evaluation.rows import JudgedRow
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from .phrases import PHRASES, feedback_in_words, language_of_judge

_QUOTED = 300  # characters of a reason that feedback quotes


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A case with its verdict and its score."""

    row: JudgedRow  # the case and its verdict, for the evaluation
    verdict: Verdict
    score: float  # the mean credit of the labelled units, in [0, 1]
    has_error: bool  # whether a labelled unit has less than full credit


def row_of(case: Case, verdict: Verdict) -> JudgedRow:
    """Return a case and its verdict as a row of the evaluation."""
    gold = case.gold
    if gold is None:
        gold = (None,) * len(verdict.values)
    return JudgedRow(
        id=case.id, group=case.group, gold=gold, predicted=verdict.values, failed=verdict.status == "failed"
    )


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The metric of a judge as an optimizer uses it."""

    judge: Judge

    def outcome(self, case: Case, verdict: Verdict) -> Outcome:
        """Return the outcome of a case: its verdict, scored against its labels."""
        row = row_of(case, verdict)
        lost = 0.0
        for gold, value in zip(row.gold, row.predicted, strict=True):
            if gold is not None:
                lost += 1 - self.judge.answer.scale.credit(gold, value)
        score = 0.0
        if case.labels:
            score = 1 - lost / len(case.labels)
        return Outcome(row=row, verdict=verdict, score=score, has_error=lost > 0)

    def errors(self, case: Case, outcome: Outcome) -> list[str]:
        """Return a sentence for each labelled unit whose answer has less than full credit: what is wrong with it."""
        answer = self.judge.answer
        units = zip(answer.units(case.inputs), outcome.row.gold, outcome.row.predicted, strict=True)
        errors: list[str] = []
        for text, gold, value in units:
            if gold is not None and answer.scale.credit(gold, value) != 1:
                errors.append(feedback_in_words(self.judge, text, gold, value))
        return errors

    def feedback(self, case: Case, outcome: Outcome) -> str:
        """Return in words what was wrong with a case, and the reason that the judge gave; empty without an error."""
        lines = self.errors(case, outcome)
        if lines and outcome.verdict.reasoning:
            reason = outcome.verdict.reasoning[:_QUOTED]
            lines.append(PHRASES[language_of_judge(self.judge)]["reason"].format(reason=reason))
        return "\n".join(lines)

    def aggregate(self, outcomes: Sequence[Outcome]) -> float:
        """Return the judge's metric over a set, an error negated, so that more is better; 0 without a labelled unit."""
        rows = [outcome.row for outcome in outcomes if outcome.row.labelled]
        if not rows:
            return 0.0
        return objective_score(rows, self.judge.metric, self.judge.comparison)

    def metrics_of(self, outcomes: Sequence[Outcome]) -> dict[str, float]:
        """Return the metrics that a history holds beside the judge's own, by name, as :meth:`aggregate` returns it."""
        rows = [outcome.row for outcome in outcomes if outcome.row.labelled]
        if not rows:
            return {}
        comparison = self.judge.comparison
        values: dict[str, float] = {}
        for name in comparison.in_history:
            values[name] = round(objective_score(rows, name, comparison), 6)
        return values

    def best_constant(self, outcomes: Sequence[Outcome]) -> float:
        """Return the metric of the best constant answer on labelled cases, an error negated; -inf without any."""
        golds: list[Value] = []
        for outcome in outcomes:
            for gold in outcome.row.gold:
                if gold is not None:
                    golds.append(gold)
        best = -math.inf
        for value in self.judge.comparison.constants(golds).values():
            rows: list[JudgedRow] = []
            for outcome in outcomes:
                rows.append(replace(outcome.row, predicted=(value,) * len(outcome.row.gold)))
            best = max(best, objective_score(rows, self.judge.metric, self.judge.comparison))
        return best
