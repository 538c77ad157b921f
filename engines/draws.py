"""The sample and the case that a call belongs to. They travel beside the programs, which need not know of them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from typing import Any, Final

import dspy
from dspy.lm15 import Request, Response

from .conversion import settled
from .journal import WITHOUT_END, Answer
from .ledger import Spend
from .token_probabilities import closed_fields, label_probabilities

ALTERNATIVES: Final = 20
"""Alternatives that are asked for with each token; an endpoint that refuses so many is asked for what it takes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TypedRequest:
    """One request as it was before it became a prompt."""

    adapter: dspy.Adapter
    """Writes the prompt, and says in which form a reply is expected."""
    signature: type[dspy.Signature]
    """Fields, types and instruction."""
    demos: Sequence[Mapping[str, object]]
    """Demonstrations, field -> value; fields may be missing."""
    inputs: Mapping[str, object]
    """Input field -> value."""


typed_request: ContextVar[TypedRequest | None] = ContextVar("jurist_typed_request", default=None)
"""The request whose prompt is being answered in this context."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """The draw that calls of a context belong to. The asker sets it, so that no program has to pass it on."""

    sample: int | None = None
    """The number of the sample in hand, for requests that carry none themselves."""
    request_counts: Counter[str] | None = None
    """How often this sample has asked each thing, by request key."""
    labels: tuple[str, ...] = ()
    """The output fields of whose labels the probabilities are wanted."""
    answers: list[Answer] | None = None
    """Where the answers of this sample are collected, if someone wants them."""
    case: str = ""
    """The id of the case in hand; empty outside of one."""
    spend: Spend | None = None
    """Where the calls of the case are counted too, if someone wants them by case."""
    frozen_lm: dspy.LM | None = None
    """Answers the frozen steps of a program; ``None`` for its own model."""
    hidden_rows: Collection[str] = ()
    """Ids of the remembered rows that the case may not be shown: those of its group."""


LABELS: Final = "label_probabilities"
"""Where a response of the offline engine, which has no tokens, holds them by output field."""
_NO_DRAW: Final = Draw()
current_draw: ContextVar[Draw] = ContextVar("jurist_draw", default=_NO_DRAW)
"""The draw of the calls made in this context."""


def change_draw(**changes: Any) -> Token[Draw]:
    """Change the draw that calls of this context belong to; the token takes it back."""
    return current_draw.set(replace(current_draw.get(), **changes))


_STRIDE: Final = 1_000_003
"""The distance of the seeds of two draws of one request; larger than any sample number in use."""


def request_of_draw(request: Request) -> Request:
    """Return a request with what the draw in hand adds: the sample's number, and that probabilities are wanted."""
    draw, config = current_draw.get(), request.config
    seed = draw.sample if config.seed is None else config.seed
    logprobs = config.logprobs
    typed = typed_request.get() if draw.labels else None
    if typed is not None and not closed_fields(typed.signature).keys().isdisjoint(draw.labels):
        logprobs = ALTERNATIVES
    config = settled(config, seed, logprobs)
    if config == request.config:
        return request
    return replace(request, config=config)


def probabilities_of(response: Response) -> dict[str, list[dict[str, float]]]:
    """Return output field -> the probabilities of its labels in a reply, where it has them."""
    typed, tokens = typed_request.get(), response.logprobs
    offline_probabilities = (response.provider_data or {}).get(LABELS)
    if typed is None or not (tokens or offline_probabilities):
        return {}
    has_fields = getattr(typed.adapter, "has_fields", True)
    probabilities = dict[str, list[dict[str, float]]]()
    for field in current_draw.get().labels:
        if field not in closed_fields(typed.signature):
            continue
        if offline_probabilities:
            field_probabilities = offline_probabilities.get(field)
        else:
            field_probabilities = label_probabilities(typed.signature, field, tokens, has_fields)
        if field_probabilities:
            probabilities[field] = field_probabilities
    return probabilities


def note_answer(answer: Answer) -> None:
    """Add an answer to those of the draw in hand, where they are collected."""
    answers = current_draw.get().answers
    if answers is not None:
        answers.append(answer)


def answers_cut_off() -> list[Answer]:
    """Return the answers of the draw in hand that were cut off."""
    answers = current_draw.get().answers or ()
    return [answer for answer in answers if answer.finish_reason in WITHOUT_END]


def number_of_draw(key: str, occurrence: int) -> int:
    """Return which draw of its question this is: counted within the sample in hand, else over the whole job."""
    # Two cases may come to ask the same thing (a second stage that sees a summary only): that is no other draw, and
    # must not depend on which of them was first.
    counts = current_draw.get().request_counts
    if counts is None:
        return occurrence
    counts[key] += 1
    return counts[key]


def request_with_number(request: Request, draw: int) -> Request:
    """Return the request of the n-th draw: DSPy's ``n`` sends equal requests, which are meant as other draws."""
    if draw == 1:
        return request
    seed = (request.config.seed or 0) + _STRIDE * (draw - 1)
    return replace(request, config=settled(request.config, seed, request.config.logprobs))
