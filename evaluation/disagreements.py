"""Two prompts held against labels that were given only where their answers differ.

Where both say the same, a label cannot tell which one is better. So units are drawn at random from those on which the
answers differ, one a group, and people label them: a *win* is a unit by which the second prompt gains in the judge's
metric, a *loss* one by which it loses, and a tie neither. What a unit counts in the metric follows from the sealed
test, where the labels of all units are known: in balanced accuracy, a unit of a class that has a tenth of all units
counts five times as much as an average unit. The test flips which prompt each unit speaks for, with two more units of
the largest weight flipped along, once each way, as in the proof (:mod:`.paired`); where all units count alike it is
nearly the sign test. The gain is the share of units that differ, times the mean gain of a differing unit.

The interval combines that of the rate (the jackknife over groups) and that of the mean gain, which is made from the
test, by the method of variance estimates recovery (Zou and Donner 2008). It excludes 0 exactly where the test shows a
difference.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeAlias

import numpy as np
import scipy

from ..cases import Value
from ..errors import JuristError
from .intervals import Estimate, Ranged, estimated, leaving_out, t_quantile
from .metrics import Metric, dense, mean
from .paired import POWER, ProofOutcome, fewest_groups, sign_test
from .permutation import SwapThresholds, swap_gains
from .plain import plain_fields
from .rows import JudgedRow, tally
from .scale import Scale
from .units import Floats, Ints, encode

_ROUNDING = 1e-9  # gains are differences of values near 1
Ends: TypeAlias = tuple[float, float, float]  # a value, and the ends of its interval


Answered: TypeAlias = tuple[Value, Value | None]
"""The gold of a unit, and an answer to it; ``None`` is a missing one."""


@dataclass(frozen=True, kw_only=True)
class LabelledUnit:
    """A unit on which two prompts differ, and what people said of it."""

    gold: Value | None  # ``None`` where people could not tell
    first: Value | None
    second: Value | None


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelGains:
    """The gains of the second prompt by each labelled unit in a metric, as shares of one unit."""

    by_unit: Floats  # (N,)
    largest: float  # what one unit can count at most: from as wrong as can be to right


@dataclass(frozen=True, kw_only=True, eq=False)
class GainEstimates:
    """The gains by labelled units as the sealed test weighs them, and as it might have done by other luck."""

    estimate: LabelGains
    low: LabelGains  # weighed by a sealed test that speaks less for the second prompt
    high: LabelGains  # and by one that speaks more for it

    @classmethod
    def certain(cls, gains: Sequence[float], largest: float) -> "GainEstimates":
        """Return gains whose weights are known exactly: other luck would have changed nothing."""
        by_unit = np.array(gains, dtype=np.float64)
        by_unit[np.abs(by_unit) < _ROUNDING] = 0.0
        exact = LabelGains(by_unit=by_unit, largest=largest)
        return cls(estimate=exact, low=exact, high=exact)


@dataclass(frozen=True, kw_only=True)
class UnitGains:
    """The worth of an answer to one unit in a metric, near the scores of two prompts on rows with known labels."""

    metric: Metric
    comparison: Scale
    rows: tuple[JudgedRow, ...]  # what both prompts said of these rows

    @classmethod
    def of(
        cls, first: Sequence[JudgedRow], second: Sequence[JudgedRow], metric: Metric, comparison: Scale
    ) -> "UnitGains":
        """Return the gains by further units, from the answers of two prompts to the same labelled rows."""
        first_rows = tuple(replace(row, id=f"1 {row.id}") for row in first)
        second_rows = tuple(replace(row, id=f"2 {row.id}") for row in second)
        return cls(metric=metric, comparison=comparison, rows=first_rows + second_rows)

    def gain(self, gold: Value, first: Value | None, second: Value | None) -> float:
        """Return the gain of the second answer over the first, as a share of one unit."""
        table = _WorthTable.of(self, [(gold, first), (gold, second)])
        worth = table.worth(np.ones(table.groups, dtype=np.int64))
        return worth[gold, second] - worth[gold, first]

    def largest(self, golds: Iterable[Value]) -> float:
        """Return the largest gain by one unit with some gold: from as wrong as can be to right."""
        return max(abs(self.gain(gold, None, gold)) for gold in golds)

    def estimates(self, units: Sequence[LabelledUnit], level: float) -> GainEstimates:
        """Return the gains by labelled units, and how far the luck of the sealed test may have moved their weights.

        ``level`` is that of the one-sided test which the gains are made for.
        """
        answers = _answers_to(units)
        golds = set(self.comparison.domain)
        if not golds:
            golds = {gold for gold, _ in answers}
        if not golds or not answers:  # people could tell nothing of any unit
            return GainEstimates.certain([0.0] * len(units), 1.0)
        table = _WorthTable.of(self, answers)
        extremes = []
        for gold in golds:
            extremes.append(_WorthTable.of(self, [(gold, None), (gold, gold)]))

        def gains_by(group_weights: Floats | Ints) -> LabelGains:
            largest = max(extreme.range(group_weights) for extreme in extremes)
            return LabelGains(by_unit=_gains(units, table.worth(group_weights)), largest=largest)

        estimate = gains_by(np.ones(table.groups, dtype=np.int64))
        without_block = leaving_out(table.groups)  # (blocks, groups)
        blocks = len(without_block)
        means = np.zeros(blocks)
        for block, weights in enumerate(without_block):
            means[block] = _gains(units, table.worth(weights)).mean()
        pulls = means.mean() - means  # (blocks,): how far each block pulls the mean gain up
        weights_error = math.sqrt((blocks - 1) / blocks * float((pulls**2).sum()))
        if weights_error <= _ROUNDING:
            return GainEstimates(estimate=estimate, low=estimate, high=estimate)

        # The error of the labels plus this many errors of the weights is the error of both together.
        labels_error = math.sqrt(float((estimate.by_unit**2).sum())) / len(units)
        quantile = t_quantile(1.0 - level, blocks - 1)
        error_count = quantile * (math.hypot(labels_error, weights_error) - labels_error) / weights_error
        error_count = max(1.0, error_count)
        # Each group counts for less, or more, by how far it pulls: the least favourable family (Efron 1981).
        pull_of_group = pulls @ (1 - without_block)
        tilt = error_count * pull_of_group * (blocks - 1) / (blocks * weights_error)
        against = np.exp(-tilt)
        in_favour = np.exp(tilt)
        return GainEstimates(
            estimate=estimate,
            low=gains_by(against / against.mean()),
            high=gains_by(in_favour / in_favour.mean()),
        )


_PARTS = 10
"""Into how many parts a unit is cut for a metric that takes whole units only."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _WorthTable:
    """The sums of a metric over each group of some rows, and of one more unit with each of some answers."""

    metric: Metric
    by_group: Floats  # (groups, d)
    units: Ints  # (groups,): how many units each group holds
    by_answer: Floats  # (answers, d)
    answers: tuple[Answered, ...]
    value_of: Callable[[Floats], Floats]  # (..., d) sums -> (...) values of the metric

    @classmethod
    def of(cls, gains: UnitGains, answers: Sequence[Answered]) -> "_WorthTable":
        """Return the table of some rows and answers."""
        # ``encode`` sorts by the names of groups: "unit" comes after "row", so the added units come last.
        rows = [replace(row, group=f"row {row.group}") for row in gains.rows]
        for place, (gold, answer) in enumerate(answers):
            name = f"unit {place:09}"
            rows.append(JudgedRow(id=name, group=name, gold=(gold,), predicted=(answer,)))
        units = encode(gains.comparison, rows).worst
        statistics = gains.metric.statistics(units)
        table = dense(statistics.sums[0])
        groups = units.groups - len(answers)
        return cls(
            metric=gains.metric,
            by_group=table[:groups],
            units=units.sizes[:groups],
            by_answer=table[groups:],
            answers=tuple(answers),
            value_of=statistics.of,
        )

    @property
    def groups(self) -> int:
        """The number of groups of the rows."""
        return len(self.by_group)

    def range(self, group_weights: Floats | Ints) -> float:
        """Return the difference of the highest and the lowest worth of the answers."""
        worth = self.worth(group_weights).values()
        return max(worth) - min(worth)

    def worth(self, group_weights: Floats | Ints) -> dict[Answered, float]:
        """Return the metric with one more unit, times all units: only differences of it mean something."""
        parts = 1
        if not self.metric.divisible and group_weights.dtype.kind == "f":
            parts = _PARTS
            group_weights = np.rint(parts * group_weights)
        total = group_weights @ self.by_group
        values = self.value_of(total + parts * self.by_answer)
        units = float(group_weights @ self.units) / parts + 1.0
        worth: dict[Answered, float] = {}
        for answer, value in zip(self.answers, values.tolist(), strict=True):
            worth[answer] = self.metric.oriented(value) * units
        return worth


