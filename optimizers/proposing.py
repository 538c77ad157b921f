"""Asking a proposer for instructions, and which of its answers become candidates.

What every optimizer here that has instructions written shares: several draws at
once, inputs defused, unusable replies left out, a proposer that is down ends the
work; and new candidates deduplicated on normalised Unicode text, not too long, and
not copied from training cases.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Mapping, Sequence
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
from .copying import CopyGuard

__all__ = ["Entrance", "exemplar", "propose", "scored", "task", "wrong"]

_SHOWN = 600  # characters of an input that an exemplar quotes


def propose(
    job: Job, signature: type[dspy.Signature], asked: Sequence[Mapping[str, str]], temperature: float
) -> list[str]:
    """Return the instructions the proposer writes, one for each entry of ``asked`` that gave a usable one.

    Args:
        job: whose proposer is asked.
        signature: has the one output field ``instruction``.
        asked: the values of its input fields, for each draw; the draw's number is its seed.
        temperature: of the proposer.

    Raises:
        ModelError: no draw was answered, or the model cannot be used at all.
        BudgetExhausted: a limit was reached.
    """
    predict = dspy.Predict(signature)
    failed: list[LMError] = []

    async def ask(draw: int, values: Mapping[str, str]) -> str | None:
        config = {"seed": draw, "temperature": temperature}
        try:
            said = await predict.acall(**defuse(dict(values), signature.fields), config=config)
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
        # A proposer may echo field markers; in an instruction they would be read as structure.
        return str(defuse(str(said.instruction), [*job.judge.signature.fields]))

    async def ask_all() -> list[str | BaseException | None]:
        with dspy.context(lm=job.proposer_lm, adapter=adapter("chat"), disable_history=True, trace=None):
            # What is in flight when the budget ends is paid for, and kept.
            return await asyncio.gather(
                *(ask(draw, values) for draw, values in enumerate(asked)), return_exceptions=True
            )

    texts: list[str] = []
    for text in collect(ask_all()):
        if isinstance(text, BaseException):
            raise text
        texts.extend([text] if text else [])
    if failed and len(failed) == len(asked):
        # Searching on without a proposer would only waste the judge's calls.
        raise model_error(failed[0]) from failed[0]
    return texts


@dataclass(frozen=True, kw_only=True)
class Entrance:
    """Decides which proposed texts become candidates.

    Attributes:
        job: the job.
        board: where they are entered.
        source: what proposed them.
        longest: characters an instruction may have.
        guard: measures what is copied from train.
        copied: the share of copied text from which an instruction is refused.
    """

    job: Job
    board: Board
    source: str
    longest: int
    guard: CopyGuard
    copied: float

    @classmethod
    def of(cls, job: Job, board: Board, source: str, *, longest: int, copied: float) -> Entrance:
        """Return the entrance of a job: its basic instructions may be repeated."""
        basic = board.basic_state().predictors.values()
        guard = CopyGuard(job.train, [prompt.instructions for prompt in basic])
        return cls(job=job, board=board, source=source, longest=longest, guard=guard, copied=copied)

    def enter(self, parent: Candidate, name: str, texts: Sequence[str], step: int) -> list[Candidate]:
        """Enter what is new among ``texts``, as instructions of ``parent``'s predictor ``name``."""
        known = {_normal(c.state.predictors[name].instructions) for c in self.board.candidates.values()}
        fresh: list[Candidate] = []
        for text in texts:
            cleaned = text.strip()
            if not cleaned or len(cleaned) > self.longest or _normal(cleaned) in known:
                continue
            known.add(_normal(cleaned))
            share = self.guard.share(cleaned)
            if share > self.copied:
                self.job.note(f"step {step}: an instruction refused, {share:.0%} of it is copied from train")
                continue
            state = parent.state.with_instruction(name, cleaned)
            source = self.source + (f", {share:.1%} copied from train" if share else "")
            fresh.append(self.board.add(state, parent=parent, source=source, step=step))
        return fresh


def task(job: Job) -> str:
    """Return what the judge is given and must answer, in words."""
    judge = job.judge
    inputs = "\n".join(
        f"- {name}: {info.json_schema_extra['desc']}" for name, info in judge.signature.input_fields.items()
    )
    return f"inputs:\n{inputs}\nlabels: {', '.join(judge.labels)}\ncounts as found: {', '.join(sorted(judge.positive))}"


def scored(name: str, best_first: Sequence[tuple[Candidate, float]]) -> str:
    """Return instructions of predictor ``name`` with their values as scores from 0 to 100, ascending."""
    shown = (
        (candidate.state.predictors[name].instructions, min(100, max(0, round(100 * value))))
        for candidate, value in reversed(best_first)
    )
    return "\n\n".join(f"text:\n{text}\nscore: {score}" for text, score in shown)


def wrong(board: Board, candidate: Candidate, cases: Sequence[Case]) -> list[str]:
    """Return an exemplar of each of ``cases`` that the candidate gets wrong. They must be scored, or are asked."""
    outcomes = board.score(candidate, cases)
    return [
        exemplar(case, outcome.feedback)
        for case, outcome in zip(cases, outcomes, strict=True)
        if outcome.feedback
    ]


def exemplar(case: Case, said: str) -> str:
    """Return a case's texts, shortened, and what is said about it."""
    evidence = "\n".join(
        f"{name}: {str(value)[:_SHOWN]}" for name, value in case.inputs.items() if isinstance(value, str)
    )
    return f"{evidence}\n{said}"


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
