"""``opro``: optimisation by prompting (Yang et al., 2023), for judges.

A proposer model sees the instructions tried so far with their scores, in
ascending order, and exemplars of the incumbent's errors, and writes several new
instructions a step. Each is scored on a sample of train; one that beats the
incumbent there is scored on dev, and the choice is made on dev. Differences
from the paper's loop, measured in the notes of its authors' code: exemplars are
errors and not random rows, and instructions are deduplicated on normalised
Unicode text, so that Chinese works.
"""

from __future__ import annotations

import asyncio
import random
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError

from ..cases import Case
from ..engines.failures import fatal, model_error, our_own
from ..engines.models import adapter
from ..hostile import defuse
from ..programs.asking import collect
from .base import Job
from .board import Board, Candidate
from .drawing import draw

__all__ = ["Opro", "ProposeInstruction"]


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
        exemplars: errors of the incumbent shown (the paper: 3 cases).
        sample: train cases on which each instruction is scored.
        patience: rounds without a better instruction before it stops.
        longest: characters an instruction may have.
        temperature: of the proposer (the paper: 1.0).
    """

    steps: int = 12
    candidates: int = 4
    shown: int = 20
    exemplars: int = 3
    sample: int = 40
    patience: int = 4
    longest: int = 4000
    temperature: float = 1.0
    name: str = "opro"

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt on dev and train, one proposal, and its scoring."""
        sample = min(self.sample, len(job.train))
        return (2 * sample + 2 * len(job.dev)) * job.sampling.samples + 1

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Improve the instruction of ``start``, predictor by predictor in turn."""
        sample = draw(job.train, self.sample, job.judge.positive, random.Random(f"sample/{job.seed}"))
        board.score(start, sample)
        incumbent, waited = start, 0
        names = tuple(start.state.predictors)
        for step in range(1, self.steps + 1):
            name = names[(step - 1) % len(names)]
            texts = self._propose(job, board, sample, name, step)
            # A proposer may echo field markers; in an instruction they would be read as structure.
            texts = [defuse(text, [*job.judge.signature.fields]) for text in texts]
            fresh = self._enter(board, incumbent, name, texts, step)
            for candidate in fresh:
                board.score(candidate, sample)
                if board.value(candidate, sample) >= board.value(incumbent, sample):
                    board.score(candidate, job.dev)
                job.note(f"step {step}: {candidate.id}", board.value(candidate, sample), kind="candidate")
            best = board.best(job.dev) or incumbent
            waited = 0 if best.id != incumbent.id else waited + 1
            incumbent = best
            job.note(f"step {step}: best on dev {incumbent.id}", board.value(incumbent, job.dev), kind="step")
            if waited >= self.patience:
                break
        return incumbent

    def _propose(self, job: Job, board: Board, sample: Sequence[Case], name: str, step: int) -> list[str]:
        values = {
            "task": _task(job),
            "scored_instructions": self._scored(board, sample, name),
            "errors": self._errors(board, board.ranking(sample)[0], sample, step),
        }
        values = defuse(values, ProposeInstruction.fields)
        predict = dspy.Predict(ProposeInstruction)
        failed: list[LMError] = []

        async def ask(draw: int) -> str | None:
            config = {"seed": draw, "temperature": self.temperature}
            try:
                return str((await predict.acall(**values, config=config)).instruction)
            except AdapterParseError:
                return None  # an unusable proposal is no proposal; the call is on the ledger
            except LMError as error:
                ours = our_own(error)
                if ours is not None:
                    raise ours from error
                if fatal(error):
                    raise model_error(error) from error
                failed.append(error)
                return None

        async def ask_all() -> list[str | BaseException | None]:
            with dspy.context(lm=job.proposer_lm, adapter=adapter("chat"), disable_history=True, trace=None):
                # What is in flight when the budget ends is paid for, and kept.
                return await asyncio.gather(
                    *(ask(draw) for draw in range(self.candidates)), return_exceptions=True
                )

        texts: list[str] = []
        for text in collect(ask_all()):
            if isinstance(text, BaseException):
                raise text
            texts.extend([text] if text else [])
        if failed and len(failed) == self.candidates:
            # Searching on without a proposer would only waste the judge's calls.
            raise model_error(failed[0]) from failed[0]
        return texts

    def _enter(
        self, board: Board, incumbent: Candidate, name: str, texts: Sequence[str], step: int
    ) -> list[Candidate]:
        known = {_normal(c.state.predictors[name].instructions) for c in board.candidates.values()}
        fresh: list[Candidate] = []
        for text in texts:
            cleaned = text.strip()
            if not cleaned or len(cleaned) > self.longest or _normal(cleaned) in known:
                continue
            known.add(_normal(cleaned))
            state = incumbent.state.with_instruction(name, cleaned)
            fresh.append(board.add(state, parent=incumbent, source="opro", step=step))
        return fresh

    def _scored(self, board: Board, sample: Sequence[Case], name: str) -> str:
        done = board.ranking(sample)[: self.shown]
        shown = (
            (candidate.state.predictors[name].instructions, round(100 * board.value(candidate, sample)))
            for candidate in reversed(done)
        )
        return "\n\n".join(f"text:\n{text}\nscore: {score}" for text, score in shown)

    def _errors(self, board: Board, shown_best: Candidate, sample: Sequence[Case], step: int) -> str:
        outcomes = board.score(shown_best, sample)
        wrong = [pair for pair in zip(sample, outcomes, strict=True) if pair[1].feedback]
        # Another few errors each step: the proposer should not fit the same three cases for ever.
        offset = ((step - 1) * self.exemplars) % max(1, len(wrong))
        chosen = (wrong[offset:] + wrong[:offset])[: self.exemplars]
        return "\n\n".join(_exemplar(case, outcome.feedback) for case, outcome in chosen) or "none"


def _task(job: Job) -> str:
    judge = job.judge
    inputs = "\n".join(
        f"- {name}: {info.json_schema_extra['desc']}" for name, info in judge.signature.input_fields.items()
    )
    return f"inputs:\n{inputs}\nlabels: {', '.join(judge.labels)}\ncounts as found: {', '.join(sorted(judge.positive))}"


def _exemplar(case: Case, feedback: str) -> str:
    evidence = "\n".join(
        f"{name}: {str(value)[:600]}" for name, value in case.inputs.items() if isinstance(value, str)
    )
    return f"{evidence}\n{feedback}"


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
