"""Learning from demonstrations: a softmax regression whose penalty pulls towards the prior, not towards zero."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Final

from ...text.evidence import term_set
from .features import NAMES, CaseTexts, Matrix, Vector, measure_case

_WORD_LIMIT: Final = 200
_REASON_LIMIT: Final = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """A learned decision: weights, shape (labels, columns), and the words that the last columns stand for."""

    weights: Matrix
    words: tuple[str, ...] = ()

    def probabilities(self, x: Matrix) -> Matrix:
        """Return the probability of each label, shape (units, labels)."""
        return [self._unit_probabilities(unit) for unit in x]

    def _unit_probabilities(self, unit: Vector) -> Vector:
        odds = [dot(unit, weights) for weights in self.weights]
        highest = max(odds)
        exponentials = [math.exp(label_odds - highest) for label_odds in odds]
        total = sum(exponentials)
        return [exponential / total for exponential in exponentials]

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


def dot(vector: Vector, next_vector: Vector) -> float:
    """Return the dot product of two vectors."""
    product: float = sum(map(mul, vector, next_vector))
    return product


def learn(
    rows: Sequence[Matrix], targets: Sequence[Matrix], prior: Matrix, words: tuple[str, ...] = ()
) -> Regression:
    """Return the regression of demonstrations: of each the :func:`columns` and the targets, shape (units, labels).

    A demonstration has one unit at least. Without demonstrations the weights are the prior.
    """
    start: Matrix = []
    for label_weights in prior:
        start.append(label_weights + [0.0] * len(words))
    if not rows:
        return Regression(weights=start, words=words)
    from .fitting import fit_weights

    return Regression(weights=fit_weights(rows, targets, start, len(words)), words=words)


def targets_of(shares: Sequence[float]) -> Matrix:
    """Return the targets of yes or no, or of shares, shape (units, 2): how far it holds, how far it does not."""
    return [[float(share), 1.0 - share] for share in shares]


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
