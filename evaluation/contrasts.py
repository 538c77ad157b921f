"""Two contenders on the same cases, with one repeat or several; several contrasts corrected together (Holm).

The tests are those of :mod:`.paired`: for one repeat as in the proof; with several, all repeats of a group are
exchanged between the two at once, and the mean of the metric over the repeats is compared. Missing answers count as
wrong throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..errors import UsageError
from .comparisons import Comparison, MetricLike, resolve
from .intervals import group_weights
from .metrics import Metric
from .paired import Paired, compare_pair, holm
from .power import POWER, Smallest, clustered_error, detectable, one_way, smallest_net
from .rows import Row
from .units import Ints, Units, encode

__all__ = ["Contrast", "Shown", "contrast", "corrected"]

Shown = Literal["better", "worse", "not shown to differ"]


@dataclass(frozen=True, kw_only=True)
class Contrast(Paired):
    """One contender (whose answers come ``after``) against another (``before``), with all their repeats.

    Args:
        first, second: their names; ``difference`` is first minus second.
        smallest: what this many rows can show.
        p_holm: the deciding test's p after Holm's correction.
        alpha: the level.
    """

    first: str
    second: str
    smallest: Smallest
    p_holm: float
    alpha: float

    @property
    def values(self) -> tuple[float, float]:
        """The metric of the first and of the second, mean over repeats, missing answers counted as wrong."""
        return self.after, self.before

    @property
    def p(self) -> float:
        """The deciding test's p, not corrected."""
        return self.uncorrected_p

    @property
    def verdict(self) -> Shown:
        """What is shown of the first."""
        return self.direction(self.p_holm, self.alpha) or "not shown to differ"

    @property
    def words(self) -> str:
        """One sentence for people, with every number it rests on."""
        units = f"; {self.mcnemar.c} units to {self.mcnemar.b}" if self.mcnemar else ""
        return (
            f"{self.first} against {self.second}: {self.verdict}: {self.metric} {self.values[0]:.3f} and "
            f"{self.values[1]:.3f} ({self.difference:+.3f}, 95 % interval {self.interval.low:+.3f} to "
            f"{self.interval.high:+.3f}){units}; {self.test} p = {self.p:.3g}, after Holm {self.p_holm:.3g}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {
            "first": self.first,
            "second": self.second,
            "verdict": self.verdict,
            "words": self.words,
            "warnings": list(self.warnings),
            "metric": self.metric,
            "values": list(self.values),
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "missing": "counted as wrong",
            "test": self.test,
            "p": self.p,
            "p_holm": self.p_holm,
            "alpha": self.alpha,
            "groups": self.groups,
            "mcnemar": dict(self.mcnemar.__dict__) if self.mcnemar else None,
            "permutation": dict(self.permutation.__dict__),
            "smallest": self.smallest.to_json(),
        }


def contrast(
    first: tuple[str, Sequence[Sequence[Row]]],
    second: tuple[str, Sequence[Sequence[Row]]],
    metric: MetricLike,
    comparison: Comparison,
    *,
    seed: int = 0,
    alpha: float = 0.05,
) -> Contrast:
    """Compare two contenders, each a name and its rows of every repeat. Not corrected; see :func:`corrected`.

    Raises:
        JuristError: ids, gold or groups differ, nothing is labelled, or a value is not of this kind.
        UsageError: different numbers of repeats, or the metric or alpha are wrong.
    """
    if len(first[1]) != len(second[1]) or not first[1]:
        raise UsageError(
            f"{first[0]} has {len(first[1])} repeats and {second[0]} {len(second[1])}",
            hint="ask both equally often, at least once",
        )
    units, found = encode(comparison, *second[1], *first[1]), resolve(metric, comparison)
    weights = group_weights(units.groups, seed=seed)
    paired = compare_pair(units, found, weights, seed=seed)
    return Contrast(
        **vars(paired),
        first=first[0],
        second=second[0],
        smallest=_smallest(units, found, weights, alpha),
        p_holm=paired.uncorrected_p,
        alpha=alpha,
    )


def corrected(contrasts: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """Return the contrasts with Holm's correction over all of them.

    The smallest effects are then those of Holm's first step, at alpha divided by the number of tests.
    """
    adjusted = holm({str(number): one.p for number, one in enumerate(contrasts)})
    return tuple(
        replace(one, p_holm=adjusted[str(number)], smallest=_at(one, len(contrasts)))
        for number, one in enumerate(contrasts)
    )


def _at(one: Contrast, tests: int) -> Smallest:
    """The smallest effects at the level of Holm's first step; standard errors do not depend on the level."""
    kept, alpha = one.smallest, one.alpha / tests
    per_error = (detectable(1.0, alpha) or 0.0) / (detectable(1.0, kept.alpha) or 1.0)
    return replace(
        kept,
        alpha=alpha,
        one_way=one_way(alpha),
        net=smallest_net(kept.discordant, alpha) if one.mcnemar else None,
        correct=None if kept.correct is None else kept.correct * per_error,
        metric=None if kept.metric is None else kept.metric * per_error,
    )


def _smallest(units: Units, metric: Metric, weights: Ints, alpha: float) -> Smallest:
    half, filled = len(units.predicted) // 2, metric.worst(units)
    second, first = filled.sets(slice(half)), filled.sets(slice(half, None))
    drawn = metric.resampled(first, weights) - metric.resampled(second, weights)
    right = units.right
    # where nothing is right or wrong, units differ if the answers do
    shares = None if right is None else right[half:].mean(axis=0) - right[:half].mean(axis=0)
    differ = (first.predicted != second.predicted).any(axis=0) if shares is None else shares != 0.0
    differing = int(differ.sum())
    return Smallest(
        alpha=alpha,
        power=POWER,
        units=len(units.gold),
        discordant=differing,
        one_way=one_way(alpha),
        net=smallest_net(differing, alpha) if half == 1 and right is not None else None,
        correct=None if shares is None else detectable(clustered_error(shares, units.group), alpha),
        metric=detectable(float(np.std(drawn, ddof=1)), alpha),
    )
