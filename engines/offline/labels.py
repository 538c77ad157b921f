"""The meaning of labels by their names or their definitions: prior weights, before any demonstration."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from ...text.tables import read_table
from .features import NAMES, Matrix
from .shapes import TRUTH

Group: TypeAlias = Literal["supported", "unsupported", "offtopic", "other", "unknown"]
"""The verdict that a label amounts to."""


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """A label's place on the axes, each in [-1, 1]; ``is_known`` is false when no cue told it."""

    support: float = 0.0  # +1 the evidence supports it, -1 it does not
    cognitive: float = 0.0  # +1 an inference, opinion or suggestion, -1 a plain statement of fact
    offtopic: float = 0.0  # +1 not a statement to judge at all (greeting, filler, question)
    clash: float = 0.0  # +1 the evidence says the opposite
    lenient: float = 0.0  # +1 little support is enough
    is_known: bool = True

    @property
    def group(self) -> Group:
        """The verdict this label amounts to: labels of one group pool their probability."""
        if not self.is_known:
            return "unknown"
        if self.offtopic > 0:
            return "offtopic"
        if self.support > 0:
            return "supported"
        if self.support < 0:
            return "unsupported"
        return "other"


_UNKNOWN: Final = Meaning(is_known=False)
_SUPPORTED: Final = Meaning(support=1.0)
_UNSUPPORTED: Final = Meaning(support=-1.0)
_DATA: Final = read_table(__package__, "labels")
_NAME_CUES: Final = tuple((re.compile(row["cue"]), Meaning(**row["place"])) for row in _DATA["name"])
"""(pattern of a label's name, meaning), the first that matches decides."""
_DEFINITION_CUES: Final[dict[str, str]] = _DATA["definition"]
"""Group -> pattern of a definition, the first that matches decides."""
_DEFINED_MEANINGS: Final = {
    "offtopic": Meaning(offtopic=1.0),
    "unsupported": _UNSUPPORTED,
    "supported": _SUPPORTED,
}
_YES_LABELS: Final = ("true", "yes", "是")
_NO_LABELS: Final = ("false", "no", "否")
_COLUMNS: Final = {name: place for place, name in enumerate((*NAMES, "bias"))}
"""Feature, or bias -> its column in the weights."""
_AXES: Final[dict[str, dict[str, float]]] = read_table(__package__, "prior")
"""Axis -> feature -> how much one unit of it speaks for the positive end of the axis."""


def meaning_of(name: str) -> Meaning:
    """Return the meaning of a label by its name, or of a boolean field being true; unknown without a cue."""
    lowered = name.strip().lower()
    for cue, meaning in _NAME_CUES:
        if cue.search(lowered):
            return meaning
    return _UNKNOWN


def find_definition(label: str, instruction: str) -> str:
    """Return the definition of a label in an instruction: its sentence after ``label:`` (or =, means, if, when)."""
    definition = re.search(
        rf"(?<!\w){re.escape(label)}(?!\w)[`'\"*]*\s*(?:[:：=(]|means|if|when|where|表示|指)\s*([^.;。；\n]*)",
        instruction,
        re.I,
    )
    return definition[1] if definition else ""


def _defined_meaning(label: str, labels: Sequence[str], instruction: str) -> Meaning:
    """Return the meaning of a label by the cues in its definition, up to the next label; unknown without a cue."""
    definition = find_definition(label, instruction).lower()
    for next_label in labels:
        if next_label != label:
            pattern = rf"(?<!\w){re.escape(next_label.lower())}(?!\w)"
            definition = re.split(pattern, definition)[0]
    for group, cue in _DEFINITION_CUES.items():
        if re.search(cue, definition):
            return _DEFINED_MEANINGS[group]
    return _UNKNOWN


def meanings(labels: Sequence[str], field_name: str, instruction: str) -> tuple[Meaning, ...]:
    """Return the meaning of each label of a field, in order."""
    yes = _meaning_of_yes(field_name)
    no = Meaning(support=-yes.support or 1.0, cognitive=yes.cognitive)
    label_meanings: list[Meaning] = []
    for label in labels:
        lowered = label.lower()
        if lowered in _YES_LABELS:
            meaning = yes
        elif lowered in _NO_LABELS:
            meaning = no
        else:
            meaning = meaning_of(label)
        if not meaning.is_known:
            meaning = _defined_meaning(label, labels, instruction)
        label_meanings.append(meaning)
    if any(meaning.cognitive > 0 for meaning in label_meanings):
        for place, meaning in enumerate(label_meanings):
            label_meanings[place] = _beside_inferences(meaning)
    return tuple(label_meanings)


def _meaning_of_yes(field_name: str) -> Meaning:
    """Return the meaning of "yes" to what a field names; an unknown name is taken for supported."""
    meaning = meaning_of(field_name)
    if not meaning.is_known or meaning.group == "other":
        return _SUPPORTED
    return meaning


def _beside_inferences(meaning: Meaning) -> Meaning:
    """Return the meaning of a label that has labels of inferences beside it: it stands for plain facts, or for one."""
    if meaning.support and not meaning.cognitive:
        return replace(meaning, cognitive=-1.0)
    return meaning


def prior_weights(label_meanings: Sequence[Meaning]) -> Matrix:
    """Return the weights of labels, shape (labels, features + bias): their places on the axes times the directions."""
    weights: Matrix = []
    for meaning in label_meanings:
        label_weights = [0.0] * len(_COLUMNS)
        for axis, directions in _AXES.items():
            place_on_axis = getattr(meaning, axis)
            for name, weight in directions.items():
                label_weights[_COLUMNS[name]] += place_on_axis * weight
        weights.append(label_weights)
    return weights


def prior_of(name: str) -> Matrix:
    """Return the weights of "what the name says is so" and of its being not so, shape (2, features + bias)."""
    return prior_weights(meanings(TRUTH, name, ""))
