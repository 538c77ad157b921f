"""Constraints as values, mapping a query to them, the score that they give a response, and the rows of gold.

Constraints are anchored in the query's words, compared with each other, and written as lines. A query that lacks what
it speaks of has no constraints of its own: it is refused, and the missing parts are named. What a response to it should
do is always the same (section 5.2), see :func:`constraints_of`. Constraint Score (section 4.2) = satisfied weight /
total weight x 10, where each constraint weighs what its priority says. One row of gold holds a query and any number of
responses to it: ``constraints`` judges the query; the judges of responses get a row for each of them, in its group.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, get_args

import dspy
import pydantic

from ...cases import Case, text_hash
from ...errors import JudgeError, UsageError
from ...evaluation.object_sets import ObjectSets
from ...signatures.faithqa import (
    Category,
    Constraint,
    CoreElements,
    ExtractConstraints,
    FactVerdict,
    Mark,
    MissingInputs,
)
from ...text.escaping import one_line
from ...text.terms import CJK, terms
from ...text.wording import normalised
from ..answers.base import Inputs, Places, Reading, Reply, reasoning_of
from ..answers.whole import ObjectSet
from ..state import Demo
from ..stepwise import Steps, Stepwise

Priority = Literal["mandatory", "important", "optional"]
"""How heavily a constraint weighs."""

Band = Literal["strong", "partial", "major"]
"""Strong adherence, partial satisfaction, major intent hallucination (section 4.2)."""

TOP: Final = 10.0
"""The score of a response that satisfies every constraint: Perfect."""
MARKS: Final[tuple[Mark, ...]] = get_args(Mark)

PRIORITY: Final[Mapping[Category, Priority]] = {
    "location": "mandatory",
    "time": "mandatory",
    "subject": "mandatory",
    "action": "mandatory",
    "qualifier": "important",
    "quantity": "important",
    "other": "optional",
}
"""Category -> the set that a constraint belongs to: C_m, C_i or C_o (section 4.1)."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """w_m, w_i and w_o of section 4.2. The paper does not give its figures; 3, 2 and 1 keep its order."""

    mandatory: float = 3.0
    important: float = 2.0
    optional: float = 1.0

    def __post_init__(self) -> None:
        """Refuse weights that no score can be computed from."""
        values = (self.mandatory, self.important, self.optional)
        if not (float("inf") > values[0] >= values[1] >= values[2] > 0):
            raise UsageError(
                f"the weights {values[0]:g}, {values[1]:g}, {values[2]:g} cannot be used",
                hint="give positive numbers, mandatory at least important, important at least optional",
            )

    def of(self, category: Category) -> float:
        """Return what a constraint of this category weighs."""
        return float(getattr(self, PRIORITY[category]))


DEFAULT_WEIGHTS: Final = Weights()


def constraint_score(
    categories: Sequence[Category], satisfied: Sequence[bool], weights: Weights = DEFAULT_WEIGHTS
) -> float:
    """Return W_s / W_t x 10 of one response, in [0, 10]."""
    if not categories or len(categories) != len(satisfied):
        raise ValueError(f"{len(categories)} constraints and {len(satisfied)} marks give no score")
    heavy = [weights.of(category) for category in categories]
    if all(satisfied):
        return TOP  # exactly, whatever the weights: Perfect is counted by it
    return TOP * sum(weight for weight, held in zip(heavy, satisfied, strict=True) if held) / sum(heavy)


def band(score: float) -> Band:
    """Return what a score says: 9 and more ``strong``, more than 7 ``partial``, 7 and less ``major``."""
    # The paper gives 7 to both lower bands; here it is ``major``.
    return "strong" if score >= 9 else "partial" if score > 7 else "major"


MISSING: Final = "missing"
"""The category of an item that is no constraint: its text names what the query lacks."""


class Item(pydantic.BaseModel):
    """What a query is mapped to: one of its constraints, or something that it speaks of and does not bring."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")

    category: Category | Literal["missing"]
    anchor: str = ""
    text: str


_LINE: Final = re.compile(r"^(?P<n>\d+)\. (?P<category>\w+): (?P<text>.*) \[(?P<anchor>[^\[\]]*)\]$")
_TEXT, _CATEGORY, _PRIORITY = 0.5, 0.3, 0.2  # what parts of two constraints weigh when they are compared


