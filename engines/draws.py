"""What a call belongs to, a sample and a case, and how probable the tokens of its reply make each label.

It travels beside the programs, which need not know of it. A label may be several tokens, and several labels may begin
alike: from its first token on, what the model might have said instead is divided among the labels that it could still
have become, until one label is left. What would have been none of the labels is left out, so that the probabilities of
a label's place add up to 1.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal, get_args, get_origin

import dspy
import pydantic
from dspy.lm15 import Request, Response, TokenLogprob, TopLogprob

from .conversion import settled
from .journal import WITHOUT_END, Answer
from .ledger import Spend

ALTERNATIVES: Final = 20
"""Alternatives that are asked for with each token; an endpoint that refuses so many is asked for what it takes."""
_BEFORE: Final = " \t\r\n\"'`*:([{>"  # what a token may hold before its label


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
    """The draw that calls of a context belong to. The asker sets it, so that no program has to pass it on."""

    sample: int | None = None  # the number of the sample in hand, for requests that carry none themselves
    asked: Counter[str] | None = None  # how often this sample has asked each thing, by request key
    labels: tuple[str, ...] = ()  # the output fields of whose labels the probabilities are wanted
    answers: list[Answer] | None = None  # where what answers this sample is kept, if someone wants it
    case: str = ""  # the id of the case in hand; empty outside of one
    spend: Spend | None = None  # where the calls of the case are counted too, if someone wants them apart
    frozen_lm: dspy.LM | None = None  # answers the frozen steps of a program; ``None`` for its own model
    hidden_rows: Collection[
        str
    ] = ()  # ids of the remembered rows that the case may not be shown: those of its group


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
    has_fields = getattr(typed.adapter, "has_fields", True)
    each = {
        field: known.get(field) if known else label_probabilities(signature, field, tokens, has_fields)
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
    """Return the replies of the current draw that were cut off."""
    answers = current_draw.get().answers or ()
    return [answer for answer in answers if answer.finish_reason in WITHOUT_END]


def number_of_draw(key: str, occurrence: int) -> int:
    """Return which draw of its question this is: counted within the sample in hand, else over the whole job."""
    # Two cases may come to ask the same thing (a second stage that sees a summary only): that is no other draw, and
    # must not depend on which of them was first.
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


@dataclass(frozen=True, kw_only=True)
class _ClosedLabels:
    """How an output field says labels of a closed set: the labels, where the field begins, and each of its labels."""

    labels: tuple[str, ...]
    opening: re.Pattern[str]
    label: re.Pattern[str]
    several: bool

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return begin and end of each label that a reply gives in the field, as its last section says it."""
        openings = list(self.opening.finditer(text))
        if not openings:
            return []
        start = openings[-1].end()
        end = text.find("\n[[ ## ", start)
        labels = self.label.finditer(text, start, len(text) if end < 0 else end)
        places = [label.span(label.lastindex or 0) for label in labels]
        return places if self.several else places[:1]

    def place_in_words(self, text: str) -> list[tuple[int, int]]:
        """Return begin and end of the label in a reply without fields; none if it names no label, or several."""
        matches = list(self.label.finditer(text))
        names = {text[slice(*match.span(match.lastindex or 0))].casefold() for match in matches}
        if len(names) != 1 or self.several:
            return []
        return [matches[0].span(matches[0].lastindex or 0)]

    def same(self, text: str, label: str) -> bool:
        """Whether a text could be the beginning of a label, or all of it and more."""
        if len(text) > len(label):
            begin, after = text[: len(label)], text[len(label)]
            return begin.casefold() == label.casefold() and not (after.isalnum() or after == "_")
        return label.casefold().startswith(text.casefold())


