"""The prior: hand-set, round weights per axis, moved by what the instruction asks for.

``DIRECTIONS[axis][feature]`` (data/prior.toml) is how much one unit of a feature speaks for the positive end of an
axis. A label's weight vector is the sum of the directions, each times the label's place on the axis.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...text.tables import table
from .features import NAMES
from .labels import AXES, Meaning

__all__ = ["BIAS", "DIRECTIONS", "Shifts", "prior_weights"]

Shifts = Mapping[tuple[str, str], float]

BIAS: Final = "bias"
DIRECTIONS: Final[dict[str, dict[str, float]]] = table(__package__, "prior")


def prior_weights(meanings: tuple[Meaning, ...], shifts: Shifts) -> NDArray[np.float64]:
    """Return the prior weights, shape (labels, features + 1); the last column is the bias.

    Args:
        meanings: the labels' places on the axes.
        shifts: (axis, feature or ``"bias"``) -> what the instruction adds.
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
    return weights
