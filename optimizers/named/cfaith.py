"""``cfaith``: a proposer rewrites all instructions by their errors, after HaluAgent (C-FAITH section 3.2, Table 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dspy

from ..base import Job
from ..candidate import Candidate
from ..proposing import (
    Writing,
    cut_portions,
    describe_scored_instructions,
    describe_task,
    exemplars,
    propose,
    signature_for,
)
from ..raced import Raced, Track
from ..settings import CountFromOne, CountFromZero
from ..writers import RewriteWriting


class RewriteInstruction(dspy.Signature):
    """Rewrite a judge's instruction so that it no longer makes the errors that are reported.

    You see what the judge is given and must answer, its current instruction, how instructions scored that were
    tried before, and cases that it got wrong, each with what was wrong. Find what the errors have in common and
    rewrite the instruction: keep what works, keep every label's definition, and add the general rule that is missing.
    Do not quote the cases. Write it in the language of the current one, and nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them are positive")
    current_instruction: str = dspy.InputField(desc="the instruction to rewrite")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores (0 to 100), best last")
    errors: str = dspy.InputField(desc="cases it gets wrong, with what people answered")
    instruction: str = dspy.OutputField(desc="the rewritten instruction")


@dataclass(frozen=True, kw_only=True)
class CFaith(Writing, Raced):
    """HaluAgent's rounds: each rewrite is scored on all of dev; the first round that finds no better ends it."""

    steps: CountFromOne = 5  # rounds at most (the paper: 5)
    rewrites: CountFromOne = 6  # rewritten instructions a round ("a set of"; the paper gives no number)
    errors: CountFromOne = 8  # errors shown to each
    shown: CountFromZero = 4  # scored instructions shown to each rewrite
    sample: CountFromOne = 60  # train cases on which the current prompts are run (the paper: 60 documents)
    patience: CountFromOne = 1
    name: str = "cfaith"
    whole: bool = True

    def expected_calls(self, job: Job) -> int:
        """Return the calls of three rounds, as many as the search of the paper took (Table 3)."""
        return self._calls_of_rounds(job, min(self.steps, 3))

    def most_calls(self, job: Job) -> int:
        """Return the calls of all rounds."""
        return self._calls_of_rounds(job, self.steps)

    def _calls_of_rounds(self, job: Job, rounds: int) -> int:
        """Return the calls of the basic prompt on train and dev, and of so many rounds."""
        train_cases = min(self.sample, len(job.train))
        dev_cases = len(job.dev)
        cases = train_cases + dev_cases + rounds * (train_cases + self.rewrites * dev_cases)
        return cases * job.calls_per_case + rounds * self.proposer_calls(job)

    def proposer_calls(self, job: Job) -> int:
        """Return a call for each rewrite of each predictor."""
        return self.rewrites * len(job.judge.basic().predictors())

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Rewrite the leader's instructions together, each from its errors: of a generator, from its own step's."""
        job = track.job
        leader = track.leader
        signature = signature_for(job, RewriteInstruction, RewriteWriting)
        texts: dict[str, list[str]] = {}
        for name, prompt in leader.state.predictors.items():
            errors = exemplars(job, name, track.feedback(leader, name))
            if not errors:  # what it writes fails no check
                continue
            values = {
                "task": describe_task(job, name),
                "current_instruction": prompt.instructions,
                "scored_instructions": describe_scored_instructions(job, name, track.best(self.shown)),
            }
            requests: list[dict[str, str]] = []
            for portion in cut_portions(errors, self.errors, turn, self.rewrites):
                requests.append({**values, "errors": portion})
            answers = propose(job, signature, requests, self.temperature)
            texts[name] = [answer["instruction"] for answer in answers]
        return track.write(self, leader, _rewrites(texts))


def _rewrites(texts: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return each rewrite as predictor -> instruction; empty where a predictor has fewer rewrites than another."""
    longest = max(map(len, texts.values()), default=0)
    rewrites: list[dict[str, str]] = []
    for number in range(longest):
        rewrite: dict[str, str] = {}
        for name, instructions in texts.items():
            rewrite[name] = instructions[number] if number < len(instructions) else ""
        rewrites.append(rewrite)
    return rewrites


optimizer = CFaith
