"""Contenders on the same cases, with one repeat or several: contrasts of two, corrected together (Holm), and repeats.

The tests are those of :mod:`.paired`: for one repeat as in the proof; with several, all repeats of a group are
exchanged between the two at once, and the mean of the metric over the repeats is compared, two-sided. Holm's
correction goes over the p of all of them, and each interval is of the level of its step. Missing answers count as
wrong throughout.

Of repeats two kinds of uncertainty are kept apart. The t-interval over repeats (FECT section 3.2: ten runs) says how
far the mean would move if the same rows were asked again, the clustered one how far it would move with other rows.
"""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import plural
from .criterion_pairs import labelled_criteria
from .intervals import LEVEL, t_quantile
from .metrics import Metric
from .paired import Paired, compare_pair, fewest_groups, holm, holm_levels
from .permutation import Permutation
from .plain import plain_parts
from .rows import JudgedRow
from .scale import MetricLike, Scale, resolve
from .units import encode

ContrastOutcome = Literal["better", "worse", "not shown to differ"]


@dataclass(frozen=True, kw_only=True)
class Contrast(Paired):
    """One contender (its metric is ``value_after``) against another (``value_before``), with all their repeats."""

    first: str
    second: str
    p_holm: float
    alpha: float

    @property
    def values(self) -> tuple[float, float]:
        """The metric of the first and of the second, mean over repeats, missing answers counted as wrong."""
        return self.value_after, self.value_before

    @property
    def verdict(self) -> ContrastOutcome:
        """The direction that is shown of the first."""
        return self.direction or "not shown to differ"

    @property
    def words(self) -> str:
        """One sentence for people, with every number it rests on."""
        units = ""
        if self.mcnemar:
            units = f"; {plural(self.mcnemar.c, 'unit')} right only in the first, {self.mcnemar.b} only in the second"
        corrected = ""
        if self.p_holm != self.p:
            corrected = f", after Holm {self.p_holm:.3g}"
        return (
            f"{self.first} against {self.second}: {self.verdict}: {self.metric} {self.values[0]:.3f} and "
            f"{self.values[1]:.3f} ({self.difference:+.3f}, {self.interval_words}){units}; "
            f"two-sided p = {self.p:.3g}{corrected} (level {self.alpha:.3g})"
        )

    def to_json(self) -> dict[str, object]:
        """Return everything as plain JSON types."""
        parts = plain_parts(self, "first", "second", "verdict", "words", "warnings", "metric", "values")
        parts |= plain_parts(self, "difference", "level", "p", "p_holm", "alpha", "groups", "mcnemar")
        parts |= {"low": self.interval.low, "high": self.interval.high}
        parts |= {"missing": "counted as wrong", "test": f"the two-sided {self.test.words}"}
        if isinstance(self.test, Permutation):
            names = ("difference", "better", "worse", "swaps", "exact", "groups", "p")
            return parts | {"permutation": plain_parts(self.test, *names)}
        names = ("difference", "better", "worse", "error", "degrees", "groups", "p")
        return parts | {"clustered_t": plain_parts(self.test, *names)}


def contrast(
    first: tuple[str, Sequence[Sequence[JudgedRow]]],
    second: tuple[str, Sequence[Sequence[JudgedRow]]],
    metric: MetricLike,
    comparison: Scale,
    *,
    seed: int = 0,
    alpha: float = 0.05,
) -> Contrast:
    """Compare two contenders, each a name and its rows of every repeat. Not corrected; see :func:`corrected`."""
    first_name, first_repeats = first
    second_name, second_repeats = second
    answer_sets = list(second_repeats) + list(first_repeats)
    units = encode(comparison, *answer_sets)
    paired = compare_pair(units, resolve(metric, comparison), seed=seed, tested=alpha / 2.0)
    return Contrast(**vars(paired), first=first_name, second=second_name, p_holm=paired.p, alpha=alpha)


