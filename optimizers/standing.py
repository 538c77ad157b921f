"""Standings: an estimate of the metric of every prompt, with its error, from outcomes on different sets of cases.

A standing allows for how hard the cases were that a prompt met, and is drawn towards that of its parent.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cases import Values
from ..evaluation.permutation import permute
from ..evaluation.rows import JudgedRow
from ..evaluation.scale import resolve
from ..evaluation.units import Floats, encode
from ..programs.judge import Judge
from .objective import Objective, Outcome

SHRINK = 10.0
"""The weight of the parent's mean beside a prompt's own, in cases."""
CAUTION = 0.5
"""The standard errors that are taken off a gain where prompts are chosen by it."""
ON_DEV, ON_ALL = 0.1, 0.05
"""The largest one-sided p at which a gain counts as shown: on dev alone, which no proposer saw, and on all cases that
both prompts met. A prompt can be chosen without it, as the proof tests the chosen one."""
_FEW_GROUPS = 4  # groups with which one group without a difference already misses the level
_SWAPS = 499  # drawn for one choice; a proof draws more
_CASE_SHRINK = 4.0  # the weight of the mean of all cases beside a case's own, in prompts
_SPREAD_SHRINK = 30.0  # the weight of the pooled variance beside a prompt's own, in cases
_ROUNDS = 8  # of fitting prompts and cases in turn


class Credit:
    """The credit of an outcome, its contribution to the judge's metric: the metric of a set is its mean credit.

    This holds to first order around the outcomes of reference prompts. A credit is the change of their metric when the
    outcome is added to them, times the number of outcomes.
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
    parent: str | None  # the id of the candidate that it was made from, if any
    outcomes: Mapping[str, Outcome]  # case id -> outcome


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The estimated metric of a prompt."""

    id: str  # the candidate's id
    cases: int  # the number of cases it was scored on
    mean: float  # the estimate, in units of the metric
    error: float  # standard error of ``mean``

    def gain(self, rival: "Standing") -> float:
        """Return the gain over another prompt, in units of the metric."""
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
    """Say whether a prompt's metric is better than its rival's at a one-sided level, by a permutation of groups.

    Each pair has the outcomes of the rival and of the prompt on one case.
    """
    # A gain by standings is the best of many estimates, so it needs this test. With few groups the level is raised to
    # the smallest p there can be, which is reached if no group disagrees.
    rival_rows: list[JudgedRow] = []
    rows: list[JudgedRow] = []
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
    if units.groups <= _FEW_GROUPS:
        level = max(level, 2.0**-test.groups)
    return metric.oriented(test.difference) > 0.0 and test.better <= level


def standings(prompts: Sequence[Scored], credit: Credit, shrink: float = SHRINK) -> list[Standing]:
    """Return the standing of each prompt, in the order of the prompts; parents come before their children."""
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
    means, residuals = _fit_prompts_and_cases(scores, is_met)
    spread = _residual_variances(residuals, is_met, [group_of_case[case_id] for case_id in case_ids])
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


def _fit_prompts_and_cases(scores: Floats, is_met: Floats) -> tuple[Floats, Floats]:
    """Fit ``score = prompt + case``, cases drawn towards 0; return the prompts' part (P,) and the residuals (P, C)."""
    counts = np.maximum(is_met.sum(axis=1), 1.0)
    cases = np.zeros(scores.shape[1])
    for _ in range(_ROUNDS):
        prompts = ((scores - cases) * is_met).sum(axis=1) / counts
        cases = ((scores - prompts[:, None]) * is_met).sum(axis=0) / (is_met.sum(axis=0) + _CASE_SHRINK)
    return prompts, (scores - prompts[:, None] - cases) * is_met


def _residual_variances(residuals: Floats, is_met: Floats, groups: Sequence[str]) -> Floats:
    """Return the residual variance of each prompt (P,), in which the residuals of a group are added before squaring."""
    _, group = np.unique(groups, return_inverse=True)
    sums = np.zeros((group.max() + 1, len(residuals)))
    np.add.at(sums, group, residuals.T)
    squares = (sums**2).sum(axis=0)
    counts = is_met.sum(axis=1)
    pooled = max(float(squares.sum()) / max(1.0, float(counts.sum()) - len(residuals)), 1e-4)
    return np.asarray((squares + _SPREAD_SHRINK * pooled) / (counts + _SPREAD_SHRINK))
