"""``cfaith``: error-driven rounds, after HaluAgent (C-FAITH section 3.2, Table 3), for any judge.

Each round runs the current prompt on train, collects its errors with feedback in
words, and has the instruction rewritten several times, each rewrite from
other errors. The best rewrite on dev seeds the next round. It ends after five rounds
(the paper) or as soon as the best rewrite of a round is below the current prompt
on dev, as in Table 3 (62.50, 81.16, 88.41, then 86.15: stopped, the second kept).
The paper writes questions with 60 documents and 20 for validation; here the verifiers' place
is taken by the gold labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dspy

from .base import Job
from .board import Board, Candidate
from .proposing import CandidateFilter, propose, rotated, task, wrong

__all__ = ["CFaith", "RewriteInstruction"]


class RewriteInstruction(dspy.Signature):
    """Rewrite a judge's instruction so that it no longer makes the errors that are reported.

    You see what the judge is given and must answer, its current instruction, and cases that it judged
    differently from people, with what was wrong. Find what the errors have in common and rewrite the
    instruction: keep what works, keep every label's definition, and add the general rule that is missing.
    Do not quote the cases. Write it in the language of the current one, and nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them count as found")
    current_instruction: str = dspy.InputField(desc="the instruction to rewrite")
    errors: str = dspy.InputField(desc="cases it gets wrong, with the labels people gave")
    instruction: str = dspy.OutputField(desc="the rewritten instruction")


@dataclass(frozen=True, kw_only=True)
class CFaith:
    """The settings of the rounds.

    Attributes:
        rounds: at most this many (the paper: 5).
        rewrites: rewritten instructions a round ("a set of"; the paper gives no number).
        errors: errors shown to each rewrite.
        sample: train cases on which the current prompt is run (the paper: 60).
        longest: characters an instruction may have.
        copied: the share of an instruction's text that may be copied from train.
        temperature: of the proposer.
    """

    rounds: int = 5
    rewrites: int = 6
    errors: int = 8
    sample: int = 60
    longest: int = 4000
    copied: float = 0.2
    temperature: float = 1.0
    name: str = "cfaith"

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt on dev and train, one rewrite, and it on dev."""
        sample = min(self.sample, len(job.train))
        return (sample + 2 * len(job.dev)) * job.calls_per_case + 1

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Rewrite the instruction of ``start``; with several predictors, one a round in turn."""
        sample = job.train_sample(self.sample)
        candidate_filter = CandidateFilter.of(job, board, self.name, longest=self.longest, copied=self.copied)
        current, names = start, tuple(start.state.predictors)
        board.score(start, job.dev)
        for step in range(1, self.rounds + 1):
            name = names[(step - 1) % len(names)]
            found = wrong(board, current, [case for case in sample if case.id not in current.demo_ids])
            if not found:
                break
            texts = propose(job, RewriteInstruction, self._asked(job, current, name, found), self.temperature)
            fresh = candidate_filter.enter(current, name, texts, step)
            for candidate in fresh:
                board.score(candidate, job.dev)
                job.note(f"round {step}: {candidate.id}", board.value(candidate, job.dev), kind="candidate")
            best = max(fresh, key=lambda one: board.value(one, job.dev), default=None)
            if best is None or board.value(best, job.dev) < board.value(current, job.dev):
                job.note(f"round {step}: dev drops, stopped", board.value(current, job.dev), kind="step")
                break
            current = best
            job.note(f"round {step}: {current.id} goes on", board.value(current, job.dev), kind="step")
        return board.best(job.dev) or start

    def _asked(self, job: Job, current: Candidate, name: str, found: Sequence[str]) -> list[dict[str, str]]:
        instruction = current.state.predictors[name].instructions
        return [
            {
                "task": task(job, name),
                "current_instruction": instruction,
                "errors": "\n\n".join(rotated(found, self.errors, number)),
            }
            for number in range(self.rewrites)
        ]
