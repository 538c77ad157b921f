"""What outcomes on some of the cases say about every prompt: means, paired and shrunken, with their errors.

Prompts are scored on different cases, few of them on all. A score is taken as
the prompt's own value plus the case's, so that nobody gains by having met the
easy cases: two prompts need not have met the same ones. Both are shrunken, a
case's towards nothing and a prompt's towards its parent's: until shown otherwise, a new prompt
is as good as the one it was made from. The best of many raw means is mostly luck.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..cases import Values
from ..evaluation.units import Floats
from .objective import Objective, Outcome

__all__ = ["SHRINK", "Credit", "Scored", "Standing", "standings"]

SHRINK = 10.0
"""Cases for which the parent's mean counts beside a prompt's own."""
_CASE = 4.0  # prompts for which the mean of all cases counts beside a case's own
_SURE = 2.0  # errors by which a gain over the basic prompt is believed
_STEADY = 4.0  # cases for which the pooled spread counts beside a prompt's own


class Credit:
    """What one outcome adds to the judge's metric, so that the mean over cases says what a set would.

    To first order around a reference prompt, for every metric alike: the change of the metric of
    its outcomes when this one is added to them, times their number. For accuracy it is the case's score
    less the reference's accuracy.

    Args:
        objective: has the metric.
        reference: outcomes of the reference prompt.
    """

    def __init__(self, objective: Objective, reference: Sequence[Outcome]) -> None:
        self._objective, self._reference = objective, list(reference)
        self.base = objective.aggregate(self._reference)
        self._known: dict[tuple[Values, Values], float] = {}

    def __call__(self, outcome: Outcome) -> float:
        """Return the credit of an outcome, in units of the metric; 0 without a labelled unit."""
        row = outcome.row
        if not outcome.labelled:
            return 0.0
        key = (row.gold, row.predicted)
        if key not in self._known:
            value = self._objective.aggregate([*self._reference, outcome])
            self._known[key] = (len(self._reference) + 1) * (value - self.base)
        return self._known[key]


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A prompt with its outcomes.

    Attributes:
        id: the candidate's id.
        parent: the id of what it was made from, if any.
        outcomes: by the case's id.
    """

    id: str
    parent: str | None
    outcomes: Mapping[str, Outcome]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a prompt stands.

    Attributes:
        id: the candidate's id.
        cases: cases it was scored on.
        mean: its shrunken value, in units of the metric.
        error: standard error of ``mean``.
    """

    id: str
    cases: int
    mean: float
    error: float

    def bound(self, basic: Standing, caution: float) -> float:
        """Return its mean less ``caution`` errors; without end below the basic prompt's if it may be no better.

        Against the basic prompt two errors of the difference are enough: its mean is drawn towards it already.
        """
        if self.id == basic.id:
            return basic.mean
        doubt = min(caution, _SURE) * math.hypot(self.error, basic.error)
        return self.mean - caution * self.error if self.mean - basic.mean > doubt else -math.inf


def standings(prompts: Sequence[Scored], credit: Credit, shrink: float = SHRINK) -> list[Standing]:
    """Return where each prompt stands, in their order.

    Args:
        prompts: parents before their children; at least one has an outcome.
        credit: the value of one outcome.
        shrink: cases for which the parent's mean counts beside a prompt's own.
    """
    groups = {case: outcome.row.group for one in prompts for case, outcome in one.outcomes.items()}
    columns = {case: at for at, case in enumerate(sorted(groups))}
    scores = np.zeros((len(prompts), len(columns)))
    seen = np.zeros_like(scores)
    for row, one in enumerate(prompts):
        for case, outcome in one.outcomes.items():
            scores[row, columns[case]], seen[row, columns[case]] = credit(outcome), 1.0
    rows = {one.id: row for row, one in enumerate(prompts)}
    parents = [rows.get(one.parent or "", row) for row, one in enumerate(prompts)]
    means, weights, left = _fitted(scores, seen, parents, shrink)
    errors = np.sqrt(weights * _spread(left, seen, [groups[case] for case in columns]))
    return [
        Standing(id=one.id, cases=len(one.outcomes), mean=credit.base + float(mean), error=float(error))
        for one, mean, error in zip(prompts, means, errors, strict=True)
    ]


def _spread(left: Floats, seen: Floats, groups: Sequence[str]) -> Floats:
    """Return the residual variance of each prompt; cases of one group go wrong together, and count as they do."""
    names = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    member = np.zeros((len(groups), len(names)))
    member[np.arange(len(groups)), [names[group] for group in groups]] = 1.0
    squares, counts = ((left @ member) ** 2).sum(axis=1), seen.sum(axis=1)
    pooled = max(float(squares.sum()) / max(1.0, float(counts.sum()) - 1), 1e-4)
    return np.asarray((squares + _STEADY * pooled) / (counts + _STEADY))


def _fitted(
    scores: Floats, seen: Floats, parents: Sequence[int], shrink: float
) -> tuple[Floats, Floats, Floats]:
    """Fit ``score = prompt + case``, the cases drawn towards nothing, then draw the prompts towards their parents.

    In two stages: were both drawn at once, what all prompts have in common would be taken for easy cases; and
    what is tried on top of a prompt must say nothing about it.

    Returns:
        The prompts' means, their variances in units of the residual one, and what is left over.
    """
    counts = seen.sum(axis=1)
    inverse = 1.0 / (seen.sum(axis=0) + _CASE)
    doubt = np.linalg.inv(np.diag(counts + 1e-9) - (seen * inverse) @ seen.T)  # of the prompts alone
    alone = doubt @ ((scores * seen).sum(axis=1) - (seen * inverse) @ scores.sum(axis=0))
    cases = ((scores - alone[:, None]) * seen).sum(axis=0) * inverse
    drawn = np.array([shrink * (parent != row) for row, parent in enumerate(parents)])
    matrix = np.diag(counts + drawn + 1e-9)
    matrix[np.arange(len(parents)), parents] -= drawn
    solved = np.linalg.inv(matrix)
    means = solved @ ((scores - cases) * seen).sum(axis=1)
    variances = np.diag(solved @ (counts[:, None] * doubt * counts + np.diag(drawn)) @ solved.T)
    return means, variances, (scores - means[:, None] - cases) * seen
