"""What most answers have in common: one value for the whole case, asked once, combined as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ...cases import Case, Value, Values
from ...errors import JudgeError
from ...evaluation.comparisons import Comparison
from .protocol import Answer, Lack
from .reading import Reading

__all__ = ["SHOWN", "BaseAnswer", "by_number", "member", "reasoning_of", "upper_half"]

SHOWN = 300
"""Characters of a unit's text that feedback quotes."""


@dataclass(frozen=True, kw_only=True)
class BaseAnswer(ABC):
    """One value for the whole case, written into the prompt as it is.

    Attributes:
        field: the output field.
        unit: the input field whose text gets the value.
    """

    field: str = ""
    unit: str = ""

    noun: ClassVar[str] = "label"
    has_examples: ClassVar[bool] = True
    proposer_note: ClassVar[str] = ""
    presentations: ClassVar[int] = 1
    repeatable: ClassVar[bool] = False
    per_unit: ClassVar[bool] = False
    uses_threshold: ClassVar[bool] = False
    has_probabilities: ClassVar[bool] = False

    @property
    def strictness(self) -> str:
        """None."""
        return ""

    @property
    def unit_fields(self) -> tuple[str, ...]:
        """The one field."""
        return (self.unit,)

    @property
    def levels(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def choices(self) -> tuple[str, ...]:
        """No short list."""
        return ()

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse a unit that is no input."""
        if self.unit not in inputs:
            raise JudgeError(
                f"judge {judge}: {self.unit!r} is none of its inputs {', '.join(inputs)}",
                hint="let unit name the input whose text gets the answer",
            )

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the one text that is judged."""
        return (str(inputs[self.unit]),)

    def bound(self, inputs: Mapping[str, Any]) -> Self:
        """Return itself: replies are read alike whatever the row says."""
        return self

    def asks(self, inputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the row as it is: it is asked once."""
        return (inputs,)

    def render(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs as they are."""
        return dict(inputs)

    def probabilities(
        self, reply: Mapping[str, Any], said: Sequence[Mapping[str, float]], count: int
    ) -> tuple[Mapping[Any, float], ...]:
        """Return nothing."""
        return ()

    def probability(self, shares: Mapping[Any, float]) -> float | None:
        """Return nothing."""
        return None

    def join(self, readings: Sequence[Reading]) -> Reading:
        """Return the one reading."""
        return readings[0]

    def render_partial(self, inputs: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
        """A single unit has no parts."""
        raise TypeError(f"{type(self).__name__} has one unit")

    def read_partial(self, reply: Mapping[str, Any], count: int, places: Sequence[int]) -> Reading:
        """A single unit has no parts."""
        raise TypeError(f"{type(self).__name__} has one unit")

    def at_strictness(self, level: str) -> Self:
        """There are no levels."""
        raise TypeError(f"{type(self).__name__} has no levels")

    def spread(self, votes: Mapping[str, float]) -> float:
        """Return the share of votes that the most frequent value did not get."""
        return 1 - max(votes.values()) / sum(votes.values())

    def centred(self, shares: Mapping[str, float], threshold: float) -> Mapping[str, float]:
        """Return them as they are."""
        return shares

    def of_json(self, data: Any) -> Value:
        """Return the value as it is."""
        return data

    def to_json(self, value: Value | None) -> Any:
        """Return the value as it is."""
        return value

    def text(self, value: Value) -> str:
        """Return the value as text."""
        return str(value)

    def unit_parts(self, value: Value | None) -> dict[str, Any]:
        """Return ``value``."""
        return {"value": self.to_json(value)}

    def unit_value(self, unit: Mapping[str, Any]) -> Value | None:
        """Return what :meth:`unit_parts` wrote."""
        data = unit.get("value")
        return None if data is None else self.of_json(data)

    def unit_details(self, value: Value) -> Mapping[str, Any]:
        """Return nothing."""
        return {}

    def row_parts(self, values: Values) -> dict[str, Any]:
        """Return ``value``."""
        return {"value": self.to_json(values[0])}

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Return what the readings counted."""
        return dict(counts)

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """Return nothing."""
        return ()

    def proof_facts(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def identity_under(self, card: Mapping[str, Any]) -> dict[str, Any]:
        """Return all of the identity."""
        return self.identity()

    def reading_of(self, other: Answer) -> Callable[[Value], Value] | None:
        """Return the value as it is, if the other is the same answer."""
        return (lambda value: value) if other.identity() == self.identity() else None

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what makes it this answer."""

    def truth(self, text: str, gold: Value) -> str:
        """Return ``"TEXT" is VALUE according to people``."""
        return f'"{text[:SHOWN]}" is {self.text(gold)} according to people'

    def feedback(self, text: str, gold: Value, value: Value | None) -> str:
        """Return what people said, and what was judged."""
        judged = "unusable" if value is None else self.text(value)
        return f"{self.truth(text, gold)}; judged {judged}"

    def category(self, value: Value) -> str:
        """Return the value as text."""
        return self.text(value)

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        """Return a lack if all gold says the same: then nothing can be learnt or shown."""
        said = sorted({self.text(value) for case in cases for value in case.known})
        if len(said) > 1:
            return None
        words = f"all {self.noun}s are {' or '.join(said)}"
        return Lack(what="second", noun=self.noun, said=words, wanted="anything else")

    def strata(self, cases: Sequence[Case]) -> list[str]:
        """Return the category of each case's gold."""
        return [self.category(case.known[0]) if case.known else "unlabelled" for case in cases]

    def render_rule(self, name: str) -> str:
        """Return ``as-is``, unless a subclass renders by its own code."""
        return "as-is" if type(self).render is BaseAnswer.render else "custom"

    @property
    def voting_rule(self) -> str:
        """One filling is one sample."""
        return "one filling is one sample; with several, " + self._combining

    _combining: ClassVar[str] = "the answer that most of them give counts"

    def agreement(self, votes: Mapping[Any, int], value: Value | None) -> float | None:
        """Return the mean credit of the votes, were ``value`` right."""
        cast = sum(votes.values())
        if value is None or not cast:
            return None
        return sum(self.credit(value, one) * count for one, count in votes.items()) / cast

    @property
    @abstractmethod
    def comparison(self) -> Comparison:
        """How values are held against gold."""

    @property
    def metric(self) -> str:
        """What the comparison says."""
        return self.comparison.default

    def credit(self, gold: Value, value: Value | None) -> float:
        """Return how far the two are the same."""
        return 0.0 if value is None else self.comparison.similarity(gold, value)


def reasoning_of(reply: Mapping[str, Any]) -> str:
    """Return what a reply gives as its reasoning."""
    return str(reply.get("reasoning") or "")


def member(item: Any, name: str) -> Any:
    """Return what an item of a reply holds under a name, whether it came as an object or as a mapping."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def by_number(items: Any, labels: Collection[str] = ()) -> dict[int, Any]:
    """Return number -> the item of a reply that has it; a number that got two labels has none.

    Args:
        items: of a reply, with ``n`` and ``label`` each; what is no list holds none.
        labels: those that count; any, if none is given.
    """
    found: dict[int, dict[str, Any]] = {}
    for item in items if isinstance(items, list | tuple) else ():
        number, label = member(item, "n"), member(item, "label")
        if isinstance(number, int) and isinstance(label, str) and (not labels or label in labels):
            found.setdefault(number, {})[label] = item
    return {number: one for number, said in found.items() if len(said) == 1 for one in said.values()}


def upper_half(numbers: Sequence[float | None]) -> list[bool]:
    """Return for each number whether it is above the middle of all; where none is, whether it is the middle."""
    known = sorted(number for number in numbers if number is not None)
    if not known:
        return [False] * len(numbers)
    middle = known[(len(known) - 1) // 2]
    above = middle < known[-1]
    return [number is not None and (number > middle if above else number >= middle) for number in numbers]
