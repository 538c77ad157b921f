"""Scores: numbers on a bounded scale, which are near or far, never right or wrong.

Their metrics stand in :mod:`jurist.evaluation.score_metrics`.
"""

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

import pydantic

from ..cases import Case, Values
from ..errors import UsageError
from .scale import SHOWN, Annotation, Learned, Scale, name_strata
from .votes import Sampling, mean_of_ratings, mean_vote, median_vote, nearest_score, number_within

if TYPE_CHECKING:
    from .metrics import Metric

_FEW = 10  # values of a scale that is listed
_BINS = 4  # of a scale that is not


def pointed(number: str) -> str:
    """Return a number with a point, where sheets of many countries write a comma: 3,5."""
    return re.sub(r"^(-?\d+),(\d{1,2})$", r"\1.\2", number)


@dataclass(frozen=True)
class Scores(Scale):
    """A number from ``low`` to ``high``; an answer is near or far, never right or wrong."""

    low: float
    high: float
    whole: bool = False  # True where only whole numbers count
    top: str = ""

    noun = "score"
    default = "quadratic_kappa"  # every constant answer has 0, where the median alone keeps errors small
    learned: ClassVar[Learned] = "number"
    takes_mean: ClassVar[bool] = True
    _combining: ClassVar[str] = "their median counts, if more than half of them are usable (the lower of two)"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise UsageError(
                f"a scale from {self.low} to {self.high}", hint="give its lower end, then its higher one"
            )

    @property
    def compared(self) -> tuple[str, ...]:
        names = ["mean_deviation", "within_one", "within_deviation"]
        if self.top:
            names.append(self.top)
        return tuple(names)

    @cached_property
    def metrics(self) -> "Mapping[str, Metric]":
        from .score_metrics import metrics_of_scores

        return metrics_of_scores(self.low, self.high, whole=self.whole, top=self.top)

    def similarity(self, gold: float, value: float) -> float:
        return 1.0 - abs(gold - value) / (self.high - self.low)

    def settle(self, values: Sequence[float]) -> float:
        """The mean: scores of one rater for equal inputs are measurements of one thing."""
        return mean_of_ratings(values)

    def wrong(self, gold: float) -> float:
        if gold - self.low < self.high - gold:
            return self.high
        return self.low

    @property
    def row_type(self) -> Annotation:
        if self.whole:
            return Annotated[int, pydantic.Field(ge=self.low, le=self.high)]
        return Annotated[float, pydantic.Field(ge=self.low, le=self.high, allow_inf_nan=False)]

    @property
    def choices(self) -> tuple[str, ...]:
        if not self.whole or self.high - self.low >= _FEW:
            return ()
        return tuple(str(value) for value in range(math.ceil(self.low), math.floor(self.high) + 1))

    @property
    def expects(self) -> str:
        number = "number"
        if self.whole:
            number = "whole number"
        return f"a {number} from {self.low:g} to {self.high:g}"

    def cell(self, written: str) -> float | None:
        return number_within(self.low, self.high, self.whole, pointed(written))

    def of_json(self, data: object) -> float:
        number = number_within(self.low, self.high, self.whole, data)
        if number is None:
            raise ValueError(f"no score {data!r}, but {self.expects}")
        return number

    def text(self, value: float) -> str:
        return repr(value)

    def category(self, value: float) -> str:
        """The score of a short scale, else its quarter of the scale."""
        if self.choices:
            return self.text(value)
        width = (self.high - self.low) / _BINS
        start = self.low + width * min(_BINS - 1, int((value - self.low) / width))
        return f"{start:g} to {start + width:g}"

    def truth(self, text: str, gold: float) -> str:
        return f'"{text[:SHOWN]}" has the score {self.text(gold)} according to people'

    def task_words(self) -> str:
        return f"answer: {self.expects}; the closer to the score people gave, the better"

    @property
    def ends(self) -> dict[str, float | bool]:
        """The scale as JSON values."""
        return {"low": self.low, "high": self.high, "whole": self.whole}

    def identity(self) -> dict[str, object]:
        return {"labels": list(self.choices), "answer": "score", **self.ends}

    def combine(self, votes: Mapping[float, int], sampling: Sampling) -> float | None:
        if sampling.takes_mean:
            return mean_vote(votes, sampling.samples, self.whole)
        return median_vote(votes, sampling.samples)

    def is_decided(self, votes: Mapping[float, int], remaining: int, sampling: Sampling) -> bool:
        if sampling.takes_mean:  # almost any further score moves it
            return remaining == 0
        return super().is_decided(votes, remaining, sampling)

    def voting_rule_under(self, sampling: Sampling) -> str:
        if not sampling.takes_mean:
            return self.voting_rule
        rule = (
            "one filling is one sample; with several, their mean counts, if more than half of them are usable"
        )
        if self.whole:
            rule += ": the nearest whole number, of two the even one"
        return rule

    def strata(self, cases: Sequence[Case]) -> list[str]:
        """The score of a short scale, else the quarter of all given scores that it is in."""
        if self.choices:
            return super().strata(cases)
        scores: list[float] = []
        for case in cases:
            if case.labels:
                scores.append(case.labels[0])
        quartiles: list[float] = []
        if len(scores) > 1:
            quartiles = statistics.quantiles(scores, n=_BINS)

        def quarter(score: float) -> str:
            return str(sum(quartile < score for quartile in quartiles))

        return name_strata(cases, quarter)

    def describe(self, values: Sequence[float]) -> dict[str, object]:
        description: dict[str, object] = {"lowest": None, "mean": None, "highest": None}
        if values:
            description = {"lowest": min(values), "mean": statistics.fmean(values), "highest": max(values)}
            if self.top:
                description[self.top] = statistics.fmean(value >= self.high for value in values)
        if self.choices:
            counts = Counter(map(self.text, values))
            description["scores"] = {name: counts[name] for name in self.choices}
        return description

    def usual(self, golds: Sequence[float]) -> Sequence[float]:
        """The median, the mean, and what else is on a short scale or divides the scores into ten parts."""
        numbers = [(self.low + self.high) / 2]
        if golds:
            numbers = [statistics.median(golds), statistics.fmean(golds)]
        if self.choices:
            numbers += [float(name) for name in self.choices]
        elif len(golds) > 1:
            numbers += statistics.quantiles(golds, n=10)
        return list(dict.fromkeys(map(self.on_scale, numbers)))

    def on_scale(self, number: float) -> float:
        """The nearest score, of a scale without steps to a hundredth of it."""
        return nearest_score(number, self.low, self.high, self.whole)

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        if values[0] is None:
            return {}
        return {**counts, "scored": 1, "score_sum": values[0]}

    def totals(self, sums: Mapping[str, float]) -> dict[str, object]:
        totals: dict[str, object] = {"mean_score": None}
        scored = sums.get("scored", 0)
        if scored:
            totals["mean_score"] = sums["score_sum"] / scored
        for name, count in sums.items():
            if name not in ("scored", "score_sum"):
                totals[name] = int(count)
        return totals
