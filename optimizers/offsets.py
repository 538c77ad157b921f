"""The logistic model that weights of labels and calibrated replies share: one scale, and an offset of each label."""

import numpy as np
import scipy

from ..evaluation.units import Floats, Ints

_LEAST = 1e-12
"""The smallest probability whose logarithm is taken."""
_LEAST_TOTAL = 1e-6
"""The smallest sum of weights that is divided by."""


def fit_offsets(log_shares: Floats, gold: Ints, power: float) -> tuple[float, Floats]:
    """Return one common scale of log probabilities, and an offset of each label, by a logistic model.

    Args:
        log_shares: array (units, labels) of log probabilities.
        gold: of each unit the position of its label.
        power: a label with n units weighs as much as n to the power of 1 - ``power``.
    """
    label_count = log_shares.shape[1]
    units = np.arange(len(gold))
    unit_weights = _weigh_units(gold, label_count, power)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        """Return the penalised loss and its gradient by the parameters: the log of the scale, then the offsets."""
        scale = np.exp(parameters[0])
        offsets = parameters[1:]
        predicted = scipy.special.softmax(scale * log_shares + offsets, axis=1)
        slope = predicted * unit_weights[:, None]
        slope[units, gold] -= unit_weights
        value = -(unit_weights * np.log(np.maximum(predicted[units, gold], _LEAST))).sum()
        scale_gradient = float((slope * log_shares).sum() * scale)
        gradient = np.concatenate([[scale_gradient], slope.sum(axis=0)])
        penalty = float(parameters @ parameters) / 2
        return value + penalty, gradient + parameters

    best = scipy.optimize.minimize(loss, np.zeros(label_count + 1), jac=True, method="L-BFGS-B").x
    return float(np.exp(best[0])), np.asarray(best[1:])


def loss_of_labels(log_odds: Floats, gold: Ints, power: float) -> float:
    """Return the negative log likelihood of labels; units weigh as in :func:`fit_offsets`."""
    unit_weights = _weigh_units(gold, log_odds.shape[1], power)
    log_shares = scipy.special.log_softmax(log_odds, axis=1)
    return -float(unit_weights @ log_shares[np.arange(len(gold)), gold])


def _weigh_units(gold: Ints, label_count: int, power: float) -> Floats:
    """Return the weight of each unit, together as many as units."""
    weights = np.asarray(np.bincount(gold, minlength=label_count)[gold] ** -power, dtype=float)
    weighed: Floats = weights * len(gold) / max(float(weights.sum()), _LEAST_TOTAL)
    return weighed
