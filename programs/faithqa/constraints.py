"""Constraints as an answer, how they are compared and weighed, and the rows of gold.

Constraint Score (section 4.2) = satisfied weight / total weight x 10, where each constraint weighs what its priority
says. One row of gold holds a query and any number of responses to it: ``constraints`` judges the query; the judges of
responses get a row for each of them, in its group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Literal, get_args

import pydantic

from ...cases import Case, Values, text_hash
from ...errors import JudgeError
from ...evaluation.sets import ObjectSets
from ...signatures.faithqa_labels import Category, FactVerdict, Mark
from ...text.terms import terms
from ...text.turns import Text
from ...text.wording import normalised
from ..answers.base import Inputs, Places, Reply, reasoning_of
from ..answers.whole import ObjectSet, Score
from ..judge import Row
from ..verdicts import Verdict
from .scoring import (
    MISSING,
    PRIORITY,
    constraints_of,
    line_of,
    missing_of,
    stated_constraints,
    unanchored,
    weighted_score,
)

if TYPE_CHECKING:
    from ..state import Demo

MARKS: Final[tuple[Mark, ...]] = get_args(Mark)


WEIGHTS: Final[Mapping[str, float]] = {"mandatory": 3.0, "important": 2.0, "optional": 1.0}
"""w_m, w_i and w_o of section 4.2. The paper does not give its figures; these keep its order."""


def constraint_score(
    categories: Sequence[str], satisfied: Sequence[bool], weights: Mapping[str, float] = WEIGHTS
) -> float:
    """Return W_s / W_t x 10 of one response, in [0, 10]."""
    return weighted_score([weights[PRIORITY[category]] for category in categories], satisfied)


class Item(pydantic.BaseModel):
    """A part of a query: one of its constraints, or something that it speaks of and does not bring."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")

    category: Category | Literal["missing"]
    anchor: str = ""
    text: str


_TEXT, _CATEGORY, _PRIORITY = 0.5, 0.3, 0.2  # what parts of two constraints weigh when they are compared


def similarity(gold: Item, answered: Item) -> float:
    """Return the similarity of two items, in [0, 1]."""
    # Constraints: half for the words of their anchors (Dice), 0.3 for the category, 0.2 for the priority; 0 if their
    # anchors share no word. Missing parts are the same or not.
    if gold.category == MISSING or answered.category == MISSING:
        same_category = gold.category == answered.category
        return float(same_category and normalised(gold.text) == normalised(answered.text))
    shared = _shared_words(gold.anchor, answered.anchor)
    if not shared:
        return 0.0
    same = _CATEGORY * (gold.category == answered.category)
    return _TEXT * shared + same + _PRIORITY * (PRIORITY[gold.category] == PRIORITY[answered.category])


def _shared_words(first: str, second: str) -> float:
    """Return Dice's coefficient of the words of two anchors; of anchors without words, whether they are equal."""
    first_words, second_words = set(terms(first)), set(terms(second))
    if not first_words and not second_words:
        return float(first == second)
    return 2 * len(first_words & second_words) / (len(first_words) + len(second_words))


class _RowWithQuery(pydantic.BaseModel, extra="ignore"):
    query: Text = pydantic.Field(min_length=1)
    group: str = ""


class _RowWithResponse(_RowWithQuery):
    response: Text


class QueryRow(_RowWithQuery):
    """A query, and what it is mapped to."""

    constraints: list[Item] | None = None


class MarkRow(_RowWithResponse):
    """A response, the constraints of its query as lines, and the mark of each."""

    constraints: list[str] = pydantic.Field(min_length=1)
    marks: list[Mark | None] | None = None


class ScoreRow(_RowWithResponse):
    """A response and the score that people gave it, from 0 to 10."""

    score: float | None = pydantic.Field(default=None, ge=0, le=10, allow_inf_nan=False)


class FactRow(_RowWithResponse):
    """A response and whether its facts are right."""

    verdict: FactVerdict | None = None


class _RatedResponse(pydantic.BaseModel, extra="allow"):
    ratings: dict[str, dict[str, object]] = {}


class _RowWithResponses(QueryRow):
    responses: list[_RatedResponse]


