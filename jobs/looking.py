"""A look at gold rows: which of them a judge has seen, which are sealed, and the number of their opening.

No score may flatter a judge with rows that its artifact was compiled on or near.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..cases import Case
from ..evaluation.comparisons import Comparison
from ..evaluation.paired import limits, showable
from ..evaluation.power import gains
from ..evaluation.proof import level_of
from ..gold.copies import near_rows
from ..gold.goldset import Gold
from ..keeping.loading import LoadedJudge
from ..keeping.openings import Openings

__all__ = ["ALPHA", "Look", "look_at", "proof_of", "seen_by", "unseen"]

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
        """The one-sided level at which differences are tested."""
        return level_of(ALPHA, max(1, self.opening))

    @property
    def words(self) -> str:
        """What is said before anything is spent; empty where nothing is sealed."""
        if not self.opening:
            return ""
        return (
            f"{len(self.cases)} of these rows are of a sealed test: this is opening {self.opening} of it, which "
            f"makes its level {self.level:.3g}"
        )

    def limits(self, cases: Sequence[Case], comparison: Comparison, tests: int = 1) -> tuple[str, ...]:
        """What so few units and groups can and cannot show, in words, said before anything is spent.

        Args:
            cases: what is scored.
            comparison: the kind of answer; gains are told where it calls answers right or wrong.
            tests: how many share the level; 0 where nothing is compared, and no gain is told of.
        """
        level, sizes = self.level / max(1, tests), Counter[str]()
        for case in cases:
            sizes[case.group] += len(case.known)
        few = limits(len(sizes), level)
        labelled = np.array([size for size in sizes.values() if size])
        able = showable(len(labelled), level)  # else ``few`` says it
        told = str(gains(labelled, level)) if tests and able and comparison.right_means else ""
        return tuple(said for said in (told, few) if said)

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


def seen_by(judge: LoadedJudge, cases: Sequence[Case]) -> frozenset[str]:
    """Return the ids of the cases that the judge's artifact was trained or selected on, or that are near copies.

    A judge without an artifact has seen nothing; an artifact of an older version knows equal rows only.

    Raises:
        ArtifactError: the artifact was changed since it was read.
    """
    if judge.artifact is None:
        return frozenset()
    ids = frozenset((judge.artifact.card.get("gold") or {}).get("seen", ()))
    return ids & {case.id for case in cases} | near_rows(judge.judge, cases, judge.artifact.seen())


def unseen(judge: LoadedJudge, gold: Gold) -> tuple[Case, ...]:
    """Return the rows of gold that the judge was not compiled on, nor on near copies of."""
    seen = seen_by(judge, gold.cases)
    return tuple(case for case in gold.cases if case.id not in seen)
