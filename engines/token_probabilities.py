"""The probability of each label of an output field, from the tokens of a reply.

A label may be several tokens, and several labels may begin alike: from its first token on, the alternatives of each
token are divided among the labels that they could still become, until one label is left. An alternative that becomes
no label is left out, so that the probabilities of a label's place add up to 1.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, get_origin

import dspy
import pydantic
from dspy.lm15 import TokenLogprob, TopLogprob

from .identity_cache import IdentityCache

_BEFORE_LABEL: Final = " \t\r\n\"'`*:([{>"
"""Characters that a token may hold in front of its label."""


@dataclass(frozen=True, kw_only=True)
class ClosedField:
    """The place of closed labels in an output field: the labels, where the field begins, and each of its labels."""

    labels: tuple[str, ...]
    opening: re.Pattern[str]
    label: re.Pattern[str]
    has_several: bool

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return begin and end of each label that a reply gives in the last section of the field."""
        openings = list(self.opening.finditer(text))
        if not openings:
            return []
        start = openings[-1].end()
        end = text.find("\n[[ ## ", start)
        if end < 0:
            end = len(text)
        places = self._label_places(text, start, end)
        if self.has_several:
            return places
        return places[:1]

    def place_in_words(self, text: str) -> list[tuple[int, int]]:
        """Return begin and end of the label in a reply without fields; none if it names no label, or several."""
        places = self._label_places(text, 0, len(text))
        named_labels = {text[start:end].casefold() for start, end in places}
        if len(named_labels) != 1 or self.has_several:
            return []
        return places[:1]

    def _label_places(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Return begin and end of each label between two places of a text."""
        matches = self.label.finditer(text, start, end)
        return [match.span(match.lastindex or 0) for match in matches]

    def labels_after(self, beginning: str, labels: Sequence[str]) -> Sequence[str]:
        """Return the labels that a text could be the beginning of."""
        return [label for label in labels if self.could_be(beginning, label)]

    def could_be(self, text: str, label: str) -> bool:
        """Say whether a text could be the beginning of a label, or all of it and more."""
        if len(text) <= len(label):
            return label.casefold().startswith(text.casefold())
        beginning, next_character = text[: len(label)], text[len(label)]
        ends_there = not next_character.isalnum() and next_character != "_"
        return ends_there and beginning.casefold() == label.casefold()


def _closed_fields_of(signature: type[dspy.Signature]) -> Mapping[str, ClosedField]:
    """Return the output fields of a signature that give labels of a closed set, by name."""
    fields = dict[str, ClosedField]()
    for name, info in signature.output_fields.items():
        closed = _closed_field(name, info.annotation)
        if closed is not None:
            fields[name] = closed
    return fields


closed_fields: Final[IdentityCache[Mapping[str, ClosedField]]] = IdentityCache(_closed_fields_of)
"""Signature -> its output fields that give labels of a closed set, by name."""


def _closed_field(name: str, kind: Any) -> ClosedField | None:
    """Return how an output field of a type gives its labels; ``None`` if it has no closed set or another form."""
    # A ``bool``, a ``Literal`` of texts, a list of such, and a list of objects with one such property have one.
    label_property = ""
    has_several = get_origin(kind) is list
    if has_several and get_args(kind):
        (kind,) = get_args(kind)
        if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
            label_property = _label_property(kind)
            if label_property:
                kind = kind.model_fields[label_property].annotation
    labels = _labels_of(kind)
    different_labels = {label.casefold() for label in labels}
    if len(different_labels) < max(2, len(labels)):
        return None
    return ClosedField(
        labels=labels,
        # What begins a field in the prompt formats: chat and JSON.
        opening=re.compile(rf"\[\[ ## {name} ## \]\]|[\"']{name}[\"']\s*:"),
        label=_label_pattern(labels, label_property, has_several),
        has_several=has_several,
    )


def _label_property(model: type[pydantic.BaseModel]) -> str:
    """Return the name of an object's only property of closed labels; empty without one, or with several."""
    names = [name for name, part in model.model_fields.items() if _labels_of(part.annotation)]
    if len(names) != 1:
        return ""
    return names[0]


def _labels_of(kind: object) -> tuple[str, ...]:
    """Return the labels of a ``bool`` or a ``Literal`` of texts; none for any other type."""
    if kind is bool:
        return ("True", "False")
    if get_origin(kind) is not Literal:
        return ()
    values = get_args(kind)
    if not all(isinstance(value, str) and value for value in values):
        return ()
    return values


def _label_pattern(labels: Sequence[str], label_property: str, has_several: bool) -> re.Pattern[str]:
    """Return the pattern of one label as a reply writes it: as a property, in quotation marks, or as a bare word."""
    longest_first = sorted(labels, key=len, reverse=True)
    label = "|".join(re.escape(text) for text in longest_first)
    if label_property:
        pattern = rf"[\"']{label_property}[\"']\s*:\s*[\"']?({label})(?!\w)"
    elif has_several:
        pattern = rf"[\"']({label})[\"']"
    else:
        pattern = rf"(?<!\w)({label})(?!\w)"
    return re.compile(pattern, re.IGNORECASE)


def label_probabilities(
    signature: type[dspy.Signature], field: str, tokens: Sequence[TokenLogprob], has_fields: bool = True
) -> list[dict[str, float]]:
    """Return label -> probability for each label that a reply gives in a field, in its order."""
    # A reply without fields, to a prompt that stands as its user wrote it, says the label anywhere.
    closed = closed_fields(signature).get(field)
    if closed is None:
        return []
    text = "".join(token.token for token in tokens)
    find_places = closed.places if has_fields else closed.place_in_words
    probabilities = list[dict[str, float]]()
    for start, end in find_places(text):
        label_shares = _divide_among_labels(closed, _tokens_of_label(tokens, start, end))
        if not label_shares:
            return []
        probabilities.append(label_shares)
    return probabilities


@dataclass(frozen=True, kw_only=True)
class _LabelToken:
    """One token of a label: the part of it that belongs to the label, its probability, and those of alternatives."""

    text: str
    probability: float
    alternatives: Mapping[str, float]


def _tokens_of_label(tokens: Sequence[TokenLogprob], start: int, end: int) -> Iterator[_LabelToken]:
    """Yield the tokens whose text lies between two places of a reply."""
    token_end = 0
    for token in tokens:
        token_start, token_end = token_end, token_end + len(token.token)
        if token_end <= start or token_start >= end:
            continue
        lead = token.token[: max(0, start - token_start)]
        yield _LabelToken(
            text=token.token[len(lead) :],
            probability=_probability(token),
            alternatives=_alternatives_of(token, lead, begins_label=token_start <= start),
        )


def _alternatives_of(token: TokenLogprob, lead: str, *, begins_label: bool) -> dict[str, float]:
    """Return the alternatives of a token, without what stands in front of the label, with their probabilities."""
    alternatives = dict[str, float]()
    for alternative in token.top:
        if alternative.token == token.token:
            continue
        text = alternative.token.removeprefix(lead)
        if begins_label:
            text = text.lstrip(_BEFORE_LABEL)
        alternatives[text] = alternatives.get(text, 0.0) + _probability(alternative)
    return alternatives


def _probability(token: TokenLogprob | TopLogprob) -> float:
    """Return the probability of a token; 1 at most, as an endpoint may say anything."""
    return math.exp(min(0.0, token.logprob))


def _divide_among_labels(closed: ClosedField, label_tokens: Iterator[_LabelToken]) -> dict[str, float]:
    """Return label -> probability at one place; empty without a single alternative."""
    masses = dict.fromkeys(closed.labels, 0.0)
    possible_labels: Sequence[str] = closed.labels
    mass, beginning, alternatives = 1.0, "", 0
    for token in label_tokens:
        if len(possible_labels) == 1:
            break
        alternatives += len(token.alternatives)
        for text, probability in token.alternatives.items():
            if not text:
                continue
            meant_labels = closed.labels_after(beginning + text, possible_labels)
            for label in meant_labels:
                masses[label] += mass * probability / len(meant_labels)
        mass *= token.probability
        beginning += token.text
        possible_labels = closed.labels_after(beginning, possible_labels)
    for label in possible_labels:
        masses[label] += mass / len(possible_labels)
    total = sum(masses.values())
    if not alternatives or not total > 0:
        return {}
    return {label: round(label_mass / total, 6) for label, label_mass in masses.items()}