def _answers_to(units: Sequence[LabelledUnit]) -> list[Answered]:
    """Return each pair of gold and answer that occurs in some units, once."""
    pairs: dict[Answered, None] = {}
    for unit in units:
        if unit.gold is not None:
            pairs[unit.gold, unit.first] = None
            pairs[unit.gold, unit.second] = None
    return list(pairs)


def _gains(units: Sequence[LabelledUnit], worth: Mapping[Answered, float]) -> Floats:
    """Return the gain of the second prompt by each unit, of shape (N,); 0 where people could not tell."""
    gains = np.zeros(len(units))
    for place, unit in enumerate(units):
        if unit.gold is not None:
            gains[place] = worth[unit.gold, unit.second] - worth[unit.gold, unit.first]
    gains[np.abs(gains) < _ROUNDING] = 0.0
    return gains


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """The result of weighing labelled units on which two prompts differ."""

    wins: int  # units by which the second gains
    losses: int  # units by which it loses
    ties: int
    better: float  # one-sided p that the second is better
    worse: float  # and that it is worse
    verdict: ProofOutcome
    gain: Ranged  # over all units, with its interval


def weigh(gains: Sequence[float], largest: float, rate: Ends, level: float, *, seed: int = 0) -> Weighed:
    """Return the result for gains of labelled units whose weights are known; one counts ``largest`` at most."""
    return weigh_estimates(GainEstimates.certain(gains, largest), rate, level, seed=seed)


