"""Scores per class, and what gold was taken for, as values for tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .criteria import CriteriaScale
from .measured import Score, score
from .rows import Row
from .scale import Scale
from .units import encode


@dataclass(frozen=True, kw_only=True)
class ClassScores:
    """One class against the rest."""

    label: str
    gold: int  # units that have it in gold, answered or not
    precision: Score  # this and the others are over the answered units
    recall: Score
    f1: Score


def class_scores(rows: Sequence[Row], comparison: Scale) -> tuple[ClassScores, ...]:
    """Score every class against the rest; empty for kinds of answers without classes."""
    if not comparison.classes:
        return ()
    units = encode(comparison, rows)
    golds = [value for row in rows for value in row.gold if value is not None]
    return tuple(
        ClassScores(
            label=label,
            gold=sum(value == label if isinstance(value, str) else label in value for value in golds),
            **{name: score(units, metric) for name, metric in metrics.items()},
        )
        for label, metrics in comparison.classes.items()
    )


UNANSWERED = "no answer"
"""What a missing answer is called."""
_FEW = 12
"""Gold or judged values above which nobody would read a table of what was taken for what."""


def confused(scale: Scale, rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Return gold -> judged -> labelled units, :data:`UNANSWERED` among the judged; empty for answers of many values.

    Both sides stand in the order of the scale's own values, then by name. Of several criteria each has its own labels.
    """
    if isinstance(scale, CriteriaScale):
        return {
            f"{name}: {gold}": judged
            for name, own in scale.scales.items()
            for gold, judged in confused(own, scale.rows(name, rows)).items()
        }
    counts = Counter(
        (scale.category(gold), UNANSWERED if judged is None else scale.category(judged))
        for row in rows
        for gold, judged in zip(row.gold, row.predicted, strict=True)
        if gold is not None
    )
    own = map(scale.category, scale.domain)
    names = dict.fromkeys([*own, *sorted({name for pair in counts for name in pair} - {UNANSWERED})])
    if len(names) > _FEW:
        return {}
    columns = [*names, *([UNANSWERED] if any(judged == UNANSWERED for _, judged in counts) else [])]
    golds = {gold for gold, _ in counts}
    return {gold: {judged: counts[gold, judged] for judged in columns} for gold in names if gold in golds}
