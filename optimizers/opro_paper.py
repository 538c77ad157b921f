"""``opro-paper``: the loop of Yang et al. (2023) as published, for comparison.

Eight instructions a step, each scored on the whole sample of train; the
meta-prompt holds the best twenty with their scores in ascending order and three
random labelled cases, without the judge's answers. The best on train is what the
paper keeps; here it goes on to dev, like every other optimizer's. Two defects of
its authors' code are not repeated: deduplication is on normalised Unicode text, and
the initial instruction takes part in it.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import dspy

from ..cases import Case
from .base import Job
from .board import Board, Candidate
from .drawing import labelled
from .proposing import CandidateFilter, Writing, exemplar, propose, scored, task


class ProposeByScore(dspy.Signature):
    """Write a better instruction for a judge.

    You see what the judge is given and must answer, the instructions tried so far with their scores from 0
    to 100 (the best last), and some of the cases with the labels people gave. Write one new instruction that
    differs from all of them and will score higher. It should be concise, effective and generally
    applicable. Do not quote the cases. Write nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them count as found")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores, ascending")
    examples: str = dspy.InputField(desc="some of the cases, with the labels people gave")
    instruction: str = dspy.OutputField(desc="the new instruction")


@dataclass(frozen=True, kw_only=True)
class OproPaper(Writing):
    """The paper's settings."""

    steps: int = 10  # rounds (the paper: up to 200)
    candidates: int = 8  # instructions proposed a step (the paper: 8)
    shown: int = 20  # scored instructions kept in the meta-prompt (the paper: 20)
    exemplars: int = 3  # random training cases shown (the paper: 3)
    sample: int = 100  # train cases on which every instruction is scored
    name: str = "opro-paper"

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt and one other on dev and the sample, and one proposal."""
        sample = min(self.sample, len(job.train))
        return (2 * sample + 2 * len(job.dev)) * job.calls_per_case + 1

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Improve the instruction of ``start``, predictor by predictor in turn."""
        sample = job.train_sample(self.sample)
        candidate_filter = CandidateFilter.of(job, board, self)
        board.score(start, sample)
        leader, names = start, tuple(start.state.predictors)
        for step in range(1, self.steps + 1):
            name = names[(step - 1) % len(names)]
            texts = propose(
                job, ProposeByScore, self._asked(job, board, sample, name, step), self.temperature
            )
            for candidate in candidate_filter.enter(leader, name, texts, step):
                board.score(candidate, sample)
                job.note(f"step {step}: {candidate.id}", board.value(candidate, sample), kind="candidate")
            leader = board.ranking(sample)[0]
            board.score(leader, job.dev)
            best = board.best(job.dev) or leader
            job.note(f"step {step}: best on dev {board.name(best)}", board.value(best, job.dev), kind="step")
        return board.best(job.dev) or start

    def _asked(
        self, job: Job, board: Board, sample: Sequence[Case], name: str, step: int
    ) -> list[dict[str, str]]:
        best = [(found, board.value(found, sample)) for found in board.ranking(sample)[: self.shown]]
        known = labelled(sample)
        chosen = random.Random(f"exemplars/{job.seed}/{step}").sample(known, min(self.exemplars, len(known)))
        examples = "\n\n".join(exemplar(case, _gold(job, case)) for case in chosen) or "none"
        values = {"task": task(job, name), "scored_instructions": scored(name, best), "examples": examples}
        return [values] * self.candidates


def _gold(job: Job, case: Case) -> str:
    answer = job.judge.answer
    units = zip(answer.units(case.inputs), case.gold or (), strict=True)
    return "\n".join(answer.truth(text, gold) for text, gold in units if gold is not None)
