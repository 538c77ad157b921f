"""The content of a version, held against the types that its files have: the card, the history and what was added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import ArtifactError
from ..text.redaction import publishable
from .card import Card, CardContent
from .part import Part
from .records import CandidateRecord, MeasuredByLabels, MeasuredRobustness
from .sealing import CARD, DISAGREEMENTS, HISTORY, ROBUSTNESS, JsonObject, Sealed

if TYPE_CHECKING:
    from ..programs.judge import Judge

_ADDED_PARTS: Mapping[str, type[Part]] = {
    ROBUSTNESS: MeasuredRobustness,
    DISAGREEMENTS: MeasuredByLabels,
}
"""File that was added after a save -> the type of its content."""


def faults_of(sealed: Sealed, judge: str, version: int) -> tuple[str, ...]:
    """Return the faults of a version: of its seal, else of its place in the store, its card or its history."""
    if sealed.faults:
        return sealed.faults
    if (sealed.card.get("judge"), sealed.card.get("version")) != (judge, version):
        moved = f"{sealed.card.get('judge')}@{sealed.card.get('version')}"
        return (f"{CARD}: says {moved}, but lies in the folder of {judge}@{version}",)
    fault = Card.fault(sealed.card)
    if fault:
        return (f"{CARD}: {fault}",)
    for number, line in enumerate(sealed.history, 1):
        fault = CandidateRecord.fault(line)
        if fault:
            return (f"{HISTORY}: line {number}: {fault}",)
    return ()


def readable_card(sealed: Sealed) -> JsonObject:
    """Return the card of a version as JSON; an empty one if it is no card."""
    return {} if Card.fault(sealed.card) else sealed.card


def checked_additions(sealed: Sealed) -> tuple[dict[str, JsonObject], tuple[str, ...]]:
    """Return the usable files that were added after the save, name -> content, and the faults of the others."""
    additions: dict[str, JsonObject] = {}
    faults: list[str] = []
    for name, content in sealed.added.items():
        fault = _ADDED_PARTS[name].fault(content)
        if fault:
            faults.append(f"{name}: {fault}")
        else:
            additions[name] = content
    return additions, tuple(faults)


def read_content(judge: Judge, card: CardContent | Mapping[str, object]) -> CardContent:
    """Return the content of a card, read from JSON values where it is given so; else ``ArtifactError``."""
    if isinstance(card, CardContent):
        return card
    try:
        plain_card = publishable(dict(card))
    except (TypeError, ValueError) as error:
        raise unwritable_error(judge, str(error)) from error
    fault = CardContent.fault(plain_card)
    if fault:
        raise unwritable_error(judge, fault)
    return CardContent.model_validate(plain_card)


def unwritable_error(judge: Judge, fault: str) -> ArtifactError:
    """Return the error for a version that cannot be written."""
    return ArtifactError(
        f"the prompt, the card or the history of {judge.name} cannot be written: {fault}",
        hint="put only text, numbers, booleans, lists and objects in them",
    )
