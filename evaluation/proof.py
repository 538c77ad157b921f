"""The proof: did compiling help, on rows that nobody tuned on? Basic against compiled, paired, in words.

"Better" is said if a one-sided test over whole groups shows it of the judge's own metric twice: over the basic prompt,
and over the best constant answer, where there is one. Both must be shown, so neither takes from the other's
level. The k-th time that a test is opened the level is alpha / 2^k: 0.025 at the first opening, and half as much at
each one that follows. Over any number of openings the levels add up to alpha, so the best of many openings is not taken
for more than luck.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import UsageError, plural
from .criterion_pairs import Criterion, compare_by_criterion
from .intervals import has_one_value
from .measured import Measured, measure_units
from .metrics import Metric
from .paired import Paired, ProofOutcome, compare_pair
from .plain import plain, plain_parts
from .rows import JudgedRow, Tally, tally
from .scale import MetricLike, Scale, resolve
from .units import Units, encode


def level_of(alpha: float, openings: int) -> float:
    """Return the level of the k-th opening of a test; the levels of all openings, however many, add up to ``alpha``."""
    # A level that is too small for a float is the smallest normal one, so that it is never 0.
    return max(math.ldexp(alpha, -openings), sys.float_info.min)


@dataclass(frozen=True, kw_only=True)
class Constant(Paired):
    """The best constant answer (``value_before``) against compiled (``value_after``)."""

    answer: str

    @property
    def words(self) -> str:
        """One sentence for people."""
        verdict = "compiled is not shown to be better than that"
        luck = self.luck_words(self.test.better)
        if self.direction == "worse":
            verdict = "compiled is worse than that"
            luck = self.luck_words(self.test.worse)
        elif self.direction == "better":
            verdict = "compiled is better than that"
        return (
            f"the best constant answer, {self.answer}, has {self.value_before:.3f}: {verdict} (luck: {luck})"
        )

    def to_card(self) -> dict[str, object]:
        """Plain types, ready for JSON."""
        return {
            "answer": self.answer,
            "value": self.value_before,
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "p": self.test.better,
            "better": self.direction == "better",
            "worse": self.direction == "worse",
        }


@dataclass(frozen=True, kw_only=True)
class Decision(Paired):
    """The decision on basic (``value_before``) against compiled (``value_after``), with its evidence."""

    alpha: float
    right_means: str
    counts: Tally
    constant: Constant | None = None
    openings: int = 1
    notes: tuple[str, ...] = ()
    criteria: Mapping[str, Criterion] = field(default_factory=dict)  # by name, where there are several

    @property
    def warnings(self) -> tuple[str, ...]:
        """The limits of the decision, in words; empty if none are known."""
        return super().warnings + self.notes

    @property
    def p(self) -> float:
        """One-sided: luck alone makes compiled so much better than basic at most so often."""
        return self.test.better

    @property
    def verdict(self) -> ProofOutcome:
        """The decision."""
        if self.direction == "worse":
            return "worse"
        over_constant = self.constant is None or self.constant.direction == "better"
        if self.direction == "better" and over_constant:
            return "better"
        return "not shown to be better"

    @property
    def words(self) -> str:
        """One sentence for people: the verdict, the metric, and every number it rests on."""
        return "; ".join(filter(None, self.sentences))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict with the metric; luck; the constant answer; units; how many there are."""
        below_constant = self.constant is not None and self.constant.direction == "worse"
        verdict: str = self.verdict
        if self.direction == "better" and below_constant:
            verdict = "better than basic, but worse than a constant answer"
        elif self.direction == "better" and self.verdict != "better":
            verdict = "better than basic, but not shown to be better than a constant answer"
        elif below_constant:
            verdict = f"{self.verdict}, and worse than a constant answer"
        opening = ""
        if self.openings > 1:
            opening = f", opening {self.openings} of this test"
        constant = ""
        if self.constant:
            constant = self.constant.words
        units = ""
        if self.mcnemar:
            units = f"{plural(self.mcnemar.c, 'unit')} corrected, {self.mcnemar.b} broken"
        return (
            f"compiled is {verdict}: {self.metric} {self.value_before:.3f} -> {self.value_after:.3f} "
            f"({self.difference:+.3f}, {self.interval_words})",
            f"luck alone does this {self.luck_words(self.p)} "
            f"(limit: 1 time in {1.0 / self.tested:,.0f}{opening})",
            constant,
            units,
            f"{plural(self.counts.units.labelled, 'unit')}, {plural(self.counts.cases.labelled, 'case')}, "
            f"{plural(self.groups, 'group')}",
        )

    def to_card(self) -> dict[str, object]:
        """Plain types, ready for JSON."""
        constant = None
        if self.constant:
            constant = self.constant.to_card()
        right_means = ""
        broken = corrected = None
        if self.mcnemar:
            right_means = self.right_means
            broken = self.mcnemar.b
            corrected = self.mcnemar.c
        card: dict[str, object] = {
            **plain_parts(self, "verdict", "words", "warnings", "metric", "higher_is_better", "difference"),
            "basic": self.value_before,
            "compiled": self.value_after,
            "low": self.interval.low,
            "high": self.interval.high,
            "missing": "counted as wrong",
            **plain_parts(self, "level", "p", "openings", "alpha", "tested", "groups"),
            "test": f"the one-sided {self.test.words}",
            "constant": constant,
            "right": right_means,
            "b": broken,
            "c": corrected,
            "units": self.counts.units.labelled,
            "cases": self.counts.cases.labelled,
        }
        if self.criteria:
            card["criteria"] = {name: criterion.to_card() for name, criterion in self.criteria.items()}
        return card


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Scores of both programs with intervals, and the decision.

    Args:
        basic: scores of the basic program with intervals, over its answered units.
        compiled: scores of the compiled program, likewise.
        decision: the verdict and its evidence.
    """

    basic: Measured
    compiled: Measured
    decision: Decision

    def to_card(self) -> dict[str, object]:
        """The parts of an artifact's card: ``scores``, ``decision`` and ``counts``, as plain JSON types."""
        return {
            "scores": {"basic": plain(self.basic.scores), "compiled": plain(self.compiled.scores)},
            "decision": self.decision.to_card(),
            "counts": {"basic": plain(self.basic.counts), "compiled": plain(self.compiled.counts)},
        }


