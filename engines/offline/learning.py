"""Learning from demonstrations: a softmax regression whose penalty pulls towards the prior, not towards zero."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ...text.evidence import term_set
from .features import NAMES, CaseTexts, measure_case

Array = NDArray[np.float64]

BIAS_COLUMN: Final = len(NAMES)
_RIDGE: Final = 0.4
_BIAS_RIDGE: Final = 0.1
_WORD_RIDGE: Final = 1.0
_LABEL_BALANCE: Final = 0.5  # exponent of the labels' weights: 0 none, 1 all labels count the same in total
_UNIT_SHARE: Final = 0.5  # each of n units of one case weighs n ** -share: they are not independent
_WORD_LIMIT: Final = 200
_REASON_LIMIT: Final = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """A learned decision: weights, shape (labels, columns), and the words that the last columns stand for."""

    weights: Array
    words: tuple[str, ...] = ()

    def probabilities(self, x: Array) -> Array:
        """Return the probability of each label, shape (units, labels)."""
        odds = x @ self.weights.T
        # SciPy's softmax does the same, and takes half a second to import.
        exponentials = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True), dtype=np.float64)

    def reasons(self, x: Array, label: int, rival: int) -> tuple[str, ...]:
        """Return up to three features of a unit that speak most for one label against another, the strongest first."""
        contributions = (self.weights[label] - self.weights[rival]) * x
        gains = contributions[:BIAS_COLUMN].round(9)
        strongest = np.argsort(-gains, kind="stable")[:_REASON_LIMIT]
        names: list[str] = []
        for place in strongest:
            if gains[place] > 0.0:
                names.append(NAMES[place])
        return tuple(names)


def learn(
    rows: Sequence[Array], targets: Sequence[Array], prior: Array, words: tuple[str, ...] = ()
) -> Regression:
    """Return the regression of demonstrations: of each the :func:`columns` and the targets, shape (units, labels).

    A demonstration has one unit at least. Without demonstrations the weights are the prior.
    """
    start = np.hstack([prior, np.zeros((len(prior), len(words)))])
    if not rows:
        return Regression(weights=start, words=words)
    x = np.vstack(rows)
    target = np.vstack(targets)
    unit_weights = _weigh_units(rows, target)
    penalty = np.full(start.shape[1], _RIDGE)
    penalty[BIAS_COLUMN : BIAS_COLUMN + 1] = _BIAS_RIDGE  # a slice, for the columns of a tie are fewer
    penalty[prior.shape[1] :] = _WORD_RIDGE

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
    return Regression(weights=flat_weights.reshape(start.shape), words=words)


def _weigh_units(rows: Sequence[Array], target: Array) -> Array:
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


def targets_of(shares: Sequence[float] | Array) -> Array:
    """Return the targets of yes or no, or of shares, shape (units, 2): how far it holds, how far it does not."""
    holds = np.asarray(shares, dtype=np.float64)
    return np.column_stack([holds, 1.0 - holds])


def choose_vocabulary(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the words that at least two texts hold, and not all of them; the commonest, in a fixed order."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(term_set(text))
    shared: list[str] = []
    for term, count in counts.items():
        if 1 < count < len(texts):
            shared.append(term)
    shared.sort(key=lambda term: (-counts[term], term))
    return tuple(shared[:_WORD_LIMIT])


def columns(case: CaseTexts, words: Sequence[str] = (), extra: Array | None = None) -> Array:
    """Return the columns of a case's units: features, 1, further columns, and which of the words each holds."""
    features = measure_case(case).matrix
    parts = [features, np.ones((len(features), 1))]
    if extra is not None:
        parts.append(extra)
    if words:
        parts.append(_mark_words(case.units, words))
    return np.hstack(parts)


def _mark_words(units: Sequence[str], words: Sequence[str]) -> Array:
    """Return 1 where a unit holds a word, else 0, shape (units, words)."""
    marks = np.zeros((len(units), len(words)))
    for place, unit in enumerate(units):
        unit_terms = term_set(unit)
        marks[place] = [word in unit_terms for word in words]
    return marks
