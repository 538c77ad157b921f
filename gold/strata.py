"""What people did not agree on, beside the score: units by how their raters agree, and how a judge voted on them.

The authors of FECT left out the claims on which people could not agree, and report how many and why (section
2.3, Table 1: sentiment and relation). Here such units keep their ratings and stay in no score either, and they
are counted with their category wherever a score is shown. This module knows no model and no file.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from ..cases import Case, Value, text_hash
from ..evaluation.ceiling import Ceiling, human_ceiling
from ..evaluation.rows import Row
from ..programs.answers.base import Answer
from .goldset import Gold
from .merging import Ambiguous, Rule, ambiguity, by_category, merge, unit_ratings
from .units import CATEGORIES, Category

_Kind: TypeAlias = Literal["agreed", "single", "contested", "ambiguous", "unlabelled"]


@dataclass(frozen=True, kw_only=True)
class Contested:
    """Units that have a label although their raters differ: they count in the score."""

    units: int = 0  # how many
    right: int = 0  # answers of the judge that are the label
    wrong: int = 0  # answers that are another
    unanswered: int = 0  # abstained or failed


@dataclass(frozen=True, kw_only=True)
class Strata:
    """Units by how their raters agree. Each unit is in one of the five; rows judged twice count twice in votes."""

    rule: Rule  # by which a unit has a label
    agreed: int  # units with two ratings or more, all the same
    single: int  # labelled units with one rating or none
    contested: Contested  # labelled units whose raters differ
    ambiguous: tuple[Ambiguous, ...] = field(repr=False)  # units without a label that somebody rated
    unlabelled: int = 0  # units that nobody labelled

    @property
    def by_category(self) -> dict[Category, int]:
        """How many units are ambiguous, by category."""
        return by_category(self.ambiguous)

    @property
    def judged(self) -> int:
        """Ambiguous units that the judge was asked about."""
        return sum(1 for one in self.ambiguous if one.votes or one.unanswered)

    def votes(self, category: Category | None = None) -> dict[Any, int]:
        """Return the judge's answers on ambiguous units, of one category or of all: label -> how many."""
        found: Counter[Any] = Counter()
        for one in self.ambiguous:
            if category in (None, one.category):
                found.update(one.votes)
        return dict(sorted(found.items()))

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types; ``units`` lists the ambiguous ones."""
        return {
            "rule": self.rule,
            "agreed": self.agreed,
            "single": self.single,
            "unlabelled": self.unlabelled,
            "contested": asdict(self.contested),
            "ambiguous": {
                "units": [{**asdict(one), "unit": one.unit + 1} for one in self.ambiguous],
                "total": len(self.ambiguous),
                "by_category": self.by_category,
                "judged": self.judged,
                "votes": self.votes(),
                "votes_by_category": {name: self.votes(name) for name in CATEGORIES},
                "unanswered": sum(one.unanswered for one in self.ambiguous),
            },
        }


def strata(
    gold: Gold,
    rows: Iterable[Row] = (),
    *,
    rule: Rule = "adjudicated",
    only: Collection[str] | None = None,
) -> Strata:
    """Sort the units of a gold set by how their raters agree."""
    answers: dict[str, list[Row]] = {}
    for row in rows:
        answers.setdefault(row.id, []).append(row)
    wanted = [case for case in gold.cases if only is None or case.id in only]
    found = [
        unit
        for case in (*wanted, *gold.ambiguous)
        for unit in _units(gold, case, rule, answers.get(case.id, ()))
    ]
    kinds = Counter(unit.kind for unit in found)
    contested = [unit for unit in found if unit.kind == "contested"]
    right = sum(unit.votes[unit.label] for unit in contested if unit.label is not None)
    return Strata(
        rule=rule,
        agreed=kinds["agreed"],
        single=kinds["single"],
        contested=Contested(
            units=len(contested),
            right=right,
            wrong=sum(unit.votes.total() for unit in contested) - right,
            unanswered=sum(unit.unanswered for unit in contested),
        ),
        ambiguous=tuple(_ambiguous(unit, gold.judge.answer) for unit in found if unit.kind == "ambiguous"),
        unlabelled=kinds["unlabelled"],
    )


@dataclass(frozen=True, kw_only=True)
class _Unit:
    case: Case
    unit: int
    label: Value | None
    ratings: Mapping[str, Value]
    category: Category
    votes: Counter[Any]
    unanswered: int

    @property
    def kind(self) -> _Kind:
        """Which of the strata it is in."""
        if self.label is None:
            return "ambiguous" if self.ratings else "unlabelled"
        if len(self.ratings) < 2:
            return "single"
        return "agreed" if len(set(self.ratings.values())) == 1 else "contested"


def _units(gold: Gold, case: Case, rule: Rule, rows: Sequence[Row]) -> Iterator[_Unit]:
    ratings = unit_ratings(case)
    why = ambiguity(gold.rows.get(case.id, {}), case)
    for unit in range(len(gold.judge.answer.units(case.inputs))):
        own = ratings[unit] if ratings else {}
        said = [row.predicted[unit] for row in rows]
        yield _Unit(
            case=case,
            unit=unit,
            label=merge(own, rule, case.gold[unit] if case.gold else None),
            ratings=own,
            category=why[unit] if why else "unknown",
            votes=Counter(label for label in said if label is not None),
            unanswered=said.count(None),
        )


def _ambiguous(unit: _Unit, answer: Answer) -> Ambiguous:
    return Ambiguous(
        case=unit.case.id,
        unit=unit.unit,
        labels={rater: answer.text(value) for rater, value in unit.ratings.items()},
        category=unit.category,
        source=unit.case.source,
        votes={answer.text(value): count for value, count in unit.votes.items()},
        unanswered=unit.unanswered,
    )


def rating_columns(cases: Iterable[Case]) -> tuple[dict[str, list[Value | None]], list[str]]:
    """Return rater -> labels, and the group, of every unit of the cases that somebody rated."""
    rated = [case for case in cases if case.ratings]
    raters = sorted({name for case in rated for name in case.ratings})
    units = [(case.group, labels) for case in rated for labels in unit_ratings(case)]
    return {name: [labels.get(name) for _, labels in units] for name in raters}, [group for group, _ in units]


def clear_units(gold: Gold) -> list[bool]:
    """Return of every unit of :func:`rating_columns` whether nobody names an ambiguity of it.

    FECT's last agreement is over those (section 2.4).
    """
    rated = [case for case in gold.cases if case.ratings]
    return [why == "unknown" for case in rated for why in ambiguity(gold.rows.get(case.id, {}), case)]


def rated_in_test(gold: Gold, test: Collection[str]) -> frozenset[str]:
    """Return the ids of a test part, and of the ambiguous cases that go with it, which no part of a split has.

    Those are the ones of its groups, and of groups without any label as large a share as the test is of the others.
    """
    labelled = {case.group for case in gold.cases}
    groups = {case.group for case in gold.cases if case.id in test}
    share = len(test) / max(1, len(gold.cases))
    drawn = {group for group in {case.group for case in gold.ambiguous} - labelled if _point(group) < share}
    return frozenset((*test, *(case.id for case in gold.ambiguous if case.group in groups | drawn)))


def _point(group: str) -> float:
    return int(text_hash(group)[:13], 16) / 16**13


def ceiling_of(gold: Gold, *, only: Collection[str] | None = None) -> Ceiling | None:
    """Return how well each rater does against the rest, on all units that raters rated.

    Those on which they differ count too, with a gold label or without: a judge's score does not have the latter, so
    the ceiling is of people's own work, and not of what they were told apart by.
    """
    every = (*gold.cases, *gold.ambiguous)
    columns, groups = rating_columns(case for case in every if only is None or case.id in only)
    both = sum(sum(label is not None for label in unit) > 1 for unit in zip(*columns.values(), strict=True))
    if len(columns) < 2 or not both:
        return None
    judge = gold.judge
    return human_ceiling(columns, judge.metric, judge.comparison, groups=groups)
