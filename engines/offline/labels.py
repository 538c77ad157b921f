"""What a label's name, or its definition in the instruction, says: prior weights, before any demonstration."""

import re
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

    support: float = 0.0  # +1 the evidence supports it, -1 it does not
    cognitive: float = 0.0  # +1 an inference, opinion or suggestion, -1 a plain statement of fact
    offtopic: float = 0.0  # +1 not a statement to judge at all (greeting, filler, question)
    clash: float = 0.0  # +1 the evidence says the opposite
    strength: float = 0.0
    bar: float = 0.0  # +1 less support is enough
    loose: float = 0.0  # +1 evaluative, hedged or sweeping wording leaves other readings open
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
_DEFINED: Final = {
    "offtopic": Meaning(offtopic=1.0),
    "unsupported": Meaning(support=-1.0),
    "supported": Meaning(support=1.0),
}
_TRUTHS: Final = (("true", "false"), ("yes", "no"), ("是", "否"))


def meaning_of(name: str) -> Meaning:
    """Return the meaning of a label name (or of a boolean field's name being true)."""
    lowered = name.strip().lower()
    return next((meaning for cue, meaning in _NAMES if cue.search(lowered)), _UNKNOWN)


def definition_of(label: str, instruction: str) -> str:
    """Return what an instruction says after ``label:`` (or =, means, if, when), to the end of its sentence."""
    defined = re.search(
        rf"(?<!\w){re.escape(label)}(?!\w)[`'\"*]*\s*(?:[:：=(]|means|if|when|where|表示|指)\s*([^.;。；\n]*)",
        instruction,
        re.I,
    )
    return defined.group(1) if defined else ""


def _by_definition(label: str, labels: tuple[str, ...], instruction: str) -> Meaning:
    """Return what the definition of a label means, up to the next label."""
    text = definition_of(label, instruction).lower()
    for other in labels:
        if other != label:
            text = re.split(rf"(?<!\w){re.escape(other.lower())}(?!\w)", text)[0]
    cues = _DATA["definition"].items()
    return next((_DEFINED.get(name, _UNKNOWN) for name, cue in cues if re.search(cue, text)), _UNKNOWN)


def _opposite(meaning: Meaning) -> Meaning:
    if meaning.offtopic > 0:
        return Meaning(support=0.5)
    return Meaning(support=-meaning.support or -1.0, cognitive=meaning.cognitive, strength=meaning.strength)


def meanings(
    labels: tuple[str, ...], field_name: str, instruction: str, description: str = ""
) -> tuple[Meaning, ...]:
    """Return the meaning of each label of a field, in order."""
    lowered, named = tuple(label.lower() for label in labels), tuple(map(meaning_of, labels))
    yes = meaning_of(field_name)
    if not yes.known or yes.group == "other":  # an unknown name means supported
        yes = Meaning(support=1.0)
    if any(set(lowered) <= set(truth) for truth in _TRUTHS):
        no = _opposite(yes)
        for cue, about, holds, fails in _TESTS:
            if re.search(cue, field_name.strip().lower()) and re.search(about, description.lower()):
                yes, no = holds, fails
                break
        return tuple(yes if label in ("true", "yes", "是") else no for label in lowered)
    if len(labels) > 2 and all(one.cognitive > 0 and one.support for one in named):
        # a tier among nothing but tiers: what goes beyond the evidence is measured by less of it
        return tuple(
            Meaning(
                support=one.support / 2,
                clash=one.clash,
                bar=float(one.support > 0),
                loose=float(one.support > 0 and one.strength <= 0),
            )
            for one in named
        )
    places = []
    typing = Meaning(cognitive=1.0) in named
    seven = any(one.cognitive > 0 for one in named)
    beside = {one.group for one in named} >= {"supported", "unsupported"}
    for label, meaning in zip(labels, named, strict=True):
        if yes.support < 0 and label.lower() in ("yes", "no", "是", "否"):
            meaning = _opposite(meaning)  # beside a third answer, too, yes is that what the field names is so
        if typing and re.search("fact|事实|客观", label.lower()):
            meaning = Meaning(support=0.25, cognitive=-1.0)
        elif typing and meaning == Meaning(cognitive=1.0):
            # Beside labels of facts, what goes beyond the evidence shares its words least of all.
            meaning = Meaning(support=-1.0 if beside else -0.25, cognitive=1.0)
        elif typing and beside and meaning.known and abs(meaning.support) == 1.0:
            meaning = Meaning(support=meaning.support / 2, cognitive=-1.0)
        elif seven and meaning.known and meaning.support and not meaning.cognitive and not meaning.clash:
            meaning = Meaning(support=meaning.support, cognitive=-1.0)
        places.append(meaning if meaning.known else _by_definition(label, labels, instruction))
    return tuple(places)


BIAS: Final = "bias"
DIRECTIONS: Final[dict[str, dict[str, float]]] = table(__package__, "prior")
"""Axis -> feature -> how much one unit of it speaks for the positive end of the axis."""


def prior_weights(meanings: tuple[Meaning, ...]) -> NDArray[np.float64]:
    """Return the weights of labels, shape (labels, features + bias): their places on the axes times the directions."""
    columns = {name: i for i, name in enumerate((*NAMES, BIAS))}
    weights = np.zeros((len(meanings), len(columns)))
    for row, meaning in enumerate(meanings):
        for axis, directions in DIRECTIONS.items():
            place = float(getattr(meaning, axis))
            if axis not in ("support", "cognitive", "strength"):
                place = max(place, 0.0)
            for name, weight in directions.items():
                weights[row, columns[name]] += place * weight
    return weights
