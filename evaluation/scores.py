"""Scores: numbers on a bounded scale, held against gold by errors and by correlations.

- ``mae``, ``mse``: mean absolute and squared error, in units of the scale; lower is better. ``neg_mse`` is minus the
  latter.
- ``quadratic_kappa``: Cohen's kappa with quadratic weights, 1 - sum (gold - answer)^2 over what chance would give
  with the same marginals; it needs no grid of values, and is scikit-learn's where the scale is 0, 1, 2 ...
- ``spearman``, ``kendall``: rank correlations with ties, the latter tau-b; 0.0 where one side is constant.
- ``mean_deviation``: the mean of answer minus gold, in units of the scale; 0 is best, so nothing is compiled for it.
- ``within_one``: the share of answers that are at most one step off; on scales without steps at most 1, where they
  are longer than 2.
- the share of answers at the upper end of the scale, under a name of its own (``top``): it says nothing of gold, so
  nothing is compiled for it.
- ``accuracy``: on scales with steps, the share of answers that are exact.

A missing answer counts as the end of the scale that is farther from gold. The bounds of errors are exact; those of
kappa and of correlations are the ends of their range as soon as an answer is missing.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..errors import UsageError
from .graded import Graded
from .metrics import SLOW_DRAWS, Metric, fill_wrong, pair_counts, pair_sums
from .ratios import Ratio, mean, quotient
from .units import Floats, Units

_BLOCK = 256  # columns of the matrix of pairs of pairs held in memory at once


@dataclass(frozen=True)
class Scores(Graded):
    """A number from ``low`` to ``high``; an answer is near or far, never right or wrong."""

    low: float
    high: float
    step: float | None = None
    top: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise UsageError(
                f"a scale from {self.low} to {self.high}", hint="give its lower end, then its higher one"
            )
        if self.step is not None and not (self.step > 0 and _whole((self.high - self.low) / self.step)):
            raise UsageError(
                f"steps of {self.step} from {self.low} to {self.high}",
                hint="give a step that divides the scale",
            )

    @property
    def compared(self) -> tuple[str, ...]:
        """How the scores lie to gold, and how many are at the upper end."""
        return ("mean_deviation", "within_one", *([self.top] if self.top else []))

    @property
    def default(self) -> str:
        """Quadratic kappa: every constant answer has 0, where the median alone keeps errors small."""
        return "quadratic_kappa"

    @property
    def shown(self) -> tuple[str, ...]:
        """All but ``neg_mse``, which says what ``mse`` says."""
        return tuple(name for name in self.metrics if name != "neg_mse")

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """Those that fit, by name."""
        found = {
            **error_metrics(self.low, self.high),
            "quadratic_kappa": _correlation("quadratic_kappa", pair_sums(self._moments, _quadratic_kappa, 6)),
            "spearman": _correlation("spearman", pair_counts(_spearman)),
            "kendall": _correlation("kendall", pair_counts(_kendall), draws=SLOW_DRAWS),
            "mean_deviation": self._deviation(),
        }
        if self.step is not None:
            found["accuracy"] = self._within("accuracy", 0.0)
        if self.step is not None or self.high - self.low > 2:
            found["within_one"] = self._within("within_one", self.step or 1.0)
        if self.top:
            found[self.top] = Metric(
                name=self.top,
                statistics=pair_sums(lambda gold, value: (float(value >= self.high), 1.0), mean, 2),
                higher_is_better=None,
                exact=False,
            )
        return MappingProxyType(found)

    def _deviation(self) -> Metric:
        width = self.high - self.low
        return Metric(
            name="mean_deviation",
            statistics=pair_sums(lambda gold, value: (value - gold, 1.0), mean, 2),
            low=-width,
            high=width,
            higher_is_better=None,
            exact=False,
        )

    def _moments(self, gold: float, value: float) -> tuple[float, ...]:
        one, two = ((number - self.low) / (self.high - self.low) for number in (gold, value))
        return 1.0, one, two, one * one, two * two, one * two

    def _within(self, name: str, most: float) -> Metric:
        near = most + 1e-9 * (self.high - self.low)
        return Metric(name=name, statistics=pair_sums(lambda g, v: (float(abs(g - v) <= near), 1.0), mean, 2))

    def check(self, value: Any) -> str:
        """What is wrong with a value; empty if it is on the scale."""
        scale = f"a number from {self.low:g} to {self.high:g}"
        if self.step is not None:
            scale += f" in steps of {self.step:g}"
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not self.low <= value <= self.high
        ):
            return f"score {value!r} is not {scale}"
        return (
            ""
            if self.step is None or _whole((value - self.low) / self.step)
            else f"score {value!r} is not {scale}"
        )

    def similarity(self, gold: float, value: float) -> float:
        """1.0 for the same number, 0.0 for the two ends of the scale, linear in between."""
        return 1.0 - abs(gold - value) / (self.high - self.low)

    def wrong(self, gold: float) -> float:
        """The end of the scale that is farther away."""
        return self.high if gold - self.low < self.high - gold else self.low

    def consensus(self, values: Sequence[float]) -> float | None:
        """Their median, of two middle ones the lower; ``None`` of none."""
        return statistics.median_low(values) if values else None


def error_metrics(
    low: float,
    high: float,
    number: Callable[[Any], float] = float,
    worst: Callable[[Units], Units] = fill_wrong,
) -> dict[str, Metric]:
    """Return ``mae``, ``mse`` and ``neg_mse`` of values that are numbers from ``low`` to ``high``."""

    def errors(power: int, sign: float) -> Callable[[Units], Any]:
        most = sign * (high - low) ** power
        return pair_sums(
            lambda gold, value: (sign * abs(number(gold) - number(value)) ** power, 1.0),
            replace(mean, empty=most),
            2,
        )

    width = high - low
    return {
        "mae": Metric(name="mae", statistics=errors(1, 1.0), high=width, higher_is_better=False, worst=worst),
        "mse": Metric(
            name="mse", statistics=errors(2, 1.0), high=width**2, higher_is_better=False, worst=worst
        ),
        "neg_mse": Metric(name="neg_mse", statistics=errors(2, -1.0), low=-(width**2), high=0.0, worst=worst),
    }


def _correlation(name: str, found: Callable[[Units], Any], **more: Any) -> Metric:
    return Metric(name=name, statistics=found, low=-1.0, exact=False, **more)


def _whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-9


@Ratio
def _quadratic_kappa(sums: Floats) -> tuple[Floats, Floats]:
    count, gold, value, gold2, value2, both = np.moveaxis(sums, -1, 0)
    error = gold2 + value2 - 2.0 * both
    # what the error would be if the answers were paired with gold at random
    chance = gold2 + value2 - quotient(2.0 * gold * value, count)
    small = np.abs(chance) <= 1e-12 * np.maximum(1.0, gold2 + value2)
    return np.where(small, 0.0, chance - error), np.where(small, 0.0, chance)


def _spearman(counts: Floats, gold: list[Any], said: list[Any]) -> Floats:
    """Pearson's correlation of mid-ranks, under counts (B, P) of pairs."""
    total = counts.sum(axis=-1, keepdims=True)
    one, two = (_ranks(counts, values) - (total + 1.0) / 2.0 for values in (gold, said))
    above = (counts * one * two).sum(axis=-1)
    below = np.sqrt((counts * one**2).sum(axis=-1) * (counts * two**2).sum(axis=-1))
    return np.clip(quotient(above, np.where(below > 1e-9, below, 0.0)), -1.0, 1.0)


