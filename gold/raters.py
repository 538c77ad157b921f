"""The labels of several raters: merged by explicit rules, what stays ambiguous (FECT, section 2.3), and agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..cases import Case, Value, text_hash
from ..errors import GoldError, UsageError, plural
from ..evaluation.votes import RULES, Rule, majority, mean_of_ratings
from .data import WITH_DIFFERENCE, WITHOUT_LABEL, GoldData
from .files import Place, Row
from .rows import AMBIGUITY, CATEGORIES, RESOLVED, Category, label_field, label_keys, with_reasons

if TYPE_CHECKING:
    from ..evaluation.agreement import Ceiling
    from ..evaluation.scale import Scale
    from ..programs.judge import Judge

G = TypeVar("G", bound="GoldData")
MODEL_RATERS = "second labelling"
"""The name of the raters of gold whose card says that a model labelled it."""


def rules_of(scale: Scale) -> tuple[Rule, ...]:
    """Return the rules that fit a scale; ``median`` and ``mean`` need scores."""
    if scale.learned == "number":
        return RULES
    rules = []
    for rule in RULES:
        if rule not in ("median", "mean"):
            rules.append(rule)
    return tuple(rules)


def default_rule(scale: Scale) -> Rule:
    """Return the rule that merges ratings where nobody names one: the mean of scores, else the majority."""
    if scale.learned == "number":
        return "mean"
    return "majority"


def describe_raters(gold: GoldData) -> str:
    """Return a line on merged labels: the rule, the raters, how often all of them agree, and what stays ambiguous."""
    rated_cases = [case for case in gold.cases + gold.ambiguous if case.ratings]
    raters = list(rating_columns(rated_cases)[0])
    agreed_units = 0
    shared_units = 0
    for case in rated_cases:
        for ratings in unit_ratings(case):
            labels = [label for rater, label in ratings.items() if rater != RESOLVED]
            if len(labels) > 1:
                shared_units += 1
                agreed_units += len(set(labels)) == 1
    words = f"labels are the {gold.rule} of {plural(len(raters), 'rater')} ({', '.join(raters)})"
    if gold.rule not in ("majority", "mean", "median"):
        words = f"labels of {plural(len(raters), 'rater')} ({', '.join(raters)}) are merged by the rule {gold.rule}"
    if shared_units:
        words += f"; all agree on {agreed_units} of {plural(shared_units, 'unit')} with two ratings or more"
    if gold.ambiguous:
        words += f"; {plural(len(gold.ambiguous), 'case')} without a {gold.rule} label left out as ambiguous"
    return words


def merge(ratings: Mapping[str, Value | None], rule: Rule, gold: Value | None = None) -> Value | None:
    """Return the label of one unit by a rule; a resolved label wins under every rule."""
    if ratings.get(RESOLVED) is not None:
        return ratings[RESOLVED]
    labels = [label for label in ratings.values() if label is not None]
    if not labels:
        return gold
    if rule == "adjudicated" and gold is not None:
        return gold
    if rule == "median":
        return sorted(labels)[(len(labels) - 1) // 2]
    if rule == "mean":
        return mean_of_ratings(labels)
    if rule == "majority":
        return majority(labels)
    if rule == "reviewed":
        majority_label = majority(labels)
        if majority_label is None:
            return gold
        return majority_label
    if len(set(labels)) == 1:
        return labels[0]
    return None


def unit_ratings(case: Case) -> tuple[dict[str, Value], ...]:
    """Return rater -> label for each unit of a case, without raters who skipped the unit."""
    # Each rater, and gold, has one label or None for each unit: the reader of rows checked this.
    unit_count = len(case.gold or ())
    for labels in case.ratings.values():
        unit_count = max(unit_count, len(labels))
    ratings: tuple[dict[str, Value], ...] = tuple({} for _ in range(unit_count))
    for rater, labels in case.ratings.items():
        for unit, label in enumerate(labels):
            if label is not None:
                ratings[unit][rater] = label
    return ratings


def merge_case(case: Case, rule: Rule) -> Case:
    """Return a case whose gold labels come from a rule; its ratings stay."""
    ratings_of_units = unit_ratings(case)
    gold_labels = case.gold or (None,) * len(ratings_of_units)
    labels: list[Value | None] = []
    for ratings, gold_label in zip(ratings_of_units, gold_labels, strict=True):
        labels.append(merge(ratings, rule, gold_label))
    if all(label is None for label in labels):
        return replace(case, gold=None)
    return replace(case, gold=tuple(labels))


def merge_gold(gold: G, rule: Rule) -> G:
    """Return a gold set with labels by a rule: labelled cases, and cases whose raters leave every unit open.

    Rows that nobody labelled are left out and counted as skipped. A unit without a label names its category of
    ambiguity.
    """
    judge = gold.judge
    fitting_rules = rules_of(judge.answer.scale)
    if rule not in fitting_rules:
        hint = f"use one of {', '.join(fitting_rules)}"
        raise UsageError(f"--merge {rule} is of scores, and {judge.name} gives none", hint=hint)
    if not label_keys(judge):
        hint = f"give its rows model the field {judge.answer.field!r}"
        raise GoldError(f"the rows of judge {judge.name!r} have no field for a label", hint=hint)

    labelled: list[Case] = []
    ambiguous: list[Case] = []
    for gold_case in gold.cases:
        case = merge_case(gold_case, rule)
        if case.reason:
            case = with_reasons(case, case.row)
        case = replace(case, row=_merged_row(judge, case))
        if case.labels:
            labelled.append(case)
        elif any(unit_ratings(case)):
            ambiguous.append(case)
    if not labelled and not ambiguous:
        raise GoldError(
            f"none of the {len(gold.cases)} rows has a label or a rating",
            path=gold.source,
            hint="fill in the column rater:NAME of a sheet, or give rows with labels or ratings",
        )
    skipped_by = Counter(gold.skipped_by)
    skipped_by[WITHOUT_LABEL] += len(gold.cases) - len(labelled) - len(ambiguous)
    skipped_by[WITH_DIFFERENCE] += len(ambiguous)
    return replace(
        gold,
        cases=tuple(labelled),
        ambiguous=tuple(ambiguous),
        skipped_by=dict(+skipped_by),
        rule=rule,
    )


def _merged_row(judge: Judge, case: Case) -> Row:
    """Return the row of a merged case: its label is the rule's, and units that stay open have a category."""
    row = case.row
    categories = ambiguity(row, case)  # of the row as it was read: an unknown category names its line
    merged_row = dict(row)
    if row.get("ratings"):
        for key in label_keys(judge):
            merged_row.pop(key, None)
        if case.gold is not None:
            merged_row[label_keys(judge)[0]] = label_field(judge, case.gold)

    ratings_of_units = unit_ratings(case)
    labels = case.gold or (None,) * len(ratings_of_units)
    open_units = []
    for unit, (ratings, label) in enumerate(zip(ratings_of_units, labels, strict=True)):
        if ratings and label is None:
            open_units.append(unit)
    row_categories = row.get(AMBIGUITY) or [None] * len(ratings_of_units)
    if not open_units or isinstance(row_categories, str):
        return merged_row
    if judge.answer.per_unit or judge.answer.criteria:
        unit_categories = list(row_categories)
        for unit in open_units:
            unit_categories[unit] = categories[unit]
        merged_row[AMBIGUITY] = unit_categories
    else:
        merged_row[AMBIGUITY] = categories[0]
    return merged_row


