"""How good a judge is: metrics, intervals, paired tests, the proof, rater agreement.

Names are loaded on first use: importing this package costs nothing, numpy comes with the first function.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agreement import Agreement, FleissAgreement, LabelAgreement, PairAgreement, rater_agreement
    from .ceiling import Ceiling, RaterScore, human_ceiling
    from .consistency import Consistency
    from .contrasts import Contrast, contrast, corrected
    from .hallucination import Detection, TierConfusion, detection, kind_metric, tier_confusion
    from .intervals import Interval, difference_interval, interval
    from .measured import Measured, measure
    from .metrics import METRICS, Metric, MetricLike, MetricName
    from .paired import McNemar, Permutation, holm, mcnemar, mcnemar_rows, permutation_test
    from .power import Smallest
    from .proof import Decision, Proof, Verdict, prove
    from .raters import Estimate
    from .repeats import MeanMeasure, Spread, spread, stack
    from .rows import Counts, Row, Tally, tally
    from .scoring import Score, Scores, objective_score, scores
    from .words import by_words, count_words

__all__ = [
    "METRICS",
    "Agreement",
    "Ceiling",
    "Consistency",
    "Contrast",
    "Counts",
    "Decision",
    "Detection",
    "Estimate",
    "FleissAgreement",
    "Interval",
    "LabelAgreement",
    "McNemar",
    "MeanMeasure",
    "Measured",
    "Metric",
    "MetricLike",
    "MetricName",
    "PairAgreement",
    "Permutation",
    "Proof",
    "RaterScore",
    "Row",
    "Score",
    "Scores",
    "Smallest",
    "Spread",
    "Tally",
    "TierConfusion",
    "Verdict",
    "by_words",
    "contrast",
    "corrected",
    "count_words",
    "detection",
    "difference_interval",
    "holm",
    "human_ceiling",
    "interval",
    "kind_metric",
    "mcnemar",
    "mcnemar_rows",
    "measure",
    "objective_score",
    "permutation_test",
    "prove",
    "rater_agreement",
    "scores",
    "spread",
    "stack",
    "tally",
    "tier_confusion",
]

_HOMES = {
    "agreement": ("Agreement", "FleissAgreement", "LabelAgreement", "PairAgreement", "rater_agreement"),
    "ceiling": ("Ceiling", "RaterScore", "human_ceiling"),
    "consistency": ("Consistency",),
    "contrasts": ("Contrast", "contrast", "corrected"),
    "hallucination": ("Detection", "TierConfusion", "detection", "kind_metric", "tier_confusion"),
    "intervals": ("Interval", "difference_interval", "interval"),
    "measured": ("Measured", "measure"),
    "metrics": ("METRICS", "Metric", "MetricLike", "MetricName"),
    "paired": ("McNemar", "Permutation", "holm", "mcnemar", "mcnemar_rows", "permutation_test"),
    "power": ("Smallest",),
    "proof": ("Decision", "Proof", "Verdict", "prove"),
    "raters": ("Estimate",),
    "repeats": ("MeanMeasure", "Spread", "spread", "stack"),
    "rows": ("Counts", "Row", "Tally", "tally"),
    "scoring": ("Score", "Scores", "objective_score", "scores"),
    "words": ("by_words", "count_words"),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
