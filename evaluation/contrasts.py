"""Two contenders on the same cases, with one repeat or several; several contrasts corrected together (Holm).

With one repeat the test is exact McNemar on units right or wrong, as in the proof. With several, answers of one
case are not independent, so units are not counted: all repeats of a group (conversation, document) are exchanged
between the two at once, and the mean of the metric over the repeats is compared (paired permutation test; exact up
to 14 differing groups). In both, a difference is said to be shown only if the corrected p is below alpha and the
clustered bootstrap interval of the difference excludes 0. Missing answers count as wrong throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..errors import UsageError
from .confusion import Floats, Ints, Units
from .intervals import Interval, group_weights, measure_difference
from .metrics import METRICS, MetricLike, resolve
from .paired import DRAWS, McNemar, Permutation, encode_pair, holm, mcnemar_units, permute
from .power import POWER, Smallest, clustered_error, detectable, one_way, smallest_net
from .proof import CUSTOM_DRAWS, FEW_GROUPS
from .repeats import MeanMeasure, stack
from .rows import Row

__all__ = ["Contrast", "Shown", "contrast", "corrected"]

Shown = Literal["better", "worse", "not shown to differ"]


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """One contender against another.

    Args:
        first, second: their names.
        metric: what is compared.
        values: the metric of each, mean over repeats, missing answers counted as wrong.
        interval: the clustered 95 % interval of ``difference``.
        mcnemar: on units, for one repeat: ``b`` only the second has right, ``c`` only the first.
        permutation: of whole groups, all repeats together.
        smallest: what this many rows can show.
        p_holm: the deciding test's p after Holm's correction.
        alpha: the level.
    """

    first: str
    second: str
    metric: str
    values: tuple[float, float]
    interval: Interval
    mcnemar: McNemar | None
    permutation: Permutation
    smallest: Smallest
    p_holm: float
    alpha: float

    @property
    def difference(self) -> float:
        """First minus second."""
        return self.values[0] - self.values[1]

    @property
    def p(self) -> float:
        """The deciding test's p, not corrected: McNemar's for one repeat, else the permutation test's."""
        return self.mcnemar.p if self.mcnemar else self.permutation.p

    @property
    def test(self) -> str:
        """The deciding test in words."""
        return "exact McNemar" if self.mcnemar else "clustered permutation"

    @property
    def verdict(self) -> Shown:
        """What is shown of the first."""
        if self.p_holm >= self.alpha:
            return "not shown to differ"
        net = 0 if self.mcnemar is None else self.mcnemar.c - self.mcnemar.b
        if self.difference > 0.0 and self.interval.low > 0.0 and net >= 0:
            return "better"
        if self.difference < 0.0 and self.interval.high < 0.0 and net <= 0:
            return "worse"
        return "not shown to differ"

    @property
    def words(self) -> str:
        """One sentence for people, with every number it rests on."""
        units = f"; {self.mcnemar.c} units to {self.mcnemar.b}" if self.mcnemar else ""
        return (
            f"{self.first} against {self.second}: {self.verdict}: {self.metric} {self.values[0]:.3f} and "
            f"{self.values[1]:.3f} ({self.difference:+.3f}, 95 % interval {self.interval.low:+.3f} to "
            f"{self.interval.high:+.3f}){units}; {self.test} p = {self.p:.3g}, after Holm {self.p_holm:.3g}"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the decision, in words; empty if nothing is known to."""
        groups = self.interval.groups
        if groups == 1:
            return ("all rows belong to one group: no interval can be given, so nothing can be shown",)
        if groups < FEW_GROUPS:
            return (f"only {groups} groups: the clustered intervals are too narrow to trust",)
        return ()

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
            "groups": self.interval.groups,
            "mcnemar": dict(self.mcnemar.__dict__) if self.mcnemar else None,
            "permutation": dict(self.permutation.__dict__),
            "smallest": self.smallest.to_json(),
        }


def contrast(
    first: tuple[str, Sequence[Sequence[Row]]],
    second: tuple[str, Sequence[Sequence[Row]]],
    metric: MetricLike,
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
    *,
    seed: int = 0,
    alpha: float = 0.05,
) -> Contrast:
    """Compare two contenders, each a name and its rows of every repeat. Not corrected; see :func:`corrected`.

    Raises:
        JuristError: ids, gold or groups differ, nothing is labelled, or a label is outside ``labels``.
        UsageError: different numbers of repeats, or the label sets, the metric or alpha are wrong.
    """
    if len(first[1]) != len(second[1]) or not first[1]:
        raise UsageError(
            f"{first[0]} has {len(first[1])} repeats and {second[0]} {len(second[1])}",
            hint="ask both equally often, at least once",
        )
    pairs = [
        encode_pair(other, own, labels, positive) for own, other in zip(first[1], second[1], strict=True)
    ]
    one, two = stack([pair[1] for pair in pairs]), stack([pair[0] for pair in pairs])
    measure = MeanMeasure(measure=resolve(metric, one), repeats=len(pairs))
    weights = group_weights(one.groups, seed=seed)
    permutation = permute(two, one, measure, seed=seed, draws=_draws(measure))
    test = mcnemar_units(two, one) if len(pairs) == 1 else None
    return Contrast(
        first=first[0],
        second=second[0],
        metric=measure.name,
        values=(measure.of(measure.filled(one)), measure.of(measure.filled(two))),
        interval=measure_difference(two, one, measure, weights),
        mcnemar=test,
        permutation=permutation,
        smallest=_smallest((one, two), measure, weights, alpha),
        p_holm=test.p if test else permutation.p,
        alpha=alpha,
    )


def _draws(measure: MeanMeasure) -> int:
    return DRAWS if measure.name in METRICS else CUSTOM_DRAWS


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


def _smallest(pair: tuple[Units, Units], measure: MeanMeasure, weights: Ints, alpha: float) -> Smallest:
    one, two = pair
    shares = _right(one, measure) - _right(two, measure)
    left, right = (measure.resampled(measure.filled(units), weights) for units in pair)
    differing = int((shares != 0.0).sum())
    return Smallest(
        alpha=alpha,
        power=POWER,
        units=len(shares),
        discordant=differing,
        one_way=one_way(alpha),
        net=smallest_net(differing, alpha) if measure.repeats == 1 else None,
        correct=detectable(clustered_error(shares, one.group[:: measure.repeats]), alpha),
        metric=detectable(float(np.std(left - right, ddof=1)), alpha),
    )


def _right(units: Units, measure: MeanMeasure) -> Floats:
    """The share of repeats in which each unit is right, shape (N,)."""
    return np.asarray(units.correct.reshape(-1, measure.repeats).mean(axis=1))
