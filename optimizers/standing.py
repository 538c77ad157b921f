"""What outcomes on some of the cases say about every prompt: means, paired and shrunken, with their errors."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..cases import Values
from ..evaluation.paired import permute
from ..evaluation.scale import resolve
from ..evaluation.units import Floats, encode
from ..programs.judge import Judge
from .objective import Objective, Outcome

SHRINK = 10.0
"""Cases for which the parent's mean counts beside a prompt's own, before anything is known of how they differ."""
CAUTION = 0.5
"""Errors by which the choice among prompts is cautious."""
SURE = 2.0
"""Errors by which a gain over the basic prompt must stand out before another one is chosen."""
ON_DEV, ON_ALL = 0.1, 0.05
"""Largest one-sided p with which another prompt than the basic one is chosen: on dev alone, which was shown to nobody,
and on all cases that both met."""
_FEW = 4  # groups, of which one without a difference leaves too few for the level
_SWAPS = 499  # drawn for one choice; a proof draws more
_NORMAL_95 = 1.96
_CASE = 4.0  # prompts for which the mean of all cases counts beside a case's own
_STEADY = 30.0  # cases for which the pooled spread counts beside a prompt's own: a clean record of a few says little
_GUESSED = 3.0  # prompts for which the guess of how much they differ from their parents counts
_RANGE = 8.0  # times the guess: how far it can be wrong


class Credit:
    """What one outcome adds to the judge's metric, so that the mean over cases says what a set would.

    To first order around reference prompts: the change of their metric when it is added, times their number.
    """

    def __init__(self, objective: Objective, *references: Sequence[Outcome]) -> None:
        self._objective, self._references = objective, [list(one) for one in references]
        self._bases = [objective.aggregate(one) for one in self._references]
        self.base = sum(self._bases) / len(self._bases)
        self._known: dict[tuple[Values, Values], float] = {}

    def __call__(self, outcome: Outcome) -> float:
        """Return the credit of an outcome, in units of the metric; 0 without a labelled unit."""
        key = (outcome.row.gold, outcome.row.predicted)
        if key not in self._known:  # asked for a million times in a search
            changes = [0.0]
            if outcome.labelled:
                changes = [
                    (len(reference) + 1) * (self._objective.aggregate([*reference, outcome]) - base)
                    for reference, base in zip(self._references, self._bases, strict=True)
                ]
            self._known[key] = sum(changes) / len(changes)
        return self._known[key]


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A prompt with its outcomes."""

    id: str  # the candidate's id
    parent: str | None  # the id of what it was made from, if any
    outcomes: Mapping[str, Outcome]  # by the case's id


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a prompt stands."""

    id: str  # the candidate's id
    cases: int  # cases it was scored on
    mean: float  # its shrunken value, in units of the metric
    error: float  # standard error of ``mean``
    gain: float  # ``mean`` less the first prompt's, mostly the basic one
    doubt: float  # standard error of ``gain``; 0 for the first

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of ``gain``, for a normal error."""
        return self.gain - _NORMAL_95 * self.doubt, self.gain + _NORMAL_95 * self.doubt

    def bound(self, caution: float) -> float:
        """Return the gain less ``caution`` errors; without end below the basic prompt's 0 if it may be no better."""
        if not self.doubt:
            return 0.0
        return self.gain - caution * self.doubt if self.gain > SURE * self.doubt else -math.inf


def outdoes(pairs: Iterable[tuple[Outcome, Outcome]], judge: Judge, level: float) -> bool:
    """Say whether the judge's metric is better than another prompt's by more than luck, as the proof would test it.

    Estimated gains are the best of many, so groups are permuted. Of four groups or fewer, none may disagree.
    """
    labelled = [(other.row, own.row) for other, own in pairs if own.labelled]
    if not labelled:
        return False
    metric = resolve(judge.metric, judge.comparison)
    units = encode(judge.comparison, *zip(*labelled, strict=True))
    drawn = replace(metric, draws=min(metric.draws, _SWAPS))
    found = permute(units, drawn, seed=0, cautious=False)
    least = 2.0**-found.groups if units.groups <= _FEW else 0.0
    return metric.oriented(found.difference) > 0.0 and found.better <= max(level, least)


