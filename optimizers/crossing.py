"""Crossing two good prompts: one instruction out of both, and the one with the demonstrations of the other.

After the merge of GEPA (Agrawal et al., 2025, section 3): two prompts that were
improved apart may be right on different cases. The leader is crossed with the
best prompt that differs from it in what is crossed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import dspy

from .board import Candidate
from .proposing import Writing, exemplar, propose, rotated, task
from .raced import Track


class MergeInstructions(dspy.Signature):
    """Merge two good instructions for a judge into a better one.

    You see what the judge is given and must answer, two instructions that were improved apart from each other, and
    cases that it judges right with the second one and wrong with the first. Write one instruction that keeps what
    works in each, keeps every label's definition, and contradicts itself nowhere. Do not quote the cases. Write
    it in the language of the first one, and nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them count as found")
    first_instruction: str = dspy.InputField(desc="the instruction that leads")
    second_instruction: str = dspy.InputField(desc="another good instruction")
    errors: str = dspy.InputField(
        desc="cases the first one gets wrong and the second right, with people's labels"
    )
    instruction: str = dspy.OutputField(desc="the merged instruction")


@dataclass(frozen=True, kw_only=True)
class Crossing(Writing):
    """The arm."""

    merges: int = 2  # merged instructions a step
    exemplars: int = 4  # cases shown to each
    near: int = 8  # the best so many prompts are looked through for a partner
    name: str = "crossing"

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Cross the leader with the best partner in instructions, and in demonstrations."""
        made = [one for one in self._crossed(track) if one is not None]
        names = tuple(track.leader.state.predictors)
        return [*made, *self._merged(track, names[(turn - 1) % len(names)], turn)]

    def _partners(self, track: Track) -> Iterator[Candidate]:
        """Yield the best prompts after the leader."""
        for standing in track.race.ranking()[: self.near]:
            if standing.id != track.leader.id:
                yield track.board.candidates[standing.id]

    def _merged(self, track: Track, name: str, turn: int) -> list[Candidate]:
        leader, board = track.leader, track.board
        first = leader.state.predictors[name].instructions
        for partner in self._partners(track):
            second = partner.state.predictors[name].instructions
            if second not in (first, board.basic.state.predictors[name].instructions):
                break
        else:
            return []
        right = {case.id for case, outcome in track.known(partner) if not outcome.feedback}
        better = [exemplar(case, one.feedback) for case, one in track.errors(leader) if case.id in right]
        values = {"task": task(track.job, name), "first_instruction": first, "second_instruction": second}
        asked = [
            {**values, "errors": "\n\n".join(rotated(better, self.exemplars, draw)) or "none"}
            for draw in range((turn - 1) * self.merges, turn * self.merges)
        ]
        texts = propose(track.job, MergeInstructions, asked, self.temperature)
        kept = track.filter(self)
        return kept.enter(leader, name, texts, track.step)

    def _crossed(self, track: Track) -> Iterator[Candidate | None]:
        """Give each of two prompts the other's demonstrations."""
        leader = track.leader
        for partner in self._partners(track):
            if partner.demo_ids != leader.demo_ids:
                yield _with_demos_of(track, leader, partner)
                yield _with_demos_of(track, partner, leader)
                return


def _with_demos_of(track: Track, one: Candidate, other: Candidate) -> Candidate | None:
    """Return ``one`` with the other's demonstrations; ``None`` if that is known."""
    state = one.state
    for name, prompt in other.state.predictors.items():
        state = state.with_demos(name, prompt.demos)
    return track.fresh(state, parent=one, source="crossing", demo_ids=other.demo_ids)