def for_responses(row: Row, field: Literal["marks", "score", "verdict"]) -> Sequence[Row]:
    """Return a row for each response to a query, with one field of it; the row itself if it holds no list of them."""
    if "responses" not in row:
        return (row,)
    query_row = _RowWithResponses.model_validate(dict(row))
    shared_fields: dict[str, object] = {
        "query": query_row.query,
        "group": query_row.group or text_hash(query_row.query)[:12],
    }
    if field == "marks":
        lines = [line_of(part) for part in constraints_of(query_row.constraints or ())]
        if not lines:
            return ()
        shared_fields["constraints"] = lines
    rows: list[Row] = []
    for response in query_row.responses:
        response_fields = response.model_extra or {}
        response_row = dict(shared_fields)
        for name in ("response", field):
            if name in response_fields:
                response_row[name] = response_fields[name]
        ratings: dict[str, object] = {}
        for rater, fields in response.ratings.items():
            if fields.get(field) is not None:
                ratings[rater] = fields[field]
        if ratings:
            response_row["ratings"] = ratings
        rows.append(response_row)
    return rows


@dataclass(frozen=True)
class ConstraintSets(ObjectSets):
    """Sets of constraints, matched one to one by anchor, category and priority."""

    noun: str = "constraint set"

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Count the objects, and whether the query lacks something."""
        missing = missing_of(map(_item, values[0] or ()))
        return {**super().tally(values, counts), "incomplete": bool(missing)}


@dataclass(frozen=True, kw_only=True)
class ConstraintSet(ObjectSet):
    """The constraints of a query, or what it lacks; several samples combine to their medoid."""

    reader_modules: ClassVar[tuple[str, ...]] = ("programs.faithqa.scoring",)

    @cached_property
    def scale(self) -> ConstraintSets:
        """The constraints."""
        return ConstraintSets(same=self._alike, model=self.model, key=self.key)

    def _alike(self, first: str, second: str) -> float:
        return similarity(_item(first), _item(second))

    def parser_rule(self) -> dict[str, object]:
        """The list and its reader."""
        return {**super().parser_rule(), "reader": "constraints"}

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return the constraints, or the missing parts; nothing without a list of either.

        Constraints whose anchors are not in the query are counted, and named in the reasoning.
        """
        items = stated_constraints(reply)
        if items is None:
            return Verdict(values=(None,), error="no list of constraints")
        value = self.scale.of_json([vars(item) for item in items])
        lines = [reasoning_of(reply)]
        unanchored_constraints = unanchored(items, str(inputs[self.unit]))
        for part in unanchored_constraints:
            lines.append(f"the query does not say {part.anchor!r} ({part.text})")
        reasoning = "\n".join(line for line in lines if line)
        return Verdict(
            values=(value,), reasoning=reasoning, counts={"unanchored": len(unanchored_constraints)}
        )

    def row_parts(self, values: Values) -> dict[str, object]:
        """Return the constraints, and what is missing."""
        return {**super().row_parts(values), "missing": missing_of(map(_item, values[0] or ()))}


def _item(text: str) -> Item:
    return Item.model_validate_json(text)


@dataclass(frozen=True, kw_only=True)
class ScoreOfConstraints(Score):
    """A score that is computed from constraints; those whose anchors are not in the query are counted."""

    def parser_rule(self) -> dict[str, object]:
        """The rule of any score: exported files give the same value."""
        return super().parser_rule()

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return the score, with the number of its constraints whose anchors are not in the query."""
        verdict = super().read(reply, inputs, places)
        count = reply.get("unanchored")
        if not isinstance(count, int):
            return verdict
        return replace(verdict, counts={**verdict.counts, "unanchored": count})


def demonstrations(case: Case) -> "Mapping[str, Demo]":
    """Return a query's gold as a demonstration of the predictor that gives both fields."""
    if case.gold is None or case.gold[0] is None:
        raise JudgeError(f"case {case.id} has no gold constraints", hint="give labelled rows")
    items = [_item(text) for text in case.gold[0]]
    missing = missing_of(items)
    constraints = [] if missing else [item.model_dump() for item in items]
    return {"self": {**case.inputs, "missing": missing, "constraints": constraints}}
