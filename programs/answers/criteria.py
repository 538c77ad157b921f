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
from ..verdicts import Verdict
from .base import Answer, Constant, Inputs, Places, Reply, Shares, Tokens, reasoning_of

FIELD: Final = "criteria"
"""The field of a row, read from columns, that holds all of its labels."""


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

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return the value of each criterion; one that the reply leaves out is a missing value."""
        values: list[Rated | None] = []
        problems: list[str] = []
        for name, answer in self.answers.items():
            verdict = answer.read(reply, inputs)
            values.append(_rated(name, verdict.values[0]))
            if verdict.error:
                problems.append(f"{name}: {verdict.error}")
        return Verdict(values=tuple(values), reasoning=reasoning_of(reply), error="; ".join(problems)[:SHOWN])

    @property
    def label_fields(self) -> tuple[str, ...]:
        names: list[str] = []
        for name, scale in self.criteria.items():
            if scale.has_probabilities:
                names.append(name)
        return tuple(names)

    def shares(self, reply: Reply, tokens: Tokens, inputs: Inputs) -> tuple[Shares, ...]:
        criteria_shares: list[Shares] = []
        for name, answer in self.answers.items():
            shares: dict[Value, float] = {}
            for label_shares in answer.shares(reply, tokens, inputs)[:1]:
                for label, share in label_shares.items():
                    shares[Rated(name, label)] = share
            criteria_shares.append(shares)
        return tuple(criteria_shares)

    def examples(self, values: Values, inputs: Inputs) -> dict[str, object]:
        fields: dict[str, object] = {}
        for (name, answer), value in zip(self.answers.items(), values, strict=True):
            if value is not None:
                fields[name] = answer.example((value.value,), inputs)
        return fields

    # How gold's rows give them.

    @cached_property
    def _row(self) -> type[pydantic.BaseModel]:
        columns: dict[str, Any] = {}
        for name, scale in self.criteria.items():
            columns[name] = (scale.row_type | None, None)
        return pydantic.create_model("CriteriaRow", __config__={"extra": "forbid"}, **columns)

    @property
    def row_type(self) -> object:
        return self._row

    def gathered(self, row: Mapping[str, object]) -> dict[str, object]:
        if FIELD in row or not row.keys() & self.answers.keys():
            return dict(row)
        labels: dict[str, object] = {}
        row_without_labels: dict[str, object] = {}
        for column, value in row.items():
            if column not in self.answers:
                row_without_labels[column] = value
            elif value not in (None, ""):
                labels[column] = value
        # The criteria stand in their own order, whatever the order of the columns.
        ordered_labels: dict[str, object] = {}
        for name in self.answers:
            if name in labels:
                ordered_labels[name] = labels[name]
        if not ordered_labels:
            return row_without_labels
        return {**row_without_labels, FIELD: ordered_labels}

    def spell(self, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        spelled: dict[str, object] = {}
        for name, label in value.items():
            if name in self.answers and label is not None:
                spelled[name] = self.answers[name].spell(label)
            else:
                spelled[name] = label
        return spelled

    def values_of(self, labelled: Any) -> Values:
        labels = labelled if isinstance(labelled, Mapping) else dict(labelled)
        values: list[Rated | None] = []
        for name, scale in self.criteria.items():
            label = labels.get(name)
            values.append(None if label is None else Rated(name, scale.of_json(label)))
        return tuple(values)

    def row_of(self, parts: Sequence[object]) -> object:
        labels: dict[str, object] = {}
        for part in parts:
            if isinstance(part, Mapping):  # each criterion gives its own label, or nothing
                labels.update(part)
        return labels

    def cell(self, written: str, unit: int) -> object:
        name = list(self.answers)[unit]
        label = self.criteria[name].cell(written)
        if label is None:
            return self.scale.cell(written)
        return {name: label}

    def scale_of(self, unit: int) -> Scale:
        return list(self.criteria.values())[unit]

    def constants(self, gold_values: Sequence[Value]) -> Mapping[str, Constant]:
        """Return the likeliest value of each criterion together, then the next ones, so that each has its turn."""
        likely_values: dict[str, list[Value]] = {}
        for name in self.answers:
            likely_values[name] = []
        for value in self.scale.usual(gold_values):
            likely_values[value.criterion].append(value)
        constants: dict[str, Constant] = {}
        for turn in range(max(map(len, likely_values.values()))):
            values: list[Value | None] = []
            words: list[str] = []
            for candidates in likely_values.values():
                likely_value = _at_turn(candidates, turn)
                values.append(likely_value)
                if likely_value is not None:
                    words.append(self.scale.text(likely_value))
            constants[f"always {', '.join(words)}"] = _always(tuple(values))
        return constants

    # What output lines and exports hold of them.

    def unit_parts(self, value: Value | None) -> dict[str, object]:
        if value is None:
            return {self.part: None}
        answer = self.answers[value.criterion]
        parts = answer.unit_parts(value.value)
        if not getattr(answer, "positive", True):
            del parts["positive"]  # no label of it is looked for
        return {"criterion": value.criterion, **parts}

    def unit_value(self, unit: Mapping[str, object]) -> Value | None:
        name = unit.get("criterion")
        if name is None:
            return None
        if not isinstance(name, str) or name not in self.answers:
            raise ValueError(f"no criterion {name!r}")
        return _rated(name, self.answers[name].unit_value(unit))

    def row_parts(self, values: Values) -> dict[str, object]:
        answers: dict[str, object] = {}
        for (name, scale), value in zip(self.criteria.items(), values, strict=True):
            answers[name] = None if value is None else scale.to_json(value.value)
        return {"answers": answers}

    def render_rule(self, name: str) -> str:
        return "as-is"

    def parser_rule(self) -> dict[str, object]:
        rules: dict[str, dict[str, object]] = {}
        has_readers = True
        for name, answer in self.answers.items():
            rules[name] = answer.portable_rule()
            has_readers = has_readers and "reader" in rules[name]
        rule: dict[str, object] = {"field": self.field, "reader": "criteria", "criteria": rules}
        if not has_readers:
            del rule["reader"]
        return rule


def _rated(name: str, value: Value | None) -> Rated | None:
    return None if value is None else Rated(name, value)


def _at_turn(candidates: Sequence[Value], turn: int) -> Value | None:
    """Return the candidate of a turn, the last one where there are fewer; ``None`` without any."""
    if not candidates:
        return None
    return candidates[min(turn, len(candidates) - 1)]


def _always(values: Values) -> Constant:
    """Return a constant answer."""
    return lambda inputs: values
