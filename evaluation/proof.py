"""The proof: did compiling help, on rows that nobody tuned on? Basic against compiled, paired, in words.

Three things must agree before "better" is said: the metric is better, the larger p of exact McNemar (more units
corrected than broken) and of the permutation of whole groups is below the level, and the clustered interval of that
level excludes 0. The k-th time that a test is opened the level is alpha / (k (k + 1)): over any number of openings
these add up to alpha, so the best of many looks is not taken for more than luck.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import UsageError, plural
from .comparisons import Comparison, MetricLike, resolve
from .measured import Measured, measure_units
from .paired import Paired, compare_pair
from .rows import Row, Tally, tally
from .units import encode

__all__ = ["Decision", "Proof", "Verdict", "level_of", "prove"]

Verdict = Literal["better", "worse", "not shown to be better"]


def level_of(alpha: float, openings: int) -> float:
    """Return the level of the k-th opening of a test; those of all openings, however many, add up to ``alpha``.

    Raises:
        UsageError: ``openings`` is below 1.
    """
    if openings < 1:
        raise UsageError(f"{openings} openings of a test that is open", hint="count this one: 1 or more")
    return alpha / (openings * (openings + 1))


@dataclass(frozen=True, kw_only=True)
class Decision(Paired):
    """What was decided on basic (``before``) against compiled (``after``), and on which evidence.

    Args:
        alpha: the level of all openings together.
        right_means: what McNemar counts as right; empty where nothing is right or wrong.
        counts: units and cases compared.
        openings: how often this test has been opened, this time included.
        remarks: what else limits it.
    """

    alpha: float
    right_means: str
    counts: Tally
    openings: int = 1
    remarks: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits it, in words; empty if nothing is known to."""
        return (*super().warnings, *self.remarks)

    @property
    def verdict(self) -> Verdict:
        """The decision."""
        return self.direction(self.p, self.tested) or "not shown to be better"

    @property
    def words(self) -> str:
        """One sentence for people: the verdict, the metric, and every number it rests on."""
        return (
            f"compiled is {self.verdict}: {self.metric} {self.before:.3f} -> {self.after:.3f} "
            f"({self.difference:+.3f}, {self.interval_words}); {self._test_words}; "
            f"{plural(self.counts.units.labelled, 'unit')}, {plural(self.counts.cases.labelled, 'case')}, "
            f"{plural(self.groups, 'group')}"
        )

    @property
    def _test_words(self) -> str:
        opening = f", opening {self.openings} of this test" if self.openings > 1 else ""
        level = f"(level {self.tested:.3g}{opening})"
        if self.mcnemar is None:
            return f"p = {self.p:.3g} by groups {level}"
        by = "units" if self.mcnemar.p > self.permutation.p else "groups"
        counts = f"{plural(self.mcnemar.c, 'unit')} corrected, {self.mcnemar.b} broken"
        return f"{counts}, p = {self.p:.3g} by {by} {level}"

    def to_card(self) -> dict[str, Any]:
        """Plain types, ready for JSON."""
        right = f" (right: {self.right_means})" if self.mcnemar else ""
        return {
            "verdict": self.verdict,
            "words": self.words,
            "warnings": list(self.warnings),
            "metric": self.metric,
            "higher_is_better": self.higher_is_better,
            "basic": self.before,
            "compiled": self.after,
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "level": 1.0 - self.tested,
            "missing": "counted as wrong",
            "p": self.p,
            "openings": self.openings,
            "mcnemar_p": self.mcnemar.p if self.mcnemar else None,
            "clustered_p": self.permutation.p,
            "alpha": self.alpha,
            "tested": self.tested,
            "test": f"{self.test}{right}, two-sided",
            "b": self.mcnemar.b if self.mcnemar else None,
            "c": self.mcnemar.c if self.mcnemar else None,
            "units": self.counts.units.labelled,
            "cases": self.counts.cases.labelled,
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
    comparison: Comparison,
    *,
    seed: int = 0,
    alpha: float = 0.05,
    openings: int = 1,
    remarks: tuple[str, ...] = (),
) -> Proof:
    """Compare basic and compiled on the same held-out rows.

    Args:
        basic, compiled: their rows, each in any order.
        metric: the judge's metric: a name, or a function (gold, predicted) -> float.
        comparison: the kind of answer; what it calls right is what McNemar counts.
        seed: of the permutation test's swaps.
        alpha: the level of all openings together; the intervals of scores are always of 95 %.
        openings: how often these rows have been opened for such a test, this time included: see :func:`level_of`.
        remarks: what else limits the decision, in words.

    Raises:
        JuristError: ids, gold or groups differ, nothing is labelled, or a value is not of this kind.
        UsageError: the metric or alpha are wrong.
    """
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha is {alpha!r}", hint="give a level between 0 and 1, usually 0.05")
    tested = level_of(alpha, openings)
    units = encode(comparison, basic, compiled)
    before, after = (
        measure_units(units.sets(slice(place, place + 1)), tally(rows), metric, comparison)
        for place, rows in enumerate((basic, compiled))
    )
    return Proof(
        basic=before,
        compiled=after,
        decision=Decision(
            **vars(compare_pair(units, resolve(metric, comparison), seed=seed, tested=tested)),
            alpha=alpha,
            right_means=comparison.right_means,
            counts=before.counts,
            openings=openings,
            remarks=remarks,
        ),
    )
