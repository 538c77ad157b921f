"""What a label's name says: a position on a few axes, from which its prior weights follow.

``support``   +1 the evidence supports it, -1 it does not;
``cognitive`` +1 an inference, opinion or suggestion, -1 a plain statement of fact;
``offtopic``  +1 not a statement to judge at all (greeting, filler, question);
``clash``     +1 the evidence says the opposite;
``bar``       +1 less support is enough;
``loose``     +1 evaluative, hedged or sweeping wording leaves other readings open.
The names are in data/labels.toml. An unknown name lies at the origin unless the instruction defines it; only
demonstrations can teach such a label. How much one unit of a feature speaks for the positive end of an axis is set by
hand in round numbers (data/prior.toml), and moved by what the instruction asks for.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...text.tables import table
from .features import NAMES

AXES: Final = ("support", "cognitive", "offtopic", "clash", "strength", "bar", "loose")


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """A label's place on the axes, each in [-2, 2]; ``known`` is false when nothing said so."""

    support: float = 0.0
    cognitive: float = 0.0
    offtopic: float = 0.0
    clash: float = 0.0
    strength: float = 0.0
    bar: float = 0.0
    loose: float = 0.0
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
_TESTS: Final = tuple(
    (row["cue"], row.get("described", ""), Meaning(**row["yes"]), Meaning(**row["no"]))
    for row in _DATA["test"]
)
_DEFINED: Final = {name: re.compile(pattern) for name, pattern in _DATA["definition"].items()}
_DEFINITIONS: Final = {
    "offtopic": Meaning(offtopic=1.0),
    "unsupported": Meaning(support=-1.0),
    "supported": Meaning(support=1.0),
}
_GOES_BEYOND: Final = Meaning(support=-0.25, cognitive=1.0)
_STATES_FACTS: Final = Meaning(support=0.25, cognitive=-1.0)
# Beside labels of facts, what goes beyond the evidence shares its words least of all.
_BESIDE_FACTS: Final = Meaning(support=-1.0, cognitive=1.0)


def meaning_of(name: str) -> Meaning:
    """Return the meaning of a label name (or of a boolean field's name being true)."""
    lowered = name.strip().lower()
    return next((meaning for cue, meaning in _NAMES if cue.search(lowered)), _UNKNOWN)


def definition_of(label: str, instruction: str) -> str:
    """Return what an instruction says after ``label:`` (or =, means, if, when), to the end of its sentence."""
    found = re.search(
        rf"(?<!\w){re.escape(label)}(?!\w)[`'\"*]*\s*(?:[:：=(]|means|if|when|where|表示|指)\s*([^.;。；\n]*)",
        instruction,
        re.I,
    )
    return found.group(1) if found else ""


def _by_definition(label: str, labels: tuple[str, ...], instruction: str) -> Meaning:
    """Return what the definition of a label means, up to the next label."""
    text = definition_of(label, instruction).lower()
    for other in labels:
        if other != label:
            text = re.split(rf"(?<!\w){re.escape(other.lower())}(?!\w)", text)[0]
    name = next((name for name, cue in _DEFINED.items() if cue.search(text)), "")
    return _DEFINITIONS.get(name, _UNKNOWN)


def field_truth(field_name: str) -> Meaning:
    """Return what ``True`` (or ``yes``) means for a field; an unknown name means supported."""
    meaning = meaning_of(field_name)
    return meaning if meaning.known and meaning.group != "other" else Meaning(support=1.0)


def _opposite(meaning: Meaning) -> Meaning:
    if meaning.offtopic > 0:
        return Meaning(support=0.5)
    return Meaning(support=-meaning.support or -1.0, cognitive=meaning.cognitive, strength=meaning.strength)


def meanings(
    labels: tuple[str, ...], field_name: str, instruction: str, description: str = ""
) -> tuple[Meaning, ...]:
    """Return the meaning of each label of a field, in order."""
    lowered, named = tuple(label.lower() for label in labels), tuple(map(meaning_of, labels))
    if set(lowered) <= {"true", "false"} or set(lowered) <= {"yes", "no"} or set(lowered) <= {"是", "否"}:
        yes = field_truth(field_name)
        no = _opposite(yes)
        for cue, about, holds, fails in _TESTS:
            if re.search(cue, field_name.strip().lower()) and re.search(about, description.lower()):
                yes, no = holds, fails
                break
        return tuple(yes if label in ("true", "yes", "是") else no for label in lowered)
    if len(labels) > 2 and all(one.cognitive > 0 and one.support for one in named):
        # Nothing but tiers: what goes beyond the evidence is measured by less of it.
        return tuple(
            Meaning(
                support=one.support / 2,
                clash=one.clash,
                bar=float(one.support > 0),
                loose=float(one.support > 0 and one.strength <= 0),
            )
            for one in named
        )
    found = []
    typing = Meaning(cognitive=1.0) in named
    seven = any(one.cognitive > 0 for one in named)
    beside = {one.group for one in named} >= {"supported", "unsupported"}
    denied = field_truth(field_name).support < 0
    for label, meaning in zip(labels, named, strict=True):
        if denied and label.lower() in ("yes", "no", "是", "否"):
            meaning = _opposite(meaning)  # beside a third answer, too, yes is that what the field names is so
        if typing and re.search("fact|事实|客观", label.lower()):
            meaning = _STATES_FACTS
        elif typing and meaning == Meaning(cognitive=1.0):
            meaning = _BESIDE_FACTS if beside else _GOES_BEYOND
        elif typing and beside and meaning.known and abs(meaning.support) == 1.0:
            meaning = Meaning(support=meaning.support / 2, cognitive=-1.0)
        elif seven and meaning.known and meaning.support and not meaning.cognitive and not meaning.clash:
            meaning = Meaning(support=meaning.support, cognitive=-1.0)
        found.append(meaning if meaning.known else _by_definition(label, labels, instruction))
    return tuple(found)


BIAS: Final = "bias"
DIRECTIONS: Final[dict[str, dict[str, float]]] = table(__package__, "prior")
"""Axis -> feature -> how much one unit of it speaks for the positive end of the axis."""


def prior_weights(
    meanings: tuple[Meaning, ...], shifts: Mapping[tuple[str, str], float]
) -> NDArray[np.float64]:
    """Return the weights of labels, shape (labels, features + bias): their places on the axes times the directions.

    ``shifts``: (axis, feature or ``"bias"``) -> what the instruction adds to a direction.
    """
    columns = {name: i for i, name in enumerate((*NAMES, BIAS))}
    weights = np.zeros((len(meanings), len(columns)))
    totals = {(axis, name): w for axis, table in DIRECTIONS.items() for name, w in table.items()}
    for key, delta in shifts.items():
        totals[key] = totals.get(key, 0.0) + delta
    for row, meaning in enumerate(meanings):
        for axis in AXES:
            place = float(getattr(meaning, axis))
            if axis not in ("support", "cognitive", "strength"):
                place = max(place, 0.0)
            for (of, name), weight in totals.items():
                if of == axis and place:
                    weights[row, columns[name]] += place * weight
    return weights
