"""The proof: did compiling help, on rows that nobody tuned on? Basic against compiled, paired, in words.

Three things must agree before "better" is said: the metric is higher, significantly more units were corrected
than broken (exact McNemar), and the clustered interval of the metric's difference excludes 0. McNemar takes
units as independent, the interval does not; the metric may weigh units unequally, McNemar does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import UsageError
from .confusion import Ints, Units
from .intervals import Interval, group_weights, measure_difference
from .measured import Measured, measure_units
from .measures import Measure
from .metrics import METRICS, MetricLike, resolve
from .paired import DRAWS, McNemar, Permutation, encode_pair, mcnemar_units, permute
from .rows import Row, Tally

__all__ = ["FEW_GROUPS", "Decision", "Proof", "Verdict", "prove"]

Verdict = Literal["better", "worse", "not shown to be better"]

FEW_GROUPS = 10
CUSTOM_DRAWS = 1000
"""Swaps drawn for a user's own metric, which is called twice for each."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What was decided and on which evidence.

    Args:
        verdict: the decision.
        metric: name of the judge's metric.
        basic: its value for the basic program, missing answers counted as wrong.
        compiled: the same for the compiled one.
        interval: the clustered 95 % interval of ``difference``.
        mcnemar: the unit test; ``b`` units broken, ``c`` corrected.
        permutation: the clustered permutation test of the same difference, reported, not decisive.
        alpha: the level of McNemar's test.
        correct: what McNemar counts as right.
        units: labelled units compared.
        cases: cases with a labelled unit.
        groups: groups with a labelled unit.
        openings: how often this test has been opened, this time included.
    """

    verdict: Verdict
    metric: str
    basic: float
    compiled: float
    interval: Interval
    mcnemar: McNemar
    permutation: Permutation
    alpha: float
    correct: Literal["right side of the positive labels", "exact label"]
    units: int
    cases: int
    groups: int
    openings: int = 1

    @property
    def p(self) -> float:
        """McNemar's p, corrected (Bonferroni) for how often this test has been opened."""
        return min(1.0, self.mcnemar.p * self.openings)

    @property
    def difference(self) -> float:
        """Compiled minus basic."""
        return self.compiled - self.basic

    @property
    def words(self) -> str:
        """One sentence for people: the verdict, the metric, and every number it rests on."""
        return (
            f"compiled is {self.verdict}: {self.metric} {self.basic:.3f} -> {self.compiled:.3f} "
            f"({self.difference:+.3f}, 95 % interval {self.interval.low:+.3f} to {self.interval.high:+.3f}); "
            f"{self.mcnemar.c} units corrected, {self.mcnemar.b} broken, McNemar p = {self._p_words}; "
            f"{self.units} units, {self.cases} cases, {self.groups} groups"
        )

    @property
    def _p_words(self) -> str:
        if self.openings == 1:
            return f"{self.p:.3g}"
        return f"{self.p:.3g} (corrected: this test has been opened {self.openings} times)"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the decision, in words; empty if nothing is known to."""
        if self.groups == 1:
            return ("all rows belong to one group: no interval can be given, so nothing can be shown",)
        if self.groups < FEW_GROUPS:
            return (f"only {self.groups} groups: the clustered interval is too narrow to trust",)
        return ()

    def to_card(self) -> dict[str, Any]:
        """Plain types, ready for JSON."""
        return {
            "verdict": self.verdict,
            "words": self.words,
            "warnings": list(self.warnings),
            "metric": self.metric,
            "basic": self.basic,
            "compiled": self.compiled,
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "missing": "counted as wrong",
            "p": self.p,
            "p_uncorrected": self.mcnemar.p,
            "openings": self.openings,
            "mid_p": self.mcnemar.mid_p,
            "clustered_p": self.permutation.p,
            "alpha": self.alpha,
            "test": f"exact McNemar on units (right: {self.correct}), two-sided",
            "b": self.mcnemar.b,
            "c": self.mcnemar.c,
            "units": self.units,
            "cases": self.cases,
            "groups": self.groups,
        }


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Scores of both programs with intervals, and the decision.

    Args:
        basic: scores of the basic program with intervals, over its answered units.
        compiled: the same of the compiled one.
        decision: the verdict and its evidence.
    """

    basic: Measured
    compiled: Measured
    decision: Decision

    def to_card(self) -> dict[str, Any]:
        """The parts of an artifact's card: ``scores``, ``decision`` and ``counts``, as plain JSON types."""
        parts = {"basic": self.basic, "compiled": self.compiled}
        return {
            "scores": {name: part.score_card() for name, part in parts.items()},
            "decision": self.decision.to_card(),
            "counts": {name: part.count_card() for name, part in parts.items()},
        }


