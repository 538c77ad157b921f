"""One judge on gold: every metric with its interval, scores by class, what was taken for what, and what to read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..cases import Case
from ..evaluation.classes import ClassScores, class_scores, confused
from ..evaluation.frames import score_frame
from ..evaluation.measured import Measured, Score, measure, narrow
from ..optimizers.objective import Objective
from ..programs.verdicts import Verdict
from ..report.document import flat
from ..report.views import evaluation_sections, html_of
from ..text.json_lines import plain_fields
from .experiment import Answers, Experiment


@dataclass(frozen=True, kw_only=True)
class Evaluating(Experiment):
    """One judge, asked once about every row that it was not compiled on."""

    kind: ClassVar[str] = "evaluate"
    chooses: ClassVar[bool] = False
    fewest: ClassVar[int] = 1

    asks_aside: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A case that the judge did not judge as people did."""

    id: str
    source: str
    inputs: Mapping[str, Any]  # what was judged
    score: float  # how near the answer is to gold, 0 to 1 (below 1)
    status: str  # ``verdict``, ``abstained`` or ``failed``
    wrong: str  # in words, what people said and what the judge did
    reasoning: str  # the judge's, empty if it gives none
    error: str  # why there is no usable answer, empty if there is one


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation:
    """How good one judge is."""

    judge: str  # ``JUDGE@VERSION`` or ``JUDGE:basic``
    model: str  # the model's name
    gold: str  # the gold's name
    cases: int  # rows judged
    left_out: int  # rows left out because the artifact was compiled on them or on near copies of them
    opening: int  # which opening of sealed rows this is; 0 if none is sealed
    measured: Measured  # every metric with its interval and bounds, and what was not answered
    classes: tuple[ClassScores, ...]  # each class against the rest; empty for answers without classes
    confusion: Mapping[str, Mapping[str, int]]  # see :func:`~jurist.evaluation.classes.confused`
    # the worst first; of equals, those that the judge's own samples agreed on most
    disagreements: tuple[Disagreement, ...]
    spend: Mapping[str, Any]  # calls, tokens and cost
    references: Mapping[str, Any]  # see :meth:`~.references.References.to_card`
    warnings: tuple[str, ...]  # what its answers hardly tell apart, in words

    def __repr__(self) -> str:
        """Name the judge, the gold and the score that it is compiled for."""
        said = f"{self.measured.metric} {self.measured[self.measured.metric].value:.3f}"
        return f"<Evaluation of {self.judge} on {self.gold}: {said}, {self.cases} cases>"

    def to_frame(self) -> Any:
        """Return every metric with its interval: see :func:`~jurist.evaluation.frames.score_frame`."""
        return score_frame({self.judge: self.measured.score_card()})

    def _repr_html_(self) -> str:
        return html_of(flat(evaluation_sections(self.to_json())))

    def __getitem__(self, metric: str) -> Score:
        """Return the score of a metric."""
        return self.measured[metric]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        measured = {"metric": self.measured.metric, **self.measured.to_card()}
        return {**plain_fields(self, "measured"), **measured}


def evaluation_of(work: Evaluating, answers: Answers) -> Evaluation:
    """Score what the judge of an evaluation said."""
    judge, rows = answers.judge.judge, answers.repeats[0]
    return Evaluation(
        judge=answers.judge.name,
        model=answers.judge.model.name,
        gold=work.gold.name,
        cases=len(rows),
        left_out=work.left_out,
        opening=work.look.opening,
        measured=measure(rows, judge.metric, judge.comparison),
        classes=class_scores(rows, judge.comparison),
        confusion=confused(judge.answer.scale, rows),
        disagreements=_disagreements(Objective(judge=judge), work.cases, answers.verdicts),
        spend=answers.spend.to_json(),
        references=work.references().to_card(),
        warnings=narrow(answers.judge.name, rows, judge.comparison, judge.answer.scale.text),
    )


def _disagreements(
    objective: Objective, cases: Sequence[Case], verdicts: Sequence[Verdict]
) -> tuple[Disagreement, ...]:
    found: list[tuple[float, float, int, Disagreement]] = []
    for case, verdict in zip(cases, verdicts, strict=True):
        outcome = objective.outcome(case, verdict)
        if not outcome.labelled or outcome.score >= 1:
            continue
        sure = [share for share in verdict.agreement if share is not None]
        one = Disagreement(
            id=case.id,
            source=case.source,
            inputs=case.inputs,
            score=outcome.score,
            status=verdict.status,
            wrong=outcome.feedback.split("\nreason given: ")[0],
            reasoning=verdict.reasoning,
            error=verdict.error,
        )
        found.append((outcome.score, -min(sure, default=0.0), len(found), one))
    return tuple(one for *_, one in sorted(found))