def similarity(gold: Item, other: Item) -> float:
    """Return how far two items are the same, in [0, 1]."""
    # Constraints: half for the words of their anchors (Dice), 0.3 for the category, 0.2 for the priority; 0 if their
    # anchors share no word. Missing parts are the same or not.
    if gold.category == MISSING or other.category == MISSING:
        return float(gold.category == other.category and normalised(gold.text) == normalised(other.text))
    one, two = set(terms(gold.anchor)), set(terms(other.anchor))
    shared = 2 * len(one & two) / (len(one) + len(two)) if one or two else float(gold.anchor == other.anchor)
    if not shared:
        return 0.0
    same = _CATEGORY * (gold.category == other.category)
    return _TEXT * shared + same + _PRIORITY * (PRIORITY[gold.category] == PRIORITY[other.category])


def anchored(constraints: Iterable[Constraint], query: str) -> list[Constraint]:
    """Return the constraints whose anchors stand in the query: in its words, or all of them in order, with gaps."""
    # Conditions are split ("not born in England or Portugal"), so an anchor may leave words out. Quotes, accents,
    # widths, capitals and spaces do not matter.
    words = _words(query)

    def stands(anchor: list[str]) -> bool:
        left = iter(words)
        return "".join(anchor) in "".join(words) or all(word in left for word in anchor)

    return [one for one in constraints if (anchor := _words(one.anchor)) and stands(anchor)]


def _words(text: str) -> list[str]:
    """Return the words of a text (of Chinese, the characters) without accents, widths and marks."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    bare = "".join(one for one in plain if not unicodedata.combining(one))
    return re.findall(rf"[{CJK}]|[^\W_{CJK}]+", re.sub("[’'ʼ`]", "", bare))


def missing_of(items: Iterable[Item]) -> list[str]:
    """Return what is missing."""
    return [item.text for item in items if item.category == MISSING]


def constraints_of(items: Sequence[Item]) -> tuple[Constraint, ...]:
    """Return what a response has to meet: the constraints, or, of a query that lacks parts, what section 5.2 asks."""
    # Such a response says what is missing, asks for it or declines, and makes nothing up.
    parts = " and the ".join(missing_of(items))
    if not parts:
        return tuple(Constraint.model_validate(item.model_dump()) for item in items)
    return (
        Constraint(category="subject", anchor="", text=f"the response says that the {parts} is missing"),
        Constraint(
            category="action", anchor="", text=f"it asks for the {parts}, or declines to go on without it"
        ),
        Constraint(category="other", anchor="", text=f"it does not make up the {parts}"),
    )


def line_of(constraint: Constraint) -> str:
    """Return a constraint on one line: ``time: it was published after 1980 [after 1980]``."""
    anchor = one_line(constraint.anchor).replace("[", "(").replace("]", ")")
    return f"{constraint.category}: {one_line(constraint.text)} [{anchor}]"


def lines_of(constraints: Iterable[Constraint]) -> str:
    """Return constraints as numbered lines."""
    return "\n".join(f"{number}. {line_of(one)}" for number, one in enumerate(constraints, 1))


def parse_lines(text: str) -> dict[int, Constraint]:
    """Return the constraints of numbered lines by their numbers; other lines, as users may write, are left out."""
    found: dict[int, Constraint] = {}
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        if match and match["category"] in PRIORITY:
            fields: dict[str, Any] = {name: match[name] for name in ("category", "anchor", "text")}
            found[int(match["n"])] = Constraint(**fields)
    return found


class _Asked(pydantic.BaseModel, extra="ignore"):
    query: str = pydantic.Field(min_length=1)
    group: str = ""


class _Answered(_Asked):
    response: str


class QueryRow(_Asked):
    """A query, and what it is mapped to."""

    constraints: list[Item] | None = None


class MarkRow(_Answered):
    """A response, the constraints of its query as lines, and the mark of each."""

    constraints: list[str] = pydantic.Field(min_length=1)
    marks: list[Mark | None] | None = None


class ScoreRow(_Answered):
    """A response and the score that people gave it, from 0 to 10."""

    score: float | None = pydantic.Field(default=None, ge=0, le=10, allow_inf_nan=False)


class FactRow(_Answered):
    """A response and whether its facts are right."""

    verdict: FactVerdict | None = None


class _Whole(QueryRow):
    responses: list[dict[str, Any]]
    ratings: dict[str, list[dict[str, Any]]] = pydantic.Field(default_factory=dict)

    @pydantic.model_validator(mode="after")
    def _same_number(self) -> "_Whole":
        for rater, given in self.ratings.items():
            if len(given) != len(self.responses):
                raise ValueError(f"{rater} rated {len(given)} of {len(self.responses)} responses")
        return self


@dataclass(frozen=True, kw_only=True)
class ForResponses:
    """Expands the row of a query into a row for each response."""

    # what the judge's rows hold of a response: ``marks``, ``score`` or ``verdict``
    field: Literal["marks", "score", "verdict"]

    def __call__(self, row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return the rows of the responses; the row itself if it holds a single response, or none."""
        if "responses" not in row:
            return (row,)
        whole = _Whole.model_validate(dict(row))
        shared: dict[str, Any] = {"query": whole.query, "group": whole.group or text_hash(whole.query)[:12]}
        if self.field == "marks":
            shared["constraints"] = [line_of(one) for one in constraints_of(whole.constraints or ())]
            if not shared["constraints"]:
                return ()
        rows = []
        for place, one in enumerate(whole.responses):
            own = {name: one[name] for name in ("response", self.field) if name in one}
            said = {rater: given[place].get(self.field) for rater, given in whole.ratings.items()}
            ratings = {rater: value for rater, value in said.items() if value is not None}
            rows.append({**shared, **own, **({"ratings": ratings} if ratings else {})})
        return rows


