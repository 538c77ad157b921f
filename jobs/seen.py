"""Which rows a judge's artifact was compiled on or near: no score may flatter it with them."""

from __future__ import annotations

from collections.abc import Sequence

from ..cases import Case
from ..gold.copies import near_rows
from ..keeping.loading import LoadedJudge

__all__ = ["seen_by"]


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
