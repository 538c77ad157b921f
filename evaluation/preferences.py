"""A preference between two: which of them is better, or neither.

The share of replies that chose the first place, where every pair was shown in both orders, is the position bias: 0.5
without any.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..cases import Case, Value, Values
from .closed_labels import ClosedLabels
from .scale import Scale
from .votes import Sampling, most_preferred

FIRST, SECOND, TIE = "first", "second", "tie"
SIDES: Final = (FIRST, SECOND, TIE)


@dataclass(frozen=True)
class Preferences(ClosedLabels):
    """``first``, ``second`` and perhaps ``tie``, in this order; the two are called by the fields that hold them."""

    first: str = FIRST
    second: str = SECOND

    noun = "preference"
    has_probabilities = False
    weighted = ()

    # Most votes decide between three sides: what closed labels do with two of them does not hold.
    strata = Scale.strata
    check_part = Scale.check_part

    @property
    def undecided(self) -> Value | None:
        """What is said of equals: a tie if it is an answer, else nothing usable."""
        return TIE if TIE in self.labels else None

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        return most_preferred(votes, self.labels, sampling.samples, self.undecided)

    @property
    def voting_rule(self) -> str:
        return (
            "two fillings, one for each order, are one sample; with several, what most of them prefer counts, and "
            f"what is equal is {self.outcome}"
        )

    @property
    def outcome(self) -> str:
        """What equals are, in words."""
        return "a tie" if self.undecided else "no usable answer"

    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        counts = Counter(values)
        return {"labels": {label: counts[label] for label in self.labels}}

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        return [FIRST in case.known for case in cases]

    def task_words(self) -> str:
        return f"answer: which of {self.first} and {self.second} people prefer: {', '.join(self.labels)}"

    def identity(self) -> dict[str, Any]:
        pair = {"first": self.first, "second": self.second}
        return {"labels": list(self.labels), "answer": "preference", "compared": pair}

    def remark(self, choice: str) -> str:
        return {FIRST: self.first, SECOND: self.second}.get(choice, "")

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        return {**counts, **({} if values[0] is None else {str(values[0]): 1})}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        return {**{name: int(sums.get(name, 0)) for name in self.labels}, **self.proof_facts(sums)}

    def proof_facts(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """The position bias (None without a choice) and the contradictions."""
        places = sums.get("places", 0)
        bias = sums.get("first_place", 0) / places if places else None
        return {"position_bias": bias, "contradictions": int(sums.get("contradictions", 0))}