def prove(
    basic: Sequence[Row],
    compiled: Sequence[Row],
    metric: MetricLike,
    labels: Sequence[str],
    positive: AbstractSet[str] = frozenset(),
    *,
    seed: int = 0,
    alpha: float = 0.05,
    openings: int = 1,
) -> Proof:
    """Compare basic and compiled on the same held-out rows.

    Args:
        basic, compiled: their rows, each in any order.
        metric: the judge's metric: a name, or a function (gold, predicted) -> float in [0, 1].
        labels: its closed label set.
        positive: its positive labels, or empty; see ``Units.correct`` for what McNemar takes as right.
        seed: of the resamples and of the permutation test's swaps.
        alpha: the level of McNemar's test; intervals are always of 95 %.
        openings: how often these rows have been opened for such a test, this time included; McNemar's p is
            multiplied by it (Bonferroni), so that the best of many looks is not taken for more than luck.

    Raises:
        JuristError: ids, gold or groups differ, nothing is labelled, or a label is outside ``labels``.
        UsageError: the label sets, the metric or alpha are wrong.
    """
    if openings < 1:
        raise UsageError(f"{openings} openings of a test that is open", hint="count this one: 1 or more")
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha is {alpha!r}", hint="give a level between 0 and 1, usually 0.05")
    one, two = encode_pair(basic, compiled, labels, positive)
    weights = group_weights(one.groups, seed=seed)
    before, after = (
        measure_units(rows, units, metric, weights) for rows, units in ((basic, one), (compiled, two))
    )
    plan = _Plan(seed=seed, alpha=alpha, openings=openings, counts=before.scores.counts)
    return Proof(
        basic=before,
        compiled=after,
        decision=_decide(one, two, resolve(metric, one), weights, plan),
    )


@dataclass(frozen=True, kw_only=True)
class _Plan:
    seed: int
    alpha: float
    openings: int
    counts: Tally


def _decide(one: Units, two: Units, measure: Measure, weights: Ints, plan: _Plan) -> Decision:
    before, after = measure.of(measure.filled(one)), measure.of(measure.filled(two))
    interval = measure_difference(one, two, measure, weights)
    test = mcnemar_units(one, two)
    draws = DRAWS if measure.name in METRICS else CUSTOM_DRAWS
    return Decision(
        verdict=_verdict(after - before, interval, test, plan.alpha / plan.openings),
        metric=measure.name,
        basic=before,
        compiled=after,
        interval=interval,
        mcnemar=test,
        permutation=permute(one, two, measure, seed=plan.seed, draws=draws),
        alpha=plan.alpha,
        correct="right side of the positive labels" if one.positive.any() else "exact label",
        units=plan.counts.units.labelled,
        cases=plan.counts.cases.labelled,
        groups=one.groups,
        openings=plan.openings,
    )


def _verdict(difference: float, interval: Interval, test: McNemar, alpha: float) -> Verdict:
    if test.p >= alpha:
        return "not shown to be better"
    if difference > 0.0 and test.c > test.b and interval.low > 0.0:
        return "better"
    if difference < 0.0 and test.b > test.c and interval.high < 0.0:
        return "worse"
    return "not shown to be better"
