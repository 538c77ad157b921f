"""Rows of FAITHQA gold: a query with its constraints, and responses with their marks and scores.

One row holds a query and any number of responses to it. ``constraints`` judges the query; the judges of responses
get a row for each of them, in the query's group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pydantic

from ...cases import Case, Values, text_hash
from ...signatures.faithqa import FactVerdict, Mark
from .constraints import Item, constraints_of, line_of

__all__ = ["FactRow", "ForResponses", "MarkRow", "QueryRow", "ScoreRow", "case_of"]


class QueryRow(pydantic.BaseModel):
    """A query, what it is mapped to, and responses to it."""

    model_config = pydantic.ConfigDict(extra="ignore")

    query: str = pydantic.Field(min_length=1)
    constraints: list[Item] | None = None
    group: str = ""


class _ResponseRow(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="ignore")

    query: str = pydantic.Field(min_length=1)
    response: str = ""
    group: str = ""


class MarkRow(_ResponseRow):
    """A response, the constraints of its query as lines, and the mark of each."""

    constraints: list[str] = pydantic.Field(min_length=1)
    marks: list[Mark | None] | None = None

    @pydantic.model_validator(mode="after")
    def _same_length(self) -> MarkRow:
        if self.marks is not None and len(self.marks) != len(self.constraints):
            raise ValueError(f"marks has {len(self.marks)} entries for {len(self.constraints)} constraints")
        return self


class ScoreRow(_ResponseRow):
    """A response and the score that people gave it, from 0 to 10."""

    score: float | None = pydantic.Field(default=None, ge=0, le=10, allow_inf_nan=False)


class FactRow(_ResponseRow):
    """A response and whether its facts are right."""

    verdict: FactVerdict | None = None


def case_of(field: str, inputs: Sequence[str], values: Callable[[Any], Values]) -> Callable[[Any], Case]:
    """Return what makes a case of a row: its inputs, its group, and as gold the values of what is in ``field``."""

    def make(row: Any) -> Case:
        said = getattr(row, field)
        return Case(
            inputs={name: getattr(row, name) for name in inputs},
            group=row.group or text_hash(row.query)[:12],
            gold=None if said is None else values(said),
        )

    return make


class _Response(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="ignore")

    response: str = ""
    marks: list[Mark | None] | None = None
    score: float | None = None
    verdict: FactVerdict | None = None


class _Whole(QueryRow):
    responses: list[_Response]
    ratings: dict[str, list[_Response]] = pydantic.Field(default_factory=dict)

    @pydantic.model_validator(mode="after")
    def _same_number(self) -> _Whole:
        for rater, given in self.ratings.items():
            if len(given) != len(self.responses):
                raise ValueError(f"{rater} rated {len(given)} of {len(self.responses)} responses")
        return self


@dataclass(frozen=True, kw_only=True)
class ForResponses:
    """Expands the row of a query into a row for each response.

    Attributes:
        field: what the judge's rows hold of a response: ``marks``, ``score`` or ``verdict``.
    """

    field: Literal["marks", "score", "verdict"]

    def __call__(self, row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return the rows of the responses; the row itself if it holds a single response, or none.

        Raises:
            pydantic.ValidationError: it holds responses, and they are not well formed.
        """
        if "responses" not in row:
            return (row,)
        whole = _Whole.model_validate(dict(row))
        shared: dict[str, Any] = {"query": whole.query, "group": whole.group or text_hash(whole.query)[:12]}
        if self.field == "marks":
            shared["constraints"] = [line_of(one) for one in constraints_of(whole.constraints or ())]
        found = []
        for place, one in enumerate(whole.responses):
            rated = {
                rater: value
                for rater, given in whole.ratings.items()
                if (value := getattr(given[place], self.field)) is not None
            }
            mine = {**shared, "response": one.response, self.field: getattr(one, self.field)}
            found.append({**mine, "ratings": rated} if rated else mine)
        return found if self.field != "marks" or shared["constraints"] else ()
