"""References: the scores that answers without a language model reach beside a judge, and the score of people.

``constant``, ``words`` and ``neighbours`` learn from train and dev of a split. Where there is no split, they learn from
rows that a judge's artifact was compiled on, and otherwise from the rows themselves, in folds that keep groups whole.
The constant is then the best one on the rows themselves, which is strict towards the judge.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

from ..cases import Case, Value, Values
from ..evaluation.agreement import Ceiling
from ..evaluation.contrasts import Contrast, contrast, corrected
from ..evaluation.criteria import Rated
from ..evaluation.intervals import Interval
from ..evaluation.measured import Score, objective_score, score
from ..evaluation.rows import JudgedRow
from ..evaluation.scale import Learned, resolve
from ..evaluation.units import encode
from ..gold.goldset import Gold
from ..gold.raters import ceiling_of
from ..keeping.logs import Log
from ..optimizers.objective import row_of
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from .panels import member_names, member_rows

if TYPE_CHECKING:
    from ..optimizers.learners import UnitTexts

_Answers: TypeAlias = dict[str, tuple[str, list[Values]]]
"""Name of a reference -> a description of its answer, and its values for each case."""
NAMES: Final = ("constant", "words", "neighbours")
_FOLDS: Final = 5  # of rows that are not split
_EQUAL: Final = 1e-9
NOT_TOLD_APART: Final = "not told apart"
"""The verdict on a judge and a reference between which the paired test shows no difference."""
_LOGISTIC: Final = "logistic regression on words and overlap"
LEARNERS: Final[Mapping[str, Mapping[Learned, str]]] = {
    "words": {"label": _LOGISTIC, "members": _LOGISTIC, "number": "ridge regression on words and overlap"},
    "neighbours": dict.fromkeys(get_args(Learned), "what the 5 nearest labelled rows say (BM25)"),
}
"""Name of a learner -> kind of values that it predicts -> its description."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One reference."""

    answer: str  # a description of its answer, such as ``always "hold"``
    rows: tuple[JudgedRow, ...]  # its answer to each row
    score: Score  # by the judge's own metric


