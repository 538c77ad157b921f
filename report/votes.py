"""What several samples of a case say beyond their verdict: precision and recall by threshold, and calibration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..evaluation.measured import objective_score
from ..evaluation.rows import Row
from ..programs.judge import Judge
from ..programs.votes import Sampling
from .judged import rows_of

__all__ = ["Sure", "calibration", "drawn_fully", "thresholds"]

Proof = Sequence[Mapping[str, Any]]


def drawn_fully(proof: Proof, system: str, samples: int) -> bool:
    """Return whether every case was asked ``samples`` times: drawing stops where nothing can change any more."""
    return all(row[system]["drawn"] >= samples for row in proof)


def thresholds(judge: Judge, proof: Proof, system: str, samples: int) -> dict[int, dict[str, float]]:
    """Return threshold -> metric -> value on the sealed test, had that many votes been needed; empty without a choice.

    A unit that the votes leave open counts as wrong. Only of samples that were all drawn; see :func:`drawn_fully`.
    """
    answer = judge.answer
    names = [name for name in ("precision", "recall", "f1") if name in judge.comparison.metrics]
    if samples < 2 or not answer.uses_threshold or not names:
        return {}
    rows = rows_of(answer, proof, system)
    found = {}
    for needed in range(1, samples + 1):
        sampling = Sampling(samples=samples, threshold=needed)
        voted = [
            _voted(row, [answer.combine(votes, sampling) for votes in line[system]["votes"]])
            for row, line in zip(rows, proof, strict=True)
        ]
        found[needed] = {name: objective_score(voted, name, judge.comparison) for name in names}
    return found


def _voted(row: Row, values: Sequence[Any]) -> Row:
    return row if row.failed else replace(row, predicted=tuple(values))


@dataclass(frozen=True, kw_only=True)
class Sure:
    """Units on which the samples agreed equally far.

    Attributes:
        share: of the votes that went to the answer, 0 to 1.
        right: the mean credit of these units, 0 to 1; of answers that are right or wrong the share that is right.
        units: how many there are.
    """

    share: float
    right: float
    units: int


def calibration(judge: Judge, proof: Proof, system: str) -> tuple[Sure, ...]:
    """Return how right a program is by how far its samples agreed; empty if all agreed alike."""
    credits: dict[float, list[float]] = defaultdict(list)
    for row, line in zip(rows_of(judge.answer, proof, system), proof, strict=True):
        for gold, value, share in zip(row.gold, row.predicted, line[system]["agreement"], strict=True):
            if gold is not None and value is not None and share is not None:
                right = judge.comparison.right(gold, value)
                credits[round(share, 2)].append(
                    judge.answer.credit(gold, value) if right is None else float(right)
                )
    if len(credits) < 2:
        return ()
    return tuple(
        Sure(share=share, right=sum(values) / len(values), units=len(values))
        for share, values in sorted(credits.items())
    )
