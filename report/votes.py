"""What a proof says beyond its verdicts: precision and recall by the probability asked for, and how right those are."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..keeping.artifact_card import rows_of
from ..programs.judge import Judge
from .scores import number_cell
from .table import Table, table

Proof: TypeAlias = Sequence[Mapping[str, Any]]
"""The lines of :meth:`~jurist.keeping.artifact_card.Artifact.proof`."""
_CUTS = 12
"""Rows of the table of probabilities, about."""
_MEASURES = ("ece", "brier", "auc", "average_precision")


def cuts(judge: Judge, proof: Proof, system: str) -> list[tuple[float, int, float, float]]:
    """Return (least probability, units, precision, recall), the highest first; empty if units have none, or all one."""
    # units without an answer are never found, and missed if they are positive
    from sklearn.metrics import precision_recall_curve

    scale = judge.answer.scale
    truth, shares = list[bool](), list[float]()
    for row, line in zip(rows_of(judge.answer, proof, system), proof, strict=True):
        probabilities = line[system].get("probability") or map(scale.probability, line[system]["votes"])
        for gold, probability in zip(row.gold, probabilities, strict=True):
            if gold is not None:
                truth.append(scale.probability({gold: 1.0}) == 1)
                shares.append(-1.0 if probability is None else round(probability, 2))
    if len({share for share in shares if share >= 0}) < 2 or not any(truth):
        return []
    curve = zip(*precision_recall_curve(truth, shares), strict=False)  # its last point has no threshold
    return [
        (float(least), sum(share >= least for share in shares), float(precision), float(recall))
        for precision, recall, least in curve
        if least >= 0
    ][::-1]


def sure_parts(judge: Judge, proof: Proof, calibration: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Return the thresholds to choose from, and what a card says of how right the probabilities are."""
    known = cuts(judge, proof, "compiled") if judge.answer.scale.has_probabilities else []
    rows = [
        [f"{least:.2f}", units, f"{precision:.3f}", f"{recall:.3f}"]
        for least, units, precision, recall in known[:: max(1, len(known) // _CUTS)]
    ]
    columns = ["probable at least", "units found", "precision", "recall"]
    parts = [table("compiled, by the probability that --threshold asks for", columns, rows)] if rows else []
    rows = [
        [system, about["units"], *(number_cell(about[name]) for name in _MEASURES)]
        for system, about in calibration.items()
    ]
    columns = ["program", "units", "ECE", "Brier", "AUC", "average precision"]
    return [*parts, *([table("how right its probabilities are", columns, rows)] if rows else [])]
