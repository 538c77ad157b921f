"""The kind of thing a judge gives, as one protocol: the only place where kinds of answers differ.

An :class:`Answer` reads replies and renders questions, combines samples, reads and describes gold, tells
optimizers what was wrong, and says what cards, output lines and exports hold of it. Whoever uses it never asks
which kind it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from ...cases import Case, Value, Values
from ...evaluation.comparisons import Comparison
from ..votes import Sampling
from .reading import Reading

__all__ = ["Answer", "Lack"]


@dataclass(frozen=True, kw_only=True)
class Lack:
    """What the gold of a part of a split does not hold and needs.

    Attributes:
        what: which one is missing, such as ``positive``.
        noun: what there are several of, such as ``label``.
        said: what its gold says, such as ``all labels are send``.
        wanted: what rows would have to say.
    """

    what: str
    noun: str
    said: str
    wanted: str


class _Asked(Protocol):
    """How a case is asked, and what a reply says."""

    @property
    def field(self) -> str:
        """The output field that holds the answer."""
        ...

    @property
    def unit_fields(self) -> tuple[str, ...]:
        """The input fields whose texts get the answer; every other input is evidence."""
        ...

    @property
    def has_examples(self) -> bool:
        """Whether gold makes demonstrations."""
        ...

    @property
    def presentations(self) -> int:
        """How many times one sample asks a case."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether units that a reply leaves out can be asked for again, alone."""
        ...

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse settings that do not fit each other, or the judge of that name with these inputs.

        Raises:
            JudgeError: they do not.
        """
        ...

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the texts that get a value each."""
        ...

    def bound(self, inputs: Mapping[str, Any]) -> Self:
        """Return the answer about one row, given as the prompt shows it."""
        ...

    def asks(self, inputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the inputs of each presentation of a case, the row's own first."""
        ...

    def render(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the signature's input fields."""
        ...

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return what a reply (output field -> value) says about ``count`` units."""
        ...

    def probabilities(
        self, reply: Mapping[str, Any], said: Sequence[Mapping[str, float]], count: int
    ) -> tuple[Mapping[Any, float], ...]:
        """Return label -> probability of each of ``count`` units, from what the tokens of :attr:`field` say of each
        label in a reply, in its order (:mod:`jurist.engines.probabilities`); empty where that says nothing.
        """
        ...

    def join(self, readings: Sequence[Reading]) -> Reading:
        """Return what the readings of all presentations say together."""
        ...

    def render_partial(self, inputs: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
        """Return the values of the input fields that ask for the units at these places (from 0) only."""
        ...

    def read_partial(self, reply: Mapping[str, Any], count: int, places: Sequence[int]) -> Reading:
        """Return what a reply says that was asked for these places of ``count``; the others get ``None``."""
        ...

    def example(self, values: Values) -> Any:
        """Return the value of :attr:`field` that says ``values``: :meth:`read` gives them back."""
        ...


class _Combined(Protocol):
    """How the samples of one unit become one value."""

    @property
    def uses_threshold(self) -> bool:
        """Whether a vote threshold changes what samples combine to."""
        ...

    @property
    def has_probabilities(self) -> bool:
        """Whether a unit has a probability of each answer, and of being what is looked for."""
        ...

    def probability(self, shares: Mapping[Any, float]) -> float | None:
        """Return how probable it is that a unit is what is looked for, 0 to 1; ``None`` if that is not known.

        Args:
            shares: value -> probability, or votes.
        """
        ...

    def combine(self, votes: Mapping[Any, Any], sampling: Sampling) -> Value | None:
        """Return the value that votes (value -> samples) give, ``None`` if they leave it open.

        Where probabilities decide, ``votes`` are value -> probability.
        """
        ...

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Return whether ``left`` more samples, whatever they say, cannot change what :meth:`combine` gives."""
        ...

    def agreement(self, votes: Mapping[Any, int], value: Value | None) -> float | None:
        """Return how far the votes agree with ``value``, 0 to 1; ``None`` without a value or a vote."""
        ...

    def spread(self, votes: Mapping[str, float]) -> float:
        """Return how far votes (by :meth:`Answer.text`) differ: 0 if all are the same, 1 at most."""
        ...

    def centred(self, shares: Mapping[str, float], threshold: float) -> Mapping[str, float]:
        """Return shares of votes, moved so that the share from which a unit is positive lies at one half."""
        ...


class _Gold(Protocol):
    """How people's labels are read, described and drawn from."""

    @property
    def per_unit(self) -> bool:
        """Whether a row holds a list with a value for each unit."""
        ...

    @property
    def noun(self) -> str:
        """What a value is called: ``label``, ``score``."""
        ...

    @property
    def row_type(self) -> Any:
        """The annotation of a gold row's field: what a value is as JSON."""
        ...

    @property
    def choices(self) -> tuple[str, ...]:
        """All that people may say of a unit, where that is a short list; else empty."""
        ...

    @property
    def expects(self) -> str:
        """What people may say of a unit, in words: ``one of: send, hold``."""
        ...

    def spell(self, given: Any) -> Any:
        """Return what a file gives as a row's field has it; what it does not know stays as it is."""
        ...

    def cell(self, given: str) -> Any:
        """Return what a cell of a sheet says of one unit as a row's field has it, ``None`` if it is unusable."""
        ...

    def of_json(self, data: Any) -> Value:
        """Return the value that :meth:`to_json` gave.

        Raises:
            ValueError: it is none of this answer's.
        """
        ...

    def to_json(self, value: Value | None) -> Any:
        """Return a value as plain JSON types."""
        ...

    def text(self, value: Value) -> str:
        """Return a value in a few words; :meth:`cell` reads them back."""
        ...

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        """Return what labelled cases lack to be a part of a split, ``None`` if nothing."""
        ...

    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        """Return what gold holds, as JSON values by name."""
        ...

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        """Return for each case whether it holds what is looked for: two sides to draw from."""
        ...

    def strata(self, cases: Sequence[Case]) -> list[str]:
        """Return the stratum of each case, for draws in which each has its share."""
        ...


class _Compared(Protocol):
    """What is right and wrong, for scores and for optimizers."""

    @property
    def metric(self) -> str:
        """The metric that is compiled for unless another is named."""
        ...

    @property
    def comparison(self) -> Comparison:
        """How values are held against gold, for every metric, interval and test."""
        ...

    def credit(self, gold: Value, value: Value | None) -> float:
        """Return how right a value is, 0 to 1; an unusable one is 0."""
        ...

    def feedback(self, text: str, gold: Value, value: Value | None) -> str:
        """Return in words what is wrong with the value of a unit."""
        ...

    def truth(self, text: str, gold: Value) -> str:
        """Return in words what people said of a unit."""
        ...

    def category(self, value: Value) -> str:
        """Return the name under which values are counted as confused with each other."""
        ...

    @property
    def proposer_note(self) -> str:
        """What a proposer has to know besides, where being wrong is not to disagree with people; else empty."""
        ...

    def task_words(self) -> str:
        """Return for a proposer what may be answered."""
        ...


class _Shown(Protocol):
    """What cards, output lines, summaries and exports hold of it."""

    @property
    def levels(self) -> tuple[str, ...]:
        """How strict it can be; empty if that cannot be chosen."""
        ...

    @property
    def strictness(self) -> str:
        """Which of the levels it is at; empty without any."""
        ...

    def at_strictness(self, level: str) -> Self:
        """Return the same at one of its levels."""
        ...

    def reading_of(self, other: Answer) -> Callable[[Value], Value] | None:
        """Return how values of another answer to the same question are said by this one; ``None`` if they cannot be."""
        ...

    def identity(self) -> dict[str, Any]:
        """Return what makes an artifact's answer this one, as JSON values: ``labels`` and what else there is."""
        ...

    def identity_under(self, card: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of :meth:`identity` in which a card must be the same."""
        ...

    def listing(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return a heading, and what can be answered with a remark each."""
        ...

    def unit_parts(self, value: Value | None) -> dict[str, Any]:
        """Return what the output line of a run says of a unit's value."""
        ...

    def unit_value(self, unit: Mapping[str, Any]) -> Value | None:
        """Return the value of a unit of an output line.

        Raises:
            ValueError: it is none of this answer's.
        """
        ...

    def unit_details(self, value: Value) -> Mapping[str, Any]:
        """Return what else a value says about its unit."""
        ...

    def row_parts(self, values: Values) -> dict[str, Any]:
        """Return what an output line says of the whole row."""
        ...

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Return what a row adds to the sums of a run. ``counts`` are those of its readings."""
        ...

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return the sums of a run as JSON values."""
        ...

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """Return the same for people."""
        ...

    def proof_facts(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return what a card says of the sums on the sealed test; empty if nothing."""
        ...

    def render_rule(self, name: str) -> str:
        """Return how an input is written into the prompt: a name of :data:`.rendering.RULES`, or ``custom``."""
        ...

    def parser_rule(self) -> dict[str, Any]:
        """Return how another system reads the answer from a reply, as JSON values."""
        ...

    @property
    def voting_rule(self) -> str:
        """How another system combines several samples, in words."""
        ...


class Answer(_Asked, _Combined, _Gold, _Compared, _Shown, Protocol):
    """The kind of thing a judge gives. Values are hashable, one for each unit of a case."""