def weigh_estimates(gains: GainEstimates, rate: Ends, level: float, *, seed: int = 0) -> Weighed:
    """Return the result for gains of labelled units, which must also hold with weights that speak against it."""
    by_unit = gains.estimate.by_unit
    better, worse = _test_both_sides(gains.estimate, seed)
    if gains.low is not gains.estimate:
        low_better, _ = _test_both_sides(gains.low, seed)
        _, high_worse = _test_both_sides(gains.high, seed)
        better = better.joined(low_better)
        worse = worse.joined(high_worse)
    largest = gains.estimate.largest
    low = max(-largest, better.bound(level))
    high = min(largest, -worse.bound(level))
    verdict: ProofOutcome = "not shown to be better"
    if low > 0.0:
        verdict = "better"
    elif high < 0.0:
        verdict = "worse"
    value, low, high = _product(rate, (float(by_unit.mean()), low, high))
    return Weighed(
        wins=int((by_unit > 0.0).sum()),
        losses=int((by_unit < 0.0).sum()),
        ties=int((by_unit == 0.0).sum()),
        better=better.p,
        worse=worse.p,
        verdict=verdict,
        gain=Ranged(value=value, low=low, high=high),
    )


def _test_both_sides(gains: LabelGains, seed: int) -> tuple[SwapThresholds, SwapThresholds]:
    """Return the tests that the second prompt is better and worse; two units of the largest weight flip along."""
    swaps = swap_gains(gains.by_unit, seed=seed)
    shift = 2.0 * gains.largest / len(gains.by_unit)
    return swaps.test_with_a_pair(shift, side=1.0), swaps.test_with_a_pair(shift, side=-1.0)