def ambiguity(row: Mapping[str, object], case: Case) -> tuple[Category, ...]:
    """Return the category of each unit; ``ambiguity`` in a row is one for all units, or a list with one (or null) each.

    Raises:
        GoldError: the list is too short or too long, or a category is unknown.
    """
    unit_count = len(unit_ratings(case))
    if not unit_count:
        return ()  # nobody labelled it yet
    field = row.get(AMBIGUITY)
    categories = [field] * unit_count
    if isinstance(field, list | tuple):
        categories = list(field)
    names: list[Any] = [category or "unknown" for category in categories]

    place = Place(case.source)
    if len(names) != unit_count:
        hint = "write one category, or a list with one (or null) per unit"
        raise place.wrong(f"there are {len(names)} categories for {unit_count} units", AMBIGUITY, hint=hint)
    for name in names:
        if name not in CATEGORIES:
            hint = f"use one of: {', '.join(CATEGORIES)}"
            raise place.wrong(f"unknown category {name!r}", AMBIGUITY, hint=hint)
    return tuple(names)


@dataclass(frozen=True, kw_only=True)
class Strata:
    """Counts of units by the agreement of their raters. Each unit is in one of the five."""

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
    """Count the units of a gold set by the agreement of their raters, with the labels of a rule."""
    counts = Counter[str]()
    open_categories = Counter[Category]()
    for case in gold.cases + gold.ambiguous:
        unit_count = len(gold.judge.answer.units(case.inputs))
        ratings_of_units = unit_ratings(case) or ({},) * unit_count
        gold_labels = case.gold or (None,) * unit_count
        categories = ambiguity(case.row, case)
        for unit in range(unit_count):
            ratings = ratings_of_units[unit]
            label = merge(ratings, rule, gold_labels[unit])
            if label is None and ratings:
                open_categories[categories[unit]] += 1
            else:
                counts[_stratum(ratings, label)] += 1
    return Strata(
        agreed=counts["agreed"],
        single=counts["single"],
        contested=counts["contested"],
        unlabelled=counts["unlabelled"],
        ambiguous={category: open_categories[category] for category in CATEGORIES},
    )


