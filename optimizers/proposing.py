"""Asking a proposer for instructions, and which of its answers become candidates.

What every optimizer here that has instructions written shares: several draws at
once, inputs defused, unusable replies left out, a proposer that is down ends the
work; and new candidates deduplicated on normalised Unicode text, not too long, and
not copied from training cases.

An instruction that quotes training cases is a demonstration in disguise: it fits
those cases and leaks them. Measured as the share of an instruction's shingles
(8 words; 16 characters where the text is Chinese, Japanese or Korean) that
stand in an input of a training case. What the basic prompt says itself, and what
most training cases say alike (a policy), belongs to the task.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError

from ..cases import Case
from ..engines.failures import fatal, model_error, our_own
from ..programs.state import PromptState
from ..programs.together import asking_of, collect, together
from ..text.escaping import defuse
from ..text.wording import normalised
from .base import Job
from .board import Board, Candidate

Told = TypeVar("Told")
_SHOWN = 600  # characters of an input that an exemplar quotes


def propose(
    job: Job, signature: type[dspy.Signature], asked: Sequence[Mapping[str, str]], temperature: float
) -> list[str]:
    """Return the instructions the proposer writes, one for each entry of ``asked`` that gave a usable one."""
    return [said["instruction"] for said in propose_fields(job, signature, asked, temperature)]


def propose_fields(
    job: Job, signature: type[dspy.Signature], asked: Sequence[Mapping[str, str]], temperature: float
) -> list[dict[str, str]]:
    """Do the same for a signature with several instructions: return the output fields of each usable answer."""
    if note := job.judge.answer.proposer_note:
        signature = signature.with_instructions(f"{signature.instructions}\n\n{note}")
    predict = dspy.Predict(signature)
    failed: list[LMError] = []

    async def ask(draw: int, values: Mapping[str, str]) -> dict[str, str] | None:
        config = {"seed": draw, "temperature": temperature}
        try:
            said = await predict.acall(**defuse(dict(values)), config=config)
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
        texts = {name: str(said[name] or "") for name in signature.output_fields}
        return dict(defuse(texts, [*job.judge.signature.fields]))

    async def one(place: tuple[int, Mapping[str, str]]) -> dict[str, str] | None:
        return await ask(*place)

    with asking_of(job.proposer_lm, "chat"):
        said = collect(together(list(enumerate(asked)), one, concurrency=job.concurrency))
    answers = [answer for answer in said if answer and any(answer.values())]
    if failed and len(failed) == len(asked):
        # Searching on without a proposer would only waste the judge's calls.
        raise model_error(failed[0]) from failed[0]
    return answers


WORDS = 8
"""Words of a shingle."""
CHARACTERS = 16
"""Characters of a shingle in scripts without spaces."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_TOKEN = re.compile(r"\w+")
_COMMON = 0.5  # a shingle in more than this share of the cases belongs to the task


