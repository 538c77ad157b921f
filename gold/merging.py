"""From the labels of several raters to one: explicit rules, and what they leave ambiguous.

The raters' own labels are always kept. A unit on which a rule finds no label is *ambiguous*: it has no merged
label, and it is listed with its labels and, where people said why, with the category of the ambiguity (FECT,
section 2.3 and Table 1: sentiment, relation), so that it can be reported beside a score and not in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

from ..cases import Case, Value
from ..errors import GoldError
from ..evaluation.rows import majority
from .rows import label_keys
from .shared import GoldData
from .units import CATEGORIES, Category

if TYPE_CHECKING:
    from ..programs.answers.base import Answer

G = TypeVar("G", bound=GoldData)

Rule: TypeAlias = Literal["unanimous", "majority", "adjudicated", "reviewed"]
"""``unanimous``: all raters who labelled the unit agree. ``majority``: more than half of them do.
``adjudicated``: the row's own gold label where it has one, else unanimous. ``reviewed``: the majority, and the row's
own gold label where there is none."""

RULES: tuple[Rule, ...] = get_args(Rule)
_UNKNOWN: tuple[Category, ...] = ("unknown",)


@dataclass(frozen=True, kw_only=True)
class Ambiguous:
    """A unit on which a rule finds no label."""

    case: str  # the id of its case
    unit: int  # its place in the case, from 0
    labels: Mapping[str, Value]  # rater -> label, of the raters who labelled it
    category: Category = "unknown"  # why it is ambiguous, as people said
    source: str = ""  # ``file:line`` of its case
    votes: Mapping[Any, int] = field(default_factory=dict)  # label -> how many of a judge's rows say so
    unanswered: int = 0  # rows in which the judge abstained or failed on it


@dataclass(frozen=True, kw_only=True)
class Merged:
    """Cases after a rule."""

    rule: Rule  # which
    # in the order given, with their ratings. ``gold`` is ``None`` on ambiguous units, and ``None``
    # altogether where no unit of the case has a label, as for rows that nobody labelled
    cases: tuple[Case, ...] = field(repr=False)
    # the units without a merged label that raters did label, in order
    ambiguous: tuple[Ambiguous, ...] = field(repr=False)
    labelled: int  # units with a label

    @property
    def by_category(self) -> dict[Category, int]:
        """How many units are ambiguous, by category."""
        return by_category(self.ambiguous)


def by_category(units: Iterable[Ambiguous]) -> dict[Category, int]:
    """Return how many units are ambiguous, by category."""
    found = Counter(one.category for one in units)
    return {category: found[category] for category in CATEGORIES}


def merge(ratings: Mapping[str, Value | None], rule: Rule, gold: Value | None = None) -> Value | None:
    """Return the label of one unit by a rule."""
    given = [label for label in ratings.values() if label is not None]
    if not given or (rule == "adjudicated" and gold is not None):
        return gold
    if rule in ("majority", "reviewed"):
        most = majority(given)
        return gold if most is None and rule == "reviewed" else most
    return given[0] if len(set(given)) == 1 else None


def unit_ratings(case: Case) -> tuple[dict[str, Value], ...]:
    """Return rater -> label for each unit of a case, of the raters who labelled it."""
    given = [*case.ratings.values(), *([] if case.gold is None else [case.gold])]
    sizes = {len(labels) for labels in given}
    if len(sizes) > 1:
        raise GoldError(
            f"the raters labelled different numbers of units {sorted(sizes)}",
            path=case.source,
            field="ratings",
            hint="give one label, or null, per unit and rater",
        )
    return tuple(
        {rater: label for rater, labels in case.ratings.items() if (label := labels[unit]) is not None}
        for unit in range(max(sizes, default=0))
    )


def merge_cases(
    cases: Iterable[Case], rule: Rule, categories: Mapping[str, Sequence[Category]] | None = None
) -> Merged:
    """Merge the ratings of every case; the cases given are not changed."""
    found: list[Case] = []
    ambiguous: list[Ambiguous] = []
    labelled = 0
    for case in cases:
        units = unit_ratings(case)
        own = case.gold or (None,) * len(units)
        why = (categories or {}).get(case.id) or _UNKNOWN * len(units)
        gold = tuple(merge(ratings, rule, label) for ratings, label in zip(units, own, strict=True))
        for unit, (label, ratings) in enumerate(zip(gold, units, strict=True)):
            if label is None and ratings:
                one = Ambiguous(
                    case=case.id, unit=unit, labels=ratings, category=why[unit], source=case.source
                )
                ambiguous.append(one)
            labelled += label is not None
        found.append(replace(case, gold=gold if any(label is not None for label in gold) else None))
    return Merged(rule=rule, cases=tuple(found), ambiguous=tuple(ambiguous), labelled=labelled)


def merge_gold(gold: G, rule: Rule) -> tuple[G, Merged]:
    """Merge a whole gold set."""
    categories = {case.id: ambiguity(gold.rows.get(case.id, {}), case) for case in gold.cases}
    merged = merge_cases(gold.cases, rule, categories)
    keys = label_keys(gold.judge)
    rows = {
        case.id: _relabelled(gold.rows[case.id], case, keys, gold.judge.answer)
        for case in merged.cases
        if case.id in gold.rows
    }
    return replace(gold, cases=merged.cases, rows=rows), merged


def ambiguity(row: Mapping[str, Any], case: Case) -> tuple[Category, ...]:
    """Return the categories that a row's field ``ambiguity`` names, one per unit.

    The field holds one category for all units, or a list with one (or null) per unit; it may be missing.
    """
    count, given = len(unit_ratings(case)), row.get("ambiguity")
    if not count:
        return ()  # nobody labelled it yet
    names = list(given) if isinstance(given, list | tuple) else [given] * count
    if len(names) != count:
        raise GoldError(
            f"there are {len(names)} categories for {count} units",
            path=case.source,
            field="ambiguity",
            hint="write one category, or a list with one (or null) per unit",
        )
    found: list[Category] = []
    for name in names:
        known = next((category for category in CATEGORIES if category == (name or "unknown")), None)
        if known is None:
            raise GoldError(
                f"unknown category {name!r}",
                path=case.source,
                field="ambiguity",
                hint=f"use one of: {', '.join(CATEGORIES)}",
            )
        found.append(known)
    return tuple(found)


def named_ambiguity(
    rows: Mapping[str, Mapping[str, Any]], merged: Merged, *, several: bool
) -> dict[str, dict[str, Any]]:
    """Return rows whose field ``ambiguity`` names a category for every ambiguous unit.

    What people wrote stays; where nobody said why, it is ``unknown``.
    """
    result = {id_: dict(row) for id_, row in rows.items()}
    sizes = {case.id: len(unit_ratings(case)) for case in merged.cases}
    for one in merged.ambiguous:
        row = result.get(one.case)
        given = None if row is None else row.get("ambiguity")
        if row is None or (isinstance(given, str) and given):
            continue
        if not several:
            row["ambiguity"] = one.category
            continue
        row["ambiguity"] = list(given) if given else [None] * sizes[one.case]
        row["ambiguity"][one.unit] = one.category
    return result


def _relabelled(row: Mapping[str, Any], case: Case, keys: Sequence[str], answer: Answer) -> dict[str, Any]:
    """Return the row with the case's gold under the preferred name, so that it reads back as this case."""
    ratings = row.get("ratings")
    if not keys or not isinstance(ratings, Mapping) or not ratings:
        return dict(row)
    result = {key: value for key, value in row.items() if key not in keys}
    if case.gold is not None:
        said = [answer.to_json(value) for value in case.gold]
        result[keys[0]] = said if answer.per_unit else said[0]
    return result