MARGIN = 0.05
"""The share of a metric's best value by which a judge may be worse, unless another margin is given."""
PASSING = 0.8
"""The share of gates that a judge that is as good passes, for the number of rows that is named."""
_FORESEEN = 100  # times as many rows as there are, above which no number is named


@dataclass(frozen=True, kw_only=True)
class NotWorse:
    """The outcome of a test that a contender is worse than another by no more than a margin."""

    outcome: Literal["holds", "fails", "cannot be told"]
    margin: float
    words: str  # the difference, and where it cannot be told how many rows could


def usual_margin(metric: Metric) -> float:
    """Return the margin of a metric that is used unless another one is given: .05 of shares, more on wider scales."""
    return MARGIN * metric.high


def not_worse(test: Contrast, margin: float, rows: int) -> NotWorse:
    """Say whether the first contender is shown to be worse by no more than a margin, on so many rows."""
    difference = test.difference
    lowest = test.interval.low
    if not test.higher_is_better:
        difference = -test.difference
        lowest = -test.interval.high
    words = f"{test.metric} {test.difference:+.3f}, {test.interval_words}, p = {test.p_holm:.3g}"
    if lowest >= -margin:
        return NotWorse(outcome="holds", margin=margin, words=words)
    if test.verdict == "worse":
        return NotWorse(outcome="fails", margin=margin, words=f"{words}; shown to be worse")
    groups_needed = fewest_groups(test.tested)
    if test.groups < groups_needed:
        needed = f"at least {groups_needed} groups are needed, and there are {test.groups}"
    else:
        needed = _rows_that_could_tell(difference, lowest, margin, rows)
        enough_rows = rows_to_pass(rows, difference - lowest, margin, test.tested)
        if enough_rows is not None:
            needed += (
                f"; a judge that is as good in truth passes {PASSING:.0%} of gates with about {enough_rows:,}"
            )
    return NotWorse(outcome="cannot be told", margin=margin, words=f"{words}; cannot be told: {needed}")


def _rows_that_could_tell(difference: float, lowest: float, margin: float, rows: int) -> str:
    """Return the number of rows that could tell, in words, if the difference stays as it is."""
    away = abs(difference + margin)
    times = math.inf  # as many rows: an interval narrows with their root
    if away > 0.0:
        times = ((difference - lowest) / away) ** 2
    if times > _FORESEEN:
        return f"{plural(rows, 'row')} are too few; the difference is too near the margin to name a number"
    enough_rows = max(rows + 1, math.ceil(rows * times))
    return (
        f"{plural(rows, 'row')} are too few; if the difference stays as it is, about {enough_rows:,} can tell"
    )


def rows_to_pass(rows: int, reach: float, margin: float, tested: float) -> int | None:
    """Return with how many rows a judge that is as good mostly passes; ``None`` if no number can be named.

    Args:
        rows: how many there are.
        reach: how far the interval of the difference reaches below it, with these rows.
        margin: by how much a judge may be worse.
        tested: the one-sided level of the interval.
    """
    if margin <= 0.0 or not math.isfinite(reach):
        return None
    normal = statistics.NormalDist()
    level_quantile = normal.inv_cdf(1.0 - tested)
    # The lower end must lie above the margin in so many samples: its own error adds to the reach.
    errors = (level_quantile + normal.inv_cdf(PASSING)) / level_quantile
    return max(rows + 1, _two_digits(rows * (errors * reach / margin) ** 2))


def _two_digits(number: float) -> int:
    """Return a number rounded up to two digits: 1,004 is about 1,100."""
    digits = math.floor(math.log10(max(1.0, number))) + 1
    unit = int(10 ** max(0, digits - 2))
    return math.ceil(number / unit) * unit


