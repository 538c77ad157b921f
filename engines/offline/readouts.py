"""One linear readout of features, learned from demonstrations: what scores, sets of labels and preferences rest on.

A logistic model whose target may be any share between 0 and 1 (Papke and Wooldridge 1996). Its ridge penalty pulls
towards the prior, and how strongly is chosen by the loss on demonstrations that are left out (Rad and Maleki 2020),
the prior alone being one of the choices: a demonstration counts for as much as it helps with the others. Beside the
features, the words that several demonstrations share may be columns, chosen in the same way.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...text.evidence import term_set
from .features import NAMES

__all__ = ["BIAS_COLUMN", "Readout", "chance", "design", "learn", "vocabulary"]

Array = NDArray[np.float64]

BIAS_COLUMN: Final = len(NAMES)
_RIDGES: Final = (0.1, 0.3, 1.0, 3.0)
_TERMS: Final = (0.0, 0.7)  # scale of the columns of words: without them, with them
_FREE_BIAS: Final = 2.0  # scale of the bias: it is drawn to its prior less than the rest
_STEPS: Final = 20
_MOST_TERMS: Final = 200
_FARTHEST: Final = 12.0  # log odds beyond which nothing is more certain
_SPREAD: Final = 0.15  # of what a score may be, where no demonstration tells


@dataclass(frozen=True, kw_only=True, eq=False)
class Readout:
    """A learned readout.

    Attributes:
        weights: per column.
        left_out: log odds of each demonstration by a readout learned from the others.
        spread: root mean square of what is missed on demonstrations that are left out, in shares.
    """

    weights: Array
    left_out: Array
    spread: float = _SPREAD

    def odds(self, x: Array) -> Array:
        """Return the log odds of rows of columns."""
        return np.asarray(np.clip(x @ self.weights, -_FARTHEST, _FARTHEST), dtype=np.float64)

    def reasons(self, x: Array, *, high: bool) -> tuple[str, ...]:
        """Return up to three features of one row that speak most for a high (or low) outcome."""
        gain = np.round((self.weights * x)[:BIAS_COLUMN] * (1.0 if high else -1.0), 9)
        return tuple(NAMES[i] for i in np.argsort(-gain, kind="stable")[:3] if gain[i] > 0.0)


def chance(odds: Array) -> Array:
    """Return probabilities of log odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-odds)), dtype=np.float64)


def vocabulary(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the words that at least two texts hold, and not all of them; the commonest, in a fixed order."""
    counts = Counter(term for text in texts for term in term_set(text))
    shared = [(-count, term) for term, count in counts.items() if 1 < count < len(texts)]
    return tuple(term for _, term in sorted(shared)[:_MOST_TERMS])


def design(features: Array, texts: Sequence[str], words: Sequence[str], extra: Array | None = None) -> Array:
    """Return the columns of units: features, 1, further columns, and which of the words each text holds.

    Args:
        features: shape (units, features).
        texts: of the units.
        words: see :func:`vocabulary`.
        extra: shape (units, further columns).
    """
    held = np.array([[float(word in term_set(text)) for word in words] for text in texts])
    parts = [features, np.ones((len(features), 1)), *([] if extra is None else [extra])]
    return np.hstack([*parts, held.reshape(len(features), len(words))])


def learn(x: Array, target: Array, prior: Array) -> Readout:
    """Learn a readout.

    Args:
        x: columns, shape (demonstrations, columns); those beyond ``prior`` are words.
        target: what each demonstration says, 0 to 1.
        prior: the weights without demonstrations; words have none.
    """
    start = np.concatenate([prior, np.zeros(x.shape[1] - len(prior))])
    base = x @ start
    best = Readout(weights=start, left_out=base)
    if not len(target):
        return best
    least, spread = _loss(target, base)
    best = Readout(weights=start, left_out=base, spread=spread)
    for scale in _TERMS if x.shape[1] > len(prior) else _TERMS[:1]:
        scales = np.ones(x.shape[1])
        if len(prior) > BIAS_COLUMN:
            scales[BIAS_COLUMN] = _FREE_BIAS
        scales[len(prior) :] = scale
        scaled = x * scales
        for ridge in _RIDGES:
            dual, left_out = _solve(scaled @ scaled.T, target, base, ridge)
            loss, spread = _loss(target, left_out)
            if loss < least - 1e-9:
                least = loss
                weights = start + scales * (scaled.T @ dual)
                best = Readout(weights=weights, left_out=left_out, spread=spread)
    return best


def _solve(kernel: Array, target: Array, base: Array, ridge: float) -> tuple[Array, Array]:
    """Return the dual weights and the log odds of each example when it is left out (to first order)."""
    odds = np.clip(base, -2.0, 2.0)
    for _ in range(_STEPS):
        p = chance(odds)
        curve = np.maximum(p * (1.0 - p), 1e-2)
        aim = odds + (target - p) / curve
        inverse = np.linalg.inv(kernel + np.diag(ridge / curve))
        dual = inverse @ (aim - base)
        odds = np.clip(base + kernel @ dual, -_FARTHEST, _FARTHEST)
    leverage = np.minimum(np.diag(kernel @ inverse), 0.99)
    return dual, np.asarray(np.clip(aim - (aim - odds) / (1.0 - leverage), -_FARTHEST, _FARTHEST))


def _loss(target: Array, odds: Array) -> tuple[float, float]:
    """Return the mean cross-entropy, and the root mean square of what is missed."""
    p = chance(np.clip(odds, -_FARTHEST, _FARTHEST))
    each = -(target * np.log(p) + (1.0 - target) * np.log(1.0 - p))
    return float(each.mean()), max(0.02, float(np.sqrt(np.mean((target - p) ** 2))))
