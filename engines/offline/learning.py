"""What demonstrations teach: a softmax regression whose penalty pulls towards the prior, not towards zero."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ...text.evidence import term_set
from .features import NAMES, Scene, read_units

Array = NDArray[np.float64]

BIAS_COLUMN: Final = len(NAMES)
_RIDGE, _RIDGE_OF_BIAS, _RIDGE_OF_WORDS = 0.4, 0.1, 1.0
_BALANCE: Final = 0.5  # exponent of the labels' weights: 0 none, 1 every label counts the same in total
_SHARE: Final = 0.5  # each of n units of one case weighs n ** -share: they are not independent
_MOST_TERMS: Final = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """A learned decision: weights, shape (labels, columns), and the words that the last columns stand for."""

    weights: Array
    words: tuple[str, ...] = ()

    def probabilities(self, x: Array) -> Array:
        """Return the probability of each label, shape (units, labels)."""
        odds = x @ self.weights.T
        # SciPy's softmax does the same, and takes half a second to import.
        shares = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)

    def reasons(self, x: Array, chosen: int, rival: int) -> tuple[str, ...]:
        """Return up to three features of one unit that speak most for one label against another, the most first."""
        gain = ((self.weights[chosen] - self.weights[rival]) * x)[:BIAS_COLUMN].round(9)
        return tuple(NAMES[place] for place in np.argsort(-gain, kind="stable")[:3] if gain[place] > 0.0)


def learn(
    rows: Sequence[Array], targets: Sequence[Array], prior: Array, words: tuple[str, ...] = ()
) -> Regression:
    """Learn from demonstrations: the columns (:func:`columns`) and target shares, shape (units, labels), of each."""
    start = np.hstack([prior, np.zeros((len(prior), len(words)))])
    if not rows:
        return Regression(weights=start, words=words)
    x, target = np.vstack(rows), np.vstack(targets)
    each = np.concatenate([np.full(len(row), len(row) ** -_SHARE) for row in rows if len(row)])
    share = target * each[:, None]
    even = target @ np.maximum(share.sum(axis=0), 1e-9) ** -_BALANCE
    weight = (each * even * (each.sum() / (each * even).sum()))[:, None]
    penalty = np.full(start.shape[1], _RIDGE)
    penalty[BIAS_COLUMN : BIAS_COLUMN + 1] = _RIDGE_OF_BIAS
    penalty[prior.shape[1] :] = _RIDGE_OF_WORDS

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(start.shape)
        odds, moved = x @ weights.T, weights - start
        missed = -(weight * target * scipy.special.log_softmax(odds, axis=1)).sum()
        slope = (weight * (scipy.special.softmax(odds, axis=1) - target)).T @ x + penalty * moved
        return float(missed + 0.5 * (penalty * moved**2).sum()), slope.ravel()

    best = scipy.optimize.minimize(loss, start.ravel(), jac=True, method="L-BFGS-B").x
    return Regression(weights=best.reshape(start.shape), words=words)


def shares(values: Sequence[float]) -> Array:
    """Return the targets of a yes or no, or of a share: it holds, it does not."""
    return np.array([[value, 1.0 - value] for value in values]).reshape(-1, 2)


def vocabulary(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the words that at least two texts hold, and not all of them; the commonest, in a fixed order."""
    counts = Counter(term for text in texts for term in term_set(text))
    shared = [(-count, term) for term, count in counts.items() if 1 < count < len(texts)]
    return tuple(term for _, term in sorted(shared)[:_MOST_TERMS])


def columns(scene: Scene, words: Sequence[str] = (), extra: Array | None = None) -> Array:
    """Return the columns of a scene's units: features, 1, further columns, and which of the words each holds."""
    held = np.array([[float(word in term_set(text)) for word in words] for text in scene.units])
    matrix, size = read_units(scene).matrix, len(scene.units)
    parts = [matrix, np.ones((size, 1)), *([] if extra is None else [extra])]
    return np.hstack([*parts, held.reshape(size, len(words))])
