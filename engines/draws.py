"""What a call belongs to: a sample, a case. It travels beside the programs, which need not know of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from typing import Any, Final

import dspy
from dspy.lm15 import Request, Response

from .conversion import settled
from .journal import WITHOUT_END, Answer
from .ledger import Spend
from .probabilities import ALTERNATIVES, closed_labels, label_probabilities


@dataclass(frozen=True, kw_only=True, eq=False)
class TypedRequest:
    """One request as it was before it became a prompt."""

    adapter: dspy.Adapter  # what writes the prompt, and the form in which a reply is expected
    signature: type[dspy.Signature]  # fields, types and instruction
    demos: Sequence[Mapping[str, Any]]  # demonstrations, field -> value; fields may be missing
    inputs: Mapping[str, Any]  # input field -> value


typed_request: ContextVar[TypedRequest | None] = ContextVar("jurist_typed_request", default=None)
"""The request whose prompt is being answered in this context."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What the calls made in a context belong to. Whoever asks sets it, so that no program has to pass it on."""

    sample: int | None = None  # the number of the sample in hand, for requests that carry none themselves
    asked: Counter[str] | None = None  # how often this sample has asked each thing, by request key
    labels: tuple[str, ...] = ()  # the output fields of whose labels the probabilities are wanted
    answers: list[Answer] | None = None  # where what answers this sample is kept, if someone wants it
    case: str = ""  # the id of the case in hand; empty outside of one
    spend: Spend | None = None  # where the calls of the case are counted too, if someone wants them apart


LABELS: Final = "label_probabilities"
"""Where a response of the offline engine, which has no tokens, holds them by output field."""
_NOBODY: Final = Draw()
current_draw: ContextVar[Draw] = ContextVar("jurist_draw", default=_NOBODY)
"""The draw of the calls made in this context."""


def drawing(**changes: Any) -> Token[Draw]:
    """Change what the calls of this context belong to; the token takes it back."""
    return current_draw.set(replace(current_draw.get(), **changes))


_STRIDE = 1_000_003  # apart from any sample number in use


def drawn_for(request: Request) -> Request:
    """Return a request with what the draw in hand adds to it: the sample's number, and that it wants probabilities."""
    draw, config = current_draw.get(), request.config
    seed = draw.sample if config.seed is None else config.seed
    typed = typed_request.get() if draw.labels else None
    signature: Any = typed and typed.signature  # its metaclass hides from mypy that a class is hashable
    closed = signature is not None and any(closed_labels(signature, field) for field in draw.labels)
    config = settled(config, seed, ALTERNATIVES if closed else config.logprobs)
    return request if config == request.config else replace(request, config=config)


def probabilities_of(response: Response) -> dict[str, list[dict[str, float]]]:
    """Return output field -> the probabilities of its labels in a reply, where it has them."""
    typed, tokens, known = typed_request.get(), response.logprobs, (response.provider_data or {}).get(LABELS)
    if typed is None or not (tokens or known):
        return {}
    signature: Any = typed.signature
    each = {
        field: known.get(field) if known else label_probabilities(signature, field, tokens)
        for field in current_draw.get().labels
        if closed_labels(signature, field)
    }
    return {field: shares for field, shares in each.items() if shares}


def heard(answer: Answer) -> None:
    """Tell the draw in hand what was answered."""
    answers = current_draw.get().answers
    if answers is not None:
        answers.append(answer)


def cut() -> list[Answer]:
    """Return what the draw in hand was answered and lacks its end."""
    answers = current_draw.get().answers or ()
    return [answer for answer in answers if answer.finish_reason in WITHOUT_END]


def number_of_draw(key: str, occurrence: int) -> int:
    """Return which draw of its question this is: counted within the sample in hand, else over the whole job.

    Two cases may come to ask the same thing (a second stage that sees a summary only): that is no other draw,
    and must not depend on which of them was first.
    """
    counter = current_draw.get().asked
    if counter is None:
        return occurrence
    counter[key] += 1
    return counter[key]


def numbered(request: Request, draw: int) -> Request:
    """Return the request of the n-th draw: DSPy's ``n`` sends equal requests, which are meant as other draws."""
    if draw == 1:
        return request
    seed = (request.config.seed or 0) + _STRIDE * (draw - 1)
    return replace(request, config=settled(request.config, seed, request.config.logprobs))
