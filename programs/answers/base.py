"""A kind of answer: a scale, and the form in which its values are asked for and read.

An :class:`Answer` holds its :class:`~jurist.evaluation.scale.Scale`, which owns the values: how they are spelled, voted
on, described and scored. The answer itself renders questions, reads replies, writes demonstrations from gold, and says
how output lines and exports hold it. Whoever uses it never asks which kind it is. What stands here is what most do: one
value for the whole case, written into the prompt as it is, asked once, and read as its scale reads JSON.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

from ...cases import Label, Value, Values
from ...errors import JudgeError, UsageError
from ...evaluation.scale import SHOWN, MetricLike, Scale, resolve
from ..verdicts import Verdict

Inputs: TypeAlias = Mapping[str, Any]
"""A row's inputs, as the prompt shows them."""
Reply: TypeAlias = Mapping[str, object]
"""Output field -> its value."""
Places: TypeAlias = Sequence[int] | None
"""The units that are asked for, from 0; default: all."""
Constant: TypeAlias = Callable[[Inputs], Values]
"""Inputs -> the values of an answer that reads no row."""
Shares: TypeAlias = Mapping[Value, float]
"""Label -> probability."""
Tokens: TypeAlias = Mapping[str, Sequence[Shares]]
"""Output field -> what its tokens say of each label in it, in its order (:mod:`jurist.engines.draws`)."""


