"""The fit of a regression to demonstrations: it is pulled towards the prior, not towards zero."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from .features import BIAS_COLUMN, Matrix

Array = NDArray[np.float64]

_RIDGE: Final = 0.4
_BIAS_RIDGE: Final = 0.1
_WORD_RIDGE: Final = 1.0
_LABEL_BALANCE: Final = 0.5  # exponent of the labels' weights: 0 none, 1 all labels count the same in total
_UNIT_SHARE: Final = 0.5  # each of n units of one case weighs n ** -share: they are not independent


def fit_weights(rows: Sequence[Matrix], targets: Sequence[Matrix], prior: Matrix, words: int) -> Matrix:
    """Return the weights, shape (labels, columns), that fit demonstrations and lie near the prior ones.

    ``words`` is the number of the last columns that stand for words.
    """
    start = np.array(prior)
    x = np.vstack(rows)
    target = np.vstack(targets)
    unit_weights = _weigh_units(rows, target)
    penalty = np.full(start.shape[1], _RIDGE)
    penalty[BIAS_COLUMN : BIAS_COLUMN + 1] = _BIAS_RIDGE  # a slice, for the columns of a tie are fewer
    penalty[start.shape[1] - words :] = _WORD_RIDGE

    def loss(flat_weights: Array) -> tuple[float, Array]:
        """Return the loss of weights, and its slope."""
        weights = flat_weights.reshape(start.shape)
        odds = x @ weights.T
        moved = weights - start
        misfit = -(unit_weights * target * scipy.special.log_softmax(odds, axis=1)).sum()
        misfit_slope = (unit_weights * (scipy.special.softmax(odds, axis=1) - target)).T @ x
        slope = misfit_slope + penalty * moved
        return float(misfit + 0.5 * (penalty * moved**2).sum()), slope.ravel()

    flat_weights = scipy.optimize.minimize(loss, start.ravel(), jac=True, method="L-BFGS-B").x
    weights: Matrix = flat_weights.reshape(start.shape).tolist()
    return weights


def _weigh_units(rows: Sequence[Matrix], target: Array) -> Array:
    """Return the weight of each unit, shape (units, 1): less if its case has many, more if its label is rare."""
    weights_by_row: list[Array] = []
    for row in rows:
        weights_by_row.append(np.full(len(row), len(row) ** -_UNIT_SHARE))
    weights = np.concatenate(weights_by_row)
    label_totals = (target * weights[:, None]).sum(axis=0)
    balance = target @ np.maximum(label_totals, 1e-9) ** -_LABEL_BALANCE
    scale = weights.sum() / (weights * balance).sum()
    unit_weights: Array = weights * balance * scale
    return unit_weights[:, None]
