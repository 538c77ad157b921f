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
from ..evaluation.measured import Score, objective_score, score, score_constant
from ..evaluation.rows import Row
from ..evaluation.scale import Learned, resolve
from ..evaluation.units import encode
from ..gold.goldset import Gold
from ..gold.raters import ceiling_of
from ..keeping.logs import Log
from ..optimizers.objective import row_of
from ..programs.judge import Judge

if TYPE_CHECKING:
    from .learners import Units

_Answered: TypeAlias = dict[str, tuple[str, list[Values]]]
"""Name of a reference -> a description of its answer, and its values for each row."""
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
    rows: tuple[Row, ...]  # its answer to each row
    score: Score  # by the judge's own metric


@dataclass(frozen=True, kw_only=True)
class References:
    """All references on the same rows."""

    metric: str  # the name of the judge's own metric
    found: Mapping[str, Reference]  # by name, logs too; generators have logs alone
    people: Ceiling | None = None  # each rater against the others; ``None`` unless several rated rows
    # name -> the test of the judge against this reference; jurist prints nothing about an untested reference
    tests: Mapping[str, Contrast] = field(default_factory=dict)

    @property
    def constant(self) -> tuple[str, tuple[Row, ...]] | None:
        """The description of the best constant answer, and its rows; ``None`` without any."""
        reference = self.found.get("constant")
        if reference is None:
            return None
        return reference.answer, reference.rows

    def against(
        self, judge: Judge, name: str, rows: Sequence[Row], names: Collection[str], *, seed: int, level: float
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
        tested_names = [reference for reference in self.found if reference in names]
        tests: list[Contrast] = []
        for reference in tested_names:
            judge_side = (name, [rows])
            reference_side = (reference, [self.found[reference].rows])
            test = contrast(
                judge_side, reference_side, judge.metric, judge.comparison, seed=seed, alpha=2.0 * level
            )
            tests.append(test)
        return replace(self, tests=dict(zip(tested_names, corrected(tests), strict=True)))

    def to_card(self) -> dict[str, dict[str, Any] | None]:
        """Return name -> description, score, interval and test as JSON values; ``None`` for a missing reference."""
        card: dict[str, dict[str, Any] | None] = dict.fromkeys((*NAMES, "people"))
        for name, reference in self.found.items():
            entry = _entry(reference.answer, reference.score.value, reference.score.interval)
            if name in self.tests:
                test = self.tests[name]
                is_unknown = test.verdict == "not shown to differ"
                entry["judge_is"] = NOT_TOLD_APART if is_unknown else test.verdict
                entry["difference"] = test.difference
                entry["p"] = test.p_holm
            card[name] = entry
        if self.people is not None:
            mean = self.people.mean[self.metric]
            raters = f"{len(self.people.raters)} raters, each against the others"
            card[self.people.who] = _entry(raters, mean.value, mean.interval)
        return card

    def words(self, shown: str) -> tuple[str, ...]:
        """Return a line for each tested reference that the judge, called ``shown``, is not better than."""
        lines: list[str] = []
        for name, test in self.tests.items():
            if test.verdict == "better":
                continue
            answer = name
            if name in LEARNERS:
                description = self.found[name].answer
                answer = f"{description}, which learned from the same labels without a language model"
            verdict = "worse than" if test.verdict == "worse" else "not told apart from"
            judge_value, reference_value = test.values
            lines.append(
                f"{shown} is {verdict} {answer}: {test.metric} {judge_value:.3f} and {reference_value:.3f} "
                f"({test.difference:+.3f}, {test.interval_words}, p = {test.p_holm:.3g})"
            )
        return tuple(lines)


def references(
    judge: Judge,
    learn: Sequence[Case],
    asked: Sequence[Case],
    *,
    seed: int = 0,
    people: Ceiling | None = None,
    same: Mapping[str, str] = MappingProxyType({}),
    logs: Sequence[Log] = (),
) -> References:
    """Return the references on labelled rows: answers without a language model, logs, and people.

    Args:
        judge: whose metric scores them.
        learn: labelled cases to learn from; those of a group that is asked about are left out.
        asked: the cases to answer.
        seed: of the folds, where no case is left to learn from.
        people: the score of people on these rows.
        same: group -> group that it counts as, for near copies.
        logs: logs of verdicts on these rows.
    """
    asked_groups = {same.get(case.group, case.group) for case in asked}
    training: list[Case] = []
    for case in learn:
        if case.known and same.get(case.group, case.group) not in asked_groups:
            training.append(case)
    answered = _constant(judge, training or asked, asked)
    if judge.answer.constants(()):
        answered |= _Learning(training=training, asked=asked, seed=seed, same=same).answered(judge)

    descriptions: dict[str, str] = {}
    rows_of: dict[str, tuple[Row, ...]] = {}
    for name, (description, values_of_rows) in answered.items():
        descriptions[name] = description
        rows_of[name] = tuple(_row(case, values) for case, values in zip(asked, values_of_rows, strict=True))
    for log in logs:
        descriptions[log.name] = "verdicts given before"
        verdicts = log.verdicts(asked)
        rows_of[log.name] = tuple(
            row_of(case, verdict) for case, verdict in zip(asked, verdicts, strict=True)
        )

    metric = resolve(judge.metric, judge.comparison)
    found: dict[str, Reference] = {}
    for name, rows in rows_of.items():
        units = encode(judge.comparison, rows)
        reference_score = score_constant(units, metric) if name == "constant" else score(units, metric)
        found[name] = Reference(answer=descriptions[name], rows=rows, score=reference_score)
    return References(metric=metric.name, found=found, people=people)


def references_beside(
    judge: Judge, gold: Gold, asked: Sequence[Case], *, seed: int = 0, rated: Collection[str] = ()
) -> References:
    """Return the references on rows of a gold set that was not split.

    They learn from the other rows of the set, if these are at least half as many and have every class.
    """
    asked_ids = {case.id for case in asked}
    other_cases = [case for case in gold.cases if case.id not in asked_ids and case.known]
    enough = 2 * len(other_cases) >= len(asked) and judge.answer.scale.check_part(other_cases) is None
    same: dict[str, str] = {}
    for near in gold.near_copies:
        for group in near.groups:
            same[group] = near.groups[0]
    return references(
        judge,
        other_cases if enough else (),
        asked,
        seed=seed,
        people=ceiling_of(gold, only=rated) if rated else None,
        same=same,
    )


def _constant(judge: Judge, training: Sequence[Case], asked: Sequence[Case]) -> _Answered:
    """Return the constant answer with the best score on labelled rows, the likeliest among equals."""
    constants = judge.answer.constants([value for case in training for value in case.known])
    best_name = ""
    best_score = -math.inf
    for name, values_for in constants.items():
        rows = [_row(case, values_for(case.inputs)) for case in training]
        constant_score = objective_score(rows, judge.metric, judge.comparison)
        if constant_score > best_score + _EQUAL:
            best_name = name
            best_score = constant_score
    if not best_name:
        return {}
    return {"constant": (best_name, [constants[best_name](case.inputs) for case in asked])}


@dataclass(frozen=True, kw_only=True)
class _Learning:
    """The cases that learners learn from, and those that they answer."""

    training: Sequence[Case]
    asked: Sequence[Case]
    seed: int
    same: Mapping[str, str]  # group -> the group that it counts as

    def answered(self, judge: Judge) -> _Answered:
        """Return the answers of each learner; without training cases each fold is answered by the other folds."""
        if judge.answer.criteria:
            return self._answered_by_criterion(judge)
        # scikit-learn takes a second to load, and commands that score nothing do without it.
        from . import learners

        cases = [
            replace(case, group=self.same.get(case.group, case.group))
            for case in (*self.training, *self.asked)
        ]
        units = learners.Units(judge, cases)
        units_of_asked = units.of_case[len(self.training) :]
        asked_units = [unit for of_case in units_of_asked for unit in of_case]
        folds = [asked_units]
        if not self.training:
            positions_of_folds = learners.folds(units.groups(asked_units), _FOLDS, self.seed)
            folds = [[asked_units[position] for position in positions] for positions in positions_of_folds]

        predictors = {"words": learners.predict_by_words, "neighbours": learners.predict_by_neighbours}
        answered: _Answered = {}
        for name, predict in predictors.items():
            values: dict[int, Value] = {}  # by unit
            for fold in folds:
                labelled = self._labelled_units(units, fold)
                if labelled:
                    values.update(zip(fold, predict(units, labelled, fold), strict=True))
            if len(values) == len(asked_units):
                rows = [tuple(values[unit] for unit in of_case) for of_case in units_of_asked]
                description = LEARNERS[name][judge.answer.scale.learned]
                answered[name] = (description, rows)
        return answered

    def _labelled_units(self, units: "Units", fold: Sequence[int]) -> list[int]:
        """Return the labelled units that answer a fold: of training cases if there are any, else of other folds."""
        in_fold = frozenset(fold)
        labelled: list[int] = []
        for unit, label in enumerate(units.gold):
            if label is None or unit in in_fold:
                continue
            if not self.training or units.case_of[unit] < len(self.training):
                labelled.append(unit)
        return labelled

    def _answered_by_criterion(self, judge: Judge) -> _Answered:
        """Return the answers of the learners that answer every criterion, joined over the criteria."""
        scale: Any = judge.answer.scale
        by_criterion: dict[str, _Answered] = {}
        for criterion in judge.answer.criteria:
            learning = replace(
                self,
                training=scale.cases(criterion, self.training),
                asked=scale.cases(criterion, self.asked),
            )
            by_criterion[criterion] = learning.answered(judge.of_criterion(criterion))
        answered: _Answered = {}
        for name in LEARNERS:
            if any(name not in of_criterion for of_criterion in by_criterion.values()):
                continue
            descriptions: list[str] = []
            columns: list[list[Rated]] = []  # the values of each criterion
            for criterion, of_criterion in by_criterion.items():
                description, rows = of_criterion[name]
                descriptions.append(description)
                columns.append([Rated(criterion, value) for (value,) in rows])
            distinct_descriptions = dict.fromkeys(descriptions)
            answered[name] = ("; ".join(distinct_descriptions), list(zip(*columns, strict=True)))
        return answered


def _row(case: Case, values: Values) -> Row:
    """Return a case's gold beside some values."""
    gold = case.gold if case.gold is not None else (None,) * len(values)
    return Row(id=case.id, group=case.group, gold=gold, predicted=values)


def _entry(answer: str, value: float, interval: Interval) -> dict[str, Any]:
    """Return a reference as a card has it."""
    return {"answer": answer, "score": value, "low": interval.low, "high": interval.high}
