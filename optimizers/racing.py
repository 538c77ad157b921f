"""Racing: all prompts tried so far compete for the next block of calls.

Scoring every prompt on the same fixed number of cases spends most calls on
prompts that are plainly worse. Here each prompt is first scored on one small
block of train; the next block always goes to the prompt with the highest upper
confidence bound, whenever it was proposed. All prompts meet the cases in one
common, stratified order, so that comparisons are paired, and the effect of easy
and hard cases is estimated and taken out. Means are shrunken: the best of many
means on few cases is mostly luck.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..cases import Case, Label, Labels
from ..evaluation.confusion import Floats
from .board import Board, Candidate
from .objective import Outcome

__all__ = ["Credit", "Race", "Standing", "blocks", "decided", "stratified"]

_ROUNDS = 6  # of the alternating fit of prompts and cases; it has settled by then
_STEADY = 4.0  # cases for which the pooled spread counts beside a prompt's own


def stratified(cases: Sequence[Case], positive: frozenset[Label], random_: random.Random) -> list[Case]:
    """Return all ``cases`` in random order, such that every prefix holds the labels about in their proportion.

    Cases of one unit are stratified by their label, others by whether they hold a positive label.
    """
    strata: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        gold = case.gold or ()
        name = (
            str(gold[0]) if len(gold) == 1 else ("found" if any(one in positive for one in gold) else "none")
        )
        strata[name].append(case)
    placed: list[tuple[float, str, Case]] = []
    for name in sorted(strata):
        members = random_.sample(strata[name], len(strata[name]))
        offset = random_.random()
        placed += [((at + offset) / len(members), name, case) for at, case in enumerate(members)]
    return [case for _, _, case in sorted(placed, key=lambda one: one[:2])]


def blocks(cases: Sequence[Case], size: int) -> Iterator[list[Case]]:
    """Yield ``cases`` in consecutive blocks of ``size``, the last one shorter."""
    rest = iter(cases)
    while block := list(islice(rest, max(1, size))):
        yield block


class Credit:
    """What one outcome adds to the judge's metric, so that the mean over cases says what a set would.

    To first order around the basic prompt on dev, for every metric alike: the change of the metric of
    those outcomes when this one is added to them, times their number. For accuracy it is the case's score
    less the basic accuracy.
    """

    def __init__(self, board: Board, reference: Sequence[Outcome]) -> None:
        self._board, self._reference = board, list(reference)
        self.base = board.objective.aggregate(self._reference)
        self._known: dict[tuple[Labels, Labels], float] = {}

    def __call__(self, outcome: Outcome) -> float:
        """Return the credit of an outcome, in units of the metric; 0 without a labelled unit."""
        row = outcome.row
        if not any(row.gold):
            return 0.0
        key = (row.gold, row.predicted)
        if key not in self._known:
            value = self._board.objective.aggregate([*self._reference, outcome])
            self._known[key] = (len(self._reference) + 1) * (value - self.base)
        return self._known[key]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a prompt stands in the race.

    Attributes:
        candidate: the prompt.
        cases: training cases it was scored on.
        mean: its shrunken value, in units of the metric.
        error: standard error of ``mean``.
    """

    candidate: Candidate
    cases: int
    mean: float
    error: float


