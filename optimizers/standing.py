"""What outcomes on some of the cases say about every prompt: means, paired and shrunken, with their errors."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cases import Values
from ..evaluation.permutation import permute
from ..evaluation.rows import Row
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
        self._objective = objective
        self._references = [list(outcomes) for outcomes in references]
        self._bases = [objective.aggregate(outcomes) for outcomes in self._references]
        self.base = sum(self._bases) / len(self._bases)
        self._credits: dict[tuple[Values, Values], float] = {}

    def __call__(self, outcome: Outcome) -> float:
        """Return the credit of an outcome, in units of the metric; 0 without a labelled unit."""
        key = (outcome.row.gold, outcome.row.predicted)
        if key not in self._credits:  # asked for a million times in a search
            self._credits[key] = self._change_around(outcome)
        return self._credits[key]

    def _change_around(self, outcome: Outcome) -> float:
        """Return the mean change of the references' metrics by one more outcome, times their number of outcomes."""
        if not outcome.row.labelled:
            return 0.0
        changes: list[float] = []
        for reference, base in zip(self._references, self._bases, strict=True):
            change = self._objective.aggregate(reference + [outcome]) - base
            changes.append((len(reference) + 1) * change)
        return sum(changes) / len(changes)


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

    def gain(self, rival: "Standing") -> float:
        """Return by how much it is better than another prompt, in units of the metric."""
        return self.mean - rival.mean

    def doubt(self, rival: "Standing") -> float:
        """Return the standard error of its gain over another prompt; 0 over itself."""
        if self.id == rival.id:
            return 0.0
        return math.hypot(self.error, rival.error)

    def bound(self, rival: "Standing") -> float:
        """Return its gain over another prompt less the caution, in units of the metric."""
        return self.gain(rival) - CAUTION * self.doubt(rival)


def outdoes(pairs: Iterable[tuple[Outcome, Outcome]], judge: Judge, level: float) -> bool:
    """Say whether the judge's metric is better than another prompt's by more than luck, as the proof would test it."""
    # Estimated gains are the best of many, so groups are permuted. Of four groups or fewer, none may disagree.
    rival_rows: list[Row] = []
    rows: list[Row] = []
    for rival_outcome, outcome in pairs:
        if outcome.row.labelled:
            rival_rows.append(rival_outcome.row)
            rows.append(outcome.row)
    if not rows:
        return False
    metric = resolve(judge.metric, judge.comparison)
    units = encode(judge.comparison, rival_rows, rows)
    drawn = replace(metric, draws=min(metric.draws, _SWAPS))
    test = permute(units, drawn, seed=0, cautious=False)
    if units.groups <= _FEW:
        level = max(level, 2.0**-test.groups)
    return metric.oriented(test.difference) > 0.0 and test.better <= level


def standings(prompts: Sequence[Scored], credit: Credit, shrink: float = SHRINK) -> list[Standing]:
    """Return where each prompt stands, in their order, in which parents come first."""
    group_of_case: dict[str, str] = {}
    for prompt in prompts:
        for case_id, outcome in prompt.outcomes.items():
            group_of_case[case_id] = outcome.row.group
    case_ids = sorted(group_of_case)
    columns = {case_id: column for column, case_id in enumerate(case_ids)}
    scores = np.zeros((len(prompts), len(columns)))
    is_met = np.zeros_like(scores)
    for row, prompt in enumerate(prompts):
        for case_id, outcome in prompt.outcomes.items():
            scores[row, columns[case_id]] = credit(outcome)
            is_met[row, columns[case_id]] = 1.0
    means, residuals = _fitted(scores, is_met)
    spread = _spread(residuals, is_met, [group_of_case[case_id] for case_id in case_ids])
    stands: dict[str, Standing] = {}
    for prompt, prompt_mean, variance in zip(prompts, means.tolist(), spread.tolist(), strict=True):
        count = len(prompt.outcomes)
        parent = stands.get(prompt.parent or "")
        if parent is None:
            mean = prompt_mean
            squared_error = variance / max(1.0, count)
        else:
            share = shrink / (count + shrink)
            mean = (1 - share) * prompt_mean + share * (parent.mean - credit.base)
            squared_error = variance / max(1.0, count + shrink) + (share * parent.error) ** 2
        stands[prompt.id] = Standing(
            id=prompt.id, cases=count, mean=credit.base + mean, error=math.sqrt(squared_error)
        )
    return list(stands.values())


def _fitted(scores: Floats, is_met: Floats) -> tuple[Floats, Floats]:
    """Fit ``score = prompt + case``, the cases drawn towards 0; return the prompts' part, and the residuals."""
    counts = np.maximum(is_met.sum(axis=1), 1.0)
    cases = np.zeros(scores.shape[1])
    for _ in range(_ROUNDS):
        prompts = ((scores - cases) * is_met).sum(axis=1) / counts
        cases = ((scores - prompts[:, None]) * is_met).sum(axis=0) / (is_met.sum(axis=0) + _CASE)
    return prompts, (scores - prompts[:, None] - cases) * is_met


def _spread(residuals: Floats, is_met: Floats, groups: Sequence[str]) -> Floats:
    """Return the residual variance of each prompt; cases of one group go wrong together, and count as they do."""
    _, group = np.unique(groups, return_inverse=True)
    sums = np.zeros((group.max() + 1, len(residuals)))
    np.add.at(sums, group, residuals.T)
    squares = (sums**2).sum(axis=0)
    counts = is_met.sum(axis=1)
    pooled = max(float(squares.sum()) / max(1.0, float(counts.sum()) - len(residuals)), 1e-4)
    return np.asarray((squares + _STEADY * pooled) / (counts + _STEADY))