@dataclass(frozen=True, kw_only=True)
class References:
    """All references on the same rows."""

    metric: str  # the name of the judge's own metric
    by_name: Mapping[str, Reference]  # logs too; generators have logs alone
    people: Ceiling | None = None  # each rater against the others; ``None`` unless several rated rows
    # name -> the test of the judge against this reference; jurist prints nothing about an untested reference
    tests: Mapping[str, Contrast] = field(default_factory=dict)

    @property
    def constant(self) -> tuple[str, tuple[JudgedRow, ...]] | None:
        """The description of the best constant answer, and its rows; ``None`` without any."""
        reference = self.by_name.get("constant")
        if reference is None:
            return None
        return reference.answer, reference.rows

    def with_members(self, judge: Judge, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> "References":
        """Return the references with each model of a panel alone, by the values that it gave in these verdicts."""
        by_name = dict(self.by_name)
        for name in member_names(verdicts):
            rows = member_rows(name, cases, verdicts)
            by_name[name] = _score_reference(judge, name, "of the panel, alone", rows)
        return replace(self, by_name=by_name)

    def against(
        self,
        judge: Judge,
        name: str,
        rows: Sequence[JudgedRow],
        names: Collection[str],
        *,
        seed: int,
        level: float,
    ) -> "References":
        """Return the references with paired tests of a judge's rows against some of them, corrected by Holm.

        Args:
            judge: the judge, whose metric is tested.
            name: the name of the judge's prompt in the tests.
            rows: the judge's answers, in the order of the references' rows.
            names: the references to test.
            seed: of the permutations.
            level: the one-sided level of each test.
        """
        tested_names: list[str] = []
        tests: list[Contrast] = []
        for reference_name, reference in self.by_name.items():
            if reference_name not in names:
                continue
            judge_side = (name, [rows])
            reference_side = (reference_name, [reference.rows])
            test = contrast(
                judge_side, reference_side, judge.metric, judge.comparison, seed=seed, alpha=2.0 * level
            )
            tested_names.append(reference_name)
            tests.append(test)
        return replace(self, tests=dict(zip(tested_names, corrected(tests), strict=True)))

    def to_card(self) -> dict[str, dict[str, Any] | None]:
        """Return name -> description, score, interval and test as JSON values; ``None`` for a missing reference."""
        card: dict[str, dict[str, Any] | None] = dict.fromkeys(NAMES + ("people",))
        for name, reference in self.by_name.items():
            entry = _entry(reference.answer, reference.score.value, reference.score.interval)
            if name in self.tests:
                test = self.tests[name]
                entry["judge_is"] = test.verdict
                if test.verdict == "not shown to differ":
                    entry["judge_is"] = NOT_TOLD_APART
                entry["difference"] = test.difference
                entry["p"] = test.p_holm
            card[name] = entry
        if self.people is not None:
            mean = self.people.mean[self.metric]
            raters = f"{len(self.people.raters)} raters, each against the others"
            card[self.people.who] = _entry(raters, mean.value, mean.interval)
        return card

    def words(self, judge_name: str) -> tuple[str, ...]:
        """Return a line for each tested reference that the judge is not better than."""
        lines: list[str] = []
        for name, test in self.tests.items():
            if test.verdict == "better":
                continue
            answer = name
            if name in LEARNERS:
                description = self.by_name[name].answer
                answer = f"{description}, which learned from the same labels without a language model"
            verdict = "worse than" if test.verdict == "worse" else "not told apart from"
            judge_value, reference_value = test.values
            lines.append(
                f"{judge_name} is {verdict} {answer}: {test.metric} {judge_value:.3f} and {reference_value:.3f} "
                f"({test.difference:+.3f}, {test.interval_words}, p = {test.p_holm:.3g})"
            )
        return tuple(lines)


def score_references(
    judge: Judge,
    learnable: Sequence[Case],
    cases: Sequence[Case],
    *,
    seed: int = 0,
    people: Ceiling | None = None,
    same: Mapping[str, str] = MappingProxyType({}),
    logs: Sequence[Log] = (),
) -> References:
    """Return the references on labelled rows: answers without a language model, logs, and people.

    Args:
        judge: whose metric scores them.
        learnable: labelled cases to learn from; those of a group of ``cases`` are left out.
        cases: the cases to answer.
        seed: of the folds, where no case is left to learn from.
        people: the score of people on these rows.
        same: group -> group that it counts as, for near copies.
        logs: logs of verdicts on these rows.
    """
    training = _outside_groups(learnable, cases, same)
    answers = _answer_constantly(judge, training or cases, cases)
    if judge.answer.constants(()):
        learning = _Learning(training=training, cases=cases, seed=seed, same=same)
        answers |= learning.answers(judge)

    by_name: dict[str, Reference] = {}
    for name, (description, values_of_cases) in answers.items():
        rows = _make_rows(cases, values_of_cases)
        by_name[name] = _score_reference(judge, name, description, rows)
    for log in logs:
        rows = list(map(row_of, cases, log.verdicts(cases)))
        by_name[log.name] = _score_reference(judge, log.name, "verdicts given before", rows)
    metric = resolve(judge.metric, judge.comparison)
    return References(metric=metric.name, by_name=by_name, people=people)


def find_constant(
    judge: Judge, learnable: Sequence[Case], cases: Sequence[Case]
) -> tuple[str, tuple[JudgedRow, ...]] | None:
    """Return the description of the best constant answer, and its rows; ``None`` without any.

    It is the constant of :func:`score_references`.
    """
    training = _outside_groups(learnable, cases, {})
    for description, values_of_cases in _answer_constantly(judge, training or cases, cases).values():
        return description, tuple(_make_rows(cases, values_of_cases))
    return None


def score_constant_beside(judge: Judge, cases: Sequence[Case]) -> References:
    """Return the best constant answer to labelled rows as the only reference, by the judge's metric."""
    by_name: dict[str, Reference] = {}
    constant = find_constant(judge, (), cases)
    if constant is not None:
        description, rows = constant
        by_name["constant"] = _score_reference(judge, "constant", description, rows)
    metric = resolve(judge.metric, judge.comparison)
    return References(metric=metric.name, by_name=by_name)


def _outside_groups(learnable: Sequence[Case], cases: Sequence[Case], same: Mapping[str, str]) -> list[Case]:
    """Return the labelled cases of groups to which none of ``cases`` belongs."""
    groups = {same.get(case.group, case.group) for case in cases}
    outside: list[Case] = []
    for case in learnable:
        if case.labels and same.get(case.group, case.group) not in groups:
            outside.append(case)
    return outside


def _score_reference(judge: Judge, name: str, description: str, rows: Sequence[JudgedRow]) -> Reference:
    """Return a reference with its score by the judge's metric."""
    metric = resolve(judge.metric, judge.comparison)
    units = encode(judge.comparison, rows)
    return Reference(answer=description, rows=tuple(rows), score=score(units, metric))


def score_references_beside(
    judge: Judge, gold: Gold, cases: Sequence[Case], *, seed: int = 0, rated: Collection[str] = ()
) -> References:
    """Return the references on rows of a gold set that was not split.

    They learn from the other rows of the set, if these are at least half as many and have every class.
    """
    case_ids = {case.id for case in cases}
    learnable: list[Case] = []
    for case in gold.cases:
        if case.id not in case_ids and case.labels:
            learnable.append(case)
    are_enough = 2 * len(learnable) >= len(cases) and judge.answer.scale.check_part(learnable) is None
    same: dict[str, str] = {}
    for near in gold.near_copies:
        for group in near.groups:
            same[group] = near.groups[0]
    return score_references(
        judge,
        learnable if are_enough else (),
        cases,
        seed=seed,
        people=ceiling_of(gold, only=rated) if rated else None,
        same=same,
    )


def _answer_constantly(judge: Judge, training: Sequence[Case], cases: Sequence[Case]) -> _Answers:
    """Return the constant answer with the best score on labelled rows, the likeliest among equals."""
    labels: list[Value] = []
    for case in training:
        labels.extend(case.labels)
    constants = judge.answer.constants(labels)
    best_name = ""
    best_score = -math.inf
    for name, values_for in constants.items():
        rows = _make_rows(training, [values_for(case.inputs) for case in training])
        constant_score = objective_score(rows, judge.metric, judge.comparison)
        if constant_score > best_score + _EQUAL:
            best_name = name
            best_score = constant_score
    if not best_name:
        return {}
    values_for = constants[best_name]
    return {"constant": (best_name, [values_for(case.inputs) for case in cases])}


@dataclass(frozen=True, kw_only=True)
class _Learning:
    """The cases that learners learn from, and those that they answer."""

    training: Sequence[Case]
    cases: Sequence[Case]
    seed: int
    same: Mapping[str, str]  # group -> the group that it counts as

    def answers(self, judge: Judge) -> _Answers:
        """Return the answers of each learner; without training cases each fold is answered by the other folds."""
        if judge.answer.criteria:
            return self._answers_by_criterion(judge)
        # scikit-learn takes a second to load, and commands that score nothing do without it.
        from ..optimizers import learners

        units = learners.UnitTexts(judge, self._cases_in_joint_groups())
        units_of_cases = units.units_of_case[len(self.training) :]
        # the units of the training cases come first
        first_unit = units_of_cases[0].start if units_of_cases else len(units.case_of_unit)
        answered_units = list(range(first_unit, len(units.case_of_unit)))
        folds = [answered_units]
        if not self.training:  # all units are answered
            folds = learners.make_folds(units.groups(answered_units), _FOLDS, self.seed)

        predictors = {"words": learners.predict_by_words, "neighbours": learners.predict_by_neighbours}
        answers: _Answers = {}
        for name, predict in predictors.items():
            values: dict[int, Value] = {}  # by unit
            for fold in folds:
                labelled = self._labelled_units(units, fold)
                if labelled:
                    values.update(zip(fold, predict(units, labelled, fold), strict=True))
            if len(values) < len(answered_units):
                continue
            values_of_cases: list[Values] = []
            for units_of_case in units_of_cases:
                values_of_cases.append(tuple(values[unit] for unit in units_of_case))
            description = LEARNERS[name][judge.answer.scale.learned]
            answers[name] = (description, values_of_cases)
        return answers

    def _cases_in_joint_groups(self) -> list[Case]:
        """Return the training cases and the answered ones, near copies of a group in that group."""
        cases: list[Case] = []
        for case in list(self.training) + list(self.cases):
            cases.append(replace(case, group=self.same.get(case.group, case.group)))
        return cases

    def _labelled_units(self, units: "UnitTexts", fold: Sequence[int]) -> list[int]:
        """Return the labelled units that answer a fold: of training cases if there are any, else of other folds."""
        in_fold = frozenset(fold)
        labelled: list[int] = []
        for unit, label in enumerate(units.gold):
            if label is None or unit in in_fold:
                continue
            if not self.training or units.case_of_unit[unit] < len(self.training):
                labelled.append(unit)
        return labelled

    def _answers_by_criterion(self, judge: Judge) -> _Answers:
        """Return the answers of the learners that answer every criterion, joined over the criteria."""
        scale: Any = judge.answer.scale
        by_criterion: dict[str, _Answers] = {}
        for criterion in judge.answer.criteria:
            learning = replace(
                self,
                training=scale.cases(criterion, self.training),
                cases=scale.cases(criterion, self.cases),
            )
            by_criterion[criterion] = learning.answers(judge.of_criterion(criterion))
        answers: _Answers = {}
        for name in LEARNERS:
            if all(name in of_criterion for of_criterion in by_criterion.values()):
                answers[name] = _join_criteria(name, by_criterion)
        return answers


def _join_criteria(name: str, by_criterion: Mapping[str, _Answers]) -> tuple[str, list[Values]]:
    """Return the answers of one learner to all criteria: its descriptions, and a value for each criterion of a case."""
    descriptions: dict[str, None] = {}
    columns: list[list[Rated]] = []  # the values of each criterion
    for criterion, answers in by_criterion.items():
        description, values_of_cases = answers[name]
        descriptions[description] = None
        columns.append([Rated(criterion, value) for (value,) in values_of_cases])
    return "; ".join(descriptions), list(zip(*columns, strict=True))


def _make_rows(cases: Sequence[Case], values_of_cases: Sequence[Values]) -> list[JudgedRow]:
    """Return the gold of each case beside some values."""
    rows: list[JudgedRow] = []
    for case, values in zip(cases, values_of_cases, strict=True):
        gold = case.gold
        if gold is None:
            gold = (None,) * len(values)
        rows.append(JudgedRow(id=case.id, group=case.group, gold=gold, predicted=values))
    return rows


def _entry(answer: str, value: float, interval: Interval) -> dict[str, Any]:
    """Return a reference as a card has it."""
    return {"answer": answer, "score": value, "low": interval.low, "high": interval.high}