def shingles(text: str) -> frozenset[str]:
    """Return the shingles of a text, without case, punctuation and spacing; none if it is too short."""
    plain = normalised(text)
    words = _TOKEN.findall(plain)
    found = {" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}
    if _CJK.search(plain):
        joined = "".join(words)
        runs = (joined[at : at + CHARACTERS] for at in range(len(joined) - CHARACTERS + 1))
        found |= {run for run in runs if len(_CJK.findall(run)) * 2 > CHARACTERS}
    return frozenset(found)


class CopyGuard:
    """Measures instructions against training cases."""

    def __init__(self, cases: Sequence[Case], own: Iterable[str] = ()) -> None:
        counts = Counter(shingle for case in cases for shingle in _of_case(case.inputs))
        allowed = frozenset(shingle for text in own for shingle in shingles(text))
        common = {s for s, count in counts.items() if len(cases) > 2 and count > _COMMON * len(cases)}
        self._train = frozenset(counts) - allowed - common

    def share(self, text: str) -> float:
        """Return the share of the text's shingles that stand in training cases, in [0, 1]."""
        own = shingles(text)
        return len(own & self._train) / len(own) if own else 0.0


def _of_case(inputs: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(
        shingle for value in inputs.values() for text in _strings(value) for shingle in shingles(text)
    )


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [text for part in value for text in _strings(part)] if isinstance(value, list | tuple) else []


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Settings of whatever has instructions written."""

    longest: int = 4000  # characters an instruction may have
    copied: float = 0.2  # the share of an instruction's text that may be copied from train
    temperature: float = 1.0  # of the proposer (OPRO's paper: 1.0)
    name: str = ""  # what it is called in the record


@dataclass(frozen=True, kw_only=True)
class CandidateFilter:
    """Decides which proposed texts become candidates."""

    job: Job  # the job
    board: Board  # where they are entered
    writing: Writing  # whose texts they are, and what is asked of them
    guard: CopyGuard  # measures what is copied from train

    @classmethod
    def of(cls, job: Job, board: Board, writing: Writing) -> CandidateFilter:
        """Return the filter of a job: its basic instructions may be repeated."""
        basic = board.basic_state().predictors.values()
        guard = CopyGuard(job.train, [prompt.instructions for prompt in basic])
        return cls(job=job, board=board, writing=writing, guard=guard)

    def enter(self, parent: Candidate, name: str, texts: Sequence[str], step: int) -> list[Candidate]:
        """Enter what is new among ``texts``, as instructions of ``parent``'s predictor ``name``."""
        return self.enter_all(parent, [{name: text} for text in texts], step)

    def enter_all(
        self, parent: Candidate, proposals: Sequence[Mapping[str, str]], step: int, way: str = ""
    ) -> list[Candidate]:
        """Enter what is new among proposals: for each, instructions of some of ``parent``'s predictors."""
        known = {_normal(one.state) for one in self.board.candidates.values()}
        fresh: list[Candidate] = []
        for proposal in proposals:
            cleaned = {name: text.strip() for name, text in proposal.items()}
            usable = {name: text for name, text in cleaned.items() if 0 < len(text) <= self.writing.longest}
            state = parent.state
            for name, text in usable.items():
                state = state.with_instruction(name, text)
            if _normal(state) in known:
                continue
            known.add(_normal(state))
            share = max(self.guard.share(text) for text in usable.values())
            if share > self.writing.copied:
                self.job.note(f"step {step}: an instruction refused, {share:.0%} of it is copied from train")
                continue
            source = self.writing.name + (f", {way}" if way else "")
            source += f", {share:.1%} copied from train" if share else ""
            params = {"predictors": sorted(usable), "way": way} if way else None
            fresh.append(self.board.add(state, parent=parent, source=source, step=step, params=params))
        return fresh


def task(job: Job, *names: str) -> str:
    """Return what the judge is given and must answer, in words."""
    judge = job.judge
    inputs = "\n".join(
        f"- {name}: {info.json_schema_extra['desc']}" for name, info in judge.signature.input_fields.items()
    )
    whole = f"inputs:\n{inputs}\n{judge.answer.scale.task_words()}"
    tuned = judge.basic().named_predictors()
    steps = dict(tuned) if len(tuned) > 1 else {}
    asked = "\n".join(
        f"the step {name} must answer {field}: {info.json_schema_extra['desc']}"
        for name in names
        if name in steps
        for field, info in steps[name].signature.output_fields.items()
    )
    return f"{whole}\nit asks in steps: {', '.join(steps)}\n{asked}" if asked else whole


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


def by_cause(board: Board, candidate: Candidate, cases: Sequence[Case]) -> dict[str, list[str]]:
    """Return the exemplars of :func:`wrong` by their cause, in words, the most frequent first."""
    answer, found = board.judge.answer, defaultdict[str, list[str]](list)
    for case, outcome in zip(cases, board.score(candidate, cases), strict=True):
        pairs = zip(outcome.row.gold, outcome.row.predicted, strict=True)
        causes = {
            f"wanted {answer.scale.category(gold)}, got {'no answer' if said is None else answer.scale.category(said)}"
            for gold, said in pairs
            if gold is not None and answer.scale.credit(gold, said) < 1
        }
        if outcome.feedback:
            found[" and ".join(sorted(causes))].append(exemplar(case, outcome.feedback))
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def rotated(errors: Sequence[Told], count: int, turn: int) -> list[Told]:
    """Return the ``turn``-th few errors: each proposal sees others, so that none is fitted for ever."""
    offset = (turn * count) % max(1, len(errors))
    return [*errors[offset:], *errors[:offset]][:count]


def exemplar(case: Case, said: str) -> str:
    """Return a case's texts, shortened, and what is said about it."""
    evidence = "\n".join(
        f"{name}: {str(value)[:_SHOWN]}" for name, value in case.inputs.items() if isinstance(value, str)
    )
    return f"{evidence}\n{said}"


def _normal(state: PromptState) -> tuple[str, ...]:
    """Return the instructions of all predictors without differences in case, spacing and form of characters."""
    texts = (state.predictors[name].instructions for name in sorted(state.predictors))
    return tuple(" ".join(unicodedata.normalize("NFKC", text).casefold().split()) for text in texts)
