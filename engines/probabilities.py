"""How probable each label of a reply was, read from the log-probabilities of the tokens that say it.

A label may be several tokens, and several labels may begin alike: from its first token on, what the model might have
said instead is divided among the labels that it could still have become, until one label is left. What would have
been none of the labels is left out, so that the probabilities of a label's place add up to 1.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, get_args, get_origin

import pydantic
from dspy.lm15 import TokenLogprob, TopLogprob

ALTERNATIVES: Final = 20
"""Alternatives that are asked for with each token; an endpoint that refuses so many is asked for what it takes."""
_BEFORE: Final = " \t\r\n\"'`*:([{>"  # what a token may hold before its label


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

    def same(self, text: str, label: str) -> bool:
        """Whether a text could be the beginning of a label, or all of it and more."""
        if len(text) > len(label):
            begin, after = text[: len(label)], text[len(label)]
            return begin.casefold() == label.casefold() and not (after.isalnum() or after == "_")
        return label.casefold().startswith(text.casefold())


@lru_cache(maxsize=256)
def closed_labels(signature: Any, field: str) -> _ClosedLabels | None:
    """Return how an output field says its labels; ``None`` if it has no closed set, or says it in another way.

    A ``bool``, a ``Literal`` of texts, a list of such, and a list of objects with one such property do.
    """
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


def label_probabilities(signature: Any, field: str, tokens: Sequence[TokenLogprob]) -> list[dict[str, float]]:
    """Return label -> probability for each label that a reply gives in a field, in its order."""
    closed = closed_labels(signature, field)
    if closed is None:
        return []
    places = closed.places("".join(token.token for token in tokens))
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