def _stratum(ratings: Mapping[str, Value], label: Value | None) -> str:
    """Return the field of :class:`Strata` that counts a unit, of those that are not ambiguous."""
    if label is None:
        return "unlabelled"
    if len(set(ratings.values())) > 1:
        return "contested"
    if len(ratings) > 1:
        return "agreed"
    return "single"


def rating_columns(
    cases: Iterable[Case], *, without: Collection[Category] = ()
) -> tuple[dict[str, list[Value | None]], list[str]]:
    """Return rater -> label of each rated unit (``None``: skipped), and the group of each of these units.

    Units of a category of ambiguity that ``without`` names are left out.
    """
    raters: set[str] = set()
    groups: list[str] = []
    ratings_of_units: list[dict[str, Value]] = []
    for case in cases:
        if case.ratings:
            raters.update(case.ratings)
            categories = ambiguity(case.row, case)
            for ratings, category in zip(unit_ratings(case), categories, strict=True):
                if category not in without:
                    groups.append(case.group)
                    ratings_of_units.append(ratings)
    columns: dict[str, list[Value | None]] = {}
    for rater in sorted(raters - {RESOLVED}):
        columns[rater] = [ratings.get(rater) for ratings in ratings_of_units]
    return columns, groups


def rated_in_test(gold: GoldData, test_ids: Collection[str]) -> frozenset[str]:
    """Return the ids of a test part, and of the ambiguous cases that belong to it.

    Ambiguous cases belong to the part of their group. Of groups without any label, which no split holds, a share as
    large as the test part is drawn by the hash of their names.
    """
    labelled_groups: set[str] = set()
    test_groups: set[str] = set()
    for case in gold.cases:
        labelled_groups.add(case.group)
        if case.id in test_ids:
            test_groups.add(case.group)
    test_share = len(test_ids) / max(1, len(gold.cases))
    ids = set(test_ids)
    for case in gold.ambiguous:
        if case.group in labelled_groups:
            in_test = case.group in test_groups
        else:
            in_test = int(text_hash(case.group)[:13], 16) / 16**13 < test_share
        if in_test:
            ids.add(case.id)
    return frozenset(ids)


def ceiling_of(gold: GoldData, *, only: Collection[str] | None = None) -> Ceiling | None:
    """Return the score of each rater against the others, on all rated units; ``None`` if no unit has two ratings.

    Args:
        gold: the gold set; its ambiguous cases count too.
        only: ids of the cases that count; default: all.
    """
    cases = []
    for case in gold.cases + gold.ambiguous:
        if only is None or case.id in only:
            cases.append(case)
    columns, groups = rating_columns(cases)
    if not share_a_unit(columns):
        return None
    from ..evaluation.agreement import human_ceiling  # numpy is not loaded to read gold

    judge = gold.judge
    return name_raters(
        human_ceiling(columns, judge.metric, judge.comparison, groups=groups, rule=gold.rule), gold
    )


def name_raters(ceiling: Ceiling, gold: GoldData) -> Ceiling:
    """Return a ceiling that says who the raters are: people, or a model by the card of the gold."""
    if gold.labelled_by_model:
        return replace(ceiling, who=MODEL_RATERS)
    return ceiling


def share_a_unit(columns: Mapping[str, Sequence[Value | None]]) -> bool:
    """True where some unit has labels of two raters."""
    labels_of_units = zip(*columns.values(), strict=True)
    return any(len(labels) - labels.count(None) > 1 for labels in labels_of_units)
