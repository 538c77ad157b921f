"""Mapping a query to its constraints (section 4.1): in one call, or step by step.

What comes back is refused where no words of the query support it: such constraints are left out and counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dspy
import pydantic

from ...cases import Case
from ...errors import JudgeError
from ...evaluation.object_sets import ObjectSets
from ...signatures.faithqa import Constraint, CoreElements, ExtractConstraints, MissingInputs
from ..answers.base import Inputs, Places, Reading, Reply, reasoning_of
from ..answers.whole import ObjectSet
from ..state import Demo
from ..stepwise import Steps, Stepwise
from .constraints import MISSING, Item, anchored, missing_of, similarity


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
