"""References: what a score is worth is seen beside what needs no language model, and beside people.

``constant``, ``words`` and ``neighbours`` learn from train and dev of a split. Where there is no split, rows that a
judge's artifact has seen are learned from, and otherwise the rows themselves, in parts that keep groups whole. The
constant is then the best one on the rows themselves: this errs on the strict side.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias, get_args

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
from ..keeping.loaders import RecordedJudge
from ..optimizers.objective import row_of
from ..programs.judge import Judge

_Answered: TypeAlias = dict[str, tuple[str, list[Values]]]
"""Name of a reference -> how it answers, in words, and its values for each row."""
NAMES: Final = ("constant", "words", "neighbours")
_PARTS: Final = 5  # in which rows are learned from that nobody split
_EQUAL: Final = 1e-9
NOT_TOLD_APART: Final = "not told apart"
"""What is said of a judge and a reference that the paired test shows no difference of."""
_LOGISTIC: Final = "logistic regression on words and overlap"
LEARNERS: Final[Mapping[str, Mapping[Learned, str]]] = {
    "words": {"label": _LOGISTIC, "members": _LOGISTIC, "number": "ridge regression on words and overlap"},
    "neighbours": dict.fromkeys(get_args(Learned), "what the 5 nearest labelled rows say (BM25)"),
}


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One reference."""

    answer: str  # what it answers, or how, in words: ``always "hold"``
    rows: tuple[Row, ...]  # what it says of each row
    score: Score  # by the judge's own metric


@dataclass(frozen=True, kw_only=True)
class References:
    """All references on the same rows."""

    metric: str  # the name of the judge's own metric
    found: Mapping[str, Reference]  # those that there are, by name, logs too; no others for generators
    people: Ceiling | None = None  # each rater against the others; ``None`` unless several rated rows
    # the judge against references, by their names; nothing is said of a reference that it was not tested against
    tests: Mapping[str, Contrast] = field(default_factory=dict)

    @property
    def constant(self) -> tuple[str, tuple[Row, ...]] | None:
        """What the best constant answer is called, and its rows."""
        best = self.found.get("constant")
        return (best.answer, best.rows) if best else None

    def against(
        self, judge: Judge, name: str, rows: Sequence[Row], names: Collection[str], *, seed: int, level: float
    ) -> "References":
        """Return the references with paired tests of a judge's rows against those that are named, by Holm."""
        tests = []
        tested_names = [reference for reference in self.found if reference in names]
        for reference in tested_names:
            sides = (name, [rows]), (reference, [self.found[reference].rows])
            tests.append(contrast(*sides, judge.metric, judge.comparison, seed=seed, alpha=2.0 * level))
        return replace(self, tests=dict(zip(tested_names, corrected(tests), strict=True)))

    def to_card(self) -> dict[str, dict[str, Any] | None]:
        """Return name -> what answers, its score, interval and test, as JSON values; ``None`` where there is none."""
        card: dict[str, dict[str, Any] | None] = dict.fromkeys((*NAMES, "people"))
        for name, reference in self.found.items():
            entry = _entry(reference.answer, reference.score.value, reference.score.interval)
            if name in self.tests:
                test = self.tests[name]
                shown = NOT_TOLD_APART if test.verdict == "not shown to differ" else test.verdict
                entry |= {"judge_is": shown, "difference": test.difference, "p": test.p_holm}
            card[name] = entry
        if self.people is not None:
            mean = self.people.mean[self.metric]
            raters = f"{len(self.people.raters)} raters, each against the others"
            card[self.people.who] = _entry(raters, mean.value, mean.interval)
        return card

    def words(self, shown: str) -> tuple[str, ...]:
        """Return a line for each tested reference that the judge, named ``shown``, is not better than."""
        lines = []
        for name, test in self.tests.items():
            if test.verdict == "better":
                continue
            answer = name
            if name in LEARNERS:
                answer = (
                    f"{self.found[name].answer}, which learned from the same labels without a language model"
                )
            verdict = "worse than" if test.verdict == "worse" else "not told apart from"
            lines.append(
                f"{shown} is {verdict} {answer}: {test.metric} {test.values[0]:.3f} and {test.values[1]:.3f} "
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
    logs: Sequence[RecordedJudge] = (),
) -> References:
    """Answer labelled rows by what needs no language model, and by what logs say of them."""
    taken = {same.get(case.group, case.group) for case in asked}
    known = [case for case in learn if case.known and same.get(case.group, case.group) not in taken]
    answered = _constant(judge, known or asked, asked)
    if judge.answer.constants(()):
        answered |= _Learning(known=known, asked=asked, seed=seed, same=same).answered(judge)
    rows_of = {name: (answer, tuple(map(_row, asked, values))) for name, (answer, values) in answered.items()}
    for log in logs:
        rows_of[log.name] = ("verdicts given before", tuple(map(row_of, asked, log.asker().ask_all(asked))))
    metric, found = resolve(judge.metric, judge.comparison), {}
    for name, (answer, rows) in rows_of.items():
        scored = score_constant if name == "constant" else score
        found[name] = Reference(
            answer=answer, rows=rows, score=scored(encode(judge.comparison, rows), metric)
        )
    return References(metric=metric.name, found=found, people=people)


