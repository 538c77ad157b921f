"""``bootstrap``: DSPy's BootstrapFewShotWithRandomSearch.

Demonstrations are labelled cases, and cases that a teacher (the judge with
labelled demonstrations) gets right, with the reasoning it gave. Several random
sets are scored on dev. Calls: (C + 2) V for scores and (C + 1) bootstraps of at
most T cases, for C random sets; the program without demonstrations is known.
"""

from dataclasses import dataclass

import dspy

from ..errors import OptimizerError
from .base import Job
from .drawing import labelled
from .dspy_search import DspyOptimizer, SearchBudget, pool
from .recorder import Judging, Recorder

_USUAL = 16  # DSPy's number of random sets
_MOST = 64


@dataclass(frozen=True, kw_only=True)
class Bootstrap(DspyOptimizer):
    """Settings of BootstrapFewShotWithRandomSearch."""

    candidates: int = 0  # random sets; 0 fits them to the budget (16 without one)
    demos: int = 4  # bootstrapped demonstrations of a set, at most; 1 at least
    labels: int = 16  # demonstrations of a set in all, at most
    # score of a case, in [0, 1], from which its answer may become a demonstration. DSPy takes any score
    # that is not 0
    accept: float = 0.5
    finalists: int = 1  # prompts scored on all of dev at the end
    name: str = "bootstrap"

    def __post_init__(self) -> None:
        """Refuse a search without bootstrapped demonstrations: DSPy draws their number from 1 upwards."""
        if self.demos < 1:
            raise OptimizerError(
                f"{self.name}.demos cannot be {self.demos}",
                hint="give 1 or more, or use fewshot, which tries labelled demonstrations only",
            )

    def smallest(self, job: Job, budget: SearchBudget) -> int:
        """Return the calls of one bootstrapped set on dev, beside the basic prompt and labelled demonstrations."""
        return (len(job.dev) + self._bootstrap(job)) * budget.run

    def sets(self, job: Job, budget: SearchBudget) -> int:
        """Return the number of random sets that the budget pays for."""
        if self.candidates or budget.left is None:
            return self.candidates or _USUAL
        dev, bootstrap = len(labelled(job.dev)), self._bootstrap(job)

        def calls(sets: int) -> int:
            return ((sets + 2) * dev + (sets + 1) * bootstrap) * budget.run

        return budget.largest(range(_MOST, -1, -1), calls, least=0)

    def _bootstrap(self, job: Job) -> int:
        return min(len(job.train), 2 * self.demos)  # a teacher that is right in one case of two

    def compile(self, recorder: Recorder, student: Judging, budget: SearchBudget) -> None:
        """Try demonstration sets on top of the student's instructions."""
        job = recorder.job
        optimizer = dspy.BootstrapFewShotWithRandomSearch(
            metric=recorder.metric,
            max_bootstrapped_demos=self.demos,
            max_labeled_demos=self.labels,
            num_candidate_programs=self.sets(job, budget),
            num_threads=1,
            metric_threshold=self.accept,
        )
        optimizer.compile(
            student,
            teacher=recorder.teacher(),
            trainset=recorder.examples(pool(job, self.name)),
            valset=recorder.examples(labelled(job.dev)),
        )
