"""``gepa``: reflective prompt evolution (Agrawal et al., 2025), by DSPy's GEPA.

A proposer reads what went wrong on a few training cases, in words, and rewrites
one predictor's instruction; a rewrite that does better on these cases is scored
on dev, where every candidate that is best on some case stays in the pool. Calls:
2 b for each rewrite (b cases before and after) and one proposal, V for each one
that is accepted.
"""

import random
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer
from dspy.utils.exceptions import AdapterParseError, ContextWindowExceededError

from ..engines.adapters import adapter
from .base import Job
from .drawing import draw, labelled
from .dspy_search import DspyOptimizer, Proposals, SearchBudget, pool, proposer
from .recorder import Judging, Recorder

_REMEMBERED = 4  # metric calls to a paid one, at most: what was asked before costs nothing here


@dataclass(frozen=True, kw_only=True)
class Gepa(DspyOptimizer):
    """GEPA's settings."""

    minibatch: int = 3  # training cases that a rewrite is made from and first tried on
    validation: int = 60  # dev cases that decide what stays in the pool, at most
    merges: int = 5  # attempts to merge two candidates of a program with several predictors
    temperature: float = 1.0  # of the proposer
    finalists: int = 2  # prompts scored on all of dev at the end
    name: str = "gepa"

    def smallest(self, job: Job, budget: SearchBudget) -> int:
        """Return the calls of one rewrite, accepted."""
        dev = len(job.dev)
        return self.rewrite(min(self.validation or dev, dev), budget.run)

    def rewrite(self, validation: int, run: int) -> int:
        """Return the calls of one rewrite that is accepted."""
        return (2 * self.minibatch + validation) * run + 1

    def compile(self, recorder: Recorder, student: Judging, budget: SearchBudget) -> None:
        """Improve the student's instructions."""
        job = recorder.job
        dev = labelled(job.dev) or list(job.dev)
        size = min(self.validation or len(dev), len(dev))
        watched = draw(dev, size, job.judge.answer, random.Random(f"{self.name}/{job.seed}"))
        settings: dict[str, Any] = {"auto": "light"}
        if budget.left is not None:
            settings = {"max_metric_calls": max(1, _REMEMBERED * budget.left // budget.run)}
        meter, dearest = job.context.meter, self.rewrite(size, budget.run)

        def spent(state: Any) -> bool:
            left = meter.left()
            return left is not None and left < dearest

        optimizer = dspy.GEPA(
            metric=recorder.feedback,
            **settings,
            reflection_minibatch_size=max(1, self.minibatch),
            reflection_lm=proposer(job).copy(temperature=self.temperature),
            instruction_proposer=_Counted(Proposals(job, self.name)),
            use_merge=self.merges > 0,
            max_merge_invocations=self.merges,
            num_threads=1,
            seed=job.seed,
            gepa_kwargs={"stop_callbacks": [spent]},
        )
        optimizer.compile(
            student, trainset=recorder.examples(pool(job, self.name)), valset=recorder.examples(watched)
        )


class _Counted(InstructionProposer):
    """GEPA's own proposer, with its unusable proposals counted.

    GEPA swallows the exception of one, asks the same again, and goes on to the next rewrite: with a proposer whose
    replies cannot be read, until the last call is spent.
    """

    def __init__(self, proposals: Proposals) -> None:
        super().__init__(adapter=adapter("chat"))
        self._proposals = proposals

    def __call__(self, *given: Any, **more: Any) -> dict[str, str]:
        """Return new instructions by predictor."""
        try:
            found: dict[str, str] = super().__call__(*given, **more)
        except ContextWindowExceededError:
            self._proposals.lost("the examples are too long for the proposer")
            raise
        except (AdapterParseError, ValueError):  # the latter for an empty instruction
            self._proposals.lost("the proposer's reply cannot be read")
            raise
        if found:
            self._proposals.good()
        return found
