"""``opro``: a proposer writes instructions from those tried so far, after Yang et al. (2023)."""

from dataclasses import dataclass
from typing import ClassVar

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
from ..writers import ProposeWriting


class ProposeInstruction(dspy.Signature):
    """Write a better instruction for a judge.

    You see what the judge is given and must answer, the instructions tried so far with their scores from 0
    to 100 (the best last), and cases on which the best one disagrees with people. Write one new instruction
    that differs from all of them and will score higher: keep what works, keep every label's definition, and
    state the general rule that the errors show to be missing. Do not quote the cases. Write the instruction
    in the language of the best one, and nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them are positive")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores, ascending")
    errors: str = dspy.InputField(desc="cases the best instruction gets wrong, with the labels people gave")
    instruction: str = dspy.OutputField(desc="the new instruction")


@dataclass(frozen=True, kw_only=True)
class Opro(Writing, Raced):
    """OPRO's settings, beside those of the race."""

    candidates: CountFromOne = 3  # instructions proposed a step (the paper: 8)
    shown: CountFromZero = 20  # scored instructions kept in the meta-prompt (the paper: 20)
    exemplars: CountFromZero = 3  # errors of the leader that are shown (the paper: 3 cases, any of train)
    name: str = "opro"
    product: ClassVar[str] = "instruction"

    def proposer_calls(self, job: Job) -> int:
        """Return a call for each instruction."""
        return self.candidates

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Ask the proposer, and return what is new."""
        leader = track.text
        names = tuple(leader.state.predictors)
        name = names[(turn - 1) % len(names)]
        errors = exemplars(track.job, name, track.feedback(leader, name))
        values = {
            "task": describe_task(track.job, name),
            "scored_instructions": describe_scored_instructions(track.job, name, track.best(self.shown)),
        }
        signature = signature_for(track.job, ProposeInstruction, ProposeWriting)
        requests: list[dict[str, str]] = []
        for portion in cut_portions(errors, self.exemplars, turn, self.candidates):
            requests.append({**values, "errors": portion or "none"})
        answers = propose(track.job, signature, requests, self.temperature)
        return track.write(self, leader, [{name: answer["instruction"]} for answer in answers])


optimizer = Opro