def alike_test(wins: int, losses: int) -> float:
    """Return the p of :func:`weigh` for units that count alike: the sign test, with a pair of units flipped along."""
    p = sign_test(wins, losses)
    p_with_one_less = 1.0
    if wins:
        p_with_one_less = sign_test(wins - 1, losses + 1)
    p_with_one_more = 0.0
    if losses:
        p_with_one_more = sign_test(wins + 1, losses - 1)
    return max(p, (p_with_one_less + 2.0 * p + p_with_one_more) / 4.0)


def fewest_labels(level: float) -> int:
    """Return the fewest labels that can show a difference at a level, if all are won."""
    labels = fewest_groups(level)
    while alike_test(labels, 0) >= level:
        labels += 1
    return labels


def win_share_shown(labels: int, level: float) -> float | None:
    """Return the true share of wins that so many labels show with a power of .8; ``None`` where they show none."""
    if labels < fewest_labels(level):
        return None
    wins = 0
    while alike_test(wins, labels - wins) >= level:
        wins += 1
    return float(scipy.special.betaincinv(wins, labels - wins + 1, POWER))


NUMBERS_OF_LABELS = (40, 60, 80, 100, 150, 200)
"""Numbers of labels of which one is proposed: few looks end a plan early where fewer are enough, and for a gain that
takes more, more gold is of more use."""


def foresee_labels(
    first: Sequence[JudgedRow], second: Sequence[JudgedRow], metric: Metric, comparison: Scale, level: float
) -> int | None:
    """Return the number of labels, where two prompts differ, that show the gain of the second with a power of .8.

    Args:
        first, second: the answers of both to the same labelled rows, such as those of a sealed test. The gain, and how
            many labels speak for either prompt, are supposed to be as they are there.
        metric: by which labels count.
        comparison: the scale of the answers.
        level: of the one-sided test.

    Returns:
        One of :data:`NUMBERS_OF_LABELS`; ``None`` where none of them is enough.
    """
    units = _differing_units(first, second, comparison)
    if not units:
        return None
    gains = UnitGains.of(first, second, metric, comparison)
    for labels in NUMBERS_OF_LABELS:
        needed = win_share_shown(labels, level)
        if needed is None:
            continue
        estimates = gains.estimates(units * math.ceil(labels / len(units)), level)
        if min(_as_win_share(estimates.estimate, labels), _as_win_share(estimates.low, labels)) >= needed:
            return labels
    return None


def _differing_units(
    first: Sequence[JudgedRow], second: Sequence[JudgedRow], comparison: Scale
) -> list[LabelledUnit]:
    """Return the labelled units on which two prompts differ."""
    units: list[LabelledUnit] = []
    for first_row, second_row in zip(first, second, strict=True):
        if first_row.failed or second_row.failed:
            continue
        values = zip(first_row.gold, first_row.predicted, second_row.predicted, strict=True)
        for gold, first_value, second_value in values:
            if gold is not None and label_could_decide(comparison, first_value, second_value):
                units.append(LabelledUnit(gold=gold, first=first_value, second=second_value))
    return units


def _as_win_share(gains: LabelGains, labels: int) -> float:
    """Return the share of wins, among units that count alike, with the same ratio of mean to spread as some gains."""
    mean_gain = float(gains.by_unit.mean())
    variance = float((gains.by_unit**2).mean())
    if mean_gain <= 0.0:
        return 0.0
    # Two units of the largest weight are flipped along; where units count alike, the test of wins has them already.
    variance += 2.0 * max(0.0, gains.largest**2 - variance) / labels
    return 0.5 + 0.5 * mean_gain / math.sqrt(variance)


def correctness(comparison: Scale, gold: Value, value: Value | None) -> float:
    """Return 1 for a right answer and 0 for a wrong or a missing one; on scales without either, the similarity."""
    if value is None:
        return 0.0
    right = comparison.right(gold, value)
    if right is None:
        return comparison.similarity(gold, value)
    return float(right)


