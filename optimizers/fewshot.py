"""``fewshot``: which labelled training cases serve best as demonstrations.

Draws demonstration sets of several sizes from train, stratified so that the
positive labels are well represented. All sets are scored on a first block of
dev; the better half goes on to the rest of dev and to training cases that are
not demonstrations, so that calls go to the sets that may win.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ..cases import Case
from ..errors import OptimizerError
from .base import Job
from .board import Board, Candidate
from .drawing import draw, draw_demos

__all__ = ["FewShot"]


@dataclass(frozen=True, kw_only=True)
class FewShot:
    """Few-shot demonstration selection.

    Attributes:
        sizes: numbers of demonstrations to try.
        sets: sets drawn for each size.
        first: cases of dev on which every set is scored before the worse half is dropped.
        sample: train cases on which the better half is scored too.
    """

    sizes: tuple[int, ...] = (4, 8, 16)
    sets: int = 4
    first: int = 24
    sample: int = 40
    name: str = "fewshot"

    def minimum(self, job: Job) -> int:
        """Return the calls that score the basic prompt and one set on dev."""
        return 2 * len(job.dev) * job.sampling.samples

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Try demonstration sets on top of ``start``'s instructions."""
        random_ = random.Random(f"fewshot/{job.seed}/{start.id}")
        pool = [case for case in job.train if case.gold is not None and any(case.gold)]
        if not pool:
            raise OptimizerError("no labelled training case", hint="give gold with more rows")
        order = random_.sample(job.dev, len(job.dev))
        sizes = [size for size in self.sizes if size <= len(pool)] or [len(pool)]
        tried = [
            self._candidate(job, board, start, pool, size, random_)
            for size in sizes
            for _ in range(self.sets)
        ]
        block = order[: min(self.first, len(order))]
        for candidate in tried:
            board.score(candidate, block)
            job.note(f"{candidate.source}", board.value(candidate, block), kind="candidate")
        survivors = sorted(tried, key=lambda candidate: -board.value(candidate, block))
        sample = draw(job.train, self.sample, job.judge.positive, random.Random(f"sample/{job.seed}"))
        board.score(board.basic, sample)
        for candidate in survivors[: max(1, len(survivors) // 2)]:
            board.score(candidate, job.dev)
            board.score(candidate, [case for case in sample if case.id not in candidate.demo_ids])
        best = board.best(job.dev) or start
        job.note(f"best set: {best.source}", board.value(best, job.dev), kind="step")
        return best

    def _candidate(
        self,
        job: Job,
        board: Board,
        start: Candidate,
        pool: Sequence[Case],
        size: int,
        random_: random.Random,
    ) -> Candidate:
        state, ids = start.state, set[str]()
        for name in state.predictors:
            cases = draw_demos(pool, size, job.judge.positive, random_)
            state = state.with_demos(name, tuple(job.judge.demo(case) for case in cases))
            ids.update(case.id for case in cases)
        source = f"fewshot, {size} demonstrations"
        return board.add(state, parent=start, source=source, demo_ids=tuple(sorted(ids)))
