"""Learning from demonstrations: a softmax regression whose penalty pulls towards the prior, not towards zero."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Final

from ...text.evidence import term_set
from ...text.word_regression import softmax
from .features import NAMES, CaseTexts, Matrix, Vector, measure_case

_WORD_LIMIT: Final = 200
"""The most words of demonstrations that are columns."""
_REASON_LIMIT: Final = 3
"""The most features that :meth:`Regression.reasons` names."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """A learned decision: weights, shape (labels, columns), and the words that the last columns stand for."""

    weights: Matrix
    words: tuple[str, ...] = ()

    def probabilities(self, x: Matrix) -> Matrix:
        """Return the probability of each label, shape (units, labels)."""
        probabilities: Matrix = []
        for unit in x:
            log_odds = [dot(unit, weights) for weights in self.weights]
            probabilities.append(softmax(log_odds))
        return probabilities

    def reasons(self, x: Vector, label: int, rival: int) -> tuple[str, ...]:
        """Return up to three features of a unit that speak most for one label against another, the strongest first."""
        label_weights = self.weights[label]
        rival_weights = self.weights[rival]
        gains: dict[str, float] = {}
        for place, name in enumerate(NAMES):
            gain = round((label_weights[place] - rival_weights[place]) * x[place], 9)
            if gain > 0.0:
                gains[name] = gain
        strongest = sorted(gains, key=lambda name: -gains[name])
        return tuple(strongest[:_REASON_LIMIT])


def dot(vector: Vector, other: Vector) -> float:
    """Return the dot product of two vectors."""
    product: float = sum(map(mul, vector, other))
    return product


def learn(
    rows: Sequence[Matrix], targets: Sequence[Matrix], prior: Matrix, words: tuple[str, ...] = ()
) -> Regression:
    """Return the regression that is fitted to demonstrations; without any its weights are the prior.

    Args:
        rows: the :func:`columns` of each demonstration, of one unit at least.
        targets: the targets of each demonstration, shape (units, labels).
        prior: the weights that the penalty pulls towards, shape (labels, columns without words).
        words: the words of the last columns.
    """
    start: Matrix = []
    for label_weights in prior:
        start.append(label_weights + [0.0] * len(words))
    if not rows:
        return Regression(weights=start, words=words)
    from .fitting import fit_weights

    return Regression(weights=fit_weights(rows, targets, start, len(words)), words=words)


def targets_of(shares: Sequence[float]) -> Matrix:
    """Return the targets of shares of yes, shape (units, 2): the share of yes, then that of no."""
    return [[float(share), 1.0 - share] for share in shares]


def choose_vocabulary(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the words that two texts or more hold, but not all texts: at most 200, the commonest first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(term_set(text))
    shared: list[str] = []
    for word, count in counts.items():
        if 1 < count < len(texts):
            shared.append(word)
    shared.sort(key=lambda word: (-counts[word], word))
    return tuple(shared[:_WORD_LIMIT])


def columns(case: CaseTexts, words: Sequence[str] = (), extra: Sequence[float] = ()) -> Matrix:
    """Return the columns of a case's units: features, 1, further columns, and which of the words each holds."""
    x: Matrix = []
    for unit, features in zip(case.units, measure_case(case).matrix, strict=True):
        unit_columns = features + [1.0]
        unit_columns.extend(extra)
        unit_columns.extend(_mark_words(unit, words))
        x.append(unit_columns)
    return x


def _mark_words(unit: str, words: Sequence[str]) -> Vector:
    """Return 1 for each word that a unit holds, else 0."""
    if not words:
        return []
    unit_terms = term_set(unit)
    return [float(word in unit_terms) for word in words]
