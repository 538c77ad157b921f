"""From the answers of an experiment to its result: of one judge what to read first, of several what tells them apart.

Every metric is the mean over the repeats, with the t-interval over repeats (FECT Tables 2, 4, 5) and the interval
clustered by group; the first contender is tested against each other one on the same cases, corrected together (Holm).
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..evaluation.contrasts import (
    Consistency,
    Contrast,
    Spread,
    consistency,
    contrast,
    contrasts_by_criterion,
    corrected,
    spread,
)
from ..evaluation.measured import (
    ClassScores,
    Measured,
    Score,
    class_scores,
    confused,
    lopsided,
    measure,
    measure_units,
)
from ..evaluation.plain import plain, plain_fields
from ..evaluation.rows import Tally, tally
from ..evaluation.scale import resolve, shown_metrics
from ..evaluation.units import encode
from ..keeping.paying import PaidJob
from ..optimizers.objective import Objective
from ..programs.judge import Judge
from ..report.views import comparison_parts, evaluation_parts, html_of
from .experiment import Answers, Experiment
from .references import References


@dataclass(frozen=True, kw_only=True)
class ContenderResult:
    """One contender's results."""

    name: str  # its name in the experiment
    judge: str  # ``JUDGE@VERSION`` or ``JUDGE:basic``
    model: str  # the model's name
    temperature: float | None  # of the draws; ``None`` is the provider's own
    # every metric over the answered units, mean over repeats, with intervals, worst and best cases
    scores: Mapping[str, Score]
    # each metric's values, mean, standard deviation and t-interval over repeats
    repeats: Mapping[str, Spread]
    consistency: Consistency | None  # how far the repeats agree; ``None`` for one repeat
    counts: Tally  # units and cases by how they ended, summed over repeats
    spend: Mapping[str, Any]  # calls, tokens and cost of all repeats


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """All contenders on the same rows.

    Attributes:
        metric: the metric that is tested: the first judge's own.
        gold: the gold's name.
        cases: rows compared.
        left_out: rows left out because an artifact was compiled on them or on near copies of them.
        opening: which opening of sealed rows this is; 0 if none is sealed.
        repeats: times everything was asked.
        contenders: in the order given.
        tests: paired, corrected together; empty for a single contender.
        references: see :meth:`~.references.References.to_card`; empty where they were not asked for.
        warnings: which judge was asked in another prompt format, and why.
        metrics: those that are shown: the tested one, then what the kind of answer is compared by.
    """

    metric: str
    gold: str
    cases: int
    left_out: int
    opening: int
    repeats: int
    contenders: tuple[ContenderResult, ...]
    tests: tuple[Contrast, ...]
    warnings: tuple[str, ...]
    metrics: tuple[str, ...]
    references: Mapping[str, Any]

    def __repr__(self) -> str:
        """Name the judges with the score that is tested."""
        scores = ", ".join(f"{judge.name} {judge.scores[self.metric].value:.3f}" for judge in self.contenders)
        return f"<Comparison on {self.gold}, {self.cases} cases: {self.metric} {scores}>"

    def _repr_html_(self) -> str:
        return html_of(comparison_parts(self.to_json()))

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {**plain_fields(self, "contenders"), "judges": plain(self.contenders)}


@dataclass(frozen=True, kw_only=True)
class Comparing(Experiment):
    """Judges of which the first is tested against each other one."""

    seed: int = 0  # of the permutation test

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> Any:
        return self.compared(answers, self.references(self.seed))

    def compared(self, answers: Sequence[Answers], references: References | None = None) -> Comparison:
        """Return all scores, and the tests, corrected together."""
        tested = resolve(self.scored.metric, self.scored.comparison).name
        contenders = tuple(_contender(answer, self.scored) for answer in answers)
        shown = (tested, *self.scored.comparison.compared)
        return Comparison(
            metric=tested,
            gold=self.gold.name,
            cases=len(self.cases),
            left_out=self.left_out,
            repeats=self.repeats,
            contenders=contenders,
            tests=corrected([test for other in answers[1:] for test in self._tests(answers[0], other)]),
            warnings=tuple(
                f"{answer.name}: {answer.other_adapter}" for answer in answers if answer.other_adapter
            ),
            opening=self.look.opening,
            references=references.to_card() if references else {},
            metrics=tuple(name for name in dict.fromkeys(shown) if name in contenders[0].scores),
        )

    def _tests(self, first: Answers, second: Answers) -> list[Contrast]:
        """Hold two contenders against each other by their metric, and by each criterion where there are several."""
        judge = self.scored
        rows, other = (first.name, first.repeats), (second.name, second.repeats)
        # two-sided; what several tests need is corrected later, together
        level: dict[str, Any] = {"seed": self.seed, "alpha": 2.0 * self.look.level}
        whole = contrast(rows, other, judge.metric, judge.comparison, **level)
        return [whole, *contrasts_by_criterion(rows, other, judge.comparison, **level)]


