"""The prior: hand-set, round weights per axis, moved by what the instruction asks for.

``DIRECTIONS[axis][feature]`` is how much one unit of a feature speaks for the positive end of an
axis. A label's weight vector is the sum of the directions, each times the label's place on the
axis. The numbers come from reasoning about what each feature means, in steps of 0.25. No fit made
them; docs/offline.md says which were revised by hand while looking at labelled conversations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .features import GROUPS, NAMES
from .labels import AXES, Meaning

__all__ = ["BIAS", "DIRECTIONS", "Shifts", "prior_weights"]

Shifts = Mapping[tuple[str, str], float]

BIAS: Final = "bias"
DIRECTIONS: Final[dict[str, dict[str, float]]] = {
    "support": {
        BIAS: -2.75, "cov_all": 2.0, "cov_best": 1.0, "cov_two": 0.5, "cov_pairs": 1.0, "cov_worst": 0.5,
        "cov_low": -0.5, "cov_full": 0.5, "mean_cov": 1.5, "number_missing": -1.0, "name_missing": -1.0,
        "negation_gap": -0.25, "antonym": -0.5, "near_miss": -0.25, "evaluative": -0.25, "subjective": -0.25,
        "hedge": -0.25, "absolute": -0.25, "impact": -0.5, "summary": -0.5, "inference": -0.25,
        "new_evaluative": -0.25, "has_number": 0.25, "is_chat": 1.0,
        "other_side": -0.5, "cause_missing": -1.0, "mood_missing": -0.5,
    },
    "cognitive": {
        BIAS: -0.5, "evaluative": 1.0, "subjective": 1.0, "hedge": 0.5, "causal": 0.5, "advice": 1.0,
        "impact": 1.0, "summary": 1.0, "inference": 0.75, "new_evaluative": 0.5, "has_number": -0.75,
        "cov_pairs": -0.5, "cov_best": -0.5, "last": 0.5, "absolute": 0.25, "elaboration": 0.25,
    },
    "offtopic": {
        BIAS: -3.0, "filler": 3.0, "question": 1.5, "cov_all": -1.0, "length": -1.0, "first": 0.25,
        "last": 0.25, "has_number": -1.0, "has_name": -0.5,
    },
    "clash": {BIAS: -1.5, "negation_gap": 1.0, "antonym": 1.0, "near_miss": 0.5, "cov_best": 0.5},
    "bar": {BIAS: 1.0},
    "loose": {
        BIAS: -0.25, "evaluative": 1.0, "subjective": 1.0, "hedge": 1.0, "new_evaluative": 0.5, "absolute": 0.5,
        "impact": 0.25,
    },
    "strength": {BIAS: -0.5, "cov_all": 0.5, "hedge": -0.5, "evaluative": -0.25, "cov_pairs": 0.5},
}  # fmt: skip


def prior_weights(
    meanings: tuple[Meaning, ...], shifts: Shifts, without: tuple[str, ...] = ()
) -> NDArray[np.float64]:
    """Return the prior weights, shape (labels, features + 1); the last column is the bias.

    Args:
        meanings: the labels' places on the axes.
        shifts: (axis, feature or ``"bias"``) -> what the instruction adds.
        without: feature groups to leave out, for ablations.
    """
    columns = {name: i for i, name in enumerate((*NAMES, BIAS))}
    weights = np.zeros((len(meanings), len(columns)))
    totals = {(axis, name): w for axis, table in DIRECTIONS.items() for name, w in table.items()}
    for key, delta in shifts.items():
        totals[key] = totals.get(key, 0.0) + delta
    for row, meaning in enumerate(meanings):
        for axis in AXES:
            place = float(getattr(meaning, axis))
            if place == 0.0 or (axis != "cognitive" and axis != "support" and place < 0):
                place = place if axis == "strength" else max(place, 0.0)
            for (of, name), weight in totals.items():
                if of == axis and place:
                    weights[row, columns[name]] += place * weight
    for group in without:
        for name in GROUPS[group]:
            weights[:, columns[name]] = 0.0
    return weights
