"""``mipro``: DSPy's MIPROv2, Bayesian search over instructions x demonstration sets.

Instructions are proposed from a summary of train and from demonstrations; Optuna
then searches their combinations with demonstration sets, scored on dev. Calls:
N - 2 bootstraps (N - 1 without demonstrations); 2 + min(9, ceil(T / 10) - 1) for the summary and N proposals
per predictor; then V a trial, or, with dev above 50, 35 a trial and V every
fifth.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import dspy

from ..errors import OptimizerError
from .base import Job
from .drawing import labelled
from .dspy_search import DspyOptimizer, SearchBudget, pool, proposer
from .recorder import Judging, Recorder

_MINIBATCH, _SMALL, _FULL_EVERY = 35, 50, 5
_SIZES = (18, 12, 8, 6, 4, 3)
_FEWEST, _USUAL, _MOST = 3, 6, 200


@dataclass(frozen=True, kw_only=True)
class Mipro(DspyOptimizer):
    """MIPROv2's settings."""

    # instructions, and demonstration sets, each, 3 at least; 0 fits them to the budget (6 without one)
    candidates: int = 0
    demos: int = (
        4  # demonstrations of a set, bootstrapped and labelled each at most; 0 searches instructions only
    )
    sample: int = 100  # train cases that are summarised and bootstrapped from, at most
    accept: float = 0.5  # score of a case, in [0, 1], from which its answer may become a demonstration
    temperature: float = 1.0  # of the proposer
    finalists: int = 2  # prompts scored on all of dev at the end
    name: str = "mipro"
    defects: ClassVar[tuple[type[Exception], ...]] = (
        ValueError,
    )  # "No valid program found in param_score_dict"

    def __post_init__(self) -> None:
        """Refuse fewer candidates than the sets that DSPy always makes: none, labelled, bootstrapped."""
        if 0 < self.candidates < _FEWEST:
            raise OptimizerError(
                f"{self.name}.candidates cannot be {self.candidates}",
                hint=f"give {_FEWEST} or more, or 0 to fit them to the budget",
            )

    def smallest(self, job: Job, budget: SearchBudget) -> int:
        """Return the calls of proposals, one bootstrap and one trial."""
        return self.fixed(_FEWEST, len(job.train), budget) + self.trial(len(job.dev), budget)

    def fixed(self, candidates: int, cases: int, budget: SearchBudget) -> int:
        """Return the calls before the first trial, about."""
        sample = min(self.sample or cases, cases)
        sets = candidates - (2 if self.demos else 1)  # none, and one of labelled cases where there are labels
        bootstrap = min(sample, 2 * (self.demos or 3)) * sets * budget.run
        summary = 2 + min(9, max(0, math.ceil(sample / 10) - 1))
        return bootstrap + summary + candidates * budget.predictors

    def trial(self, dev: int, budget: SearchBudget) -> int:
        """Return the calls of one trial, its share of the full evaluations included."""
        return (dev if dev <= _SMALL else _MINIBATCH + math.ceil(dev / _FULL_EVERY)) * budget.run

    def shape(self, budget: SearchBudget, cases: int, dev: int) -> tuple[int, int]:
        """Return (candidates, trials) that the budget pays for, in the proportion that DSPy recommends."""
        if budget.left is None:
            size = self.candidates or _USUAL
            return size, min(self._recommended(size, budget), self._limit(size, budget))
        sizes = [self.candidates] if self.candidates else _SIZES

        def calls(shape: tuple[int, int]) -> int:
            # A combination that comes again costs nothing: from a fifth to three quarters of them do. So half as many
            # again are planned as could be paid if none did; where too few do, the meter ends the search.
            trials = math.ceil(2 * shape[1] * self.trial(dev, budget) / 3)
            return self.fixed(shape[0], cases, budget) + (dev * budget.run if dev > _SMALL else 0) + trials

        shapes = (
            (size, trials)
            for size in sizes
            for least in [1 if size == sizes[-1] else self._recommended(size, budget)]
            for trials in range(self._limit(size, budget), least - 1, -1)
        )
        return budget.largest(shapes, calls, least=(sizes[-1], 1))

    def _recommended(self, size: int, budget: SearchBudget) -> int:
        variables = budget.predictors * (2 if self.demos else 1)
        return int(max(2 * variables * math.log2(size), 1.5 * size))

    def _limit(self, size: int, budget: SearchBudget) -> int:
        """Return the trials below which full evaluations do not run out of combinations, and MIPROv2 fails."""
        combinations: int = size ** (budget.predictors * (2 if self.demos else 1))
        return min(_MOST, 4 * combinations - 1)

    def compile(self, recorder: Recorder, student: Judging, budget: SearchBudget) -> None:
        """Improve the student's instructions and demonstrations."""
        import optuna  # noqa: F401 - its log handler must not be made while our streams are silenced

        job = recorder.job
        train, dev = pool(job, self.name, self.sample), labelled(job.dev) or list(job.dev)
        candidates, trials = self.shape(budget, len(train), len(dev))
        optimizer = dspy.MIPROv2(
            metric=recorder.metric,
            prompt_model=proposer(job),
            task_model=job.judge_lm,
            auto=None,
            num_candidates=candidates,
            max_bootstrapped_demos=self.demos,
            max_labeled_demos=self.demos,
            num_threads=1,
            seed=job.seed % 2**32,  # here, because compile(seed=0) is ignored
            init_temperature=self.temperature,
            track_stats=False,
            metric_threshold=self.accept,
        )
        optimizer.compile(
            student,
            teacher=recorder.teacher(),
            trainset=recorder.examples(train),
            valset=recorder.examples(dev),  # without it, MIPROv2 takes most of train
            num_trials=trials,
            minibatch=len(dev) > _SMALL,
            minibatch_size=min(_MINIBATCH, len(dev)),
            minibatch_full_eval_steps=_FULL_EVERY,
            program_aware_proposer=False,  # it would describe our wrapper, not the judge
        )