def prove_improvement(
    basic: Sequence[JudgedRow],
    compiled: Sequence[JudgedRow],
    metric: MetricLike,
    comparison: Scale,
    *,
    seed: int = 0,
    alpha: float = 0.05,
    openings: int = 1,
    notes: tuple[str, ...] = (),
    constant: tuple[str, Sequence[JudgedRow]] | None = None,
) -> Proof:
    """Compare basic and compiled on the same held-out rows."""
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha is {alpha!r}", hint="give a level between 0 and 1, usually 0.05")
    level = level_of(alpha, openings)
    judge_metric = resolve(metric, comparison)
    units = encode(comparison, basic, compiled)
    basic_scores = measure_units(units.sets(slice(1)), tally(basic), metric, comparison)
    compiled_scores = measure_units(units.sets(slice(1, None)), tally(compiled), metric, comparison)
    over_constant = None
    if constant is not None:
        answer, rows = constant
        pair = _compare_with_constant(
            encode(comparison, rows, compiled), judge_metric, seed=seed, level=level
        )
        over_constant = Constant(**vars(pair), answer=answer)
    return Proof(
        basic=basic_scores,
        compiled=compiled_scores,
        decision=Decision(
            **vars(compare_pair(units, judge_metric, seed=seed, tested=level)),
            alpha=alpha,
            right_means=comparison.right_means,
            counts=basic_scores.counts,
            constant=over_constant,
            openings=openings,
            notes=notes,
            criteria=compare_by_criterion(comparison, basic, compiled, seed=seed, tested=level),
        ),
    )


def _compare_with_constant(units: Units, metric: Metric, *, seed: int, level: float) -> Paired:
    """Compare a constant answer with compiled; one that has the same value on any rows is known without an error."""
    constant, _ = units.worst.halves
    if metric.test == "t with pairs" and not has_one_value(constant, metric):
        metric = replace(metric, test="swaps")
    return compare_pair(units, metric, seed=seed, tested=level)
