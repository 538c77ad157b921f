"""A preference between two: which of them is better, or neither.

The share of replies that chose the first place, where every pair was shown in both orders, is the position bias: 0.5
without any.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
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
    spread = Scale.spread
    centred = Scale.centred
    strata = Scale.strata
    check_part = Scale.check_part

    @property
    def undecided(self) -> Value | None:
        """What is said of equals: a tie if it is an answer, else nothing usable."""
        return TIE if TIE in self.labels else None

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        return most_preferred(votes, self.labels, sampling.samples, self.undecided)

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Whether no replies of ``left`` more samples, unusable ones included, change the outcome."""
        now = self.combine(votes, sampling)
        further = (
            counts for counts in product(range(left + 1), repeat=len(self.labels)) if sum(counts) <= left
        )
        return all(
            self.combine(Counter(votes) + Counter(dict(zip(self.labels, counts, strict=True))), sampling)
            == now
            for counts in further
        )

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

    def listing(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        fields = {FIRST: self.first, SECOND: self.second, TIE: ""}
        return "Preference", tuple((label, fields[label]) for label in self.labels)

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        return {**counts, **({} if values[0] is None else {str(values[0]): 1})}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        return {**{name: int(sums.get(name, 0)) for name in self.labels}, **self.proof_facts(sums)}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        preferred = ", ".join(f"{name} {int(sums.get(name, 0))}" for name in self.labels)
        facts = self.proof_facts(sums)
        if facts["position_bias"] is None:
            return (f"preferred: {preferred}",)
        return (
            f"preferred: {preferred}",
            f"position bias {facts['position_bias']:.3f} (share of the choices for the first place, 0.5 without bias)",
            f"{facts['contradictions']} samples contradicted themselves when the two were exchanged: "
            + ("ties" if self.undecided else "without a usable answer"),
        )

    def proof_facts(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """The position bias (None without a choice) and the contradictions."""
        places = sums.get("places", 0)
        bias = sums.get("first_place", 0) / places if places else None
        return {"position_bias": bias, "contradictions": int(sums.get("contradictions", 0))}
