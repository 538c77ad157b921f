"""The results of an experiment: the evaluation of one judge, or the comparison of several.

Every metric is the mean over the repeats, with the t-interval over repeats (FECT Tables 2, 4, 5) and the interval
clustered by group; the first contender is tested against each other one on the same cases, corrected together (Holm).
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from ..evaluation.by_column import ColumnScores, score_by_value
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
    count_confusions,
    measure,
    measure_units,
    warn_if_lopsided,
)
from ..evaluation.plain import plain, plain_fields
from ..evaluation.rows import Tally, tally
from ..evaluation.scale import resolve, shown_metrics
from ..evaluation.units import encode
from ..gold.column_values import values_of_column
from ..keeping.card_parts import PanelCard
from ..keeping.paying import PaidJob
from ..optimizers.objective import Objective
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from ..report.scores import reuse_ending
from ..report.shown import Shown, score_record
from ..report.table import Table
from ..report.views import comparison_parts, comparison_tables, evaluation_parts, evaluation_tables
from .experiment import Answers, Experiment
from .panels import describe_panel
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
    counts: Tally  # units and cases that were answered, abstained or failed, summed over repeats
    spend: Mapping[str, object]  # calls, tokens and cost of all repeats


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Shown):
    """All contenders on the same rows.

    Attributes:
        metric: the metric that is tested: the first judge's own.
        gold: the gold's name.
        cases: rows compared.
        left_out: rows left out because a version was compiled on them or on near copies of them, or shows them.
        opening: which opening of sealed rows this is; 0 if none is sealed.
        repeats: times everything was asked.
        contenders: in the order given.
        tests: paired, corrected together; empty for a single contender.
        references: see :meth:`~.references.References.to_card`; empty where they were not asked for.
        warnings: which judge was asked through another adapter, and why.
        metrics: those that are shown: the tested one, then what the kind of answer is compared by.
        positive: the labels of which precision, recall and F1 are; empty for answers without positive ones.
        by_column: the scores of each judge by the values of a column; empty where none was named.
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
    references: Mapping[str, object]
    positive: tuple[str, ...]
    by_column: Mapping[str, ColumnScores] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Name the gold and the judges, each with the score that is tested."""
        scores = []
        for judge in self.contenders:
            scores.append(f"{judge.name} {judge.scores[self.metric].value:.3f}")
        reused = reuse_ending([judge.spend for judge in self.contenders])
        return f"<Comparison on {self.gold}, {self.cases} cases: {self.metric} {', '.join(scores)}{reused}>"

    def parts(self) -> list[Table | str]:
        """Return the scores by judge, what needs no model, the tests, and notes."""
        return comparison_parts(self.to_json())

    @property
    def latex_tables(self) -> Sequence[Table]:
        """The scores by judge, a table for each metric, and the paired tests."""
        return comparison_tables(self.to_json())

    def records(self) -> list[dict[str, object]]:
        """Return a row for each judge and metric: the mean over repeats, its interval, and the paired test.

        Where a column was named, a row for each judge and each of its values follows.
        """
        tests = {(test.second, test.metric): test for test in self.tests}
        records: list[dict[str, object]] = []
        for contender in self.contenders:
            for metric in self.metrics:
                record: dict[str, object] = {
                    "judge": contender.name,
                    "model": contender.model,
                    "metric": metric,
                }
                record |= score_record(contender.scores[metric])
                test = tests.get((contender.name, metric))
                record["p"] = None if test is None else test.p
                records.append(record)
        if not self.by_column:
            return records
        column = next(iter(self.by_column.values())).column
        records = [{**record, column: None, "cases": self.cases} for record in records]
        for contender in self.contenders:
            name: dict[str, object] = {"judge": contender.name, "model": contender.model}
            for record in _column_records(name, self.by_column[contender.name]):
                records.append({**record, "p": None})
        return records

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        values = {**plain_fields(self, "contenders", "by_column"), "judges": plain(self.contenders)}
        if self.by_column:
            values["by_column"] = plain(self.by_column)
        return values


@dataclass(frozen=True, kw_only=True)
class ScoredByColumn(Experiment):
    """An experiment whose rows are scored by the values of a column, too, where one is named."""

    column: str = ""  # the column of the gold; empty for none

    def __post_init__(self) -> None:
        """Refuse a column by which no rows can be scored, before a model is asked."""
        super().__post_init__()
        if self.column:
            _ = self._values_of_cases  # it raises

    @cached_property
    def _values_of_cases(self) -> list[str]:
        """The value that each case has in the column."""
        return values_of_column(self.cases, self.column, self.gold.name)

    def score_by_column(self, judge: Judge, answers: Answers) -> ColumnScores | None:
        """Return a contender's scores by the values of the column, most rows first; ``None`` without a column.

        Args:
            judge: the one whose metric is used.
            answers: the contender's.
        """
        if not self.column:
            return None
        return score_by_value(
            self.column, self._values_of_cases, answers.repeats, judge.metric, judge.comparison
        )


@dataclass(frozen=True, kw_only=True)
class Comparing(ScoredByColumn):
    """Judges of which the first is tested against each other one."""

    seed: int = 0  # of the permutation test

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> Any:
        """Return the comparison of all contenders."""
        return self.compare_answers(answers, self.references(self.seed))

    def compare_answers(self, answers: Sequence[Answers], references: References | None = None) -> Comparison:
        """Return the comparison of all contenders; its tests are corrected together."""
        tested = resolve(self.scored.metric, self.scored.comparison).name
        contenders, warnings = [], []
        by_column: dict[str, ColumnScores] = {}
        for contender in answers:
            contenders.append(_result_of(contender, self.scored))
            column_scores = self.score_by_column(self.scored, contender)
            if column_scores is not None:
                by_column[contender.name] = column_scores
            if contender.other_adapter:
                warnings.append(f"{contender.name}: {contender.other_adapter}")
        tests = []
        for contender in answers[1:]:
            tests += self._tests(answers[0], contender)
        reference_card: Mapping[str, object] = {}
        if references:
            reference_card = references.to_card()
        metrics = []
        for metric in dict.fromkeys((tested, *self.scored.comparison.compared)):
            if metric in contenders[0].scores:
                metrics.append(metric)
        return Comparison(
            metric=tested,
            gold=self.gold.name,
            cases=len(self.cases),
            left_out=self.left_out,
            repeats=self.repeats,
            contenders=tuple(contenders),
            tests=corrected(tests),
            warnings=tuple(warnings),
            opening=self.opening.number,
            references=reference_card,
            metrics=tuple(metrics),
            positive=_positive_texts(self.scored),
            by_column=by_column,
        )

    def _tests(self, first: Answers, second: Answers) -> list[Contrast]:
        """Return the tests of two contenders: by the judge's metric, and by each criterion where there are several."""
        judge = self.scored
        first_rows, second_rows = (first.name, first.repeats), (second.name, second.repeats)
        # The level of an opening is one-sided, alpha two-sided. All tests are corrected together, once they are done.
        alpha = 2.0 * self.opening.level
        test = contrast(first_rows, second_rows, judge.metric, judge.comparison, seed=self.seed, alpha=alpha)
        tests_by_criterion = contrasts_by_criterion(
            first_rows, second_rows, judge.comparison, seed=self.seed, alpha=alpha
        )
        return [test, *tests_by_criterion]


