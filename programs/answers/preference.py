"""A pairwise preference: which of two inputs is better, asked in both orders within every sample.

A model that likes the first place says "first" in both orders. So each sample asks twice, with the two inputs
exchanged, and counts only if both replies prefer the same one; replies that differ are counted as contradictions,
and are a tie where the output field has one, else no usable answer. The share of replies that chose the first place
is the position bias: 0.5 without any.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

from ...cases import Case, Value, Values
from ...errors import JudgeError
from ..votes import Sampling, majority
from .base import Answer
from .labels import OneLabel
from .reading import Reading

FIRST, SECOND, TIE = "first", "second", "tie"
_OTHER: Mapping[Value | None, Value] = {FIRST: SECOND, SECOND: FIRST, TIE: TIE}


@dataclass(frozen=True, kw_only=True)
class Preference(OneLabel):
    """``first``, ``second`` or, if the output field has it, ``tie``.

    Attributes:
        first: the input field with the first of the two.
        second: the one with the second.
    """

    first: str = FIRST
    second: str = SECOND

    has_quality: ClassVar[bool] = False
    noun: ClassVar[str] = "preference"
    presentations: ClassVar[int] = 2
    uses_threshold: ClassVar[bool] = False
    has_probabilities: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """The labels are those that the output field has, in one order."""
        kept = tuple(label for label in (FIRST, SECOND, TIE) if not self.values or label in self.values)
        object.__setattr__(self, "labels", kept)
        super().__post_init__()

    @property
    def unit_fields(self) -> tuple[str, ...]:
        """Both fields."""
        return self.first, self.second

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse fields that are no two inputs, and replies that are no preference."""
        if self.first == self.second or not {self.first, self.second} <= set(inputs):
            raise JudgeError(
                f"judge {judge}: {self.first!r} and {self.second!r} are not two of its inputs {', '.join(inputs)}",
                hint='name the two that are compared: answer=Preference(first="reply_a", second="reply_b")',
            )
        if not {FIRST, SECOND} <= set(self.values) <= {FIRST, SECOND, TIE}:
            raise JudgeError(
                f"judge {judge}: a preference is first, second or tie, not {', '.join(self.values)}",
                hint='give the output field the type Literal["first", "second", "tie"]',
            )

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the pair as one text."""
        return (f"{FIRST}: {inputs[self.first]}\n{SECOND}: {inputs[self.second]}",)

    def asks(self, inputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the row as it is, and with the two exchanged."""
        return inputs, {**inputs, self.first: inputs[self.second], self.second: inputs[self.first]}

    def join(self, readings: Sequence[Reading]) -> Reading:
        """Return what both orders say; a tie, or nothing usable, if they contradict each other."""
        said, exchanged = (reading.values[0] for reading in readings)
        again = None if exchanged is None else _OTHER[exchanged]
        differ = None not in (said, again) and said != again
        chosen = Counter((said, exchanged))
        return replace(
            readings[0],
            values=(None if None in (said, again) else self._undecided if differ else said,),
            inconsistent=differ,
            problem=readings[0].problem or readings[1].problem or self._problem(differ),
            counts={
                "first_place": chosen[FIRST],
                "places": chosen[FIRST] + chosen[SECOND],
                "contradictions": int(differ),
            },
        )

    @property
    def _undecided(self) -> Value | None:
        return TIE if TIE in self.labels else None

    def _problem(self, differ: bool) -> str:
        return "the replies in the two orders contradict each other" if differ and not self._undecided else ""

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        """Return what most samples prefer, of equals a tie if it is an answer; nothing unless most are usable."""
        if sum(votes.values()) < majority(sampling.samples):
            return None
        most = max(votes.values())
        ahead = [name for name in self.labels if votes.get(name, 0) == most]
        return ahead[0] if len(ahead) == 1 else self._undecided

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Return whether no replies of ``left`` more samples, unusable ones included, change the outcome."""
        now = self.combine(votes, sampling)
        return all(
            self.combine(Counter(votes) + more, sampling) == now for more in _further(self.labels, left)
        )

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        """Return whether people prefer the first."""
        return [FIRST in case.known for case in cases]

    # Most votes decide between three sides: what closed labels do with two of them does not hold.
    spread = Answer.spread
    centred = Answer.centred
    strata = Answer.strata
    check_part = Answer.check_part
    unit_parts = Answer.unit_parts

    def usual(self, known: Sequence[Value]) -> Sequence[Value]:
        """Return what a reply may prefer, the most frequent first."""
        return [label for label in super().usual(known) if label in self.values]

    def constants(self, known: Sequence[Value]) -> Mapping[str, Callable[[Mapping[str, Any]], Value]]:
        """Return these, and to prefer the longer of the two."""
        return {**super().constants(known), "always the longer one": self._longer}

    def _longer(self, inputs: Mapping[str, Any]) -> Value:
        first, second = (len(str(inputs[name])) for name in self.unit_fields)
        return (
            (TIE if TIE in self.values else FIRST) if first == second else FIRST if first > second else SECOND
        )

    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        """Return units by preference."""
        counts = Counter(values)
        return {"labels": {label: counts[label] for label in self.labels}}

    def task_words(self) -> str:
        """Return what may be preferred."""
        return f"answer: which of {self.first} and {self.second} people prefer: {', '.join(self.values)}"

    def identity(self) -> dict[str, Any]:
        """Return the labels, and which inputs are compared."""
        pair = {"first": self.first, "second": self.second}
        return {"labels": list(self.labels), "answer": "preference", "compared": pair}

    def listing(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the preferences."""
        fields = {FIRST: self.first, SECOND: self.second, TIE: ""}
        return "Preference", tuple((label, fields[label]) for label in self.labels)

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Count preferences, contradictions, and replies for the first place."""
        return {**counts, **({} if values[0] is None else {str(values[0]): 1})}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return how many rows prefer which, with :meth:`proof_facts`."""
        return {**{name: int(sums.get(name, 0)) for name in self.labels}, **self.proof_facts(sums)}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """Return the same for people."""
        preferred = ", ".join(f"{name} {int(sums.get(name, 0))}" for name in self.labels)
        facts = self.proof_facts(sums)
        if facts["position_bias"] is None:
            return (f"preferred: {preferred}",)
        return (
            f"preferred: {preferred}",
            f"position bias {facts['position_bias']:.3f} (share of the choices for the first place, 0.5 without bias)",
            f"{facts['contradictions']} samples contradicted themselves when the two were exchanged: "
            + ("ties" if self._undecided else "without a usable answer"),
        )

    def proof_facts(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return the position bias (None without a choice) and the contradictions."""
        places = sums.get("places", 0)
        bias = sums.get("first_place", 0) / places if places else None
        return {"position_bias": bias, "contradictions": int(sums.get("contradictions", 0))}

    def parser_rule(self) -> dict[str, Any]:
        """Return the values, and how the two orders become one preference."""
        return {
            **super().parser_rule(),
            "orders": f"fill it twice: as it is, and with {self.first} and {self.second} exchanged; where both replies "
            f"prefer the same of the two, it is preferred; otherwise it is {self._outcome}",
        }

    @property
    def _outcome(self) -> str:
        return "a tie" if self._undecided else "no usable answer"

    @property
    def voting_rule(self) -> str:
        """Most samples decide."""
        return (
            "two fillings, one for each order, are one sample; with several, what most of them prefer counts, and "
            f"what is equal is {self._outcome}"
        )


def _further(labels: Sequence[Value], left: int) -> Iterator[Counter[Value]]:
    """Yield all that up to ``left`` more samples can add."""
    for counts in product(range(left + 1), repeat=len(labels)):
        if sum(counts) <= left:
            yield Counter(dict(zip(labels, counts, strict=True)))
