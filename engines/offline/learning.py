"""What demonstrations teach: logistic regression whose penalty pulls towards the prior, not zero."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ...text.evidence import term_set
from .features import NAMES

Array = NDArray[np.float64]

BIAS_COLUMN: Final = len(NAMES)
_SHARED, _OWN = 1.0, 4.0  # ridge penalties of the group part and the label part (per weight, in examples)
_BALANCE = 0.5  # exponent of the verdict groups' weights: 0 none, 1 every group counts the same in total
_WITHIN = 0.25  # the same exponent for the labels within a group
_SHARE = 0.5  # each of n examples of one case weighs n ** -share: sentences of a response are not independent cases
_STEPS = 150  # gradient steps (accelerated, fixed step from the curvature bound)
_RIDGES: Final = (0.1, 0.3, 1.0, 3.0)
_TERMS: Final = (0.0, 0.7)  # scale of the columns of words: without them, with them
_FREE_BIAS: Final = 2.0  # scale of the bias: it is drawn to its prior less than the rest
_NEWTON_STEPS: Final = 20
_MOST_TERMS: Final = 200
_FARTHEST: Final = 12.0  # log odds beyond which nothing is more certain
_SPREAD: Final = 0.15  # of what a score may be, where no demonstration tells


def fit(x: Array, gold: NDArray[np.int64], sizes: Array, prior: Array, groups: tuple[str, ...]) -> Array:
    """Return the weights of each label: prior + a part shared by its verdict group + a part of its own.

    ``x`` has a last column of ones, ``gold`` the label's place per example, ``sizes`` how many examples its case has;
    ``prior`` has a row per label. The shared part is penalised less, so that rare labels borrow from their group.
    """
    labels = prior.shape[0]
    names = sorted(set(groups))
    member = np.array([[float(group == name) for name in names] for group in groups])
    target = np.eye(labels)[gold]
    # Units of one case share its weight, and verdict groups and labels are evened out.
    each, of = sizes**-_SHARE, member.argmax(axis=1)
    per_label = np.bincount(gold, weights=each, minlength=labels)
    per_group = member.T @ per_label
    even = (per_group[of[gold]] ** -_BALANCE) * (per_label[gold] / per_group[of[gold]]) ** -_WITHIN
    weight = (each * even * (each.sum() / (each * even).sum()))[:, None]
    bound = 0.5 * float(np.linalg.norm(x * np.sqrt(weight), 2) ** 2) * (1.0 + float(member.sum(axis=0).max()))
    step = 1.0 / (bound + max(_SHARED, _OWN))
    base = x @ prior.T
    parts = [np.zeros((len(names), prior.shape[1])), np.zeros_like(prior)]
    ahead = [part.copy() for part in parts]
    for turn in range(_STEPS):
        scores = base + x @ (member @ ahead[0] + ahead[1]).T
        grad = ((softmax(scores, axis=1) - target) * weight).T @ x
        grads = [member.T @ grad + _SHARED * ahead[0], grad + _OWN * ahead[1]]
        new = [a - step * g for a, g in zip(ahead, grads, strict=True)]
        pace = turn / (turn + 3.0)
        ahead = [n + pace * (n - p) for n, p in zip(new, parts, strict=True)]
        parts = new
    return np.asarray(prior + member @ parts[0] + parts[1], dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Readout:
    """A learned share (Papke and Wooldridge 1996): weights, log odds when left out, how far those miss."""

    weights: Array
    left_out: Array
    spread: float = _SPREAD

    def odds(self, x: Array) -> Array:
        """Return the log odds of rows of columns."""
        return np.asarray(np.clip(x @ self.weights, -_FARTHEST, _FARTHEST), dtype=np.float64)

    def reasons(self, x: Array, *, high: bool) -> tuple[str, ...]:
        """Return up to three features of one row that speak most for a high (or low) outcome."""
        return strongest(self.weights * x * (1.0 if high else -1.0))


def strongest(gain: Array) -> tuple[str, ...]:
    """Return up to three features by what each adds to a decision, the most first; the bias is none."""
    rounded = np.round(gain[:BIAS_COLUMN], 9)
    return tuple(NAMES[i] for i in np.argsort(-rounded, kind="stable")[:3] if rounded[i] > 0.0)


def vocabulary(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the words that at least two texts hold, and not all of them; the commonest, in a fixed order."""
    counts = Counter(term for text in texts for term in term_set(text))
    shared = [(-count, term) for term, count in counts.items() if 1 < count < len(texts)]
    return tuple(term for _, term in sorted(shared)[:_MOST_TERMS])


def design(features: Array, texts: Sequence[str], words: Sequence[str], extra: Array | None = None) -> Array:
    """Return the columns of units: features, 1, further columns, and which of the words each text holds."""
    held = np.array([[float(word in term_set(text)) for word in words] for text in texts])
    parts = [features, np.ones((len(features), 1)), *([] if extra is None else [extra])]
    return np.hstack([*parts, held.reshape(len(features), len(words))])


def learn(rows: Sequence[Array], target: Sequence[float], prior: Array, words: Sequence[str] = ()) -> Readout:
    """Learn a readout of demonstrations' rows (see :func:`design`); the columns of words have no prior."""
    # How hard the pull is and whether words count is chosen by the loss on rows left out (Rad and Maleki 2020).
    start = np.concatenate([prior, np.zeros(len(words))])
    x = np.vstack([np.zeros((0, len(start))), *rows])
    wanted, base = np.array(target, dtype=np.float64), x @ start
    if not len(wanted):
        return Readout(weights=start, left_out=base)
    least, spread = _loss(wanted, base)
    best = Readout(weights=start, left_out=base, spread=spread)
    for scale in _TERMS if words else _TERMS[:1]:
        scales = np.ones(len(start))
        if len(prior) > BIAS_COLUMN:
            scales[BIAS_COLUMN] = _FREE_BIAS
        scales[len(prior) :] = scale
        scaled = x * scales
        for ridge in _RIDGES:
            dual, left_out = _solve(scaled @ scaled.T, wanted, base, ridge)
            loss, spread = _loss(wanted, left_out)
            if loss < least - 1e-9:
                least, weights = loss, start + scales * (scaled.T @ dual)
                best = Readout(weights=weights, left_out=left_out, spread=spread)
    return best


def _solve(kernel: Array, target: Array, base: Array, ridge: float) -> tuple[Array, Array]:
    """Return the dual weights and the log odds of each example when it is left out (to first order)."""
    odds = np.clip(base, -2.0, 2.0)
    for _ in range(_NEWTON_STEPS):
        p = expit(odds)
        curve = np.maximum(p * (1.0 - p), 1e-2)
        aim = odds + (target - p) / curve
        inverse = np.linalg.inv(kernel + np.diag(ridge / curve))
        dual = inverse @ (aim - base)
        odds = np.clip(base + kernel @ dual, -_FARTHEST, _FARTHEST)
    leverage = np.minimum(np.diag(kernel @ inverse), 0.99)
    return dual, np.asarray(np.clip(aim - (aim - odds) / (1.0 - leverage), -_FARTHEST, _FARTHEST))


def _loss(target: Array, odds: Array) -> tuple[float, float]:
    """Return the mean cross-entropy, and the root mean square of what is missed."""
    p = expit(np.clip(odds, -_FARTHEST, _FARTHEST))
    each = -(target * np.log(p) + (1.0 - target) * np.log(1.0 - p))
    return float(each.mean()), max(0.02, float(np.sqrt(np.mean((target - p) ** 2))))
