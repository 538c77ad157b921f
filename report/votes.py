"""What several samples of a case say beyond their verdict: precision and recall by threshold, and calibration."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ..evaluation.measured import objective_score
from ..evaluation.rows import Row
from ..keeping.proofs import rows_of
from ..programs.judge import Judge
from ..programs.votes import Sampling

Proof: TypeAlias = Sequence[Mapping[str, Any]]
"""The lines of :meth:`~jurist.keeping.artifact_card.Artifact.proof`."""


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
class Cut:
    """What would be found if every unit counted as found that is at least so probable."""

    least: float  # the probability, of tokens or of votes, 0 to 1
    found: int  # units that would be. precision, recall: 0 to 1
    precision: float
    recall: float


def cuts(judge: Judge, proof: Proof, system: str) -> tuple[Cut, ...]:
    """Return precision and recall by the least probability, the highest first; empty if units have none, or all one.

    Units without an answer are never found, and missed if they are positive.
    """
    answer, units = judge.answer, []
    for row, line in zip(rows_of(answer, proof, system), proof, strict=True):
        told = line[system].get("probability") or map(answer.probability, line[system]["votes"])
        units += [
            (-1.0 if one is None else round(one, 2), answer.probability({gold: 1.0}) == 1)
            for gold, one in zip(row.gold, told, strict=True)
            if gold is not None
        ]
    positive, levels = sum(is_so for _, is_so in units), sorted({p for p, _ in units if p >= 0}, reverse=True)
    if len(levels) < 2 or not positive:
        return ()
    hits = [[is_so for p, is_so in units if p >= least] for least in levels]
    return tuple(
        Cut(least=least, found=len(hit), precision=sum(hit) / len(hit), recall=sum(hit) / positive)
        for least, hit in zip(levels, hits, strict=True)
    )


@dataclass(frozen=True, kw_only=True)
class Sure:
    """Units on which the samples agreed equally far."""

    share: float  # of the votes that went to the answer, 0 to 1
    right: float  # the mean credit of these units, 0 to 1; of answers that are right or wrong the share that is right
    units: int  # how many there are


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