def label_could_decide(comparison: Scale, first: Value | None, second: Value | None) -> bool:
    """Say whether some label of people could make one of two answers better than the other."""
    if first == second:
        return False
    for gold in comparison.domain or (first, second):
        if gold is not None and correctness(comparison, gold, first) != correctness(comparison, gold, second):
            return True
    return False


def _product(share: Ends, signed: Ends) -> Ends:
    """Return the product of a share and a signed number, whose sign the interval keeps where it has one."""
    share_value, share_low, share_high = share
    number, number_low, number_high = signed
    value = share_value * number
    # Where the product is negative, a larger share makes it smaller.
    share_below, share_above = share_low, share_high
    if number < 0:
        share_below, share_above = share_high, share_low
    low = value - math.hypot(number * (share_below - share_value), share_value * (number_low - number))
    high = value + math.hypot(number * (share_above - share_value), share_value * (number_high - number))
    if number_low > 0.0:
        low = max(low, share_low * number_low)
    if number_high < 0.0:
        high = min(high, share_low * number_high)
    return value, low, high


@dataclass(frozen=True, kw_only=True)
class Flips:
    """The answers that one change of the text has changed; gold is what the judge said of the text as it is."""

    cases: int  # that were answered as they are, and on which the machinery did not fail afterwards
    flipped: int  # of these, in how many some unit has another answer, or none
    silenced: int  # of these, in how many some unit has none
    failed: int  # cases that do not count, as the machinery failed
    rate: Estimate  # ``flipped`` as a share of ``cases``, with its 95 % interval clustered by group
    shift: float  # how far answers moved on average, 0 (the same) to 1
    # Answer to the text as it is -> how many units with it flipped, and how many there are: a judge that nearly always
    # says the same hides behind ``rate``.
    answers: Mapping[str, tuple[int, int]]

    def to_json(self) -> dict[str, object]:
        """Return the counts, and the rate with its interval."""
        ends = self.rate.interval
        return plain_fields(self) | {"rate": self.rate.value, "low": ends.low, "high": ends.high}


def count_flips(
    rows: Sequence[JudgedRow], comparison: Scale, category_of: Callable[[Value], str] = str
) -> Flips:
    """Return how many answers to changed texts differ from gold: the answers to the texts as they are."""
    counted_rows = []
    failed = 0
    for row in rows:
        if row.failed:
            failed += 1
        elif row.labelled:
            counted_rows.append(row)
    if not counted_rows:
        hint = "see with jurist evaluate why there are none"
        raise JuristError(f"none of {len(rows)} cases was answered, so that no answer can change", hint=hint)
    case_flipped: list[bool] = []
    shifts: list[float] = []  # of each case
    groups: list[str] = []
    units_by_answer = Counter[str]()
    flipped_by_answer = Counter[str]()
    for row in counted_rows:
        flipped_units = 0
        unit_shifts: list[float] = []
        for gold, answer in zip(row.gold, row.predicted, strict=True):
            if gold is None:
                continue
            category = category_of(gold)
            units_by_answer[category] += 1
            if correctness(comparison, gold, answer) < 1.0:
                flipped_units += 1
                flipped_by_answer[category] += 1
            unit_shifts.append(1.0 - comparison.credit(gold, answer))
        groups.append(row.group)
        case_flipped.append(flipped_units > 0)
        shifts.append(fmean(unit_shifts))
    table = np.column_stack([case_flipped, np.ones(len(counted_rows))])
    answers: dict[str, tuple[int, int]] = {}
    for category in sorted(units_by_answer):
        answers[category] = flipped_by_answer[category], units_by_answer[category]
    return Flips(
        cases=len(counted_rows),
        flipped=sum(case_flipped),
        silenced=tally(counted_rows).cases.abstained,
        failed=failed,
        rate=estimated(table, np.array(groups), mean),
        shift=fmean(shifts),
        answers=answers,
    )
