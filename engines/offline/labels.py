"""What a label's name and an instruction say: prior weights, before any demonstration."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...text.tables import table
from .features import NAMES

_NEGATION: Final = re.compile(
    r"\b(?:do not|don't|does not|never|without|no need|need not|not required|not necessary|avoid|"
    r"rather than|instead of|stop)\b|不要|不必|无需|不需要|不应|避免|不用|别"
)
_SPLIT: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n|\n(?=\s*[-*•\d])")
_CLAUSE: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n\s*\n|\n(?=\s*[-*•\d])")


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One thing an instruction can ask for; data/criteria.toml says what the fields mean."""

    name: str
    cues: tuple[str, ...]
    shifts: Mapping[str, float]
    english: str
    chinese: str
    feature: str = ""
    fixes: str = ""
    evergreen: bool = False
    instead_of: str = ""
    read_only: bool = False


KNOWN: Final = tuple(Criterion(**row) for row in table(__package__, "criteria")["criterion"])
_CUES: Final = {criterion.name: re.compile("|".join(criterion.cues)) for criterion in KNOWN}
BANK: Final = tuple(criterion for criterion in KNOWN if not criterion.read_only)
"""What the proposer asks for; the others are only read."""


def instruction_sentences(text: str) -> list[str]:
    """Split an instruction into sentences or bullet lines. A line may end within a sentence."""
    return [piece.strip() for piece in _SPLIT.split(text) if piece.strip()]


@lru_cache(maxsize=512)
def active(instruction: str) -> tuple[tuple[str, int], ...]:
    """Return the criteria an instruction states: (name, +1), or (name, -1) where it negates one."""
    signs: dict[str, int] = {}
    for clause in _CLAUSE.split(instruction[:20000].lower()):
        matches = {c.name: m for c in KNOWN if (m := _CUES[c.name].search(clause))}
        beaten = {c.instead_of for c in KNOWN if c.name in matches}
        for criterion in KNOWN:
            match = matches.get(criterion.name)
            if match and criterion.name not in beaten:
                before = clause[max(0, match.start() - 40) : match.start()]
                signs[criterion.name] = -1 if not criterion.evergreen and _NEGATION.search(before) else 1
    return tuple(sorted(signs.items()))


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
        return tuple(map(_tier, named))
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


def _tier(meaning: Meaning) -> Meaning:
    """Return the meaning of a tier among nothing but tiers: what goes beyond the evidence is measured by less of it."""
    return Meaning(
        support=meaning.support / 2,
        clash=meaning.clash,
        bar=float(meaning.support > 0),
        loose=float(meaning.support > 0 and meaning.strength <= 0),
    )


BIAS: Final = "bias"
DIRECTIONS: Final[dict[str, dict[str, float]]] = table(__package__, "prior")
"""Axis -> feature -> how much one unit of it speaks for the positive end of the axis."""


def prior_weights(meanings: tuple[Meaning, ...], instruction: str = "") -> NDArray[np.float64]:
    """Return the weights of labels, shape (labels, features + bias): their places on the axes times the directions."""
    columns = {name: i for i, name in enumerate((*NAMES, BIAS))}
    weights = np.zeros((len(meanings), len(columns)))
    totals = {(axis, name): w for axis, table in DIRECTIONS.items() for name, w in table.items()}
    for key, delta in shifts_for(instruction).items():
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


def shifts_for(instruction: str) -> dict[tuple[str, str], float]:
    """Return what an instruction adds to the prior directions: (axis, feature or bias) -> delta."""
    signs = dict(active(instruction))
    total: dict[tuple[str, str], float] = {}
    for criterion in KNOWN:
        for place, delta in criterion.shifts.items() if criterion.name in signs else ():
            axis, feature = place.split(".")
            total[axis, feature] = total.get((axis, feature), 0.0) + signs[criterion.name] * delta
    return total