def _contender(answers: Answers, judge: Judge) -> ContenderResult:
    kind, repeats = judge.comparison, answers.repeats
    units = encode(kind, *repeats)
    measured = measure_units(units, tally(list(itertools.chain(*repeats))), judge.metric, kind)
    return ContenderResult(
        name=answers.name,
        judge=answers.judge.name,
        model=answers.judge.model.name,
        temperature=answers.judge.model.temperature,
        scores=measured.scores,
        repeats={
            one.name: spread(one.each(units), one.low, one.high) for one in shown_metrics(kind, judge.metric)
        },
        consistency=consistency(repeats) if len(repeats) > 1 else None,
        counts=measured.counts,
        spend=answers.spend.to_json(),
    )


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
    skipped: int  # rows of the gold without a label or an input, or with nothing for the judge
    ambiguous: int  # those of them on which raters differ
    opening: int  # which opening of sealed rows this is; 0 if none is sealed
    measured: Measured  # every metric with its interval and bounds, and what was not answered
    classes: tuple[ClassScores, ...]  # each class against the rest; empty for answers without classes
    confusion: Mapping[str, Mapping[str, int]]  # see :func:`~jurist.evaluation.measured.confused`
    # the worst first; of equals, those that the judge's own samples agreed on most
    disagreements: tuple[Disagreement, ...]
    spend: Mapping[str, Any]  # calls, tokens and cost
    references: Mapping[str, Any]  # see :meth:`~.references.References.to_card`
    warnings: tuple[str, ...]  # what its answers hardly tell apart, in words
    by: Mapping[str, int]  # cases that each judge of a cascade answered, and people; of other judges empty

    def __repr__(self) -> str:
        """Name the judge, the gold and the score that it is compiled for."""
        score = f"{self.measured.metric} {self.measured[self.measured.metric].value:.3f}"
        rest = self.left_out + self.skipped
        left = f", {rest} rows left out" if rest else ""
        return f"<Evaluation of {self.judge} on {self.gold}: {score}, {self.cases} cases{left}>"

    def _repr_html_(self) -> str:
        return html_of(evaluation_parts(self.to_json()))

    def __getitem__(self, metric: str) -> Score:
        """Return the score of a metric."""
        return self.measured[metric]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        by = {"by": dict(self.by)} if self.by else {}
        return {**plain_fields(self, "measured", "by"), **plain_fields(self.measured), **by}


@dataclass(frozen=True, kw_only=True)
class Evaluating(Experiment):
    """One judge, asked once about every row that it was not compiled on."""

    kind: ClassVar[str] = "evaluate"
    chooses: ClassVar[bool] = False
    fewest: ClassVar[int] = 1

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> Any:
        (own,) = answers
        judge, rows = own.judge.judge, own.repeats[0]
        beside = self.references()
        beside = beside.against(judge, own.name, rows, beside.found, seed=0, level=self.look.level)
        return Evaluation(
            judge=own.judge.name,
            model=own.judge.model.name,
            gold=self.gold.name,
            cases=len(rows),
            left_out=self.left_out,
            skipped=self.gold.skipped,
            ambiguous=len(self.gold.ambiguous),
            opening=self.look.opening,
            measured=measure(rows, judge.metric, judge.comparison),
            classes=class_scores(rows, judge.comparison),
            confusion=confused(judge.answer.scale, rows),
            disagreements=self._disagreements(own),
            spend=own.spend.to_json(),
            references=beside.to_card(),
            by=dict(Counter(verdict.by for verdict in own.verdicts if verdict.by)),
            warnings=(
                *([own.other_adapter] if own.other_adapter else []),
                *lopsided(own.judge.name, rows, judge.comparison, judge.answer.scale.text),
                *beside.words(own.judge.name),
            ),
        )

    def _disagreements(self, answers: Answers) -> tuple[Disagreement, ...]:
        objective, ranked = Objective(judge=answers.judge.judge), []
        for case, verdict in zip(self.cases, answers.verdicts, strict=True):
            outcome = objective.outcome(case, verdict)
            if not outcome.row.labelled or outcome.score >= 1:
                continue
            sure = min((share for share in verdict.agreement if share is not None), default=0.0)
            disagreement = Disagreement(
                id=case.id,
                source=case.source,
                inputs=case.inputs,
                score=outcome.score,
                status=verdict.status,
                wrong=outcome.feedback.split("\nreason given: ")[0],
                reasoning=verdict.reasoning,
                error=verdict.error,
            )
            ranked.append((outcome.score, -sure, disagreement))
        return tuple(disagreement for *_, disagreement in sorted(ranked, key=lambda entry: entry[:2]))
