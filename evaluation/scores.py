"""Scores: numbers on a bounded scale, held against gold by errors and by correlations.

- ``mae``, ``mse``: mean absolute and squared error, in units of the scale; lower is better.
- ``quadratic_kappa``: Cohen's kappa with quadratic weights, 1 - sum (gold - answer)^2 over what chance would give
  with the same marginals; it needs no grid of values, and is scikit-learn's where the scale is 0, 1, 2 ...
- ``spearman``: the rank correlation with ties; 0.0 where one side is constant.
- ``mean_deviation``: the mean of answer minus gold, in units of the scale; 0 is best, so nothing is compiled for it.
- ``within_deviation``: the share of deviations that lie within one standard deviation of their mean.
- ``within_one``: the share of answers that are at most 1 off; on scales of any number where they are longer than 2.
- the share of answers at the upper end of the scale, under a name of its own (``top``): it says nothing of gold, so
  nothing is compiled for it.
- ``accuracy``: on scales of whole numbers, the share of answers that are exact.

A missing answer counts as the end of the scale that is farther from gold.
"""

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, ClassVar

import numpy as np
import pydantic
import scipy

from ..cases import Case, Values
from ..errors import UsageError
from .metrics import Metric, Ratio, mean, pair_counts, pair_means, pair_sums, quotient
from .scale import SHOWN, Annotation, Learned, Scale, name_strata
from .units import Floats
from .votes import Sampling, mean_vote, median_vote, nearest_score, number_within

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
    def metrics(self) -> Mapping[str, Metric]:
        width = self.high - self.low
        kappa = pair_sums(self._moments, _quadratic_kappa, 6)
        deviation = pair_means(lambda gold, value: value - gold)
        metrics = [
            self._error("mae", 1),
            self._error("mse", 2),
            Metric(name="quadratic_kappa", statistics=kappa, low=-1.0),
            Metric(name="spearman", statistics=pair_counts(_spearman), low=-1.0),
            Metric(
                name="mean_deviation",
                statistics=deviation,
                low=-width,
                high=width,
                higher_is_better=None,
            ),
            Metric(
                name="within_deviation",
                statistics=pair_counts(_within_deviation),
                higher_is_better=None,
            ),
        ]
        if self.whole:
            metrics.append(self._within("accuracy", 0.0))
        if self.whole or width > 2:
            metrics.append(self._within("within_one", 1.0))
        if self.top:
            at_the_top = pair_means(lambda gold, value: float(value >= self.high))
            metrics.append(Metric(name=self.top, statistics=at_the_top, higher_is_better=None))
        return MappingProxyType({metric.name: metric for metric in metrics})

    def _error(self, name: str, power: int) -> Metric:
        """Return the metric of the mean error to a power; over no units it is as high as can be."""
        highest = (self.high - self.low) ** power
        statistics_of = pair_means(
            lambda gold, value: abs(gold - value) ** power, replace(mean, empty=highest)
        )
        return Metric(name=name, statistics=statistics_of, high=highest, higher_is_better=False)

    def _moments(self, gold: float, value: float) -> tuple[float, ...]:
        """Return the terms of quadratic kappa's sums, of gold and value on a scale from 0 to 1."""
        width = self.high - self.low
        gold_share, value_share = (gold - self.low) / width, (value - self.low) / width
        return (
            1.0,
            gold_share,
            value_share,
            gold_share * gold_share,
            value_share * value_share,
            gold_share * value_share,
        )

    def _within(self, name: str, distance: float) -> Metric:
        """Return the metric of the share of answers that are at most so far from gold."""
        limit = distance + 1e-9 * (self.high - self.low)
        return Metric(name=name, statistics=pair_means(lambda gold, value: float(abs(gold - value) <= limit)))

    def similarity(self, gold: float, value: float) -> float:
        return 1.0 - abs(gold - value) / (self.high - self.low)

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
            if case.known:
                scores.append(case.known[0])
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
        return {"scored": 1, "score_sum": values[0]}

    def totals(self, sums: Mapping[str, float]) -> dict[str, object]:
        scored = sums.get("scored", 0)
        if not scored:
            return {"mean_score": None}
        return {"mean_score": sums["score_sum"] / scored}


@Ratio
def _quadratic_kappa(sums: Floats) -> tuple[Floats, Floats]:
    # Each of the six is of shape (...): the sums of Scores._moments.
    count, gold, value, gold_squared, value_squared, product = np.moveaxis(sums, -1, 0)
    squares = gold_squared + value_squared
    error = squares - 2.0 * product
    # The error would be this if the answers were paired with gold at random.
    chance = squares - quotient(2.0 * gold * value, count)
    no_chance = np.abs(chance) <= 1e-12 * np.maximum(1.0, squares)
    return np.where(no_chance, 0.0, chance - error), np.where(no_chance, 0.0, chance)


def _within_deviation(counts: Floats, gold: Sequence[float], answered: Sequence[float]) -> Floats:
    """The share of deviations within one of their standard deviations of their mean (FAITHQA, Figure 3)."""
    deviations = np.subtract(answered, gold)  # (P,)
    total = counts.sum(axis=-1, keepdims=True)  # (B, 1)
    from_mean = deviations - quotient(counts @ deviations[:, None], total)  # (B, P)
    spread = np.sqrt(quotient((counts * from_mean**2).sum(axis=-1, keepdims=True), total))  # (B, 1)
    is_within = np.abs(from_mean) <= spread + 1e-9
    return quotient((counts * is_within).sum(axis=-1), total[:, 0])


def _spearman(counts: Floats, gold: Sequence[float], answered: Sequence[float]) -> Floats:
    """Pearson's correlation of mid-ranks, under counts (B, P) of pairs."""
    total = counts.sum(axis=-1, keepdims=True)  # (B, 1)
    mean_rank = (total + 1.0) / 2.0
    gold_ranks = _ranks(counts, gold) - mean_rank  # (B, P), as are the others
    answer_ranks = _ranks(counts, answered) - mean_rank
    above = (counts * gold_ranks * answer_ranks).sum(axis=-1)
    gold_square = (counts * gold_ranks**2).sum(axis=-1)
    answer_square = (counts * answer_ranks**2).sum(axis=-1)
    below = np.sqrt(gold_square * answer_square)
    return np.clip(quotient(above, np.where(below > 1e-9, below, 0.0)), -1.0, 1.0)


def _ranks(counts: Floats, values: Sequence[float]) -> Floats:
    """Return the mid-rank of each value, (B, P), where each counts as often as ``counts`` says."""
    distinct_values, value_number = np.unique(np.array(values, dtype=np.float64), return_inverse=True)
    pairs = np.arange(len(value_number))
    is_value = scipy.sparse.csr_array(
        (np.ones(len(value_number)), (pairs, value_number)), shape=(len(pairs), len(distinct_values))
    )
    sizes = counts @ is_value  # (B, distinct values): how often each value counts
    mid_ranks = np.cumsum(sizes, axis=-1) - sizes / 2.0 + 0.5
    return np.asarray(mid_ranks[:, value_number])
