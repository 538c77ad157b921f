"""Asking a proposer for instructions: what it is shown, which replies are usable, and what it copied from train.

An instruction that quotes training cases is a demonstration in disguise: it fits those cases and leaks them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import dspy
from dspy import AdapterParseError, LMError

from ..cases import Case
from ..engines.failures import ROW_REFUSED, fatal, kind_of, model_error, our_own
from ..programs.answers.base import Answer
from ..programs.together import asking_of, collect, together
from ..text.escaping import defuse
from ..text.wording import normalised, strings
from .base import Job
from .board import Candidate

_USELESS = 10  # proposals in a row that cannot be used, after which no more are asked for
_SHOWN = 600  # characters of an input that an exemplar quotes


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Settings of whatever has instructions written."""

    longest: int = 4000  # characters an instruction may have
    copied: float = 0.2  # the share of an instruction's text that may be copied from train
    temperature: float = 1.0  # of the proposer (OPRO's paper: 1.0)
    name: str = ""  # what it is called in the record


def propose(
    job: Job, signature: type[dspy.Signature], asked: Sequence[Mapping[str, str]], temperature: float
) -> list[dict[str, str]]:
    """Ask the proposer once for each entry of ``asked``; return the output fields of each usable answer."""
    # one that has given nothing that can be used ten times in a row is not asked in that way any more
    kind = signature.__name__
    if given_up(job, kind):
        return []
    if note := job.judge.answer.proposer_note:
        signature = signature.with_instructions(f"{signature.instructions}\n\n{note}")
    predict = dspy.Predict(signature)
    failed: list[LMError] = []

    async def ask(draw: tuple[int, Mapping[str, str]]) -> dict[str, str] | None:
        config = {"seed": draw[0], "temperature": temperature}
        try:
            answer = await predict.acall(**defuse(dict(draw[1])), config=config)
        except AdapterParseError:
            return None  # an unusable proposal is no proposal; the call is on the ledger
        except LMError as error:
            ours = our_own(error)
            if ours is not None:
                raise ours from error
            if fatal(error):
                raise model_error(error) from error
            # A filter, or the window, refuses the cases that this one request quotes: others may pass.
            if kind_of(error) not in ROW_REFUSED:
                failed.append(error)
            return None
        # A proposer may echo field markers; in an instruction they would be read as structure.
        texts = {name: str(answer[name] or "") for name in signature.output_fields}
        return dict(defuse(texts))

    with asking_of(job.proposer_lm, "json" if job.basic_adapter == "json" else "chat"):
        answers = collect(together(list(enumerate(asked)), ask, concurrency=job.concurrency))
    if failed and len(failed) == len(asked):
        # Searching on without a proposer would only waste the judge's calls.
        raise model_error(failed[0]) from failed[0]
    used = [answer for answer in answers if answer and any(answer.values())]
    given_up(job, kind, len(answers), len(used))
    return used


def given_up(job: Job, kind: str, asked: int = 0, used: int = 0) -> bool:
    """Count proposals of a kind and those that can be used; say whether no more are asked for: ten in a row cannot."""
    unread, row = job.context.unread, f"{kind} in a row"
    unread[kind] += asked - used
    unread[row] = 0 if used else unread[row] + asked
    if asked and unread[row] >= _USELESS:
        useless = (
            f"{unread[row]} proposals in a row ({kind}) cannot be read, and no more of these are asked for"
        )
        job.note(f"{useless}: name a larger model with --prompt-model, or raise --prompt-max-tokens")
    return unread[row] >= _USELESS


def task(job: Job, *names: str) -> str:
    """Return a description of the judge's inputs and answer."""
    judge = job.judge
    inputs = "\n".join(
        f"- {name}: {info.json_schema_extra['desc']}" for name, info in judge.signature.input_fields.items()
    )
    whole = f"inputs:\n{inputs}\n{judge.answer.scale.task_words()}"
    if judge.template is not None:
        variables = " and ".join(f"{{{{{name}}}}}" for name in judge.template.variables)
        whole += (
            f"\nthe instruction is the whole prompt that is sent: it has {variables} where these texts go"
        )
        whole += ", and says what to answer with"
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


def exemplar(case: Case, about: str) -> str:
    """Return a case's texts, shortened, and what is said about it."""
    evidence = "\n".join(
        f"{name}: {str(value)[:_SHOWN]}" for name, value in case.inputs.items() if isinstance(value, str)
    )
    return f"{evidence}\n{about}" + (f"\nwhy people say so: {case.reason[:_SHOWN]}" if case.reason else "")


def truths(case: Case, answer: Answer) -> str:
    """Return the gold of a case, unit by unit, in words."""
    units = zip(answer.units(case.inputs), case.gold or (), strict=True)
    return "\n".join(answer.scale.truth(text, gold) for text, gold in units if gold is not None)


def portions(errors: Sequence[str], count: int, turn: int, proposals: int) -> list[str]:
    """Return ``count`` errors for each proposal of a turn: each sees others, so that none is fitted for ever."""
    offsets = [draw * count % max(1, len(errors)) for draw in range((turn - 1) * proposals, turn * proposals)]
    return ["\n\n".join([*errors[at:], *errors[:at]][:count]) for at in offsets]


# -- what is copied ------------------------------------------------------------------------------------------

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
    pieces = {" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}
    if _CJK.search(plain):
        joined = "".join(words)
        runs = (joined[at : at + CHARACTERS] for at in range(len(joined) - CHARACTERS + 1))
        pieces |= {run for run in runs if len(_CJK.findall(run)) * 2 > CHARACTERS}
    return frozenset(pieces)


class CopyGuard:
    """Measures instructions against training cases."""

    def __init__(self, cases: Sequence[Case], own: Iterable[str] = ()) -> None:
        of_cases = (set().union(*map(shingles, strings(case.inputs))) for case in cases)
        counts = Counter(shingle for pieces in of_cases for shingle in pieces)
        allowed = frozenset(shingle for text in own for shingle in shingles(text))
        common = {s for s, count in counts.items() if len(cases) > 2 and count > _COMMON * len(cases)}
        self._train = frozenset(counts) - allowed - common

    def share(self, text: str) -> float:
        """Return the share of the text's shingles that stand in training cases, in [0, 1]."""
        own = shingles(text)
        return len(own & self._train) / len(own) if own else 0.0
