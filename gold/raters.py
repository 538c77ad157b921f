"""The labels of several raters: merged by explicit rules, what stays ambiguous (FECT, section 2.3), and agreement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

from ..cases import Case, Value, text_hash
from ..errors import GoldError, UsageError
from ..evaluation.rows import majority
from .files import Place
from .rows import AMBIGUITY, CATEGORIES, RESOLVED, Category, explained, label_field, label_keys

if TYPE_CHECKING:
    from ..evaluation.agreement import Ceiling
    from ..evaluation.scale import Scale
    from .data import GoldData

G = TypeVar("G", bound="GoldData")
Rule: TypeAlias = Literal["unanimous", "majority", "adjudicated", "reviewed", "median", "mean"]
"""``unanimous``: all raters who labelled the unit agree. ``majority``: more than half of them do.
``adjudicated``: the row's own gold label where it has one, else unanimous. ``reviewed``: the majority, and the row's
own gold label where there is none. ``median`` (the lower of two), ``mean``: of scores alone; a mean of whole scores is
the whole one next to it, the higher of two."""

RULES: tuple[Rule, ...] = get_args(Rule)
MODEL_RATERS = "second labelling"
"""What the raters of gold are called whose card says that a model labelled it."""


def rules_of(scale: Scale) -> tuple[Rule, ...]:
    """Return the rules that fit a kind of answer: the last two are of scores."""
    return RULES if scale.learned == "number" else RULES[:-2]


def merge(ratings: Mapping[str, Value | None], rule: Rule, gold: Value | None = None) -> Value | None:
    """Return the label of one unit by a rule; what was resolved is so by every rule."""
    if ratings.get(RESOLVED) is not None:
        return ratings[RESOLVED]
    labels = [label for label in ratings.values() if label is not None]
    if not labels or (rule == "adjudicated" and gold is not None):
        return gold
    if rule == "median":
        return sorted(labels)[(len(labels) - 1) // 2]
    if rule == "mean":
        mean = sum(labels) / len(labels)
        return math.floor(mean + 0.5) if all(isinstance(label, int) for label in labels) else mean
    if rule in ("majority", "reviewed"):
        most = majority(labels)
        return gold if most is None and rule == "reviewed" else most
    return labels[0] if len(set(labels)) == 1 else None


def unit_ratings(case: Case) -> tuple[dict[str, Value], ...]:
    """Return rater -> label for each unit of a case, of the raters who labelled it."""
    # ratings and gold were read with the row, and have a label, or None, for each of its units
    count = max(map(len, (*case.ratings.values(), case.gold or ())))
    return tuple(
        {rater: label for rater, labels in case.ratings.items() if (label := labels[unit]) is not None}
        for unit in range(count)
    )


def merged(case: Case, rule: Rule) -> Case:
    """Return a case with the gold labels that a rule finds, and its ratings as they were."""
    units = unit_ratings(case)
    own = case.gold or (None,) * len(units)
    gold = tuple(merge(ratings, rule, label) for ratings, label in zip(units, own, strict=True))
    return replace(case, gold=gold if any(label is not None for label in gold) else None)


def merge_gold(gold: G, rule: Rule) -> G:
    """Return a gold set after a rule, without rows that nobody labelled; its ambiguous units name a category."""
    answer, keys = gold.judge.answer, label_keys(gold.judge)
    if rule not in (fitting := rules_of(answer.scale)):
        hint = f"use one of {', '.join(fitting)}"
        raise UsageError(f"--merge {rule} is of scores, and {gold.judge.name} gives none", hint=hint)
    if not keys:
        hint = f"give its rows model the field {answer.field!r}"
        raise GoldError(f"the rows of judge {gold.judge.name!r} have no field for a label", hint=hint)
    rows, labelled, ambiguous = dict(gold.rows), list[Case](), list[Case]()
    for before in gold.cases:
        case, row = merged(before, rule), dict(gold.rows[before.id])
        case = explained(case, row) if case.reason else case
        units, categories = unit_ratings(case), ambiguity(row, case)
        if row.get("ratings"):  # the label is the rule's, in place of what the row had
            row = {key: value for key, value in row.items() if key not in keys}
            if case.gold is not None:
                row[keys[0]] = label_field(gold.judge, case.gold)
        labels = case.gold or (None,) * len(units)
        unsure = [bool(ratings) and label is None for ratings, label in zip(units, labels, strict=True)]
        written = row.get(AMBIGUITY) or [None] * len(units)
        if any(unsure) and not isinstance(written, str):
            each = [categories[at] if unsure[at] else written[at] for at in range(len(units))]
            row[AMBIGUITY] = each if answer.per_unit or answer.criteria else categories[0]
        rows[case.id] = row
        if case.known:
            labelled.append(case)
        elif any(units):
            ambiguous.append(case)
    if not labelled and not ambiguous:
        raise GoldError(
            f"none of the {len(gold.cases)} rows has a label or a rating",
            path=gold.source,
            hint="fill in the column rater:NAME of a sheet, or give rows with labels or ratings",
        )
    skipped = gold.skipped + len(gold.cases) - len(labelled)
    return replace(gold, cases=tuple(labelled), ambiguous=tuple(ambiguous), rows=rows, skipped=skipped)


def ambiguity(row: Mapping[str, Any], case: Case) -> tuple[Category, ...]:
    """Return the categories of a row's units: ``ambiguity`` holds one for all, or a list with one (or null) each."""
    count, written, place = len(unit_ratings(case)), row.get(AMBIGUITY), Place(case.source)
    if not count:
        return ()  # nobody labelled it yet
    each = written if isinstance(written, list | tuple) else [written] * count
    names: list[Any] = [name or "unknown" for name in each]
    if len(names) != count:
        hint = "write one category, or a list with one (or null) per unit"
        raise place.wrong(f"there are {len(names)} categories for {count} units", AMBIGUITY, hint=hint)
    for name in names:
        if name not in CATEGORIES:
            hint = f"use one of: {', '.join(CATEGORIES)}"
            raise place.wrong(f"unknown category {name!r}", AMBIGUITY, hint=hint)
    return tuple(names)


