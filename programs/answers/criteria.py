"""Several criteria in one reply, each an output field on a scale of its own; a row gives each a column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import pydantic

from ...cases import Value, Values
from ...errors import JudgeError
from ...evaluation.criteria import CriteriaScale, Rated
from ...evaluation.scale import SHOWN, Scale
from .base import Answer, Constant, Inputs, Places, Reading, Reply, Shares, Tokens, reasoning_of
from .labels import OneLabel
from .whole import LabelSet, Score

FIELD: Final = "criteria"
"""Under which a row, read from columns, holds all of its labels."""
KINDS: Final = (OneLabel, Score, LabelSet)
"""What a criterion may be answered by."""


@dataclass(frozen=True, kw_only=True)
class Criteria(Answer):
    """Several answers to one row, in one reply. A unit of a case is a criterion.

    Attributes:
        each: the kind of answer of each criterion, whose name is that of its output field.
    """

    each: tuple[Answer, ...] = ()

    part: ClassVar[str] = "answer"

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse names that are taken, and positive labels that are none."""
        if FIELD in inputs or FIELD in self.answers:
            raise JudgeError(
                f"judge {judge}: {FIELD!r} is what a row with several criteria calls its labels",
                hint="give the field another name",
            )
        super().check(judge, inputs)
        for answer in self.answers.values():
            answer.check(judge, inputs)

    @cached_property
    def answers(self) -> Mapping[str, Answer]:
        """Criterion -> its kind of answer."""
        return {answer.field: answer for answer in self.each}

    @cached_property
    def scale(self) -> CriteriaScale:
        return CriteriaScale({name: answer.scale for name, answer in self.answers.items()})

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.answers)

    @property
    def criteria(self) -> Mapping[str, Scale]:
        return self.scale.scales

    def units(self, inputs: Inputs) -> tuple[str, ...]:
        return tuple(f"{name}: {inputs[self.unit]}" for name in self.answers)

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return what the reply says of each criterion; one that it leaves out is a missing value."""
        each = {name: answer.read(reply, inputs) for name, answer in self.answers.items()}
        problems = (f"{name}: {reading.problem}" for name, reading in each.items() if reading.problem)
        return Reading(
            values=tuple(_rated(name, reading.values[0]) for name, reading in each.items()),
            reasoning=reasoning_of(reply),
            problem="; ".join(problems)[:SHOWN],
        )

    @property
    def label_fields(self) -> tuple[str, ...]:
        return tuple(name for name, scale in self.criteria.items() if scale.has_probabilities)

    def shares(self, reply: Reply, tokens: Tokens, inputs: Inputs) -> tuple[Shares, ...]:
        each = {name: answer.shares(reply, tokens, inputs) for name, answer in self.answers.items()}
        return tuple(
            {Rated(name, label): share for label, share in (own[0] if own else {}).items()}
            for name, own in each.items()
        )

    def examples(self, values: Values, inputs: Inputs) -> dict[str, Any]:
        known = zip(self.answers.items(), values, strict=True)
        return {
            name: answer.example((value.value,), inputs)
            for (name, answer), value in known
            if value is not None
        }

    # How gold's rows give them.

    @cached_property
    def _row(self) -> type[pydantic.BaseModel]:
        columns: dict[str, Any] = {
            name: (scale.row_type | None, None) for name, scale in self.criteria.items()
        }
        return pydantic.create_model("CriteriaRow", __config__={"extra": "forbid"}, **columns)

    @property
    def row_type(self) -> Any:
        return self._row

    def gathered(self, row: Mapping[str, Any]) -> dict[str, Any]:
        own = {name: row[name] for name in self.answers if name in row}
        if not own or FIELD in row:
            return dict(row)
        rest = {key: value for key, value in row.items() if key not in own}
        known = {name: value for name, value in own.items() if value not in (None, "")}
        return {**rest, FIELD: known} if known else rest

    def spell(self, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {
            name: self.answers[name].spell(value) if name in self.answers and value is not None else value
            for name, value in given.items()
        }

    def values_of(self, labelled: Any) -> Values:
        by_name = labelled if isinstance(labelled, Mapping) else dict(labelled)
        values = ((name, by_name.get(name)) for name in self.answers)
        return tuple(
            None if value is None else Rated(name, self.criteria[name].of_json(value))
            for name, value in values
        )

    def row_of(self, parts: Sequence[Any]) -> Any:
        return {name: value for part in parts if part is not None for name, value in part.items()}

    def cell(self, written: str, unit: int) -> Any:
        name = list(self.answers)[unit]
        known = self.criteria[name].cell(written)
        return self.scale.cell(written) if known is None else {name: known}

    def scale_of(self, unit: int) -> Scale:
        return list(self.criteria.values())[unit]

    def constants(self, known: Sequence[Value]) -> Mapping[str, Constant]:
        """Return the likeliest value of each criterion together, then the next ones, so that each has its turn."""
        usual = self.scale.usual(known)
        likely = [[value for value in usual if value.criterion == name] for name in self.answers]
        constants: dict[str, Constant] = {}
        for turn in range(max(map(len, likely))):
            values = tuple(own[min(turn, len(own) - 1)] if own else None for own in likely)
            words = ", ".join(self.scale.text(value) for value in values if value is not None)
            constants[f"always {words}"] = lambda inputs, values=values: values  # type: ignore[misc]
        return constants

    # What output lines and exports hold of them.

    def unit_parts(self, value: Value | None) -> dict[str, Any]:
        if value is None:
            return {self.part: None}
        parts = self.answers[value.criterion].unit_parts(value.value)
        if not getattr(self.answers[value.criterion], "positive", True):
            del parts["positive"]  # no label of it is looked for
        return {"criterion": value.criterion, **parts}

    def unit_value(self, unit: Mapping[str, Any]) -> Value | None:
        name = unit.get("criterion")
        if name is None:
            return None
        if name not in self.answers:
            raise ValueError(f"no criterion {name!r}")
        return _rated(name, self.answers[name].unit_value(unit))

    def row_parts(self, values: Values) -> dict[str, Any]:
        each = zip(self.criteria.items(), values, strict=True)
        return {"answers": {name: value and scale.to_json(value.value) for (name, scale), value in each}}

    def render_rule(self, name: str) -> str:
        return "as-is"

    def parser_rule(self) -> dict[str, Any]:
        rules = {name: answer.portable_rule() for name, answer in self.answers.items()}
        rule = {"field": self.field, "reader": "criteria", "criteria": rules}
        if not all("reader" in criterion_rule for criterion_rule in rules.values()):
            del rule["reader"]
        return rule


def _rated(name: str, value: Value | None) -> Rated | None:
    return None if value is None else Rated(name, value)