def standings(prompts: Sequence[Scored], credit: Credit, shrink: float = SHRINK) -> list[Standing]:
    """Return where each prompt stands, in their order."""
    groups = {case: outcome.row.group for one in prompts for case, outcome in one.outcomes.items()}
    columns = {case: at for at, case in enumerate(sorted(groups))}
    scores = np.zeros((len(prompts), len(columns)))
    seen = np.zeros_like(scores)
    for row, one in enumerate(prompts):
        for case, outcome in one.outcomes.items():
            scores[row, columns[case]], seen[row, columns[case]] = credit(outcome), 1.0
    rows = {one.id: row for row, one in enumerate(prompts)}
    parents = np.array([rows.get(one.parent or "", row) for row, one in enumerate(prompts)])
    means, covariance, left = _fitted(scores, seen, parents, shrink)
    spread = np.sqrt(_spread(left, seen, [groups[case] for case in columns]))
    variances = covariance * spread[:, None] * spread
    own = np.diag(variances)
    doubts = np.sqrt(np.maximum(own + own[0] - 2 * variances[0], 0.0))
    return [
        Standing(
            id=one.id,
            cases=len(one.outcomes),
            mean=credit.base + float(means[row]),
            error=float(np.sqrt(own[row])),
            gain=float(means[row] - means[0]),
            doubt=float(doubts[row]) if row else 0.0,
        )
        for row, one in enumerate(prompts)
    ]


def _spread(left: Floats, seen: Floats, groups: Sequence[str]) -> Floats:
    """Return the residual variance of each prompt; cases of one group go wrong together, and count as they do."""
    _, group = np.unique(groups, return_inverse=True)
    sums = np.zeros((group.max() + 1, len(left)))
    np.add.at(sums, group, left.T)
    squares, counts = (sums**2).sum(axis=0), seen.sum(axis=1)
    pooled = max(float(squares.sum()) / max(1.0, float(counts.sum()) - len(left)), 1e-4)
    return np.asarray((squares + _STEADY * pooled) / (counts + _STEADY))


def _fitted(
    scores: Floats, seen: Floats, parents: NDArray[np.int64], shrink: float
) -> tuple[Floats, Floats, Floats]:
    """Fit ``score = prompt + case``, the cases drawn towards nothing, then draw the prompts towards their parents.

    In two stages: at once, what all prompts have in common would be taken for easy cases.
    """
    counts = seen.sum(axis=1)
    inverse = 1.0 / (seen.sum(axis=0) + _CASE)
    doubt = np.linalg.inv(np.diag(counts + 1e-9) - (seen * inverse) @ seen.T)  # of the prompts alone
    alone = doubt @ ((scores * seen).sum(axis=1) - (seen * inverse) @ scores.sum(axis=0))
    cases = ((scores - alone[:, None]) * seen).sum(axis=0) * inverse
    left = (scores - alone[:, None] - cases) * seen
    sigma = math.sqrt(max(float((left**2).sum()) / max(1.0, float(counts.sum()) - len(counts)), 1e-4))
    children = parents != np.arange(len(parents))
    own = np.flatnonzero(children & (counts > 0) & (counts[parents] > 0))
    of = parents[own]
    noise = np.maximum(doubt[own, own] + doubt[of, of] - 2 * doubt[own, of], 0.0)
    usual, drawn = _usual((alone[own] - alone[of]) / sigma, noise, shrink)
    weights = drawn * children
    matrix = np.diag(counts + weights + 1e-9)
    matrix[np.arange(len(parents)), parents] -= weights
    solved = np.linalg.inv(matrix)
    means = solved @ (((scores - cases) * seen).sum(axis=1) + weights * usual * sigma)
    covariance = solved @ (counts[:, None] * doubt * counts + np.diag(weights)) @ solved.T
    return means, covariance, (scores - means[:, None] - cases) * seen


def _usual(gains: Floats, noise: Floats, shrink: float) -> tuple[float, float]:
    """Return what a prompt usually gains over its parent, and for how many cases the parent's mean counts.

    Empirical Bayes by moments: where rewrites differ little from what they rewrite, a lucky one is drawn down hard.
    """
    guess = 1.0 / max(shrink, 1e-3)
    weights = 1.0 / (noise + guess)
    # A rewrite is never presumed better than what it rewrites, but it may be presumed worse.
    usual = min(0.0, float((weights * gains).sum() / (weights.sum() + _GUESSED / guess)))
    informed = (guess * weights) ** 2
    moment = _GUESSED * guess + float((informed * ((gains - usual) ** 2 - noise)).sum())
    between = float(np.clip(moment / (_GUESSED + float(informed.sum())), guess / _RANGE, guess * _RANGE))
    return usual, 1.0 / between
