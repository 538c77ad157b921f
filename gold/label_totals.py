"""The number of labels that a gold set needs: what the sealed test of a gold set of some size shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..cases import Case
from ..evaluation.metrics import SLOW_DRAWS
from ..evaluation.paired import fewest_groups
from ..evaluation.power import ASSUMED_RIGHT, AnswerPool, assume_answers
from ..evaluation.proof import level_of
from ..evaluation.rows import JudgedRow
from ..evaluation.scale import MetricLike, Scale, resolve
from ..evaluation.units import Units, encode
from .rows import label_keys
from .splits import Shares, checked_shares, default_shares

if TYPE_CHECKING:
    from ..programs.judge import Judge

FIRST_LEVEL = level_of(0.05, 1)
"""The one-sided level at which rows are tested that nobody has opened before."""
TOTALS = (100, 200, 400)
"""Numbers of labels, train and dev included, for which the plan says what the test shows."""
_TRIED_TOTALS = (50, 100, 150, 200, 250, 400, 600, 800, 1000, 1500, 2000)
"""Numbers of labels of which the smallest that is enough is named. Who would need more should not wait for labels."""


def encode_labels(cases: Iterable[Case], comparison: Scale) -> Units | None:
    """Return the labelled units of cases, answered as their gold says; ``None`` where nothing is labelled."""
    rows: list[JudgedRow] = []
    for case in cases:
        if case.labels and case.gold is not None:
            rows.append(JudgedRow(id=case.id, group=case.group, gold=case.gold, predicted=case.gold))
    if not rows:
        return None
    return encode(comparison, rows)


def pool_of_labels(labelled: Units, metric: MetricLike, comparison: Scale, level: float) -> AnswerPool:
    """Return the pool of made-up answers to labelled units, where nobody was asked about them yet."""
    return AnswerPool.of(assume_answers(labelled), resolve(metric, comparison), level)


def pool_of_answers(
    first: Iterable[JudgedRow],
    second: Iterable[JudgedRow],
    metric: MetricLike,
    comparison: Scale,
    level: float,
) -> AnswerPool:
    """Return the pool of two systems' answers to the same labelled rows, such as those of a sealed test."""
    units = encode(comparison, list(first), list(second))
    return AnswerPool.of(units, resolve(metric, comparison), level)


_FORECAST_RUNS = 40


def foresee_shown_gain(cases: Iterable[Case], judge: Judge, level: float) -> str:
    """Return a line on the gain in a judge's metric that these cases mostly show as a sealed test.

    It is empty where nothing can be said: without labels, with too few groups, or where the metric takes long.
    """
    if not label_keys(judge):
        return ""
    labelled = encode_labels(cases, judge.comparison)
    if labelled is None or labelled.groups < fewest_groups(level):
        return ""
    metric = resolve(judge.metric, judge.comparison)
    if metric.draws <= SLOW_DRAWS:
        return ""
    pool = pool_of_labels(labelled, metric, judge.comparison, level)
    size = f"{len(labelled.gold)} labelled units in {labelled.groups} groups, level {level:.3g}"
    assumed = f"right on {ASSUMED_RIGHT:.0%} of the units of each kind"
    gain = pool.smallest_gain(labelled.groups, runs=_FORECAST_RUNS)
    if gain is None:
        return (
            f"even a judge that is always right may not be shown to be better in {metric.name} than one that is "
            f"{assumed} ({size})"
        )
    return f"a gain of {gain:.2g} in {metric.name} is shown in four of five such tests ({size}), if both are {assumed}"


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelTotals:
    """The sealed tests that gold sets of some size have, drawn from labels or from a proof."""

    pool: AnswerPool
    labels_per_case: float
    shares: Shares | None = None  # of the split; ``None``: the usual ones for so many cases

    def test_groups(self, labels: int) -> int:
        """Return the number of groups in the test of a gold set of so many labels."""
        shares = checked_shares(self.shares or default_shares(round(labels / self.labels_per_case)))
        return self.pool.groups_for(shares[2] * labels)

    def enough_labels(self, gain: float) -> int | None:
        """Return about how many labels mostly show a gain; ``None`` where 2,000 do not, or there is no gain."""
        if gain <= 0.0 or not self._is_enough(_TRIED_TOTALS[-1], gain):
            return None
        low, high = 0, len(_TRIED_TOTALS) - 1
        while low < high:
            middle = (low + high) // 2
            if self._is_enough(_TRIED_TOTALS[middle], gain):
                high = middle
            else:
                low = middle + 1
        return _TRIED_TOTALS[high]

    def _is_enough(self, labels: int, gain: float) -> bool:
        """Say whether the test of a gold set of so many labels mostly shows a gain."""
        return self.pool.is_mostly_shown(gain, self.test_groups(labels))
