"""What a label's name, or its definition in the instruction, says: prior weights, before any demonstration."""

import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...text.tables import table
from .features import NAMES


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """A label's place on the axes, each in [-1, 1]; ``known`` is false when nothing said so."""

    support: float = 0.0  # +1 the evidence supports it, -1 it does not
    cognitive: float = 0.0  # +1 an inference, opinion or suggestion, -1 a plain statement of fact
    offtopic: float = 0.0  # +1 not a statement to judge at all (greeting, filler, question)
    clash: float = 0.0  # +1 the evidence says the opposite
    lenient: float = 0.0  # +1 little support is enough
    known: bool = True

    @property
    def group(self) -> str:
        """The verdict this label amounts to: labels of one group pool their probability."""
        if not self.known:
            return "unknown"
        if self.offtopic > 0:
            return "offtopic"
        return "supported" if self.support > 0 else "unsupported" if self.support < 0 else "other"


_UNKNOWN: Final = Meaning(known=False)
_DATA: Final = table(__package__, "labels")
_NAMES: Final = tuple((re.compile(row["cue"]), Meaning(**row["place"])) for row in _DATA["name"])
_DEFINED: Final = {
    "offtopic": Meaning(offtopic=1.0),
    "unsupported": Meaning(support=-1.0),
    "supported": Meaning(support=1.0),
}
_YES: Final = ("true", "yes", "是")
_NO: Final = ("false", "no", "否")


def meaning_of(name: str) -> Meaning:
    """Return the meaning of a label name (or of a boolean field's name being true)."""
    lowered = name.strip().lower()
    return next((meaning for cue, meaning in _NAMES if cue.search(lowered)), _UNKNOWN)


def definition_of(label: str, instruction: str) -> str:
    """Return the definition of a label in an instruction: its sentence after ``label:`` (or =, means, if, when)."""
    defined = re.search(
        rf"(?<!\w){re.escape(label)}(?!\w)[`'\"*]*\s*(?:[:：=(]|means|if|when|where|表示|指)\s*([^.;。；\n]*)",
        instruction,
        re.I,
    )
    return defined[1] if defined else ""


def _by_definition(label: str, labels: tuple[str, ...], instruction: str) -> Meaning:
    """Return the meaning of a label by the cues in its definition, up to the next label."""
    text = definition_of(label, instruction).lower()
    for other in labels:
        if other != label:
            text = re.split(rf"(?<!\w){re.escape(other.lower())}(?!\w)", text)[0]
    cues = _DATA["definition"].items()
    return next((_DEFINED[name] for name, cue in cues if re.search(cue, text)), _UNKNOWN)


def meanings(labels: tuple[str, ...], field_name: str, instruction: str) -> tuple[Meaning, ...]:
    """Return the meaning of each label of a field, in order."""
    yes = meaning_of(field_name)
    if not yes.known or yes.group == "other":  # an unknown name means supported
        yes = Meaning(support=1.0)
    no = Meaning(support=-yes.support or 1.0, cognitive=yes.cognitive)
    places = []
    for label in labels:
        meaning = meaning_of(label)
        if label.lower() in _YES or label.lower() in _NO:  # of what the field names
            meaning = yes if label.lower() in _YES else no
        places.append(meaning if meaning.known else _by_definition(label, labels, instruction))
    if any(place.cognitive > 0 for place in places):
        for number, place in enumerate(places):
            if place.support and not place.cognitive:  # beside labels of inferences: plain statements of fact
                places[number] = replace(place, cognitive=-1.0)
    return tuple(places)


_AXES: Final[dict[str, dict[str, float]]] = table(__package__, "prior")
"""Axis -> feature -> how much one unit of it speaks for the positive end of the axis."""


def prior_weights(labels: tuple[Meaning, ...]) -> NDArray[np.float64]:
    """Return the weights of labels, shape (labels, features + bias): their places on the axes times the directions."""
    columns = {name: place for place, name in enumerate((*NAMES, "bias"))}
    weights = np.zeros((len(labels), len(columns)))
    for row, meaning in enumerate(labels):
        for axis, directions in _AXES.items():
            for name, weight in directions.items():
                weights[row, columns[name]] += getattr(meaning, axis) * weight
    return weights


def prior_of(name: str) -> NDArray[np.float64]:
    """Return the weights of "what the name says is so" and of its being not so, shape (2, features + bias)."""
    return prior_weights(meanings(("True", "False"), name, ""))
