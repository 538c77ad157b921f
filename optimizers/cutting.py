"""The cut of probability that is best by a smoothed metric.

Where few units are positive, the metric is a staircase in the cut, and its highest step is mostly luck: the best of a
staircase is known far less well than that of a smooth curve (Kim and Pollard 1990, section 6; Horowitz 1992 smooths
it). So each unit is found, in part, under any cut: by the share above it of a normal distribution around the unit's
log odds. It is the wider, the more those of its gold side differ and the fewer they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr

from ..cases import Case, Value
from ..evaluation.comparisons import resolve
from ..evaluation.metrics import Metric
from ..evaluation.rows import Row
from ..evaluation.units import Bools, Floats, Ints, Units, encode
from ..programs.judge import Judge
from ..programs.verdicts import Verdict

_CUTS = 100  # tried, at equal distances of log odds
_WIDTH = (
    2.0  # of the normal, in standard deviations of a side's log odds, times its units to the power of -1/5
)
_LEAST_WIDTH = 1e-3
_PARTS = 20  # into which a unit is divided: metrics count whole numbers
_END = 1e-6  # nearest to 0 and to 1 that a probability is told apart


@dataclass(frozen=True, kw_only=True, eq=False)
class Cutting:
    """The labelled units of some cases whose probability is known: N of them."""

    metric: Metric  # what is maximised
    place: Ints  # shape (N,), ascending: which of the cases each unit is of
    odds: Floats  # shape (N,), log odds that it is positive
    positive: Bools  # shape (N,), whether people say so
    both: Units  # 2N units: each as it is decided when found, and then each when it is not

    @classmethod
    def of(
        cls, judge: Judge, cases: Sequence[Case], found: Sequence[Verdict], clear: Sequence[Verdict]
    ) -> "Cutting | None":
        """Return those of ``cases``; ``None`` without any."""
        probability = judge.answer.probability
        known: list[tuple[int, float, Value, Value | None, Value | None]] = []
        for place, (case, one, other) in enumerate(zip(cases, found, clear, strict=True)):
            sides = zip(case.gold or (), one.probabilities, one.values, other.values, strict=False)
            for gold, shares, *values in sides:
                if gold is not None and (share := probability(shares)) is not None:
                    known.append((place, share, gold, *values))
        if not known:
            return None
        rows = [
            Row(
                id=f"{side}{number:09d}",
                group=f"{side}{number:09d}",
                gold=(gold,),
                predicted=(values[side],),
                failed=False,
            )
            for side in (0, 1)
            for number, (_, _, gold, *values) in enumerate(known)
        ]
        return cls(
            metric=resolve(judge.metric, judge.comparison),
            place=np.array([place for place, *_ in known]),
            odds=logit(np.clip([share for _, share, *_ in known], _END, 1 - _END)),
            positive=np.array([probability({gold: 1.0}) == 1.0 for _, _, gold, *_ in known]),
            both=encode(judge.comparison, rows),
        )

    def best(self, places: Sequence[int]) -> float:
        """Return the probability that is the best cut for the units of some of the cases, by their places."""
        chosen = np.isin(self.place, places)
        odds = self.odds[chosen]
        if not len(odds):
            return 0.5
        cuts = np.linspace(odds.min(), odds.max(), _CUTS)
        shares = ndtr((odds - cuts[:, None]) / self._widths(chosen))
        parts = np.rint(_PARTS * shares).astype(np.int64)
        weights = np.zeros((len(cuts), 2, len(chosen)), dtype=np.int64)
        weights[:, 0, chosen], weights[:, 1, chosen] = parts, _PARTS - parts
        values = self.metric.resampled(self.both, weights.reshape(len(cuts), -1))
        best = expit(cuts[int(np.argmax(np.round(values if self.metric.higher_is_better else -values, 9)))])
        return round(float(np.clip(best, _END, 1 - _END)), 6)

    def _widths(self, chosen: Bools) -> Floats:
        widths = np.full(len(chosen), _LEAST_WIDTH)
        for side in (True, False):
            own = chosen & (self.positive == side)
            if own.any():
                widths[own] = max(_LEAST_WIDTH, _WIDTH * float(self.odds[own].std()) * own.sum() ** -0.2)
        return np.asarray(widths[chosen])
