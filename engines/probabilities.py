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
        found = self.label.finditer(text, start, len(text) if end < 0 else end)
        places = [one.span(one.lastindex or 0) for one in found]
        return places if self.several else places[:1]

    def same(self, one: str, two: str) -> bool:
        """Whether ``one`` could be the beginning of ``two``, or all of it and more."""
        if len(one) > len(two):
            one, rest = one[: len(two)], one[len(two)]
            return one.casefold() == two.casefold() and not (rest.isalnum() or rest == "_")
        return two.casefold().startswith(one.casefold())


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
            named = {name: _labels(one.annotation) for name, one in kind.model_fields.items()}
            key, *others = [name for name, labels in named.items() if labels] or [""]
            kind = kind.model_fields[key].annotation if key and not others else None
    labels = _labels(kind)
    if len({label.casefold() for label in labels}) < max(2, len(labels)):
        return None
    return _ClosedLabels(
        labels=labels,
        # What begins a field in the prompt formats: chat, JSON and XML.
        opening=re.compile(rf"\[\[ ## {field} ## \]\]|[\"']{field}[\"']\s*:|<{field}>"),
        label=_pattern(labels, key, several),
        several=several,
    )


def _labels(kind: Any) -> tuple[str, ...]:
    if kind is bool:
        return ("True", "False")
    values = get_args(kind) if get_origin(kind) is Literal else ()
    return values if all(isinstance(value, str) and value for value in values) else ()


def _pattern(labels: Sequence[str], key: str, several: bool) -> re.Pattern[str]:
    one = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    if key:
        return re.compile(rf"[\"']{key}[\"']\s*:\s*[\"']?({one})(?!\w)|<{key}>\s*({one})\s*<", re.IGNORECASE)
    return re.compile(rf"[\"']({one})[\"']" if several else rf"(?<!\w)({one})(?!\w)", re.IGNORECASE)


def label_probabilities(signature: Any, field: str, tokens: Sequence[TokenLogprob]) -> list[dict[str, float]]:
    """Return label -> probability for each label that a reply gives in a field, in its order."""
    closed = closed_labels(signature, field)
    if closed is None:
        return []
    found = [
        _shares(closed, _said(tokens, *place))
        for place in closed.places("".join(token.token for token in tokens))
    ]
    return [one for one in found if one] if all(found) else []


@dataclass(frozen=True, kw_only=True)
class _Step:
    """One token of a label: what of it belongs to the label, its probability, and what else might have been said."""

    text: str
    probability: float
    others: Mapping[str, float]


def _said(tokens: Sequence[TokenLogprob], start: int, end: int) -> Iterator[_Step]:
    """Yield the tokens that say what stands from ``start`` to ``end``."""
    place = 0
    for token in tokens:
        begin, place = place, place + len(token.token)
        if place <= start or begin >= end:
            continue
        lead = token.token[: max(0, start - begin)]
        others: dict[str, float] = {}
        for one in token.top:
            if one.token != token.token:
                text = one.token.removeprefix(lead)
                text = text.lstrip(_BEFORE) if begin <= start else text
                others[text] = others.get(text, 0.0) + _probability(one)
        yield _Step(text=token.token[len(lead) :], probability=_probability(token), others=others)


def _probability(token: TokenLogprob | TopLogprob) -> float:
    return math.exp(min(0.0, token.logprob))  # an endpoint may say anything


def _shares(closed: _ClosedLabels, steps: Iterator[_Step]) -> dict[str, float]:
    """Return label -> probability; nothing without a single alternative."""
    found, open_ones = dict.fromkeys(closed.labels, 0.0), closed.labels
    mass, said, alternatives = 1.0, "", 0
    for step in steps:
        if len(open_ones) == 1:
            break
        alternatives += len(step.others)
        for text, probability in step.others.items():
            meant = [label for label in open_ones if text and closed.same(said + text, label)]
            for label in meant:
                found[label] += mass * probability / len(meant)
        mass, said = mass * step.probability, said + step.text
        open_ones = tuple(label for label in open_ones if closed.same(said, label))
    for label in open_ones:
        found[label] += mass / len(open_ones)
    total = sum(found.values())
    if not alternatives or not total > 0:
        return {}
    return {label: round(share / total, 6) for label, share in found.items()}