class Race:
    """The race of prompts over one order of training cases.

    Args:
        board: scores and keeps.
        order: the cases, in the order in which every prompt meets them.
        block: cases in a block.
        credit: the value of one outcome.
        shrink: cases for which the mean of all prompts counts beside a prompt's own.
    """

    def __init__(
        self, board: Board, order: Sequence[Case], *, block: int, credit: Credit, shrink: float
    ) -> None:
        self.board, self.order, self.block = board, tuple(order), max(1, block)
        self.credit, self.shrink = credit, shrink
        self._arms: list[Candidate] = []
        self._credits: list[list[float]] = []
        self._fitted: list[Standing] | None = None

    def enter(self, candidate: Candidate) -> None:
        """Let a prompt run its first block. One that is in the race already stays as it is."""
        if all(arm.id != candidate.id for arm in self._arms):
            self._arms.append(candidate)
            self._credits.append([])
            self._run(len(self._arms) - 1)

    def advance(self, count: int, reach: float) -> None:
        """Give ``count`` blocks away, each to the prompt with the highest ``mean + reach * error``.

        Prompts that have met every case get none; it ends early when there is no other.
        """
        for _ in range(count):
            standings = self.standings()
            open_ = [at for at, found in enumerate(standings) if found.cases < len(self.order)]
            if not open_:
                return
            self._run(max(open_, key=lambda at: (standings[at].mean + reach * standings[at].error, -at)))

    def catch_up(self, candidate: Candidate, cases: int) -> None:
        """Score a prompt of the race on the first ``cases`` cases, if it was scored on fewer."""
        at = next(at for at, arm in enumerate(self._arms) if arm.id == candidate.id)
        while len(self._credits[at]) < min(cases, len(self.order)):
            self._run(at)

    def standings(self) -> list[Standing]:
        """Return where every prompt stands, in the order of their entry."""
        if self._fitted is None:
            self._fitted = self._fit()
        return self._fitted

    def ranking(self) -> list[Standing]:
        """Return the standings by shrunken mean, best first, the earlier first among equals."""
        return sorted(self.standings(), key=lambda found: -round(found.mean, 9))

    def leader(self, caution: float) -> Standing:
        """Return the prompt with the highest ``mean - caution * error``."""
        return max(self.standings(), key=lambda found: round(found.mean - caution * found.error, 9))

    def seen(self, candidate: Candidate) -> tuple[Case, ...]:
        """Return the cases that a prompt of the race was scored on, in order."""
        at = next(at for at, arm in enumerate(self._arms) if arm.id == candidate.id)
        return self.order[: len(self._credits[at])]

    def _run(self, at: int) -> None:
        done = len(self._credits[at])
        cases = self.order[done : done + self.block]
        self._credits[at] += [self.credit(outcome) for outcome in self.board.score(self._arms[at], cases)]
        self._fitted = None

    def _fit(self) -> list[Standing]:
        counts = np.array([len(credits) for credits in self._credits])
        scores = np.zeros((len(counts), int(counts.max())))
        for at, credits in enumerate(self._credits):
            scores[at, : len(credits)] = credits
        seen = (np.arange(scores.shape[1]) < counts[:, None]).astype(float)
        means, left = self._effects(scores, seen, counts)
        cells = max(1.0, float(seen.sum() - seen.shape[1] - 1))
        pooled = max(float((left**2).sum()) / cells, 1e-4)
        spread = ((left**2).sum(axis=1) + _STEADY * pooled) / (counts + _STEADY)
        errors = np.sqrt(spread / np.maximum(counts + self.shrink, 1.0))
        return [
            Standing(candidate=arm, cases=int(count), mean=self.credit.base + float(mean), error=float(error))
            for arm, count, mean, error in zip(self._arms, counts, means, errors, strict=True)
        ]

    def _effects(self, scores: Floats, seen: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Fit ``score = prompt + case`` with both shrunken; return the prompts' means and what is left over."""
        means = (scores * seen).sum(axis=1) / np.maximum(counts, 1)
        cases = np.zeros(scores.shape[1])
        for _ in range(_ROUNDS):
            cases = ((scores - means[:, None]) * seen).sum(axis=0) / (seen.sum(axis=0) + 1.0)
            middle = float(means.mean())
            total = ((scores - cases) * seen).sum(axis=1)
            means = (total + self.shrink * middle) / np.maximum(counts + self.shrink, 1e-9)
        return means, (scores - means[:, None] - cases) * seen


def decided(credits: Sequence[float], against: Sequence[float], reach: float) -> bool:
    """Say whether paired credits already show that the first prompt cannot win, ``reach`` errors away."""
    gaps = np.subtract(credits, against)
    error = math.sqrt((float(np.var(gaps)) * len(gaps) + 0.25) / (len(gaps) + 1) / len(gaps))
    return float(gaps.mean()) + reach * error < 0
