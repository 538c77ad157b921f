"""``copro``: DSPy's COPRO, coordinate ascent over instructions.

A proposer sees the instructions tried so far with their scores, in ascending
order, and writes several new ones a round. Calls: breadth x depth instructions
on a sample of train, and (breadth - 1) + (depth - 1) breadth proposals for each
predictor; with several predictors every round scores all instructions again.
"""

from dataclasses import dataclass
from typing import Any

import dspy

from .base import Job
from .drawing import labelled
from .dspy_search import DspyOptimizer, SearchBudget, pool, proposer
from .recorder import Judging, Recorder

_DEEPEST, _USUAL = 30, 3
_SMALLEST = 5  # cases on which an instruction is still worth scoring


@dataclass(frozen=True, kw_only=True)
class Copro(DspyOptimizer):
    """COPRO's settings."""

    breadth: int = 10  # instructions a round, at most
    depth: int = 0  # rounds; 0 fits them to the budget (3 without one)
    sample: int = 40  # train cases on which each instruction is scored, at most
    temperature: float = 1.0  # of the proposer. DSPy's 1.4 is more than some providers take
    finalists: int = 3  # prompts scored on all of dev at the end
    name: str = "copro"

    def smallest(self, job: Job, budget: SearchBudget) -> int:
        """Return the calls of one round with one new instruction."""
        return self.calls(2, 1, min(_SMALLEST, len(job.train)), budget.run, budget.predictors)

    @staticmethod
    def calls(breadth: int, depth: int, sample: int, run: int, predictors: int) -> int:
        """Return the calls that COPRO makes, at most."""
        rounds = depth if predictors == 1 else depth * (depth + 1) // 2
        return predictors * (breadth * rounds * sample * run + (breadth - 1) + (depth - 1) * breadth)

    def shape(self, budget: SearchBudget, cases: int) -> tuple[int, int, int]:
        """Return (breadth, depth, sample): the most instructions that the budget pays for."""
        breadth, sample = max(2, self.breadth), min(self.sample or cases, cases)
        if budget.left is None:
            return breadth, self.depth or _USUAL, sample
        depths = [self.depth] if self.depth else range(1, _DEEPEST + 1)
        samples = [sample]
        while samples[-1] > _SMALLEST:
            samples.append(max(_SMALLEST, samples[-1] // 2))
        shapes = [(wide, deep, size) for size in samples for deep in depths for wide in range(2, breadth + 1)]
        # Between equal numbers of instructions, the one whose proposer learns more often.
        shapes.sort(key=lambda shape: (shape[2], shape[0] * shape[1], shape[1]), reverse=True)
        return budget.largest(
            shapes,
            lambda shape: self.calls(*shape, budget.run, budget.predictors),
            least=(2, self.depth or 1, samples[-1]),
        )

    def compile(self, recorder: Recorder, student: Judging, budget: SearchBudget) -> None:
        """Improve the student's instructions."""
        job = recorder.job
        breadth, depth, sample = self.shape(budget, len(labelled(job.train)))
        optimizer = _Copro(
            prompt_model=proposer(job),
            metric=recorder.metric,
            breadth=breadth,
            depth=depth,
            init_temperature=self.temperature,
        )
        optimizer.compile(
            student,
            trainset=recorder.examples(pool(job, self.name, sample)),
            eval_kwargs={"num_threads": 1, "display_progress": False},
        )


class _Copro(dspy.COPRO):
    """COPRO without its prefixes, which no adapter shows, and whose every signature is made from the first.

    Each change wraps the fields of the one before once more: in the end Python's recursion limit is met.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._first: dict[int, Any] = {}  # by the predictor's id: all of them live as long as the search

    def _get_signature(self, predictor: Any) -> Any:
        return self._first.setdefault(id(predictor), predictor.signature)

    def _set_signature(self, predictor: Any, updated_signature: Any) -> None:
        first = self._get_signature(predictor)
        predictor.signature = first.with_instructions(updated_signature.instructions)