def _positive_texts(judge: Judge) -> tuple[str, ...]:
    """Return the positive labels of a judge as people read them; empty for answers without positive ones."""
    return tuple(judge.answer.scale.text(value) for value in judge.comparison.positive_values)


def _column_records(name: Mapping[str, object], scores: ColumnScores) -> list[dict[str, object]]:
    """Return a row for each value of a column; ``name`` has the fields that say whose scores they are."""
    records: list[dict[str, object]] = []
    for value in scores.values:
        figures = score_record(value.score)
        records.append(
            {**name, "metric": scores.metric, **figures, scores.column: value.value, "cases": value.cases}
        )
    return records


def _result_of(answers: Answers, judge: Judge) -> ContenderResult:
    """Return the results of a contender, by the metrics of the judge that is scored."""
    comparison, repeats = judge.comparison, answers.repeats
    units = encode(comparison, *repeats)
    counts = tally(list(itertools.chain(*repeats)))
    measured = measure_units(units, counts, judge.metric, comparison)
    spreads = {}
    for metric in shown_metrics(comparison, judge.metric):
        spreads[metric.name] = spread(metric.values(units), metric.low, metric.high)
    agreement = None
    if len(repeats) > 1:
        agreement = consistency(repeats)
    return ContenderResult(
        name=answers.name,
        judge=answers.judge.name,
        model=answers.judge.model.name,
        temperature=answers.judge.model.temperature,
        scores=measured.scores,
        repeats=spreads,
        consistency=agreement,
        counts=measured.counts,
        spend=answers.spend.to_json(),
    )


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A case that the judge did not judge as people did."""

    id: str
    source: str
    inputs: Mapping[str, object]  # what was judged
    score: float  # how near the answer is to gold, 0 to 1 (below 1)
    status: str  # ``verdict``, ``abstained`` or ``failed``
    wrong: str  # in words, what people said and what the judge did
    reasoning: str  # the judge's, empty if it gives none
    error: str  # why there is no usable answer, empty if there is one


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation(Shown):
    """The scores of one judge on gold."""

    judge: str  # ``JUDGE@VERSION`` or ``JUDGE:basic``
    model: str  # the model's name
    gold: str  # the gold's name
    cases: int  # rows judged
    # rows left out because the version was compiled on them or on near copies of them, or shows them
    left_out: int
    skipped: int  # rows of the gold without a label or an input, or with nothing for the judge
    skipped_by: Mapping[str, int]  # these by reason, in words
    ambiguous: int  # those of them on which raters differ
    opening: int  # which opening of sealed rows this is; 0 if none is sealed
    measured: Measured  # every metric with its interval and bounds, and what was not answered
    positive: tuple[str, ...]  # the labels of which precision, recall and F1 are; else empty
    classes: tuple[ClassScores, ...]  # each class against the rest; empty for answers without classes
    confusion: Mapping[str, Mapping[str, int]]  # see :func:`~jurist.evaluation.measured.count_confusions`
    # the worst first; of equals, those that the judge's own samples agreed on most
    disagreements: tuple[Disagreement, ...]
    spend: Mapping[str, object]  # calls, tokens and cost
    references: Mapping[str, object]  # see :meth:`~.references.References.to_card`
    # sentences: another adapter was used, answers are lopsided, a reference does as well
    warnings: tuple[str, ...]
    panel: PanelCard | None  # how often the models of a panel answered; ``None`` of a single model
    by: Mapping[str, int]  # of a cascade: judge, or ``people`` -> cases that it answered; else empty
    # the score by the values of a column; ``None`` where none was named
    by_column: ColumnScores | None = None

    def __repr__(self) -> str:
        """Name the judge, the gold and the score that it is compiled for."""
        score = f"{self.measured.metric} {self.measured[self.measured.metric].value:.3f}"
        cases = f"{self.cases} cases"
        left_out = self.left_out + self.skipped
        if left_out:
            cases += f", {left_out} rows left out"
        return f"<Evaluation of {self.judge} on {self.gold}: {score}, {cases}{reuse_ending([self.spend])}>"

    def parts(self) -> list[Table | str]:
        """Return the scores, what needs no model, classes, the worst disagreements, and notes."""
        return evaluation_parts(self.to_json())

    @property
    def latex_tables(self) -> Sequence[Table]:
        """The scores, and the scores by the values of a column that was named."""
        return evaluation_tables(self.to_json())

    def records(self) -> list[dict[str, object]]:
        """Return a row for each metric, and one for each value of a column that was named."""
        records: list[dict[str, object]] = []
        name: dict[str, object] = {"judge": self.judge, "model": self.model}
        for metric, metric_score in self.measured.scores.items():
            records.append({**name, "metric": metric, **score_record(metric_score)})
        if self.by_column is None:
            return records
        column = self.by_column.column
        records = [{**record, column: None, "cases": self.cases} for record in records]
        return records + _column_records(name, self.by_column)

    def __getitem__(self, metric: str) -> Score:
        """Return the score of a metric."""
        return self.measured[metric]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        values = {**plain_fields(self, "measured", "by", "by_column", "panel"), **plain_fields(self.measured)}
        if self.by_column is not None:
            values["by_column"] = plain(self.by_column)
        if self.by:
            values["by"] = dict(self.by)
        if self.panel is not None:
            values["panel"] = self.panel.to_json()
        return values


@dataclass(frozen=True, kw_only=True)
class Evaluating(ScoredByColumn):
    """One judge, asked once about every row that it was not compiled on."""

    kind: ClassVar[str] = "evaluate"
    chooses: ClassVar[bool] = False  # nobody selects among judges by it, so no sealed row is opened
    fewest: ClassVar[int] = 1  # one judge, asked once

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> Any:
        """Return the evaluation of the one judge."""
        (judged,) = answers
        judge, rows = judged.judge.judge, judged.repeats[0]
        references = self.references().with_members(judge, self.cases, judged.verdicts)
        references = references.against(
            judge, judged.name, rows, references.by_name, seed=0, level=self.opening.level
        )
        warnings = []
        if judged.other_adapter:
            warnings.append(judged.other_adapter)
        warnings += warn_if_lopsided(judged.judge.name, rows, judge.comparison, judge.answer.scale.text)
        warnings += references.words(judged.judge.name)
        members = Counter(verdict.by for verdict in judged.verdicts if verdict.by)
        return Evaluation(
            judge=judged.judge.name,
            model=judged.judge.model.name,
            gold=self.gold.name,
            cases=len(rows),
            left_out=self.left_out,
            skipped=self.gold.skipped,
            skipped_by=self.gold.skipped_by,
            ambiguous=len(self.gold.ambiguous),
            opening=self.opening.number,
            measured=measure(rows, judge.metric, judge.comparison),
            classes=class_scores(rows, judge.comparison),
            confusion=count_confusions(judge.answer.scale, rows),
            disagreements=self._disagreements(judged),
            spend=judged.spend.to_json(),
            references=references.to_card(),
            panel=describe_panel(judge.answer.scale, judged.verdicts),
            by=dict(members),
            by_column=self.score_by_column(judge, judged),
            positive=_positive_texts(judge),
            warnings=tuple(warnings),
        )

    def _disagreements(self, answers: Answers) -> tuple[Disagreement, ...]:
        """Return the cases on which the judge and people differ, the worst first, and of equals the surest first."""
        objective = Objective(judge=answers.judge.judge)
        ranked = []
        for case, verdict in zip(self.cases, answers.verdicts, strict=True):
            outcome = objective.outcome(case, verdict)
            if not outcome.row.labelled or outcome.score >= 1:
                continue
            disagreement = Disagreement(
                id=case.id,
                source=case.source,
                inputs=case.inputs,
                score=outcome.score,
                status=verdict.status,
                wrong="\n".join(objective.errors(case, outcome)),
                reasoning=verdict.reasoning,
                error=verdict.error,
            )
            ranked.append((outcome.score, -_least_agreement(verdict), disagreement))
        ranked.sort(key=lambda entry: entry[:2])
        return tuple(disagreement for _, _, disagreement in ranked)


def _least_agreement(verdict: Verdict) -> float:
    """Return the share of samples behind the unit on which they agree least; 0 where no unit has one."""
    shares = [share for share in verdict.agreement if share is not None]
    return min(shares, default=0.0)
