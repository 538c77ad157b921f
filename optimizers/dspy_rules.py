"""``infer-rules``: DSPy's InferRules.

Bootstrapped demonstrations, and on top of them rules that a proposer induces
from labelled training cases, several times. Calls: one bootstrap, and V and one
proposal per predictor for each set of rules.

DSPy's optimizer keeps one signature for all its candidates: it writes each new
rules over the best ones, returns the last, and changes the student's own
signature on the way. The record holds each prompt as it was when it was scored,
and the student is a copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from dspy.teleprompt import InferRules as DspyInferRules

from .base import Job
from .board import Board, Candidate
from .dspy_search import Purse, Search, labelled, passes, pool, proposer, search
from .recorder import Judging, Recorder

__all__ = ["InferRules"]

_USUAL, _MOST = 10, 50


@dataclass(frozen=True, kw_only=True)
class InferRules:
    """InferRules' settings.

    Attributes:
        candidates: sets of rules; 0 fits them to the budget (10 without one).
        rules: rules of a set.
        sample: train cases shown to the proposer and bootstrapped from, at most.
        demos: bootstrapped demonstrations, at most.
        labels: demonstrations in all, at most.
        accept: score of a case, in [0, 1], from which its answer may become a demonstration.
        finalists: prompts scored on all of dev at the end.
    """

    candidates: int = 0
    rules: int = 10
    sample: int = 40
    demos: int = 4
    labels: int = 8
    accept: float = 0.5
    finalists: int = 1
    name: str = "infer-rules"

    def minimum(self, job: Job) -> int:
        """Return the calls of the basic prompt and one set of rules on dev, the bootstrap included."""
        predictors = len(job.judge.basic().predictors())
        return (2 * len(job.dev) + self._bootstrap(len(job.train))) * passes(job) + predictors

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Add demonstrations and rules to ``start``."""
        plan = Search(
            name=self.name,
            finalists=self.finalists,
            compile=lambda *way: self._compile(job, *way),
            defects=(AssertionError, RuntimeError),  # what it makes of a proposal that failed
        )
        return search(job, board, start, plan)

    def sets(self, purse: Purse, cases: int, dev: int) -> int:
        """Return the sets of rules that the purse pays for."""
        if self.candidates or purse.left is None:
            return self.candidates or _USUAL
        left = purse.left - self._bootstrap(cases) * purse.run
        return max(1, min(_MOST, left // (purse.predictors + dev * purse.run)))

    def _bootstrap(self, cases: int) -> int:
        return min(cases, self.sample or cases, 2 * self.demos)

    def _compile(self, job: Job, recorder: Recorder, student: Judging, purse: Purse) -> None:
        train, dev = pool(job, self.name, self.sample), labelled(job.dev) or list(job.dev)
        optimizer = DspyInferRules(
            num_candidates=self.sets(purse, len(train), len(dev)),
            num_rules=self.rules,
            num_threads=1,
            metric=recorder.metric,
            metric_threshold=self.accept,
            max_bootstrapped_demos=max(1, self.demos),
            max_labeled_demos=self.labels,
        )
        # Given to the constructor, the model that writes rules would also be the teacher of the demonstrations.
        optimizer.rules_induction_program.teacher_settings = {"lm": proposer(job)}
        optimizer.compile(
            student,
            teacher=recorder.teacher(),
            trainset=recorder.examples(train),
            valset=recorder.examples(dev),
        )
