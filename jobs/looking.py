"""A look at gold rows, as the ledger of openings has it: which of them are sealed, the how manieth opening it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..cases import Case
from ..evaluation.paired import limits
from ..evaluation.proof import level_of
from ..keeping.openings import Openings

__all__ = ["ALPHA", "Look", "look_at", "proof_of"]

ALPHA = 0.05
"""The level of all openings of a test together."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What is looked at.

    Attributes:
        cases: the sealed rows among those that are scored.
        opening: which opening of them this is; 0 if none is sealed.
        ledger: where it is counted.
    """

    cases: tuple[Case, ...]
    opening: int
    ledger: Openings

    @property
    def level(self) -> float:
        """The level at which differences are tested."""
        return level_of(ALPHA, self.opening) if self.opening else ALPHA

    @property
    def words(self) -> str:
        """What is said before anything is spent; empty where nothing is sealed."""
        if not self.opening:
            return ""
        return (
            f"{len(self.cases)} of these rows are of a sealed test: this is opening {self.opening} of it, and "
            f"differences are tested at the level {self.level:.3g}"
        )

    def limits(self, cases: Sequence[Case]) -> str:
        """What so few groups of these cases cannot show, said before anything is spent; empty if there are enough."""
        return limits(len({case.group for case in cases}), self.level)

    def done(self, what: str) -> None:
        """Count it, before anything is shown."""
        if self.opening:
            self.ledger.note(what, self.cases)


def look_at(cases: Sequence[Case]) -> Look:
    """Return the look that scoring some rows is: an opening if any of them is sealed."""
    ledger = Openings()
    sealed = ledger.sealed(cases)
    return Look(cases=sealed, opening=1 + ledger.of(sealed) if sealed else 0, ledger=ledger)


def proof_of(cases: Sequence[Case], known: int = 0) -> Look:
    """Return the look that a proof on a test is, which seals it.

    Args:
        cases: of the test.
        known: openings that a card tells of, such as that of the artifact which is chosen from.
    """
    ledger = Openings()
    return Look(cases=tuple(cases), opening=1 + max(known, ledger.of(cases)), ledger=ledger)
