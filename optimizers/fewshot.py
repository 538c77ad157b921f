"""``fewshot`` (also called ``demos``): which labelled training cases serve best as demonstrations.

Draws demonstration sets of several sizes from train, stratified so that the
positive labels are well represented. All sets are scored on a first block of
dev; the better half goes on to the rest of dev and to training cases that are
not demonstrations, so that calls go to the sets that may win.

A program with several predictors gets demonstrations for all of them, by what
gold says about each: jointly (the same cases for all) or in turn (one predictor
after the other, each from the best so far). Every candidate records which.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cases import Case
from ..errors import OptimizerError
from ..programs.judge import Judge
from ..programs.state import Demo, PromptState
from .base import WAYS, Job, refuse_other
from .board import Board, Candidate
from .drawing import draw_demos

__all__ = ["FewShot", "demos_of", "pool_of", "with_cases"]


@dataclass(frozen=True, kw_only=True)
class FewShot:
    """Few-shot demonstration selection.

    Attributes:
        sizes: numbers of demonstrations to try.
        sets: sets drawn for each size.
        first: cases of dev on which every set is scored before the worse half is dropped.
        sample: train cases on which the better half is scored too.
        predictors: for several predictors: ``jointly`` or ``in turn``.
    """

    sizes: tuple[int, ...] = (4, 8, 16)
    sets: int = 4
    first: int = 24
    sample: int = 40
    predictors: str = "jointly"
    name: str = "fewshot"

    def __post_init__(self) -> None:
        """Refuse an unknown way."""
        refuse_other(f"{self.name}.predictors", self.predictors, WAYS)

    def minimum(self, job: Job) -> int:
        """Return the calls that score the basic prompt and one set on dev."""
        return 2 * len(job.dev) * job.calls_per_case

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Try demonstration sets on top of ``start``'s instructions."""
        random_ = random.Random(f"fewshot/{job.seed}/{start.id}")
        pool = pool_of(job)
        if self.predictors == "jointly" or len(start.state.predictors) == 1:
            return self._round(job, board, start, tuple(start.state.predictors), pool, random_)
        best = start
        for name in start.state.predictors:
            own = [case for case in pool if name in job.judge.demos(case)]
            if own:
                best = self._round(job, board, best, (name,), own, random_)
        return best

    def _round(
        self,
        job: Job,
        board: Board,
        start: Candidate,
        names: tuple[str, ...],
        pool: Sequence[Case],
        random_: random.Random,
    ) -> Candidate:
        """Try sets for some predictors; return the best candidate on the board."""
        order = random_.sample(job.dev, len(job.dev))
        sizes = [size for size in self.sizes if size <= len(pool)] or [len(pool)]
        tried = [
            self._candidate(job, board, start, names, draw_demos(pool, size, job.judge.answer, random_))
            for size in sizes
            for _ in range(self.sets)
        ]
        block = order[: min(self.first, len(order))]
        for candidate in tried:
            board.score(candidate, block)
            job.note(f"{candidate.source}", board.value(candidate, block), kind="candidate")
        survivors = sorted(tried, key=lambda candidate: -board.value(candidate, block))
        sample = job.train_sample(self.sample)
        board.score(board.basic, sample)
        for candidate in survivors[: max(1, len(survivors) // 2)]:
            board.score(candidate, job.dev)
            board.score(candidate, [case for case in sample if case.id not in candidate.demo_ids])
        best = board.best(job.dev) or start
        job.note(f"best set: {best.source}", board.value(best, job.dev), kind="step")
        return best

    def _candidate(
        self, job: Job, board: Board, start: Candidate, names: tuple[str, ...], cases: Sequence[Case]
    ) -> Candidate:
        kept = set[str]() if len(names) == len(start.state.predictors) else set(start.demo_ids)
        params: dict[str, Any] = {"demonstrations": len(cases)}
        source = f"{self.name}, {len(cases)} demonstrations"
        if len(start.state.predictors) > 1:
            params["predictors"] = self.predictors if self.predictors == "jointly" else list(names)
            source += " jointly" if self.predictors == "jointly" else f" of {', '.join(names)}"
        return board.add(
            with_cases(job.judge, start.state, cases, names),
            parent=start,
            source=source,
            demo_ids=tuple(sorted(kept | {case.id for case in cases})),
            params=params,
        )


def pool_of(job: Job) -> list[Case]:
    """Return the training cases that can be demonstrations.

    Raises:
        OptimizerError: no training case has a label, or gold makes no demonstrations.
    """
    if not job.judge.answer.has_examples:
        raise OptimizerError(
            f"gold of {job.judge.name} makes no demonstrations: what passes is not known before it is written",
            hint="use opro, or bootstrap, which shows what passed",
        )
    return job.labelled_train()


def with_cases(
    judge: Judge, state: PromptState, cases: Sequence[Case], names: Sequence[str] | None = None
) -> PromptState:
    """Return a prompt whose predictors have these cases as demonstrations, in this order.

    Args:
        judge: says what gold gives as a demonstration of each predictor.
        state: the prompt.
        cases: labelled cases; a predictor gets those that gold says something about for it.
        names: predictors that are changed; default: all.
    """
    names = tuple(state.predictors if names is None else names)
    demos = demos_of(judge, names, cases)
    for name in names:
        state = state.with_demos(name, demos.get(name, ()))
    return state


def demos_of(judge: Judge, names: Iterable[str], cases: Sequence[Case]) -> dict[str, tuple[Demo, ...]]:
    """Return what gold says about ``cases`` as demonstrations, in their order, of those predictors that get any."""
    shown: list[Mapping[str, Any]] = [judge.demos(case) for case in cases]
    found = {name: tuple(one[name] for one in shown if name in one) for name in names}
    return {name: demos for name, demos in found.items() if demos}
