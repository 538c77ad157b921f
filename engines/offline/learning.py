"""In-context learning in the literal sense: a multinomial logistic model fitted to the demonstrations.

The penalty pulls towards the prior weights, not towards zero, so that no demonstration means the
prior and few demonstrations mean little change. Each weight is prior + a part shared by all labels
of the same verdict group + a part of its own; the shared part is penalised less, so that rare labels
borrow from their group. Examples are weighted so that rare labels count more (``balance``).
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["fit", "softmax"]

Array = NDArray[np.float64]


_SHARED, _OWN = 1.0, 4.0  # ridge penalties of the group part and the label part (per weight, in examples)
_BALANCE = 0.5  # exponent of the verdict groups' weights: 0 none, 1 every group counts the same in total
_WITHIN = 0.25  # the same exponent for the labels within a group
_SHARE = 0.5  # each of n examples of one case weighs n ** -share: sentences of a response are not independent cases
_STEPS = 150  # gradient steps (accelerated, fixed step from the curvature bound)


def softmax(scores: Array) -> Array:
    """Return row-wise probabilities."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), dtype=np.float64)


def _example_weights(gold: NDArray[np.int64], sizes: Array, member: Array) -> Array:
    """Weigh examples: ones from the same case share, verdict groups and labels are evened out."""
    each = sizes**-_SHARE
    of = member.argmax(axis=1)
    per_label = np.bincount(gold, weights=each, minlength=len(of))
    per_group = member.T @ per_label
    even = (per_group[of[gold]] ** -_BALANCE) * (per_label[gold] / per_group[of[gold]]) ** -_WITHIN
    return np.asarray(each * even * (each.sum() / (each * even).sum()), dtype=np.float64)


def fit(x: Array, gold: NDArray[np.int64], sizes: Array, prior: Array, groups: tuple[str, ...]) -> Array:
    """Fit the weights to the demonstrations.

    Args:
        x: features with a last column of ones, shape (examples, features + 1).
        gold: label index per example.
        sizes: how many examples the case of each example has.
        prior: prior weights, shape (labels, features + 1).
        groups: verdict group of each label.

    Returns:
        The weights, shaped like ``prior``.
    """
    if not len(gold):
        return prior
    labels = prior.shape[0]
    names = sorted(set(groups))
    member = np.array([[float(group == name) for name in names] for group in groups])
    target = np.eye(labels)[gold]
    weight = _example_weights(gold, sizes, member)[:, None]
    bound = 0.5 * float(np.linalg.norm(x * np.sqrt(weight), 2) ** 2) * (1.0 + float(member.sum(axis=0).max()))
    step = 1.0 / (bound + max(_SHARED, _OWN))
    base = x @ prior.T
    parts = [np.zeros((len(names), prior.shape[1])), np.zeros_like(prior)]
    ahead = [part.copy() for part in parts]
    for turn in range(_STEPS):
        scores = base + x @ (member @ ahead[0] + ahead[1]).T
        grad = ((softmax(scores) - target) * weight).T @ x
        grads = [member.T @ grad + _SHARED * ahead[0], grad + _OWN * ahead[1]]
        new = [a - step * g for a, g in zip(ahead, grads, strict=True)]
        pace = turn / (turn + 3.0)
        ahead = [n + pace * (n - p) for n, p in zip(new, parts, strict=True)]
        parts = new
    return np.asarray(prior + member @ parts[0] + parts[1], dtype=np.float64)
