"""How far probabilities can be trusted: whether they are right (calibration), and whether they rank (AUC)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

BINS = 10
"""Ranges of probability of equal width, as in Guo et al. 2017."""


def calibrate(probabilities: Sequence[float], positive: Sequence[bool]) -> dict[str, Any]:
    """Hold probabilities of being positive against gold; what cards call ``calibration``.

    ``ece`` is the expected calibration error: how far probability and share are apart, mean over units by ranges.
    ``bins`` are the ranges that hold a unit, lowest first: above ``low`` (the first: from it on) and at most ``high``,
    with the mean probability ``said`` and the share ``found`` positive by gold. What ranks is ``None`` if gold has one
    side only.
    """
    from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

    likely, gold = np.array(probabilities, dtype=np.float64), np.array(positive, dtype=np.bool_)
    range_of = np.clip(np.ceil(likely * BINS).astype(int) - 1, 0, BINS - 1)
    bins, apart = [], 0.0
    for number in np.unique(range_of).tolist():
        inside = range_of == number
        units, mean, share = int(inside.sum()), float(likely[inside].mean()), float(gold[inside].mean())
        ends = {"low": number / BINS, "high": (number + 1) / BINS}
        bins.append({**ends, "said": mean, "found": share, "units": units})
        apart += units * abs(mean - share)
    both_sides = 0 < gold.sum() < gold.size
    return {
        "units": gold.size,
        "positive": int(gold.sum()),
        "ece": apart / gold.size,
        "brier": float(brier_score_loss(gold, likely)),
        "auc": float(roc_auc_score(gold, likely)) if both_sides else None,
        "average_precision": float(average_precision_score(gold, likely)) if both_sides else None,
        "bins": bins,
    }
