"""A score: one number on a bounded scale, whole or not. Samples combine to their median."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median, quantiles
from typing import Annotated, Any, ClassVar

import pydantic

from ...cases import Case, Value
from ...errors import JudgeError
from ...evaluation.scores import Scores
from ..votes import Sampling, majority
from .base import SHOWN, Answer, Learned, upper_half
from .portable import median_vote
from .reading import Reading, reasoning_of

_FEW = 10  # values of a scale that is listed
_BINS = 4  # of a scale that is not


@dataclass(frozen=True, kw_only=True)
class Score(Answer):
    """A number from ``low`` to ``high``.

    Attributes:
        low: the lowest score.
        high: the highest.
        whole: whether only whole numbers count.
        top: how the share of answers at the upper end is called, if it is to be shown (a metric).
    """

    low: float = 1
    high: float = 5
    whole: bool = True
    top: str = ""

    has_quality: ClassVar[bool] = True
    noun: ClassVar[str] = "score"
    learned: ClassVar[Learned] = "number"
    _combining: ClassVar[str] = "their median counts, if more than half of them are usable (the lower of two)"

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse a scale without two values."""
        super().check(judge, inputs)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise JudgeError(
                f"judge {judge}: there is no scale from {self.low} to {self.high}",
                hint="give a lowest and a higher highest score",
            )

    @cached_property
    def comparison(self) -> Scores:
        """How far two values are the same."""
        return Scores(self.low, self.high, step=1 if self.whole else None, top=self.top)

    @property
    def row_type(self) -> Any:
        """A number within the scale."""
        if self.whole:
            return Annotated[int, pydantic.Field(ge=self.low, le=self.high)]
        return Annotated[float, pydantic.Field(ge=self.low, le=self.high, allow_inf_nan=False)]

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a short scale of whole numbers."""
        if not self.whole or self.high - self.low >= _FEW:
            return ()
        return tuple(str(value) for value in range(math.ceil(self.low), math.floor(self.high) + 1))

    @property
    def expects(self) -> str:
        """``a whole number from 1 to 5``."""
        return f"a {'whole ' if self.whole else ''}number from {self.low:g} to {self.high:g}"

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return the number; nothing if it is none, or off the scale."""
        value = self._number(reply.get(self.field))
        problem = "" if value is not None else f"{reply.get(self.field)!r} is not {self.expects}"
        return Reading(values=(value,), reasoning=reasoning_of(reply), problem=problem[:SHOWN])

    def example(self, values: Sequence[Value | None]) -> Any:
        """Return the number."""
        return values[0]

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        """Return the median of the scores, if more than half of the samples gave one."""
        return median_vote(votes, sampling.samples)

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Return whether the median stays, wherever on the scale further scores lie."""
        usable = sum(votes.values())
        if usable + left < majority(sampling.samples):
            return True
        now = self.combine(votes, sampling)
        return now is not None and all(
            self.combine(Counter(votes) + Counter({end: more}), sampling) == now
            for more in range(1, left + 1)
            for end in (self.low, self.high)
        )

    def quality(self, value: Value) -> float:
        """Return the place on the scale."""
        return float((value - self.low) / (self.high - self.low))

    def truth(self, text: str, gold: Value) -> str:
        """Return ``"TEXT" has the score 4 according to people``."""
        return f'"{text[:SHOWN]}" has the score {self.text(gold)} according to people'

    def text(self, value: Value) -> str:
        """Return the number as short as it is exact."""
        return repr(value)

    def category(self, value: Value) -> str:
        """Return the score of a short scale, else its quarter of the scale."""
        if self.choices:
            return self.text(value)
        width = (self.high - self.low) / _BINS
        start = self.low + width * min(_BINS - 1, int((value - self.low) / width))
        return f"{start:g} to {start + width:g}"

    def strata(self, cases: Sequence[Case]) -> list[str]:
        """Return the score of a short scale, else the quarter of all given scores that it is in."""
        if self.choices:
            return super().strata(cases)
        known = [case.known[0] for case in cases if case.known]
        cuts = quantiles(known, n=_BINS) if len(known) > 1 else []
        return [
            str(sum(cut < case.known[0] for cut in cuts)) if case.known else "unlabelled" for case in cases
        ]

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        """Return whether each case's score is in the upper half of all given ones."""
        return upper_half([case.known[0] if case.known else None for case in cases])

    def cell(self, given: str) -> Any:
        """Return the number that a cell holds."""
        return self._number(given)

    def of_json(self, data: Any) -> Value:
        """Return a score on the scale."""
        number = self._number(data)
        if number is None:
            raise ValueError(f"no score {data!r}, but {self.expects}")
        return number

    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        """Return the lowest, mean and highest score, and the units of each score of a short scale."""
        counts = Counter(map(self.text, values))
        return {
            "lowest": min(values, default=None),
            "mean": fmean(values) if values else None,
            "highest": max(values, default=None),
            **({self.top: fmean(value >= self.high for value in values)} if self.top and values else {}),
            **({"scores": {name: counts[name] for name in self.choices}} if self.choices else {}),
        }

    def usual(self, known: Sequence[Value]) -> Sequence[Value]:
        """Return the median, the mean, and what else is on a short scale or divides the scores into ten parts."""
        middle = [median(known), fmean(known)] if known else [(self.low + self.high) / 2]
        others = [float(name) for name in self.choices] or (quantiles(known, n=10) if len(known) > 1 else [])
        return list(dict.fromkeys(map(self.on_scale, (*middle, *others))))

    def on_scale(self, number: float) -> Value:
        """Return the nearest score, of a scale without steps to a hundredth of it."""
        held = min(max(number, self.low), self.high)
        if self.whole:
            return min(max(round(held), math.ceil(self.low)), math.floor(self.high))
        digits = max(0, 2 - math.floor(math.log10(self.high - self.low)))
        return min(max(round(held, digits), self.low), self.high)

    def task_words(self) -> str:
        """Return the scale."""
        return f"answer: {self.expects}; the closer to the score people gave, the better"

    def identity(self) -> dict[str, Any]:
        """Return the scale."""
        scale = {"low": self.low, "high": self.high, "whole": self.whole}
        return {"labels": list(self.choices), "answer": "score", **scale}

    def listing(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the scale."""
        return "Score", ((self.expects, ""),)

    def tally(self, values: Any, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Add up the scores."""
        return {} if values[0] is None else {"scored": 1, "score_sum": values[0]}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return the mean score of the rows that have one."""
        scored = sums.get("scored", 0)
        return {"mean_score": sums["score_sum"] / scored if scored else None}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """Return the mean score."""
        mean = self.totals(sums)["mean_score"]
        return () if mean is None else (f"mean score {mean:.3f}",)

    def parser_rule(self) -> dict[str, Any]:
        """Return the scale."""
        scale = {"low": self.low, "high": self.high, "whole": self.whole}
        return {"field": self.field, "score": scale, **({"reader": "score"} if type(self) is Score else {})}

    def _number(self, given: Any) -> int | float | None:
        """Return what is given as a number on the scale."""
        if isinstance(given, bool) or not isinstance(given, int | float | str):
            return None
        try:
            number = float(given)
        except (OverflowError, ValueError):  # a whole number may be larger than any float
            return None
        if not self.low <= number <= self.high or (self.whole and not number.is_integer()):
            return None
        return int(number) if self.whole else number