def contrasts_by_criterion(
    first: tuple[str, Sequence[Sequence[JudgedRow]]],
    second: tuple[str, Sequence[Sequence[JudgedRow]]],
    comparison: Scale,
    *,
    seed: int = 0,
    alpha: float = 0.05,
) -> list[Contrast]:
    """Compare two contenders by the default metric of each criterion that people labelled; none without criteria."""
    first_name, first_repeats = first
    second_name, second_repeats = second
    repeats = len(first_repeats)
    answer_sets = list(first_repeats) + list(second_repeats)
    contrasts = []
    for criterion, scale, criterion_sets in labelled_criteria(comparison, *answer_sets):
        first_side = first_name, criterion_sets[:repeats]
        second_side = second_name, criterion_sets[repeats:]
        criterion_contrast = contrast(first_side, second_side, scale.default, scale, seed=seed, alpha=alpha)
        contrasts.append(replace(criterion_contrast, metric=f"{criterion}.{criterion_contrast.metric}"))
    return contrasts


def corrected(contrasts: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """Return the contrasts with Holm's correction over all of them."""
    if not contrasts:
        return ()
    p_values = {str(number): contrast.p for number, contrast in enumerate(contrasts)}
    adjusted = holm(p_values)
    levels = holm_levels(p_values, contrasts[0].alpha)
    corrected_contrasts = []
    for number, contrast in enumerate(contrasts):
        p_holm, level = adjusted[str(number)], levels[str(number)]
        corrected_contrasts.append(replace(contrast, p_holm=p_holm, tested=level / 2.0))
    return tuple(corrected_contrasts)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A metric over the repeats of one experiment: mean +- t sd / sqrt(n), n - 1 degrees of freedom, in its range."""

    values: tuple[float, ...]
    mean: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None


def spread(values: Sequence[float], lowest: float = -math.inf, highest: float = math.inf) -> Spread:
    """Return mean, sd and t-interval of one value for each repeat; the interval stays within the values' range."""
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Spread(values=tuple(values), mean=mean)
    sd = statistics.stdev(values)
    half = t_quantile(0.5 + LEVEL / 2, len(values) - 1) * sd / math.sqrt(len(values))
    return Spread(
        values=tuple(values), mean=mean, sd=sd, low=max(lowest, mean - half), high=min(highest, mean + half)
    )


@dataclass(frozen=True, kw_only=True)
class Consistency:
    """The agreement of repeats with each other (FECT section 3.1). In [0, 1]; of a case it is the mean over units."""

    repeats: int
    agreement: float
    pairwise: float
    unanimous: float


def consistency(repeats: Sequence[Sequence[JudgedRow]]) -> Consistency:
    """Compare the answers of several repeats, each a sequence of rows of the same cases in any order."""
    # No gold is needed. No usable answer agrees with nothing, so abstaining never looks consistent.
    answers_by_repeat = []
    for rows in repeats:
        answers_by_repeat.append({row.id: row.predicted for row in rows})
    count = len(repeats)
    agreement: list[float] = []  # of each case: the mean share of the most frequent answer
    pairwise: list[float] = []  # of each case: the mean share of pairs of repeats that agree
    unanimous: list[bool] = []  # of each case: whether all repeats agree on all its units
    for id_ in answers_by_repeat[0]:
        largest_votes: list[int] = []  # of each unit
        agreeing_pairs: list[int] = []  # of each unit, counted in both orders
        case_answers = [answers[id_] for answers in answers_by_repeat]
        for unit_answers in zip(*case_answers, strict=True):
            votes = Counter(unit_answers)
            del votes[None]
            largest_votes.append(max(votes.values(), default=0))
            agreeing_pairs.append(sum(number * (number - 1) for number in votes.values()))
        agreement.append(statistics.fmean(largest_votes) / count)
        pairwise.append(statistics.fmean(agreeing_pairs) / (count * (count - 1)))
        unanimous.append(min(largest_votes) == count)
    return Consistency(
        repeats=count,
        agreement=statistics.fmean(agreement),
        pairwise=statistics.fmean(pairwise),
        unanimous=statistics.fmean(unanimous),
    )
