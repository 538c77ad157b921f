"""What outcomes on some of the cases say about every prompt: means, paired and shrunken, with their errors."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cases import Values
from ..evaluation.paired import permute
from ..evaluation.scale import resolve
from ..evaluation.units import Floats, encode
from ..programs.judge import Judge
from .objective import Objective, Outcome

SHRINK = 10.0
"""Cases for which the parent's mean counts beside a prompt's own."""
CAUTION = 0.5
"""Errors by which the choice among prompts is cautious."""
ON_DEV, ON_ALL = 0.1, 0.05
"""Largest one-sided p of a gain that train and dev show: on dev alone, which was shown to nobody, and on all cases that
both prompts met. The choice does not ask for it: the proof tests what was chosen."""
_FEW = 4  # groups, of which one without a difference leaves too few for the level
_SWAPS = 499  # drawn for one choice; a proof draws more
_CASE = 4.0  # prompts for which the mean of all cases counts beside a case's own
_STEADY = 30.0  # cases for which the pooled spread counts beside a prompt's own: a clean record of a few says little
_ROUNDS = 8  # of fitting prompts and cases in turn


class Credit:
    """The contribution of one outcome to the judge's metric; its mean over cases estimates the metric of a set.

    To first order around reference prompts: the change of their metric when it is added, times their number.
    """

    def __init__(self, objective: Objective, *references: Sequence[Outcome]) -> None:
        self._objective, self._references = objective, [list(outcomes) for outcomes in references]
        self._bases = [objective.aggregate(outcomes) for outcomes in self._references]
        self.base = sum(self._bases) / len(self._bases)
        self._known: dict[tuple[Values, Values], float] = {}

    def __call__(self, outcome: Outcome) -> float:
        """Return the credit of an outcome, in units of the metric; 0 without a labelled unit."""
        key = (outcome.row.gold, outcome.row.predicted)
        if key not in self._known:  # asked for a million times in a search
            changes = [0.0]
            if outcome.row.labelled:
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

    def gain(self, other: "Standing") -> float:
        """Return by how much it is better than another prompt, in units of the metric."""
        return self.mean - other.mean

    def doubt(self, other: "Standing") -> float:
        """Return the standard error of its gain over another prompt; 0 over itself."""
        return 0.0 if self.id == other.id else math.hypot(self.error, other.error)

    def bound(self, other: "Standing") -> float:
        """Return its gain over another prompt less the caution, in units of the metric."""
        return self.gain(other) - CAUTION * self.doubt(other)


def outdoes(pairs: Iterable[tuple[Outcome, Outcome]], judge: Judge, level: float) -> bool:
    """Say whether the judge's metric is better than another prompt's by more than luck, as the proof would test it."""
    # estimated gains are the best of many, so groups are permuted. Of four groups or fewer, none may disagree
    labelled = [(other.row, own.row) for other, own in pairs if own.row.labelled]
    if not labelled:
        return False
    metric = resolve(judge.metric, judge.comparison)
    units = encode(judge.comparison, *zip(*labelled, strict=True))
    drawn = replace(metric, draws=min(metric.draws, _SWAPS))
    test = permute(units, drawn, seed=0, cautious=False)
    least = 2.0**-test.groups if units.groups <= _FEW else 0.0
    return metric.oriented(test.difference) > 0.0 and test.better <= max(level, least)


def standings(prompts: Sequence[Scored], credit: Credit, shrink: float = SHRINK) -> list[Standing]:
    """Return where each prompt stands, in their order, in which parents come first."""
    groups = {case: outcome.row.group for prompt in prompts for case, outcome in prompt.outcomes.items()}
    columns = {case: at for at, case in enumerate(sorted(groups))}
    scores = np.zeros((len(prompts), len(columns)))
    seen = np.zeros_like(scores)
    for row, prompt in enumerate(prompts):
        for case, outcome in prompt.outcomes.items():
            scores[row, columns[case]], seen[row, columns[case]] = credit(outcome), 1.0
    means, left = _fitted(scores, seen)
    spread = _spread(left, seen, [groups[case] for case in columns])
    stands = dict[str, Standing]()
    for prompt, own, variance in zip(prompts, means.tolist(), spread.tolist(), strict=True):
        count, parent = len(prompt.outcomes), stands.get(prompt.parent or "")
        weight = shrink if parent else 0.0
        share = weight / (count + weight) if parent else 0.0
        mean, error = own, variance / max(1.0, count + weight)
        if parent:
            mean = (1 - share) * own + share * (parent.mean - credit.base)
            error += (share * parent.error) ** 2
        stands[prompt.id] = Standing(
            id=prompt.id, cases=count, mean=credit.base + mean, error=math.sqrt(error)
        )
    return list(stands.values())


def _fitted(scores: Floats, seen: Floats) -> tuple[Floats, Floats]:
    """Fit ``score = prompt + case``, the cases drawn towards nothing; return the prompts' part, and what is left."""
    counts, cases = np.maximum(seen.sum(axis=1), 1.0), np.zeros(scores.shape[1])
    for _ in range(_ROUNDS):
        prompts = ((scores - cases) * seen).sum(axis=1) / counts
        cases = ((scores - prompts[:, None]) * seen).sum(axis=0) / (seen.sum(axis=0) + _CASE)
    return prompts, (scores - prompts[:, None] - cases) * seen


def _spread(left: Floats, seen: Floats, groups: Sequence[str]) -> Floats:
    """Return the residual variance of each prompt; cases of one group go wrong together, and count as they do."""
    _, group = np.unique(groups, return_inverse=True)
    sums = np.zeros((group.max() + 1, len(left)))
    np.add.at(sums, group, left.T)
    squares, counts = (sums**2).sum(axis=0), seen.sum(axis=1)
    pooled = max(float(squares.sum()) / max(1.0, float(counts.sum()) - len(left)), 1e-4)
    return np.asarray((squares + _STEADY * pooled) / (counts + _STEADY))
