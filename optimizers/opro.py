"""``opro``: optimisation by prompting (Yang et al., 2023), for judges, with racing.

A proposer model sees the instructions tried so far with their scores, in
ascending order, and exemplars of the leader's errors, and writes several new
instructions a step. All instructions race on train (:mod:`jurist.optimizers.racing`);
the one that leads by its lower bound is scored on dev, and the choice is made
there. Differences from the paper's loop, measured in the notes of its authors'
code: instructions are not all scored on every case, the scores shown are
shrunken, exemplars are errors and not random rows, and instructions are
deduplicated on normalised Unicode text, so that Chinese works. The paper's own
loop is :mod:`jurist.optimizers.opro_paper`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import dspy

from ..cases import Case
from .base import Job
from .board import Board, Candidate
from .proposing import Entrance, propose, scored, task, wrong
from .racing import Credit, Race, blocks, decided, stratified

__all__ = ["Opro", "ProposeInstruction"]

_SURE = 2.0  # standard errors behind the best on dev by which a leader is dropped for now


class ProposeInstruction(dspy.Signature):
    """Write a better instruction for a judge.

    You see what the judge is given and must answer, the instructions tried so far with their scores from 0
    to 100 (the best last), and cases on which the best one disagrees with people. Write one new instruction
    that differs from all of them and will score higher: keep what works, keep every label's definition, and
    state the general rule that the errors show to be missing. Do not quote the cases. Write the instruction
    in the language of the best one, and nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them count as found")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores, ascending")
    errors: str = dspy.InputField(desc="cases the best instruction gets wrong, with the labels people gave")
    instruction: str = dspy.OutputField(desc="the new instruction")


@dataclass(frozen=True, kw_only=True)
class Opro:
    """OPRO's settings.

    Attributes:
        steps: at most this many rounds (the paper runs up to 200).
        candidates: instructions proposed a step (the paper: 8).
        shown: scored instructions kept in the meta-prompt (the paper: 20).
        exemplars: errors of the leader shown (the paper: 3 cases).
        sample: train cases of the race; no instruction is scored on more.
        block: cases in a block of the race; each new instruction runs one.
        extra: further blocks a step, for the instructions with the highest upper bounds.
        reach: standard errors of the upper bound, and of the lower bound by which one leads.
        shrink: cases for which the mean of all instructions counts beside an instruction's own.
        patience: rounds without a new leader or a better instruction on dev before it stops.
        longest: characters an instruction may have.
        copied: the share of an instruction's text that may be copied from train.
        temperature: of the proposer (the paper: 1.0).
    """

    steps: int = 20
    candidates: int = 4
    shown: int = 20
    exemplars: int = 3
    sample: int = 200
    block: int = 6
    extra: int = 10
    reach: float = 0.7
    shrink: float = 10.0
    patience: int = 6
    longest: int = 4000
    copied: float = 0.2
    temperature: float = 1.0
    name: str = "opro"

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt and one other on dev and a block of train, and one proposal."""
        first = min(max(1, self.block), self.sample, len(job.train))
        return (2 * first + 2 * len(job.dev)) * job.sampling.samples + 1

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Improve the instruction of ``start``, predictor by predictor in turn."""
        race = self._race(job, board, start)
        entrance = Entrance.of(job, board, self.name, longest=self.longest, copied=self.copied)
        incumbent, leader, waited = start, start, 0
        names = tuple(start.state.predictors)
        for step in range(1, self.steps + 1):
            name = names[(step - 1) % len(names)]
            texts = propose(job, ProposeInstruction, self._asked(job, race, name, step), self.temperature)
            fresh = entrance.enter(leader, name, texts, step)
            for candidate in fresh:
                race.enter(candidate)
                job.note(f"step {step}: {candidate.id}", board.value(candidate, race.order), kind="candidate")
            race.advance(self.extra, self.reach)
            found = race.leader(self.reach)
            self._to_dev(job, race, found.candidate)
            best = board.best(job.dev) or incumbent
            still = (best.id, found.candidate.id) == (incumbent.id, leader.id)
            waited = waited + 1 if still else 0
            incumbent, leader = best, found.candidate
            job.note(f"step {step}: best on dev {incumbent.id}", board.value(incumbent, job.dev), kind="step")
            if waited >= self.patience:
                break
        return incumbent

    def _race(self, job: Job, board: Board, start: Candidate) -> Race:
        random_ = random.Random(f"race/{job.seed}")
        cases = [case for case in job.train if case.id not in start.demo_ids]
        order = stratified(cases, job.judge.positive, random_)[: self.sample]
        credit = Credit(board, board.score(board.basic, job.dev))
        race = Race(board, order, block=self.block, credit=credit, shrink=self.shrink)
        race.enter(board.basic)
        race.enter(start)
        return race

    def _asked(self, job: Job, race: Race, name: str, step: int) -> list[dict[str, str]]:
        best = [(found.candidate, found.mean) for found in race.ranking()[: self.shown]]
        leader = race.leader(self.reach).candidate
        errors = wrong(race.board, leader, race.seen(leader))
        values = {"task": task(job), "scored_instructions": scored(name, best)}
        return [
            {**values, "errors": _slice(errors, self.exemplars, (step - 1) * self.candidates + draw)}
            for draw in range(self.candidates)
        ]

    def _to_dev(self, job: Job, race: Race, leader: Candidate) -> None:
        """Score the leader on dev, as long as it may still win against the best there."""
        board = race.board
        best = board.best(job.dev) or board.basic
        order = stratified(job.dev, job.judge.positive, random.Random(f"dev/{job.seed}"))
        # The board's choice rests on every case that both the basic prompt and the leader were scored on.
        race.catch_up(board.basic, len(race.seen(leader)))
        done: list[Case] = []
        for block in blocks(order, self.block):
            done += block
            if board.scored(leader, block):
                continue
            # At least one more block: a prompt that goes on leading is not dropped for ever.
            board.score(leader, block)
            ours, theirs = (
                [race.credit(outcome) for outcome in board.score(one, done)] for one in (leader, best)
            )
            if decided(ours, theirs, _SURE):
                return


def _slice(errors: Sequence[str], count: int, turn: int) -> str:
    """Return the ``turn``-th few errors: each proposal sees others, so that none is fitted for ever."""
    offset = (turn * count) % max(1, len(errors))
    return "\n\n".join([*errors[offset:], *errors[:offset]][:count]) or "none"
