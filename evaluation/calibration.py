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

    said, gold = np.array(probabilities, dtype=np.float64), np.array(positive, dtype=np.bool_)
    places, both = np.clip(np.ceil(said * BINS).astype(int) - 1, 0, BINS - 1), 0 < gold.sum() < gold.size
    bins = [
        {
            "low": place / BINS,
            "high": (place + 1) / BINS,
            "said": float(said[places == place].mean()),
            "found": float(gold[places == place].mean()),
            "units": int((places == place).sum()),
        }
        for place in np.unique(places).tolist()
    ]
    return {
        "units": gold.size,
        "positive": int(gold.sum()),
        "ece": sum(one["units"] * abs(one["said"] - one["found"]) for one in bins) / gold.size,
        "brier": float(brier_score_loss(gold, said)),
        "auc": float(roc_auc_score(gold, said)) if both else None,
        "average_precision": float(average_precision_score(gold, said)) if both else None,
        "bins": bins,
    }
