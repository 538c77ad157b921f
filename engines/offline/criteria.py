"""The criteria bank: what an instruction can ask for, and which weights that moves.

Each criterion of data/criteria.toml is recognised by cue patterns in any instruction, whoever wrote it,
sentence by sentence, in English and Chinese. A negation in front of the cue in its sentence flips the shift.
A criterion counts once however often it is said. The same bank gives the proposer its sentences, those criteria
excepted that are only read.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ...text.tables import table

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
    cues: str
    shifts: tuple[tuple[str, str, float], ...]
    english: str
    chinese: str
    feature: str = ""
    fixes: str = ""
    evergreen: bool = False
    instead_of: str = ""
    read_only: bool = False


def _criterion(row: dict[str, Any]) -> Criterion:
    shifts = tuple((*place.split("."), float(delta)) for place, delta in row["shifts"].items())
    return Criterion(**{**row, "cues": "|".join(row["cues"]), "shifts": shifts})


_DATA: Final = table(__package__, "criteria")
KNOWN: Final[tuple[Criterion, ...]] = tuple(map(_criterion, _DATA["criterion"]))
_CUES: Final = {criterion.name: re.compile(criterion.cues) for criterion in KNOWN}
BANK: Final = tuple(criterion for criterion in KNOWN if not criterion.read_only)
RIVALS: Final = tuple((one, other) for one, other in _DATA["rivals"])


def instruction_sentences(text: str) -> list[str]:
    """Split an instruction into sentences or bullet lines. A line may end within a sentence."""
    return [piece.strip() for piece in _SPLIT.split(text) if piece.strip()]


@lru_cache(maxsize=512)
def active(instruction: str) -> tuple[tuple[str, int], ...]:
    """Return the criteria an instruction states: (name, +1), or (name, -1) where it negates one."""
    found: dict[str, int] = {}
    for sentence in _CLAUSE.split(instruction[:20000].lower()):
        matches = {c.name: m for c in KNOWN if (m := _CUES[c.name].search(sentence))}
        beaten = {c.instead_of for c in KNOWN if c.name in matches}
        for criterion in KNOWN:
            match = matches.get(criterion.name)
            if not match or criterion.name in beaten:
                continue
            negated = not criterion.evergreen and _NEGATION.search(
                sentence[max(0, match.start() - 40) : match.start()]
            )
            found[criterion.name] = -1 if negated else 1
    return tuple(sorted(found.items()))


def shifts_for(instruction: str) -> dict[tuple[str, str], float]:
    """Return what an instruction adds to the prior directions: (axis, feature or bias) -> delta."""
    signs = dict(active(instruction))
    total: dict[tuple[str, str], float] = {}
    for criterion in KNOWN:
        sign = signs.get(criterion.name, 0)
        for axis, feature, delta in criterion.shifts:
            if sign:
                total[axis, feature] = total.get((axis, feature), 0.0) + sign * delta
    return total
