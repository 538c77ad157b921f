"""The kind of thing a judge gives, as one base class: the only place where kinds of answers differ.

An :class:`Answer` reads replies and renders questions, combines samples, reads and describes gold, tells
optimizers what was wrong, and says what cards, output lines and exports hold of it. Whoever uses it never asks
which kind it is. What is not abstract is what most of them do: one value for the whole case, written into the prompt
as it is, asked once, and combined as a whole.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Self, TypeAlias

from ...cases import Case, Value, Values
from ...errors import JudgeError
from ...evaluation.comparisons import Comparison
from ..votes import Sampling
from .reading import Reading

Learned: TypeAlias = Literal["label", "number", "members"]
SHOWN = 300
"""Characters of a unit's text that feedback quotes."""
_USUAL = 10  # frequent values among which the best constant answer is looked for
_NAMED = 60  # characters of a value that the name of a constant answer shows


@dataclass(frozen=True, kw_only=True)
class Lack:
    """What the gold of a part of a split does not hold and needs."""

    what: str  # which one is missing, such as ``positive``
    noun: str  # what there are several of, such as ``label``
    said: str  # what its gold says, such as ``all labels are send``
    wanted: str  # what rows would have to say


@dataclass(frozen=True, kw_only=True)
class Answer(ABC):
    """The kind of thing a judge gives. Values are hashable, one for each unit of a case.

    Attributes:
        field: the output field that holds the answer.
        unit: the input field whose text gets the value.
        noun: what a value is called: ``label``, ``score``.
        part: the name under which output lines hold a value.
        has_examples: whether gold makes demonstrations.
        proposer_note: what a proposer has to know besides, where being wrong is not to disagree with people.
        presentations: how many times one sample asks a case.
        repeatable: whether units that a reply leaves out can be asked for again, alone.
        per_unit: whether a row holds a list with a value for each unit.
        uses_threshold: whether a vote threshold changes what samples combine to.
        has_probabilities: whether a unit has a probability of each answer, and of being what is looked for.
        has_quality: whether a value says how good a unit is.
        learned: what a value is for whoever learns to predict it: one of several labels, a number, or the members
            of a set.
    """

    field: str = ""
    unit: str = ""

    noun: ClassVar[str] = "label"
    part: ClassVar[str] = "value"
    has_examples: ClassVar[bool] = True
    proposer_note: ClassVar[str] = ""
    presentations: ClassVar[int] = 1
    repeatable: ClassVar[bool] = False
    per_unit: ClassVar[bool] = False
    uses_threshold: ClassVar[bool] = False
    has_probabilities: ClassVar[bool] = False
    has_quality: ClassVar[bool] = False
    learned: ClassVar[Learned] = "label"
    _combining: ClassVar[str] = "the answer that most of them give counts"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is worked out again."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

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

    # How the samples of one unit become one value.

    def probability(self, shares: Mapping[Any, float]) -> float | None:
        """Return how probable it is that a unit is what is looked for, 0 to 1; ``None`` if that is not known.

        Args:
            shares: value -> probability, or votes.
        """
        return None

    @abstractmethod
    def combine(self, votes: Mapping[Any, Any], sampling: Sampling) -> Value | None:
        """Return the value that votes (value -> samples) give, ``None`` if they leave it open.

        Where probabilities decide, ``votes`` are value -> probability.
        """

    @abstractmethod
    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Return whether ``left`` more samples, whatever they say, cannot change what :meth:`combine` gives."""

    def agreement(self, votes: Mapping[Any, int], value: Value | None) -> float | None:
        """Return how far the votes agree with ``value``, 0 to 1; ``None`` without a value or a vote."""
        cast = sum(votes.values())
        if value is None or not cast:
            return None
        return sum(self.credit(value, one) * count for one, count in votes.items()) / cast

    def spread(self, votes: Mapping[str, float]) -> float:
        """Return how far votes (by :meth:`text`) differ: 0 if all are the same, 1 at most."""
        return 1 - max(votes.values()) / sum(votes.values())

    def centred(self, shares: Mapping[str, float], threshold: float) -> Mapping[str, float]:
        """Return shares of votes, moved so that the share from which a unit is positive lies at one half."""
        return shares

    # How people's labels are read, described and drawn from.

    @property
    @abstractmethod
    def row_type(self) -> Any:
        """The annotation of a gold row's field: what a value is as JSON."""

    @property
    def choices(self) -> tuple[str, ...]:
        """All that people may say of a unit, where that is a short list; else empty."""
        return ()

    @property
    @abstractmethod
    def expects(self) -> str:
        """What people may say of a unit, in words: ``one of: send, hold``."""

    @abstractmethod
    def cell(self, given: str) -> Any:
        """Return what a cell of a sheet says of one unit as a row's field has it, ``None`` if it is unusable."""

    def spell(self, given: Any) -> Any:
        """Return what a file gives as a row's field has it; what it does not know stays as it is."""
        found = self.cell(given) if isinstance(given, str) else None
        return given if found is None else found

    def of_json(self, data: Any) -> Value:
        """Return the value that :meth:`to_json` gave.

        Raises:
            ValueError: it is none of this answer's.
        """
        return data

    def to_json(self, value: Value | None) -> Any:
        """Return a value as plain JSON types."""
        return value

    def text(self, value: Value) -> str:
        """Return a value in a few words; :meth:`cell` reads them back."""
        return str(value)

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        """Return what labelled cases lack to be a part of a split, ``None`` if nothing."""
        said = sorted({self.text(value) for case in cases for value in case.known})
        if len(said) > 1:
            return None
        words = f"all {self.noun}s are {' or '.join(said)}"
        return Lack(what="second", noun=self.noun, said=words, wanted="anything else")

    @abstractmethod
    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        """Return what gold holds, as JSON values by name."""

    @abstractmethod
    def sides(self, cases: Sequence[Case]) -> list[bool]:
        """Return for each case whether it holds what is looked for: two sides to draw from."""

    def strata(self, cases: Sequence[Case]) -> list[str]:
        """Return the stratum of each case, for draws in which each has its share."""
        return [self.category(case.known[0]) if case.known else "unlabelled" for case in cases]

    # What is right and wrong, for scores and for optimizers.

    @property
    @abstractmethod
    def comparison(self) -> Comparison:
        """How values are held against gold, for every metric, interval and test."""

    @property
    def metric(self) -> str:
        """The metric that is compiled for unless another is named."""
        return self.comparison.default

    def credit(self, gold: Value, value: Value | None) -> float:
        """Return how right a value is, 0 to 1; an unusable one is 0."""
        return 0.0 if value is None else self.comparison.similarity(gold, value)

    def quality(self, value: Value) -> float:
        """Return how good a unit is by its value, from 0 to 1; exports say it as :data:`.portable.SCORES`."""
        raise TypeError(f"{type(self).__name__} is no number")

    def feedback(self, text: str, gold: Value, value: Value | None) -> str:
        """Return in words what is wrong with the value of a unit."""
        judged = "unusable" if value is None else self.text(value)
        return f"{self.truth(text, gold)}; judged {judged}"

    def truth(self, text: str, gold: Value) -> str:
        """Return in words what people said of a unit."""
        return f'"{text[:SHOWN]}" is {self.text(gold)} according to people'

    def category(self, value: Value) -> str:
        """Return the name under which values are counted as confused with each other."""
        return self.text(value)

    # What can be answered without reading a row: a reference beside every score.

    def usual(self, known: Sequence[Value]) -> Sequence[Value]:
        """Return the values of which the best constant answer is chosen, the likeliest first, by those of gold."""
        return [value for value, _ in Counter(known).most_common(_USUAL)]

    def constants(self, known: Sequence[Value]) -> Mapping[str, Callable[[Mapping[str, Any]], Value]]:
        """Return those answers by what they are called, each as what it says of every unit of a row's inputs."""

        def always(value: Value) -> Callable[[Mapping[str, Any]], Value]:
            return lambda inputs: value

        return {f"always {self._named(value)}": always(value) for value in self.usual(known)}

    def _named(self, value: Value) -> str:
        text = json.dumps(self.to_json(value), ensure_ascii=False)
        return text if len(text) <= _NAMED else text[: _NAMED - 3] + "..."

    def on_scale(self, number: float) -> Value:
        """Return the value that is nearest to a number."""
        raise TypeError(f"{type(self).__name__} is no number")

    @abstractmethod
    def task_words(self) -> str:
        """Return for a proposer what may be answered."""

    # What cards, output lines, summaries and exports hold of it.

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

    def reading_of(self, other: "Answer") -> Callable[[Value], Value] | None:
        """Return how values of another answer to the same question are said by this one; ``None`` if they cannot be."""
        return (lambda value: value) if other.identity() == self.identity() else None

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what makes an artifact's answer this one, as JSON values: ``labels`` and what else there is."""

    def identity_under(self, card: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of :meth:`identity` in which a card must be the same."""
        return self.identity()

    @abstractmethod
    def listing(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return a heading, and what can be answered with a remark each."""

    def unit_parts(self, value: Value | None) -> dict[str, Any]:
        """Return what the output line of a run says of a unit's value."""
        return {self.part: self.to_json(value)}

    def unit_value(self, unit: Mapping[str, Any]) -> Value | None:
        """Return the value of a unit of an output line, as :meth:`unit_parts` wrote it.

        Raises:
            ValueError: it is none of this answer's.
        """
        data = unit.get(self.part)
        return None if data is None else self.of_json(data)

    def unit_details(self, value: Value) -> Mapping[str, Any]:
        """Return what else a value says about its unit."""
        return {}

    def row_parts(self, values: Values) -> dict[str, Any]:
        """Return what an output line says of the whole row."""
        return {self.part: self.to_json(values[0])}

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Return what a row adds to the sums of a run. ``counts`` are those of its readings."""
        return dict(counts)

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return the sums of a run as JSON values."""
        return {}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """Return the same for people."""
        return ()

    def proof_facts(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return what a card says of the sums on the sealed test; empty if nothing."""
        return {}

    def render_rule(self, name: str) -> str:
        """Return how an input is written into the prompt: a name of :data:`.rendering.RULES`, or ``custom``."""
        return "as-is" if type(self).render is Answer.render else "custom"

    @abstractmethod
    def parser_rule(self) -> dict[str, Any]:
        """Return how another system reads the answer from a reply, as JSON values."""

    @property
    def voting_rule(self) -> str:
        """How another system combines several samples, in words."""
        return "one filling is one sample; with several, " + self._combining


def upper_half(numbers: Sequence[float | None]) -> list[bool]:
    """Return for each number whether it is above the middle of all; where none is, whether it is the middle."""
    known = sorted(number for number in numbers if number is not None)
    if not known:
        return [False] * len(numbers)
    middle = known[(len(known) - 1) // 2]
    above = middle < known[-1]
    return [number is not None and (number > middle if above else number >= middle) for number in numbers]
