"""A kind of answer: a scale, and the form in which its values are asked for and read, as one base class.

An :class:`Answer` holds its :class:`~jurist.evaluation.scale.Scale`, which owns the values: how they are spelled, voted
on, described and scored. The answer itself renders questions, reads replies, writes demonstrations from gold, and says
how output lines and exports hold it. Whoever uses it never asks which kind it is. What is not abstract is what most
forms do: one value for the whole case, written into the prompt as it is, and asked once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from ...cases import Value, Values
from ...errors import JudgeError
from ...evaluation.scale import Scale
from .reading import Reading


@dataclass(frozen=True, kw_only=True)
class Answer(ABC):
    """A kind of answer. Values are hashable, one for each unit of a case.

    Attributes:
        field: the output field that holds the answer.
        unit: the input field whose text gets the value.
        part: the name under which output lines hold a value.
        has_examples: whether gold makes demonstrations.
        proposer_note: what a proposer has to know besides, where being wrong is not to disagree with people.
        presentations: how many times one sample asks a case.
        repeatable: whether units that a reply leaves out can be asked for again, alone.
        per_unit: whether a row holds a list with a value for each unit.
    """

    field: str = ""
    unit: str = ""

    part: ClassVar[str] = "value"
    has_examples: ClassVar[bool] = True
    proposer_note: ClassVar[str] = ""
    presentations: ClassVar[int] = 1
    repeatable: ClassVar[bool] = False
    per_unit: ClassVar[bool] = False

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is worked out again."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @property
    @abstractmethod
    def scale(self) -> Scale:
        """What its values are."""

    # How a case is asked, and what a reply says.

    @property
    def unit_fields(self) -> tuple[str, ...]:
        """The input fields whose texts get the answer; every other input is evidence."""
        return (self.unit,)

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse settings that do not fit each other, or the judge of that name with these inputs.

        Raises:
            JudgeError: they do not.
        """
        if self.unit not in inputs:
            raise JudgeError(
                f"judge {judge}: {self.unit!r} is none of its inputs {', '.join(inputs)}",
                hint="let unit name the input whose text gets the answer",
            )

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the texts that get a value each."""
        return (str(inputs[self.unit]),)

    def bound(self, inputs: Mapping[str, Any]) -> Self:
        """Return the answer about one row, given as the prompt shows it."""
        return self

    def asks(self, inputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the inputs of each presentation of a case, the row's own first."""
        return (inputs,)

    def render(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the signature's input fields."""
        return dict(inputs)

    @abstractmethod
    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return what a reply (output field -> value) says about ``count`` units."""

    def probabilities(
        self, reply: Mapping[str, Any], said: Sequence[Mapping[str, float]], count: int
    ) -> tuple[Mapping[Any, float], ...]:
        """Return label -> probability of each of ``count`` units, from what the tokens of :attr:`field` say of each
        label in a reply, in its order (:mod:`jurist.engines.probabilities`); empty where that says nothing.
        """
        return ()

    def join(self, readings: Sequence[Reading]) -> Reading:
        """Return what the readings of all presentations say together."""
        return readings[0]

    def render_partial(self, inputs: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
        """Return the values of the input fields that ask for the units at these places (from 0) only."""
        raise TypeError(f"{type(self).__name__} has one unit")

    def read_partial(self, reply: Mapping[str, Any], count: int, places: Sequence[int]) -> Reading:
        """Return what a reply says that was asked for these places of ``count``; the others get ``None``."""
        raise TypeError(f"{type(self).__name__} has one unit")

    @abstractmethod
    def example(self, values: Values) -> Any:
        """Return the value of :attr:`field` that says ``values``: :meth:`read` gives them back."""

    # How gold's rows give it.

    @property
    def row_type(self) -> Any:
        """The annotation of a gold row's field: a value as JSON, or a list with one, or nothing, for each unit."""
        one = self.scale.row_type
        return list[one | None] if self.per_unit else one  # type: ignore[valid-type]

    def spell(self, given: Any) -> Any:
        """Return what a file gives as a row's field has it; what it does not know stays as it is."""
        found = self.scale.cell(given) if isinstance(given, str) else None
        return given if found is None else found

    def constants(self, known: Sequence[Value]) -> Mapping[str, Callable[[Mapping[str, Any]], Value]]:
        """Return what can be answered without reading a row by what it is called: what it says of a row's inputs."""

        def always(value: Value) -> Callable[[Mapping[str, Any]], Value]:
            return lambda inputs: value

        return {name: always(value) for name, value in self.scale.constants(known).items()}

    # What cards, output lines and exports hold of it.

    @property
    def levels(self) -> tuple[str, ...]:
        """How strict it can be; empty if that cannot be chosen."""
        return ()

    @property
    def strictness(self) -> str:
        """Which of the levels it is at; empty without any."""
        return ""

    def at_strictness(self, level: str) -> Self:
        """Return the same at one of its levels."""
        raise TypeError(f"{type(self).__name__} has no levels")

    def identity_under(self, card: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of the scale's identity in which a card must be the same."""
        return self.scale.identity()

    def unit_parts(self, value: Value | None) -> dict[str, Any]:
        """Return what the output line of a run says of a unit's value."""
        return {self.part: self.scale.to_json(value)}

    def unit_value(self, unit: Mapping[str, Any]) -> Value | None:
        """Return the value of a unit of an output line, as :meth:`unit_parts` wrote it.

        Raises:
            ValueError: it is none of this answer's.
        """
        data = unit.get(self.part)
        return None if data is None else self.scale.of_json(data)

    def unit_details(self, value: Value) -> Mapping[str, Any]:
        """Return what else a value says about its unit."""
        return {}

    def row_parts(self, values: Values) -> dict[str, Any]:
        """Return what an output line says of the whole row."""
        return {self.part: self.scale.to_json(values[0])}

    def render_rule(self, name: str) -> str:
        """Return how an input is written into the prompt: a name of :data:`.rendering.RULES`, or ``custom``."""
        return "as-is" if type(self).render is Answer.render else "custom"

    @abstractmethod
    def parser_rule(self) -> dict[str, Any]:
        """Return how another system reads the answer from a reply, as JSON values."""
