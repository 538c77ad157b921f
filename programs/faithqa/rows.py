"""Rows of FAITHQA gold: a query with its constraints, and responses with their marks, scores and verdicts.

One row holds a query and any number of responses to it. ``constraints`` judges the query; the judges of responses
get a row for each of them, in the query's group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pydantic

from ...cases import text_hash
from ...signatures.faithqa import FactVerdict, Mark
from .constraints import Item, constraints_of, line_of


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
