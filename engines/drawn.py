"""The requests of a draw, and what of their answers belongs to it."""

from dataclasses import replace
from typing import Any

from dspy.lm15 import Request, Response

from .conversion import settled
from .draws import Draw, current_draw
from .journal import WITHOUT_END, Answer
from .probabilities import ALTERNATIVES, closed_labels, label_probabilities
from .typed import typed_request

_STRIDE = 1_000_003  # apart from any sample number in use


def drawn_for(request: Request) -> Request:
    """Return a request with what the draw in hand adds to it: the sample's number, and that it wants probabilities."""
    draw, config = current_draw.get(), request.config
    seed = draw.sample if config.seed is None else config.seed
    config = settled(config, seed, ALTERNATIVES if _has_labels(draw) else config.logprobs)
    return request if config == request.config else replace(request, config=config)


def _has_labels(draw: Draw) -> bool:
    typed = typed_request.get() if draw.labels else None
    signature: Any = typed and typed.signature  # its metaclass hides from mypy that a class is hashable
    return signature is not None and closed_labels(signature, draw.labels) is not None


def probabilities_of(response: Response) -> list[dict[str, float]]:
    """Return the probabilities of the labels of a reply, where it has them."""
    typed = typed_request.get() if response.logprobs else None
    return label_probabilities(typed.signature, current_draw.get().labels, response.logprobs) if typed else []


def heard(answer: Answer) -> None:
    """Tell the draw in hand what was answered."""
    draw = current_draw.get()
    if draw.replies is not None:
        draw.replies.append(answer.text)
    if draw.probabilities is not None and _has_labels(draw):
        draw.probabilities.append(answer.probabilities)
    if draw.cut is not None and answer.finish_reason in WITHOUT_END:
        draw.cut.append(answer)


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
