"""``opro``: optimisation by prompting (Yang et al., 2023), for judges, with racing.

A proposer model sees the instructions tried so far with their scores, in
ascending order, and exemplars of the leader's errors on train, and writes several new
instructions a step. All instructions race on train and dev together
(:mod:`jurist.optimizers.racing`), and the choice is the board's. Unlike the
paper's loop (:mod:`jurist.optimizers.opro_paper`) it does not score every
instruction on every case, shows scores shrunken towards the parent's, takes errors
and not random rows as exemplars, and deduplicates on normalised Unicode text, so
that Chinese works.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dspy

from .base import WAYS, Job, refuse_other
from .board import Board, Candidate
from .proposing import CandidateFilter, propose, propose_fields, rotated, scored, task, wrong
from .racing import Race, interleaved, stratified

__all__ = ["Opro", "ProposeInstruction", "joint"]

_JOINT = """Write better instructions for a judge that works in several steps.

You see what the judge is given and must answer, the instructions of each step tried so far with the scores from
0 to 100 that the judge had with them (the best last), and cases on which the best judge disagrees with people. Write a
new instruction for each step, so that together they differ from all that was tried and will score higher: keep what
works, keep every label's definition, and state the general rule that the errors show to be missing, in the step
that it belongs to. Do not quote the cases. Write each instruction in the language of the best one.
"""


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
        sample: train cases of the race, beside all of dev; no instruction is scored on more.
        opening: cases of the race on which the basic prompt is scored first; all that comes is compared with it.
        block: cases in a block of the race; each new instruction runs one.
        extra: further blocks a step, for the instructions with the highest upper bounds.
        reach: standard errors of the upper bound, and of the lower bound by which one leads.
        shrink: cases for which its parent's mean counts beside an instruction's own.
        patience: rounds without a new leader or another choice before it stops.
        longest: characters an instruction may have.
        copied: the share of an instruction's text that may be copied from train.
        temperature: of the proposer (the paper: 1.0).
        predictors: for several predictors: ``in turn``, one a step, or ``jointly``, all in one proposal.
    """

    steps: int = 20
    candidates: int = 3
    shown: int = 20
    exemplars: int = 3
    sample: int = 200
    opening: int = 40
    block: int = 8
    extra: int = 4
    reach: float = 1.0
    shrink: float = 5.0
    patience: int = 6
    longest: int = 4000
    copied: float = 0.2
    temperature: float = 1.0
    predictors: str = "in turn"
    name: str = "opro"

    def __post_init__(self) -> None:
        """Refuse an unknown way."""
        refuse_other(f"{self.name}.predictors", self.predictors, WAYS)

    @property
    def races(self) -> bool:
        """The basic prompt is one of the race, and is scored as far as that needs it."""
        return True

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt and one other on dev and a block, and one proposal."""
        train = min(self.sample, len(job.train))
        first, opening = (min(max(1, size), train) for size in (self.block, self.opening))
        return (opening + first + 2 * len(job.dev)) * job.calls_per_case + 1

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Improve the instructions of ``start``."""
        race = self._race(job, board, start)
        candidate_filter = CandidateFilter.of(job, board, self.name, longest=self.longest, copied=self.copied)
        last, waited = (start.id, start.id), 0
        for step in range(1, self.steps + 1):
            for candidate in self._proposed(job, race, candidate_filter, step):
                race.enter(candidate)
                job.note(f"step {step}: {candidate.id}", board.value(candidate, race.order), kind="candidate")
            race.advance(self.extra, self.reach)
            leader, best = race.leader(self.reach), board.best(job.dev) or start
            race.keep_up(board.basic, leader)
            race.around(leader)
            waited = waited + 1 if (best.id, leader.id) == last else 0
            last = best.id, leader.id
            job.note(f"step {step}: best {best.id}", board.value(best, job.dev), kind="step")
            if waited >= self.patience:
                break
        # What is chosen, and what it is compared with, are known on all of dev in the end.
        board.score(board.basic, job.dev)
        while not board.scored(best := board.best(job.dev) or start, job.dev):
            board.score(best, job.dev)
        return best

    def _race(self, job: Job, board: Board, start: Candidate) -> Race:
        order = interleaved(
            *(
                stratified(cases, job.judge.answer, random.Random(f"{part}/{job.seed}"))[:most]
                for part, cases, most in (
                    ("race", [case for case in job.train if case.id not in start.demo_ids], self.sample),
                    ("dev", job.dev, len(job.dev)),
                )
            )
        )
        reference = board.score(board.basic, order[: max(1, self.opening)])
        race = Race(board, order, block=self.block, reference=reference, shrink=self.shrink)
        race.enter(board.basic)
        race.enter(start)
        return race

    def _proposed(
        self, job: Job, race: Race, candidate_filter: CandidateFilter, step: int
    ) -> list[Candidate]:
        """Ask the proposer, and return what is new."""
        leader = race.leader(self.reach)
        names = tuple(leader.state.predictors)
        if len(names) == 1 or self.predictors == "in turn":
            name = names[(step - 1) % len(names)]
            asked = self._asked(job, race, {"scored_instructions": name}, step)
            texts = propose(job, ProposeInstruction, asked, self.temperature)
            way = "" if len(names) == 1 else self.predictors
            return candidate_filter.enter_all(leader, [{name: text} for text in texts], step, way)
        fields = {f"instruction_{at}": name for at, name in enumerate(names, 1)}
        asked = self._asked(job, race, {f"scored_{field}": name for field, name in fields.items()}, step)
        answers = propose_fields(job, joint(names), asked, self.temperature)
        proposals = [{fields[field]: text for field, text in said.items()} for said in answers]
        return candidate_filter.enter_all(leader, proposals, step, self.predictors)

    def _asked(self, job: Job, race: Race, shown: Mapping[str, str], step: int) -> list[dict[str, str]]:
        """Return the values of each draw; ``shown``: the field for the scored instructions of which predictor."""
        best = [(race.board.candidates[one.id], one.mean) for one in race.ranking()[: self.shown]]
        leader, hidden = race.leader(self.reach), {case.id for case in job.dev}
        errors = wrong(race.board, leader, [case for case in race.seen(leader) if case.id not in hidden])
        values = {
            "task": task(job, *shown.values()),
            **{field: scored(name, best) for field, name in shown.items()},
        }
        return [
            {**values, "errors": "\n\n".join(rotated(errors, self.exemplars, turn)) or "none"}
            for turn in range((step - 1) * self.candidates, step * self.candidates)
        ]


def joint(names: Sequence[str]) -> type[dspy.Signature]:
    """Return the signature that rewrites the instructions of several predictors in one proposal."""
    signature: type[dspy.Signature] = ProposeInstruction.delete("scored_instructions").delete("instruction")
    signature = signature.with_instructions(_JOINT)
    for at, name in enumerate(names, 1):
        desc = (
            f"instructions of the step {name} with their scores, ascending; the best of each step go together"
        )
        signature = signature.insert(at, f"scored_instruction_{at}", dspy.InputField(desc=desc), str)
        new = dspy.OutputField(desc=f"the new instruction of the step {name}, and nothing else")
        signature = signature.append(f"instruction_{at}", new, str)
    return signature