def _ranks(counts: Floats, values: list[Any]) -> Floats:
    """The mid-rank of each value, (B, P), where each counts as often as ``counts`` says."""
    names, place = np.unique(np.array(values, dtype=np.float64), return_inverse=True)
    sizes = counts @ _flags(place, len(names))
    middle = np.cumsum(sizes, axis=-1) - sizes / 2.0 + 0.5
    return np.asarray(middle[:, place])


def _flags(place: Any, size: int) -> Any:
    """Which of ``size`` names each place has, (P, size)."""
    return csr_array((np.ones(len(place)), (np.arange(len(place)), place)), shape=(len(place), size))


def _kendall(counts: Floats, gold: list[Any], said: list[Any]) -> Floats:
    """Tau-b, under counts (B, P) of pairs: concordant less discordant over what is tied on neither side."""
    one, two = np.array(gold, dtype=np.float64), np.array(said, dtype=np.float64)
    net, untied_one, untied_two = (np.zeros(len(counts)) for _ in range(3))
    for start in range(0, len(one), _BLOCK):
        block = slice(start, start + _BLOCK)
        signs = [np.sign(side[:, np.newaxis] - side[np.newaxis, block]) for side in (one, two)]
        here = counts[:, block]
        net += ((counts @ (signs[0] * signs[1])) * here).sum(axis=-1)
        untied_one += ((counts @ np.abs(signs[0])) * here).sum(axis=-1)
        untied_two += ((counts @ np.abs(signs[1])) * here).sum(axis=-1)
    return np.clip(quotient(net, np.sqrt(untied_one * untied_two)), -1.0, 1.0)
