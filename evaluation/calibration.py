"""How far probabilities can be trusted: whether they are right (calibration), and whether they rank (AUC)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..errors import UsageError

BINS = 10
"""Ranges of probability of equal width, as in Guo et al. 2017."""


@dataclass(frozen=True, kw_only=True)
class Bin:
    """The units whose probability is above ``low`` (the first range: from it on) and at most ``high``."""

    low: float
    high: float
    said: float  # the mean probability
    found: float  # the share that gold calls positive
    units: int  # how many there are, at least one


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What probabilities of being positive are worth, on labelled units."""

    units: int
    positive: int
    ece: float  # expected calibration error, 0 to 1: how far probability and share are apart, mean over units by bins
    brier: float  # mean squared error of the probabilities, 0 to 1
    # the share of pairs of a positive and another unit in which the positive one has the higher
    # probability, ties counted half; ``None`` if gold has one side only
    auc: float | None
    # mean precision over the positive units, taken at the probability of each; ``None`` likewise
    average_precision: float | None
    bins: tuple[Bin, ...]  # the reliability table, lowest first, without empty ones

    def to_card(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {**asdict(self), "bins": [asdict(one) for one in self.bins]}


def calibrate(probabilities: Sequence[float], positive: Sequence[bool]) -> Calibration:
    """Hold probabilities of being positive against gold."""
    from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

    said, gold = np.array(probabilities, dtype=np.float64), np.array(positive, dtype=np.bool_)
    if not said.size or said.shape != gold.shape or not ((said >= 0) & (said <= 1)).all():
        raise UsageError(
            f"{said.size} probabilities do not fit {gold.size} labels", hint="give one in [0, 1] a unit"
        )
    number, both = np.clip(np.ceil(said * BINS).astype(int) - 1, 0, BINS - 1), 0 < gold.sum() < gold.size
    bins = tuple(
        Bin(
            low=place / BINS,
            high=(place + 1) / BINS,
            said=float(said[number == place].mean()),
            found=float(gold[number == place].mean()),
            units=int((number == place).sum()),
        )
        for place in np.unique(number).tolist()
    )
    return Calibration(
        units=gold.size,
        positive=int(gold.sum()),
        ece=sum(one.units * abs(one.said - one.found) for one in bins) / gold.size,
        brier=float(brier_score_loss(gold, said)),
        auc=float(roc_auc_score(gold, said)) if both else None,
        average_precision=float(average_precision_score(gold, said)) if both else None,
        bins=bins,
    )