@dataclass(frozen=True, kw_only=True)
class Answer(ABC):
    """A kind of answer. Values are hashable, one for each unit of a case."""

    field: str = ""  # the output field that holds the answer
    unit: str = ""  # the input field whose text gets the value

    part: ClassVar[str] = "value"  # the name under which output lines hold a value
    has_examples: ClassVar[bool] = True  # whether gold makes demonstrations
    presentations: ClassVar[int] = 1  # how many times one sample asks a case
    columns: ClassVar[tuple[str, ...]] = ()  # in which rows may hold what is judged and how, both at once
    per_unit: ClassVar[bool] = False  # whether a row holds a list with a value for each unit
    repeatable: ClassVar[bool] = False  # whether units that a reply leaves out can be asked for again, alone

    # modules of ours, by their paths, that an exported file needs for reading this answer alone
    reader_modules: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone; cached properties are worked out again."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @property
    @abstractmethod
    def scale(self) -> Scale:
        """The scale of its values."""

    # How a case is asked, and what a reply says.

    @property
    def fields(self) -> tuple[str, ...]:
        """The output fields of a reply that hold it."""
        return (self.field,)

    @property
    def criteria(self) -> Mapping[str, Scale]:
        """Criterion -> its scale, where each unit is a criterion with a column of its own; else empty."""
        return {}

    @property
    def unit_fields(self) -> tuple[str, ...]:
        """The input fields whose texts get the answer; every other input is evidence."""
        return (self.unit,)

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse settings that do not fit each other, or the judge of that name with these inputs."""
        if self.unit not in inputs:
            raise JudgeError(
                f"judge {judge}: {self.unit!r} is none of its inputs {', '.join(inputs)}",
                hint="let unit name the input whose text gets the answer",
            )
        try:
            _ = self.scale
        except UsageError as error:
            raise JudgeError(f"judge {judge}: {error.message}", hint=error.hint) from error

    def check_metric(self, judge: str, metric: MetricLike) -> None:
        """Refuse a metric that does not fit, or needs a setting that is not there; ``""`` is the usual one."""
        if metric not in ("", *self.scale.choosable):
            resolve(metric, self.scale)

    def units(self, inputs: Inputs) -> tuple[str, ...]:
        """Return the texts that get a value each."""
        return (str(inputs[self.unit]),)

    def asks(self, inputs: Inputs) -> tuple[Inputs, ...]:
        """Return the inputs of each presentation of a case, the row's own first."""
        return (inputs,)

    def render(self, inputs: Inputs, places: Places = None) -> dict[str, object]:
        """Return the values of the signature's input fields."""
        return dict(inputs)

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return the verdict of a reply: one value for each unit, ``None`` for a unit that was not asked for."""
        try:
            value = self.scale.of_json(reply.get(self.field))
        except ValueError as error:
            return Verdict(values=(None,), error=str(error)[:SHOWN])
        return Verdict(values=(value,), reasoning=reasoning_of(reply))

    def other_words(self, renamed: Mapping[str, Label]) -> Mapping[str, object]:
        """Return the words that a reply may hold in place of a value: word -> the field's value.

        ``renamed`` holds the words of the judge's own files: word -> the label that it stands for.
        """
        return {}

    @property
    def label_fields(self) -> tuple[str, ...]:
        """The output fields whose labels have probabilities."""
        if self.scale.has_probabilities:
            return (self.field,)
        return ()

    def shares(self, reply: Reply, tokens: Tokens, inputs: Inputs) -> tuple[Shares, ...]:
        """Return the probabilities of each unit, by what the tokens of each field say; empty where they say nothing."""
        return ()

    def join(self, verdicts: Sequence[Verdict]) -> Verdict:
        """Return the verdict of one sample by those of all its presentations."""
        return verdicts[0]

    def example(self, values: Values, inputs: Inputs) -> object:
        """Return the value of :attr:`field` that says ``values``: :meth:`read` gives them back."""
        return self.scale.to_json(values[0])

    def examples(self, values: Values, inputs: Inputs) -> dict[str, object]:
        """Return output field -> its value, of a reply that says ``values``."""
        return {self.field: self.example(values, inputs)}

    # How gold's rows give it.

    def gathered(self, row: Mapping[str, object]) -> dict[str, object]:
        """Return a row whose labels stand in one field."""
        return dict(row)

    def values_of(self, labelled: Any) -> Values:
        """Return the values that a row's field says."""
        if not self.per_unit:
            labelled = [labelled]
        values: list[Value | None] = []
        for data in labelled:
            values.append(None if data is None else self.scale.of_json(data))
        return tuple(values)

    def row_of(self, parts: Sequence[object]) -> object:
        """Return a row's field that gives each unit a value as JSON, or ``None``."""
        if self.per_unit:
            return list(parts)
        for part in parts:
            if part is not None:
                return part
        return None

    def cell(self, written: str, unit: int) -> object:
        """Return the value in a cell of a sheet for a unit (from 0), as a row has it; ``None`` if it is unusable."""
        return self.scale.cell(written)

    def scale_of(self, unit: int) -> Scale:
        """Return the scale of a unit (from 0)."""
        return self.scale

    @property
    def row_type(self) -> Any:
        """The annotation of a gold row's field: a value as JSON, or a list with one, or nothing, for each unit."""
        value = self.scale.row_type
        if self.per_unit:
            return list[value | None]  # type: ignore[valid-type]
        return value

    def spell(self, value: object) -> object:
        """Return a value of a file as a row's field has it; an unknown one stays as it is."""
        if not isinstance(value, str):
            return value
        spelled = self.scale.cell(value)
        return value if spelled is None else spelled

    def constants(self, gold_values: Sequence[Value]) -> Mapping[str, Constant]:
        """Return the answers that need no row, by their names."""

        def always(value: Value) -> Constant:
            return lambda inputs: (value,) * len(self.units(inputs))

        return {name: always(value) for name, value in self.scale.constants(gold_values).items()}

    # What cards, output lines and exports hold of it.

    def unit_parts(self, value: Value | None) -> dict[str, object]:
        """Return the entries of a unit's value in the output line of a run."""
        return {self.part: self.scale.to_json(value)}

    def unit_value(self, unit: Mapping[str, object]) -> Value | None:
        """Return the value of a unit of an output line, as :meth:`unit_parts` wrote it. Raises ``ValueError``."""
        data = unit.get(self.part)
        return None if data is None else self.scale.of_json(data)

    def row_parts(self, values: Values) -> dict[str, object]:
        """Return the entries of the whole row in an output line."""
        return {self.part: self.scale.to_json(values[0])}

    def render_rule(self, name: str) -> str:
        """Return the form in which an input is written into the prompt: ``as-is``, ``numbered``, or ``custom``."""
        if type(self).render is Answer.render:
            return "as-is"
        return "custom"

    @abstractmethod
    def parser_rule(self) -> dict[str, object]:
        """Return the rule by which another system reads the answer from a reply, as JSON values."""

    def portable_rule(self) -> dict[str, object]:
        """Return :meth:`parser_rule`, without a reader where a subclass reads in another way than the rule says."""
        rule = self.parser_rule()
        classes = type(self).__mro__
        writes_rule = _first_with(classes, "parser_rule", "label_rule")
        reads_reply = _first_with(classes, "read", "scale")
        if reads_reply < writes_rule:
            rule.pop("reader", None)
        return rule


def reasoning_of(reply: Reply) -> str:
    """Return the reasoning in a reply."""
    return str(reply.get("reasoning") or "")


def _first_with(classes: Sequence[type], *names: str) -> int:
    """Return the place of the first class that defines one of these names itself."""
    for place, kind in enumerate(classes):
        if vars(kind).keys() & set(names):
            return place
    return len(classes)