@dataclass(frozen=True, kw_only=True)
class Strata:
    """How many units there are, by how their raters agree. Each is in one of the five."""

    agreed: int  # units with two ratings or more, all the same
    single: int  # labelled units with one rating or none
    contested: int  # labelled units whose raters differ
    ambiguous: Mapping[Category, int]  # units without a label that somebody rated, by category
    unlabelled: int  # units that nobody labelled

    @property
    def labelled(self) -> int:
        """Units with a label."""
        return self.agreed + self.single + self.contested


def strata(gold: GoldData, rule: Rule = "adjudicated") -> Strata:
    """Sort the units of a gold set by how their raters agree, with the labels that a rule gives them."""
    counts, categories = Counter[str](), Counter[Category]()
    for case in (*gold.cases, *gold.ambiguous):
        ratings, why = unit_ratings(case), ambiguity(gold.rows.get(case.id, {}), case)
        for unit in range(len(gold.judge.answer.units(case.inputs))):
            own = ratings[unit] if ratings else {}
            label = merge(own, rule, case.gold[unit] if case.gold else None)
            if label is None and own:
                categories[why[unit]] += 1
            elif label is None:
                counts["unlabelled"] += 1
            elif len(set(own.values())) > 1:
                counts["contested"] += 1
            else:
                counts["single" if len(own) < 2 else "agreed"] += 1
    ambiguous = {category: categories[category] for category in CATEGORIES}
    sizes = {name: counts[name] for name in ("agreed", "single", "contested", "unlabelled")}
    return Strata(ambiguous=ambiguous, **sizes)


def rating_columns(cases: Iterable[Case]) -> tuple[dict[str, list[Value | None]], list[str]]:
    """Return rater -> labels, and the group, of every unit of the cases that somebody rated."""
    rated = [case for case in cases if case.ratings]
    raters = sorted({name for case in rated for name in case.ratings} - {RESOLVED})
    units = [(case.group, labels) for case in rated for labels in unit_ratings(case)]
    return {name: [labels.get(name) for _, labels in units] for name in raters}, [group for group, _ in units]


def rated_in_test(gold: GoldData, test: Collection[str]) -> frozenset[str]:
    """Return the ids of a test part, of ambiguous cases of its groups, and of a like share of groups without labels."""
    labelled = {case.group for case in gold.cases}
    groups = {case.group for case in gold.cases if case.id in test}
    share = len(test) / max(1, len(gold.cases))
    others = {case.group for case in gold.ambiguous} - labelled
    drawn = {group for group in others if int(text_hash(group)[:13], 16) / 16**13 < share}
    return frozenset((*test, *(case.id for case in gold.ambiguous if case.group in groups | drawn)))


def ceiling_of(gold: GoldData, *, only: Collection[str] | None = None) -> Ceiling | None:
    """Return how well each rater does against the rest, on all units that raters rated, with a label or without."""
    every = (*gold.cases, *gold.ambiguous)
    columns, groups = rating_columns(case for case in every if only is None or case.id in only)
    both = sum(sum(label is not None for label in unit) > 1 for unit in zip(*columns.values(), strict=True))
    if len(columns) < 2 or not both:
        return None
    from ..evaluation.agreement import human_ceiling  # numpy is not loaded to read gold

    judge = gold.judge
    ceiling = human_ceiling(columns, judge.metric, judge.comparison, groups=groups)
    return replace(ceiling, who=MODEL_RATERS) if gold.labelled_by_model else ceiling
