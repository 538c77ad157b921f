"""Arms that rewrite the leader: from its errors by cause, and with the best of another good prompt.

``causes`` and ``cfaith`` are after HaluAgent (C-FAITH section 3.2, Table 3), for any judge: errors on train are
grouped by their cause, with feedback in words, and an instruction is rewritten several times from them and from the
scored history, each rewrite from other errors; for a judge, the verifiers' place is taken by the gold labels.
``crossing`` is after the merge of GEPA (Agrawal et al., 2025, section 3): two prompts that were improved apart may be
right on different cases.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

import dspy

from .base import WAYS, Job, refuse_other
from .board import Candidate
from .proposing import Writing, by_cause, exemplar, propose, rotated, scored, task
from .raced import Arm, Raced, Track


class RewriteInstruction(dspy.Signature):
    """Rewrite a judge's instruction so that it no longer makes the errors that are reported.

    You see what the judge is given and must answer, its current instruction, how instructions scored that were
    tried before, and cases that it got wrong, grouped by what was wrong. Find what the errors have in common and
    rewrite the instruction: keep what works, keep every label's definition, and add the general rule that is missing.
    Do not quote the cases. Write it in the language of the current one, and nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them count as found")
    current_instruction: str = dspy.InputField(desc="the instruction to rewrite")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores (0 to 100), best last")
    errors: str = dspy.InputField(
        desc="cases it gets wrong, grouped by what is wrong, the most frequent first"
    )
    instruction: str = dspy.OutputField(desc="the rewritten instruction")


@dataclass(frozen=True, kw_only=True)
class ByCause(Writing):
    """The arm that rewrites the leader's instruction from its errors."""

    rewrites: int = 3  # rewritten instructions a step
    errors: int = 8  # errors shown to each
    shown: int = 4  # scored instructions shown to each rewrite
    predictors: str = "in turn"  # of a program with several, or ``jointly``: all in each rewrite
    name: str = "causes"

    def __post_init__(self) -> None:
        """Refuse an unknown way."""
        refuse_other(f"{self.name}.predictors", self.predictors, WAYS)

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Rewrite the instruction of one predictor, or of each."""
        leader, board, names = track.leader, track.board, tuple(track.leader.state.predictors)
        if self.predictors == "in turn":
            names = (names[(turn - 1) % len(names)],)
        errors = by_cause(board, leader, [case for case, _ in track.known(leader)])
        if not errors:
            return []
        draws, texts = range((turn - 1) * self.rewrites, turn * self.rewrites), []
        for name in names:
            values = {
                "task": task(track.job, name),
                "current_instruction": leader.state.predictors[name].instructions,
                "scored_instructions": scored(name, track.best(self.shown)),
            }
            asked = _asked(values, errors, self.errors, draws)
            texts.append(propose(track.job, RewriteInstruction, asked, self.temperature))
        proposals = [
            {name: text for name, text in zip(names, drawn, strict=True) if text}
            for drawn in zip_longest(*texts)
        ]
        way = self.predictors if len(names) > 1 else ""
        return track.filter(self).enter_all(leader, proposals, track.step, way)


@dataclass(frozen=True, kw_only=True)
class CFaith(ByCause, Raced):
    """HaluAgent's rounds: each rewrite is scored on all of dev; the first round that finds no better ends it."""

    steps: int = 5  # rounds at most (the paper: 5)
    rewrites: int = 6  # rewritten instructions a round ("a set of"; the paper gives no number)
    sample: int = 60  # train cases on which the current prompts are run (the paper: 60 documents)
    predictors: str = "jointly"
    whole: ClassVar[str] = "dev"
    patience: int = 1
    shrink: float = 0.0
    reach: float = 0.0
    name: str = "cfaith"

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return itself."""
        return (self,)


def _asked(
    values: Mapping[str, str], errors: Mapping[str, Sequence[str]], count: int, draws: Iterable[int]
) -> list[dict[str, str]]:
    """Return the values of each draw: each sees other errors, at most ``count``."""
    # Causes take turns, so that a frequent one does not crowd out the others.
    mixed = [
        (cause, text)
        for texts in zip_longest(*([(cause, text) for text in found] for cause, found in errors.items()))
        for cause, text in filter(None, texts)
    ]
    return [{**values, "errors": _told(errors, rotated(mixed, count, draw))} for draw in draws]


def _told(errors: Mapping[str, Sequence[str]], shown: Sequence[tuple[str, str]]) -> str:
    """Return the shown errors under their causes, the most frequent cause first."""
    parts = []
    for cause, found in errors.items():
        texts = [text for one, text in shown if one == cause]
        if texts:
            parts.append(
                "\n\n".join([f"{cause}, {len(found)} of {sum(map(len, errors.values()))} errors:", *texts])
            )
    return "\n\n".join(parts)


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
