"""What a proof says beyond its verdicts: precision and recall by the probability asked for, and how right those are."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..keeping.artifact_card import rows_of
from ..programs.judge import Judge
from .scores import number_cell
from .table import Table, table

Proof: TypeAlias = Sequence[Mapping[str, Any]]
"""The lines of :meth:`~jurist.keeping.artifact_card.Artifact.proof`."""
_CUTS = 12
"""Rows of the table of probabilities, about."""
_MEASURES = ("ece", "brier", "auc", "average_precision")


class Cut(NamedTuple):
    """What would be found if every unit counted as found that is at least so probable."""

    least: float  # the probability, of tokens or of votes, 0 to 1
    units: int  # those that would be
    precision: float
    recall: float


def cuts(judge: Judge, proof: Proof, system: str) -> tuple[Cut, ...]:
    """Return precision and recall by the least probability, the highest first; empty if units have none, or all one.

    Units without an answer are never found, and missed if they are positive.
    """
    scale, units = judge.answer.scale, []
    for row, line in zip(rows_of(judge.answer, proof, system), proof, strict=True):
        probabilities = line[system].get("probability") or map(scale.probability, line[system]["votes"])
        units += [
            (-1.0 if probability is None else round(probability, 2), scale.probability({gold: 1.0}) == 1)
            for gold, probability in zip(row.gold, probabilities, strict=True)
            if gold is not None
        ]
    positive = sum(is_so for _, is_so in units)
    levels = sorted({probability for probability, _ in units if probability >= 0}, reverse=True)
    if len(levels) < 2 or not positive:
        return ()
    hits = [[is_so for probability, is_so in units if probability >= least] for least in levels]
    return tuple(
        Cut(least, len(hit), sum(hit) / len(hit), sum(hit) / positive)
        for least, hit in zip(levels, hits, strict=True)
    )


def sure_parts(judge: Judge, proof: Proof, calibration: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Return the thresholds to choose from, and what a card says of how right the probabilities are."""
    known = cuts(judge, proof, "compiled") if judge.answer.scale.has_probabilities else ()
    rows = [
        [f"{one.least:.2f}", one.units, f"{one.precision:.3f}", f"{one.recall:.3f}"]
        for one in known[:: max(1, len(known) // _CUTS)]
    ]
    columns = ["probable at least", "units found", "precision", "recall"]
    parts = [table("compiled, by the probability that --threshold asks for", columns, rows)] if rows else []
    rows = [
        [system, about["units"], *(number_cell(about[name]) for name in _MEASURES)]
        for system, about in calibration.items()
    ]
    columns = ["program", "units", "ECE", "Brier", "AUC", "average precision"]
    return [*parts, *([table("how right its probabilities are", columns, rows)] if rows else [])]
