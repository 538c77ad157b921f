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

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import dspy

from ..cases import Case
from .base import WAYS, Job, refuse_other
from .board import Candidate
from .proposing import Writing, exemplar, propose, propose_fields, rotated, scored, task
from .raced import Arm, Raced, Track

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
class Opro(Writing, Raced):
    """OPRO's settings, beside those of the race."""

    candidates: int = 3  # instructions proposed a step (the paper: 8)
    shown: int = 20  # scored instructions kept in the meta-prompt (the paper: 20)
    exemplars: int = 3  # cases shown (the paper: 3)
    # for several predictors: ``in turn``, one a step, or ``jointly``, all in one proposal
    predictors: str = "in turn"
    name: str = "opro"
    # cases shown are errors of the leader, or any of train as people labelled them
    random_exemplars: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse an unknown way."""
        refuse_other(f"{self.name}.predictors", self.predictors, WAYS)

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return itself."""
        return (self,)

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Ask the proposer, and return what is new."""
        job, leader = track.job, track.leader
        candidate_filter = track.filter(self)
        names = tuple(leader.state.predictors)
        if len(names) == 1 or self.predictors == "in turn":
            name = names[(turn - 1) % len(names)]
            signature = ProposeByScore if self.random_exemplars else ProposeInstruction
            texts = propose(
                job, signature, self._asked(track, {"scored_instructions": name}, turn), self.temperature
            )
            way = "" if len(names) == 1 else self.predictors
            return candidate_filter.enter_all(leader, [{name: text} for text in texts], track.step, way)
        fields = {f"instruction_{at}": name for at, name in enumerate(names, 1)}
        asked = self._asked(track, {f"scored_{field}": name for field, name in fields.items()}, turn)
        answers = propose_fields(job, joint(names, self.random_exemplars), asked, self.temperature)
        proposals = [{fields[field]: text for field, text in said.items()} for said in answers]
        return candidate_filter.enter_all(leader, proposals, track.step, self.predictors)

    def _asked(self, track: Track, shown: Mapping[str, str], turn: int) -> list[dict[str, str]]:
        """Return the values of each draw; ``shown``: the field for the scored instructions of which predictor."""
        values = {
            "task": task(track.job, *shown.values()),
            **{field: scored(name, track.best(self.shown)) for field, name in shown.items()},
        }
        if self.random_exemplars:
            known = [case for case in track.race.order if case.known and case not in track.job.dev]
            drawn = random.Random(f"exemplars/{track.job.seed}/{turn}").sample(
                known, min(self.exemplars, len(known))
            )
            texts = [exemplar(case, _gold(track.job, case)) for case in drawn]
            return [{**values, "examples": "\n\n".join(texts) or "none"}] * self.candidates
        errors = [exemplar(case, outcome.feedback) for case, outcome in track.errors(track.leader)]
        return [
            {**values, "errors": "\n\n".join(rotated(errors, self.exemplars, draw)) or "none"}
            for draw in range((turn - 1) * self.candidates, turn * self.candidates)
        ]


def _gold(job: Job, case: Case) -> str:
    answer = job.judge.answer
    units = zip(answer.units(case.inputs), case.gold or (), strict=True)
    return "\n".join(answer.scale.truth(text, gold) for text, gold in units if gold is not None)


@dataclass(frozen=True, kw_only=True)
class OproPaper(Opro):
    """The same with the paper's settings: the baseline."""

    steps: int = 10  # the paper: up to 200
    candidates: int = 8
    sample: int = 100
    patience: int = 10
    shrink: float = 0.0
    reach: float = 0.0
    name: str = "opro-paper"
    whole: ClassVar[str] = "train"
    random_exemplars: ClassVar[bool] = True


def joint(names: Sequence[str], random_exemplars: bool = False) -> type[dspy.Signature]:
    """Return the signature that rewrites the instructions of several predictors in one proposal."""
    single = ProposeByScore if random_exemplars else ProposeInstruction
    signature: type[dspy.Signature] = single.delete("scored_instructions").delete("instruction")
    signature = signature.with_instructions(_JOINT)
    for at, name in enumerate(names, 1):
        desc = (
            f"instructions of the step {name} with their scores, ascending; the best of each step go together"
        )
        signature = signature.insert(at, f"scored_instruction_{at}", dspy.InputField(desc=desc), str)
        new = dspy.OutputField(desc=f"the new instruction of the step {name}, and nothing else")
        signature = signature.append(f"instruction_{at}", new, str)
    return signature