def references_beside(
    judge: Judge, gold: Gold, asked: Sequence[Case], *, seed: int = 0, rated: Collection[str] = ()
) -> References:
    """Return the references on rows of a gold set that was not split; they learn from its other rows, if those do."""
    ids = {case.id for case in asked}
    left = [case for case in gold.cases if case.id not in ids and case.known]
    enough = 2 * len(left) >= len(asked) and judge.answer.scale.check_part(left) is None
    return references(
        judge,
        left if enough else (),
        asked,
        seed=seed,
        people=ceiling_of(gold, only=rated) if rated else None,
        same={name: near.groups[0] for near in gold.near_copies for name in near.groups},
    )


def _constant(judge: Judge, known: Sequence[Case], asked: Sequence[Case]) -> _Answered:
    """Return the constant answer that is best on labelled rows, the likeliest of equals, and what it says of others."""
    constants = judge.answer.constants([value for case in known for value in case.known])
    best, most = "", -math.inf
    for words, values_for in constants.items():
        rows = [_row(case, values_for(case.inputs)) for case in known]
        reached = objective_score(rows, judge.metric, judge.comparison)
        if reached > most + _EQUAL:
            best, most = words, reached
    return {"constant": (best, [constants[best](case.inputs) for case in asked])} if best else {}


@dataclass(frozen=True, kw_only=True)
class _Learning:
    """What learners learn from, and what they are asked."""

    known: Sequence[Case]
    asked: Sequence[Case]
    seed: int
    same: Mapping[str, str]  # group -> the group that it counts as

    def answered(self, judge: Judge) -> _Answered:
        """Return what learners say of rows: where nothing else is known, of a part of them after the others."""
        if judge.answer.criteria:
            return self._answered_by_criterion(judge)
        # scikit-learn takes a second to load, and commands that score nothing do without
        from . import learners

        every = [
            replace(case, group=self.same.get(case.group, case.group)) for case in (*self.known, *self.asked)
        ]
        units, first = learners.Units(judge, every), len(self.known)  # ``first`` case that is asked about
        open_units = [unit for of_case in units.of_case[first:] for unit in of_case]
        parts = [open_units]
        if not self.known:
            folds = learners.folds(units.groups(open_units), _PARTS, self.seed)
            parts = [[open_units[number] for number in fold] for fold in folds]
        learn = {"words": learners.by_words, "neighbours": learners.by_neighbours}
        answered: _Answered = {}
        for name, words in LEARNERS.items():
            values: dict[int, Value] = {}
            for part in parts:
                apart = frozenset(part)
                labelled = [
                    unit
                    for unit, gold in enumerate(units.gold)
                    if gold is not None and unit not in apart and (not first or units.case_of[unit] < first)
                ]
                if labelled:
                    values |= zip(part, learn[name](units, labelled, part), strict=True)
            if len(values) == len(open_units):
                rows = [tuple(values[unit] for unit in of_case) for of_case in units.of_case[first:]]
                answered[name] = (words[judge.answer.scale.learned], rows)
        return answered

    def _answered_by_criterion(self, judge: Judge) -> _Answered:
        """Return what learners say of all criteria; only of learners that say something of each."""
        scale: Any = judge.answer.scale
        by_criterion: dict[str, _Answered] = {}
        for criterion in judge.answer.criteria:
            known, asked = (scale.cases(criterion, cases) for cases in (self.known, self.asked))
            alone = replace(self, known=known, asked=asked)
            by_criterion[criterion] = alone.answered(judge.of_criterion(criterion))
        answered: _Answered = {}
        for name in LEARNERS:
            if any(name not in learners for learners in by_criterion.values()):
                continue
            words = dict.fromkeys(learners[name][0] for learners in by_criterion.values())
            columns = [
                [Rated(criterion, value) for (value,) in learners[name][1]]
                for criterion, learners in by_criterion.items()
            ]
            answered[name] = ("; ".join(words), list(zip(*columns, strict=True)))
        return answered


def _row(case: Case, values: Values) -> Row:
    gold = case.gold if case.gold is not None else (None,) * len(values)
    return Row(id=case.id, group=case.group, gold=gold, predicted=values)


def _entry(answer: str, value: float, interval: Interval) -> dict[str, Any]:
    return {"answer": answer, "score": value, "low": interval.low, "high": interval.high}