@lru_cache(maxsize=256)
def closed_labels(signature: Any, field: str) -> _ClosedLabels | None:
    """Return how an output field says its labels; ``None`` if it has no closed set, or says it in another way."""
    # A ``bool``, a ``Literal`` of texts, a list of such, and a list of objects with one such property do.
    info = signature.output_fields.get(field)
    if info is None:
        return None
    kind, key = info.annotation, ""
    if several := get_origin(kind) is list:
        (kind,) = get_args(kind)
        if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
            named = {name: _labels(part.annotation) for name, part in kind.model_fields.items()}
            key, *others = [name for name, labels in named.items() if labels] or [""]
            kind = kind.model_fields[key].annotation if key and not others else None
    labels = _labels(kind)
    if len({label.casefold() for label in labels}) < max(2, len(labels)):
        return None
    return _ClosedLabels(
        labels=labels,
        # What begins a field in the prompt formats: chat and JSON.
        opening=re.compile(rf"\[\[ ## {field} ## \]\]|[\"']{field}[\"']\s*:"),
        label=_pattern(labels, key, several),
        several=several,
    )


def _labels(kind: Any) -> tuple[str, ...]:
    if kind is bool:
        return ("True", "False")
    values = get_args(kind) if get_origin(kind) is Literal else ()
    return values if all(isinstance(value, str) and value for value in values) else ()


def _pattern(labels: Sequence[str], key: str, several: bool) -> re.Pattern[str]:
    label = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    if key:
        own = rf"[\"']{key}[\"']\s*:\s*[\"']?({label})(?!\w)"
    else:
        own = rf"[\"']({label})[\"']" if several else rf"(?<!\w)({label})(?!\w)"
    return re.compile(own, re.IGNORECASE)


def label_probabilities(
    signature: Any, field: str, tokens: Sequence[TokenLogprob], has_fields: bool = True
) -> list[dict[str, float]]:
    """Return label -> probability for each label that a reply gives in a field, in its order."""
    # A reply without fields, to a prompt that stands as its user wrote it, says the label anywhere.
    closed = closed_labels(signature, field)
    if closed is None:
        return []
    text = "".join(token.token for token in tokens)
    places = closed.places(text) if has_fields else closed.place_in_words(text)
    shares = [_shares(closed, _steps(tokens, *place)) for place in places]
    return shares if all(shares) else []


@dataclass(frozen=True, kw_only=True)
class _Step:
    """One token of a label: what of it belongs to the label, its probability, and what else might have been said."""

    text: str
    probability: float
    others: Mapping[str, float]


def _steps(tokens: Sequence[TokenLogprob], start: int, end: int) -> Iterator[_Step]:
    """Yield the tokens that say what stands from ``start`` to ``end``."""
    after = 0
    for token in tokens:
        begin, after = after, after + len(token.token)
        if after <= start or begin >= end:
            continue
        lead = token.token[: max(0, start - begin)]
        others: dict[str, float] = {}
        for other in token.top:
            if other.token != token.token:
                text = other.token.removeprefix(lead)
                text = text.lstrip(_BEFORE) if begin <= start else text
                others[text] = others.get(text, 0.0) + _probability(other)
        yield _Step(text=token.token[len(lead) :], probability=_probability(token), others=others)


def _probability(token: TokenLogprob | TopLogprob) -> float:
    return math.exp(min(0.0, token.logprob))  # an endpoint may say anything


def _shares(closed: _ClosedLabels, steps: Iterator[_Step]) -> dict[str, float]:
    """Return label -> probability; nothing without a single alternative."""
    masses, possible = dict.fromkeys(closed.labels, 0.0), closed.labels
    mass, begin, alternatives = 1.0, "", 0
    for step in steps:
        if len(possible) == 1:
            break
        alternatives += len(step.others)
        for text, probability in step.others.items():
            meant = [label for label in possible if text and closed.same(begin + text, label)]
            for label in meant:
                masses[label] += mass * probability / len(meant)
        mass, begin = mass * step.probability, begin + step.text
        possible = tuple(label for label in possible if closed.same(begin, label))
    for label in possible:
        masses[label] += mass / len(possible)
    total = sum(masses.values())
    if not alternatives or not total > 0:
        return {}
    return {label: round(share / total, 6) for label, share in masses.items()}
