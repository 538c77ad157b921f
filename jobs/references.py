"""References: what a score is worth is seen beside what needs no language model, and beside people.

``constant``, ``words`` and ``neighbours`` learn from train and dev of a split. Where there is no split, rows that a
judge's artifact has seen are learned from, and otherwise the rows themselves, in parts that keep groups whole. The
constant is then the best one on the rows themselves: this errs on the strict side.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, get_args

from ..cases import Case, Value, Values
from ..evaluation.agreement import Ceiling
from ..evaluation.criteria import Rated
from ..evaluation.intervals import Interval
from ..evaluation.measured import Score, objective_score, score
from ..evaluation.rows import Row
from ..evaluation.scale import Learned, resolve
from ..evaluation.units import encode
from ..gold.goldset import Gold
from ..gold.raters import ceiling_of
from ..keeping.recorded import RecordedJudge
from ..optimizers.objective import row_of
from ..programs.judge import Judge

NAMES: Final = ("constant", "words", "neighbours")
_PARTS: Final = 5  # in which rows are learned from that nobody split
_EQUAL: Final = 1e-9
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

    @property
    def constant(self) -> tuple[str, tuple[Row, ...]] | None:
        """What the best constant answer is called, and its rows."""
        best = self.found.get("constant")
        return (best.answer, best.rows) if best else None

    def to_card(self) -> dict[str, dict[str, Any] | None]:
        """Return name -> what answers, score and its interval, as JSON values; ``None`` where there is no such."""
        card: dict[str, dict[str, Any] | None] = dict.fromkeys((*NAMES, "people"))
        for name, one in self.found.items():
            card[name] = _entry(one.answer, one.score.value, one.score.interval)
        if self.people is not None:
            mean = self.people.mean[self.metric]
            raters = f"{len(self.people.raters)} raters, each against the others"
            card["people"] = _entry(raters, mean.value, mean.interval)
        return card


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
    said = _constant(judge, known or asked, asked)
    if judge.answer.constants(()):
        said |= _Learning(known=known, asked=asked, seed=seed, same=same).of(judge)
    metric = resolve(judge.metric, judge.comparison)
    rows_of = {name: (answer, tuple(map(_row, asked, values))) for name, (answer, values) in said.items()}
    for log in logs:
        rows_of[log.name] = ("verdicts given before", tuple(map(row_of, asked, log.asker().ask_all(asked))))
    found = {}
    for name, (answer, rows) in rows_of.items():
        found[name] = Reference(answer=answer, rows=rows, score=score(encode(judge.comparison, rows), metric))
    return References(metric=metric.name, found=found, people=people)


def references_beside(
    judge: Judge,
    gold: Gold,
    asked: Sequence[Case],
    *,
    seed: int = 0,
    rated: Collection[str] = (),
) -> References:
    """Do the same for rows of a gold set that were not split."""
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


def _constant(
    judge: Judge, known: Sequence[Case], asked: Sequence[Case]
) -> dict[str, tuple[str, list[Values]]]:
    """Return the constant answer that is best on labelled rows, the likeliest of equals, and what it says of others."""
    given = judge.answer.constants([value for case in known for value in case.known])
    best, most = "", -math.inf
    for words, value in given.items():
        rows = [_row(case, value(case.inputs)) for case in known]
        reached = objective_score(rows, judge.metric, judge.comparison)
        if reached > most + _EQUAL:
            best, most = words, reached
    return {"constant": (best, [given[best](case.inputs) for case in asked])} if best else {}


@dataclass(frozen=True, kw_only=True)
class _Learning:
    """What learners learn from, and what they are asked."""

    known: Sequence[Case]
    asked: Sequence[Case]
    seed: int
    same: Mapping[str, str]  # group -> the group that it counts as

    def of_criteria(self, judge: Judge) -> dict[str, tuple[str, list[Values]]]:
        """Return what learners say of each criterion, together; only ways that say something of every criterion."""
        scale: Any = judge.answer.scale
        each: dict[str, dict[str, tuple[str, list[Values]]]] = {}
        for name in judge.answer.criteria:
            known, asked = (scale.cases(name, cases) for cases in (self.known, self.asked))
            each[name] = replace(self, known=known, asked=asked).of(judge.of_criterion(name))
        found: dict[str, tuple[str, list[Values]]] = {}
        for way in LEARNERS:
            if all(way in one for one in each.values()):
                columns = [[Rated(name, value) for (value,) in one[way][1]] for name, one in each.items()]
                words = list(dict.fromkeys(one[way][0] for one in each.values()))
                found[way] = ("; ".join(words), list(zip(*columns, strict=True)))
        return found

    def of(self, judge: Judge) -> dict[str, tuple[str, list[Values]]]:
        """Return what learners say of rows: where nothing else is known, of a part of them after the others."""
        if judge.answer.criteria:
            return self.of_criteria(judge)
        from . import (
            learners,
        )  # scikit-learn takes a second to load, and commands that score nothing do without

        every = [
            replace(case, group=self.same.get(case.group, case.group)) for case in (*self.known, *self.asked)
        ]
        units, first = learners.Units(judge, every), len(self.known)
        open_ = [place for case in units.place[first:] for place in case]
        parts = [open_]
        if not self.known:
            groups = units.groups(open_)
            parts = [[open_[one] for one in part] for part in learners.folds(groups, _PARTS, self.seed)]
        ways = {"words": learners.by_words, "neighbours": learners.by_neighbours}
        found: dict[str, tuple[str, list[Values]]] = {}
        for name in LEARNERS:
            said: dict[int, Value] = {}
            for part in parts:
                apart = frozenset(part)
                labelled = [
                    place
                    for place, value in enumerate(units.gold)
                    if value is not None and place not in apart and (not first or units.case[place] < first)
                ]
                if labelled:
                    said |= zip(part, ways[name](units, labelled, part), strict=True)
            if len(said) == len(open_):
                values = [tuple(said[place] for place in places) for places in units.place[first:]]
                found[name] = (LEARNERS[name][judge.answer.scale.learned], values)
        return found


def _row(case: Case, values: Values) -> Row:
    gold = case.gold if case.gold is not None else (None,) * len(values)
    return Row(id=case.id, group=case.group, gold=gold, predicted=values)


def _entry(answer: str, value: float, interval: Interval) -> dict[str, Any]:
    return {"answer": answer, "score": value, "low": interval.low, "high": interval.high}
