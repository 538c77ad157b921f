"""``simba``: DSPy's SIMBA, stochastic introspective mini-batch ascent.

Programs of a pool are run on a mini-batch at temperature 1; where the runs of a
case differ most, the good run becomes a demonstration, or a proposer puts the
difference between the good and the bad run into advice that is appended to the
instruction. Calls of a step: b n rollouts, b (n + 1) for the new programs, n + 1
proposals; at the end min(n, steps) + 1 programs on the training sample.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import dspy

from .base import Job
from .drawing import labelled
from .dspy_search import DspyOptimizer, SearchBudget, pool, proposer
from .recorder import Judging, Recorder

# Mini-batch and programs a step, largest first; DSPy's own is the first, with 8 steps.
_SIZES = ((32, 6), (24, 5), (16, 4), (12, 3), (8, 3), (6, 2), (4, 2))
_USUAL, _WORTH, _MOST = 8, 4, 24
_PARSES = 3  # attempts at the source of a class, before the last


@dataclass(frozen=True, kw_only=True)
class Simba(DspyOptimizer):
    """SIMBA's settings."""

    steps: int = 0  # at most this many; 0 fits them to the budget (8 without one)
    demos: int = 4  # demonstrations a prompt may hold; 0 writes advice only
    sample: int = 60  # train cases it works on, at most
    finalists: int = 3  # prompts scored on all of dev at the end
    name: str = "simba"

    def smallest(self, job: Job, budget: SearchBudget) -> int:
        """Return the calls of one small step and its end."""
        batch, programs = self._smallest(len(job.train))
        return self.calls(1, batch, programs, batch, budget)

    @staticmethod
    def calls(steps: int, batch: int, programs: int, sample: int, budget: SearchBudget) -> int:
        """Return the calls that SIMBA makes, at most; a rollout takes one draw."""
        step = batch * (programs * budget.predictors + (programs + 1) * budget.run) + programs + 1
        return steps * step + (min(programs, steps) + 1) * sample * budget.run

    def shape(self, budget: SearchBudget, cases: int) -> tuple[int, int, int, int]:
        """Return (steps, mini-batch, programs a step, sample): the largest that allow several steps."""
        sample = min(self.sample or cases, cases)
        sizes = [size for size in _SIZES if size[0] <= sample] or [self._smallest(sample)]
        if budget.left is None:
            return self.steps or _USUAL, *sizes[0], sample
        shapes = (
            (steps, batch, programs, share)
            for least in (_WORTH, 1)
            for batch, programs in sizes
            for share in (sample, max(batch, sample // 2), batch)
            for steps in range(self.steps or _MOST, least - 1, -1)
        )
        least = (1, *sizes[-1], sizes[-1][0])
        return budget.largest(shapes, lambda shape: self.calls(*shape, budget), least)

    def _smallest(self, cases: int) -> tuple[int, int]:
        return max(1, min(_SIZES[-1][0], cases)), _SIZES[-1][1]

    def compile(self, recorder: Recorder, student: Judging, budget: SearchBudget) -> None:
        """Improve the student's instructions and demonstrations."""
        job = recorder.job
        steps, batch, programs, sample = self.shape(budget, len(labelled(job.train)))
        optimizer = dspy.SIMBA(
            metric=recorder.metric,
            bsize=batch,
            num_candidates=programs,
            max_steps=steps,
            max_demos=self.demos,
            demo_input_field_maxlen=0,  # nothing is cut: a demonstration is what its case says, and traced to it
            prompt_model=proposer(job),
            num_threads=1,
        )
        optimizer.strategies = [_told(strategy, job) for strategy in optimizer.strategies]
        train = recorder.examples(pool(job, self.name, sample))
        seed = job.seed if job.seed >= 0 else job.seed % 2**32  # numpy takes none below 0
        optimizer.compile(student, trainset=train, seed=seed)


def _told(strategy: Callable[..., bool], job: Job) -> Callable[..., bool]:
    """Return a strategy whose failure is noted: SIMBA goes on without that prompt and says so nowhere.

    Advice begins with the source of a class, and to find it Python parses a file. Parsing fails with
    ``SystemError`` (seen with 3.11.7; gh-106905) if garbage collected meanwhile parses too, as a log of a lost
    task does. Nothing was asked by then, so it is begun again.
    """

    @wraps(strategy)
    def told(*given: Any, **more: Any) -> bool:
        for _ in range(_PARSES):
            try:
                return strategy(*given, **more)
            except SystemError:
                continue
            except Exception as lost:  # SIMBA swallows any, and says so of none
                job.note(f"simba: one prompt less: {type(lost).__name__}: {lost}"[:300])
                raise
        return strategy(*given, **more)

    return told