@dataclass(frozen=True)
class ConstraintSets(ObjectSets):
    """Sets of constraints, matched one to one by anchor, category and priority."""

    noun: str = "constraint set"

    def tally(self, values: Any, counts: Mapping[str, int]) -> Mapping[str, float]:
        """The same, and whether the query lacks something."""
        missing = missing_of(_item(one) for one in values[0] or ())
        return {**super().tally(values, counts), "incomplete": bool(missing)}


@dataclass(frozen=True, kw_only=True)
class ConstraintSet(ObjectSet):
    """The constraints of a query, or what it lacks; several samples combine to their medoid."""

    @cached_property
    def scale(self) -> ConstraintSets:
        """The constraints."""
        same = lambda one, two: similarity(_item(one), _item(two))  # noqa: E731
        return ConstraintSets(same=same, model=self.model, key=self.key)

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return the anchored constraints, or the missing parts; nothing without a list of either."""
        items, rejected = items_of(reply, str(inputs[self.unit]))
        if items is None:
            return Reading(values=(None,), problem="no list of constraints")
        value = self.scale.of_json([item.model_dump() for item in items])
        return Reading(values=(value,), reasoning=reasoning_of(reply), counts={"unanchored": rejected})

    def row_parts(self, values: Any) -> dict[str, Any]:
        """Return the constraints, and what is missing."""
        items = [_item(one) for one in values[0] or ()]
        return {**super().row_parts(values), "missing": missing_of(items)}


def _item(text: str) -> Item:
    return Item.model_validate_json(text)


def items_of(reply: Mapping[str, Any], query: str) -> tuple[list[Item] | None, int]:
    """Return what a reply maps a query to, and how many of its constraints were rejected."""
    # Missing parts end it: constraints that stand beside them are not looked at. ``None`` stands for a reply without a
    # list of constraints.
    missing = reply.get("missing")
    named = [str(part).strip().lower() for part in missing] if isinstance(missing, list | tuple) else []
    if any(named):
        return [Item(category=MISSING, text=part) for part in dict.fromkeys(named) if part], 0
    given = reply.get("constraints")
    if not isinstance(given, list | tuple):
        return None, 0
    try:
        read = [Constraint.model_validate(one, from_attributes=True) for one in given]
    except pydantic.ValidationError:
        return None, 0
    kept = anchored(read, query)
    return [Item(**one.model_dump()) for one in kept], len(read) - len(kept)


class MapBySteps(Stepwise):
    """Three calls, each tuned by itself: what is missing, the core elements, the constraints."""

    def __init__(self) -> None:
        super().__init__()
        self.missing = dspy.Predict(MissingInputs)
        self.core = dspy.Predict(CoreElements)
        self.extract = dspy.Predict(ExtractConstraints)

    def steps(self, **inputs: Any) -> Steps:
        """Stop at once if something is missing."""
        missing = (yield self.missing, inputs).get("missing")
        if missing:
            return dspy.Prediction(missing=missing, constraints=[])
        core = yield self.core, inputs
        elements = {name: list(core.get(name) or ()) for name in ("subject", "action", "context")}
        found = yield self.extract, {**inputs, **elements}
        return dspy.Prediction(missing=[], constraints=found.get("constraints"))


def demonstrations(case: Case) -> Mapping[str, Demo]:
    """Return a query's gold as a demonstration of the predictor that gives both fields."""
    if case.gold is None or case.gold[0] is None:
        raise JudgeError(f"case {case.id} has no gold constraints", hint="give labelled rows")
    items = [_item(one) for one in case.gold[0]]
    missing = missing_of(items)
    constraints = [] if missing else [item.model_dump() for item in items]
    return {"self": {**case.inputs, "missing": missing, "constraints": constraints}}
