"""The draw that a call belongs to: one sample of one case.

It travels in a context variable beside the programs, which need not pass it on.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from typing import Any, Final

import dspy
from dspy.lm15 import Config, Request, Response

from .conversion import config_with
from .journal import WITHOUT_END, StoredResponse
from .ledger import Spend
from .token_probabilities import closed_fields, label_probabilities

ALTERNATIVES: Final = 20
"""Alternatives that are asked for with each token; an endpoint that refuses so many is asked for fewer."""


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
    """The number of the current sample: the seed of requests that have none."""
    request_counts: Counter[str] | None = None
    """Request key -> how often the current sample has sent this request."""
    labels: tuple[str, ...] = ()
    """Names of the output fields for whose labels probabilities are needed."""
    answers: list[StoredResponse] | None = None
    """Where the answers of this sample are collected, if someone wants them."""
    case: str = ""
    """The id of the current case; empty where there is none."""
    spend: Spend | None = None
    """Where the calls of the case are counted too, if someone wants them by case."""
    frozen_lm: dspy.LM | None = None
    """Answers the frozen steps of a program; ``None`` for its own model."""
    hidden_rows: Collection[str] = ()
    """Ids of the remembered rows that the case may not be shown: those of its group."""
    own_answer: str = ""
    """The model's own answer to the task of the case, for the judge's prompt; empty without one."""


LABEL_PROBABILITIES: Final = "label_probabilities"
"""The key under which a response of the offline engine holds probabilities of labels, by output field."""
_NO_DRAW: Final = Draw()
current_draw: ContextVar[Draw] = ContextVar("jurist_draw", default=_NO_DRAW)
"""The draw of the calls made in this context."""


def change_draw(**changes: Any) -> Token[Draw]:
    """Change the draw that calls of this context belong to; return the token that resets it."""
    return current_draw.set(replace(current_draw.get(), **changes))


_STRIDE: Final = 1_000_003
"""The difference between the seeds of two draws of one request; larger than any sample number in use."""


def request_of_draw(request: Request) -> Request:
    """Return a request with the settings of the current draw."""
    config = config_of_draw(request.config)
    if config is request.config:
        return request
    return replace(request, config=config)


def config_of_draw(config: Config) -> Config:
    """Return settings with the current sample's number as the seed, and log-probabilities where they are needed."""
    draw = current_draw.get()
    seed = draw.sample if config.seed is None else config.seed
    logprobs = config.logprobs
    typed = typed_request.get() if draw.labels else None
    if typed is not None and not closed_fields(typed.signature).keys().isdisjoint(draw.labels):
        logprobs = ALTERNATIVES
    if (seed, logprobs) == (config.seed, config.logprobs):
        return config
    return config_with(config, seed, logprobs)


def probabilities_of(response: Response) -> dict[str, list[dict[str, float]]]:
    """Return output field -> the probabilities of its labels, a mapping for each label that the reply gives.

    Fields are those of the current draw; a field without probabilities is left out.
    """
    typed, tokens = typed_request.get(), response.logprobs
    offline_probabilities = (response.provider_data or {}).get(LABEL_PROBABILITIES)
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


def note_answer(answer: StoredResponse) -> None:
    """Add an answer to those of the current draw, where they are collected."""
    answers = current_draw.get().answers
    if answers is not None:
        answers.append(answer)


def answers_cut_off() -> list[StoredResponse]:
    """Return the answers of the current draw that were cut off by a limit or a filter."""
    answers = current_draw.get().answers or ()
    return [answer for answer in answers if answer.finish_reason in WITHOUT_END]


def number_of_draw(key: str, occurrence: int) -> int:
    """Return the number of a request's draw, from 1: counted within the current sample, else over the whole job."""
    # Two cases may send equal requests (a second stage that sees a summary only). These are one draw, and its number
    # must not depend on which case was first.
    counts = current_draw.get().request_counts
    if counts is None:
        return occurrence
    counts[key] += 1
    return counts[key]


def request_with_number(request: Request, draw: int) -> Request:
    """Return the request with the seed of its n-th draw, as equal requests (DSPy's ``n``) ask for different draws."""
    if draw == 1:
        return request
    seed = (request.config.seed or 0) + _STRIDE * (draw - 1)
    return replace(request, config=config_with(request.config, seed, request.config.logprobs))
