"""Scores per class, and what gold was taken for, as values for tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .closed_labels import ClosedLabels
from .comparisons import Comparison
from .measured import Score, score
from .rows import Row
from .scale import Scale
from .units import encode


@dataclass(frozen=True, kw_only=True)
class ClassScores:
    """One class against the rest."""

    label: str  # its name
    # answered and unanswered units that have it in gold. precision, recall, f1: over the answered units,
    # with intervals and bounds
    gold: int
    precision: Score
    recall: Score
    f1: Score

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        scores = {name: getattr(self, name).to_json() for name in ("precision", "recall", "f1")}
        return {"label": self.label, "gold": self.gold, **scores}


def class_scores(rows: Sequence[Row], comparison: Comparison) -> tuple[ClassScores, ...]:
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


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """What units of each gold label were taken for."""

    labels: tuple[str, ...]  # the gold labels shown, in their order
    judged: tuple[str, ...]  # all labels that can be judged
    counts: tuple[tuple[int, ...], ...]  # shape (labels, judged): answered units
    missing: tuple[int, ...]  # per gold label, units without an answer
    # per gold label, the share that got its exact label (unanswered ones are not in it), with its interval;
    # ``None`` where gold has none
    right: tuple[Score | None, ...]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {
            label: {
                "judged": dict(zip(self.judged, self.counts[place], strict=True)),
                "unanswered": self.missing[place],
                "right": found.to_json() if (found := self.right[place]) else None,
            }
            for place, label in enumerate(self.labels)
        }


def confusion(rows: Sequence[Row], comparison: ClosedLabels, *, shown: Sequence[str] = ()) -> Confusion:
    """Return what units of the gold labels ``shown`` (all of them by default) were taken for."""
    units = encode(comparison, rows)
    labels = comparison.domain
    table = np.zeros((len(labels), len(labels) + 1), dtype=np.int64)
    np.add.at(table, (units.gold, units.predicted[0]), 1)  # the last column is that of code -1, no answer
    chosen = tuple(shown) or labels
    recalls = {label: metrics["recall"] for label, metrics in comparison.classes.items()}
    places = [labels.index(label) for label in chosen]
    return Confusion(
        labels=chosen,
        judged=labels,
        counts=tuple(tuple(table[place, :-1].tolist()) for place in places),
        missing=tuple(int(table[place, -1]) for place in places),
        right=tuple(
            score(units, recalls[label]) if table[place].any() and label in recalls else None
            for label, place in zip(chosen, places, strict=True)
        ),
    )


UNANSWERED = "no answer"
"""What a missing answer is called."""
_FEW = 12
"""Gold or judged values above which nobody would read a table of what was taken for what."""


def confused(scale: Scale, rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Return gold -> judged -> labelled units, :data:`UNANSWERED` among the judged; empty for answers of many values.

    Both sides stand in the order of the scale's own values, then by name.
    """
    pairs = [
        (scale.category(gold), UNANSWERED if judged is None else scale.category(judged))
        for row in rows
        for gold, judged in zip(row.gold, row.predicted, strict=True)
        if gold is not None
    ]
    counts, own = Counter(pairs), map(scale.category, scale.domain)
    names = dict.fromkeys([*own, *sorted({name for pair in pairs for name in pair} - {UNANSWERED})])
    if len(names) > _FEW:
        return {}
    columns = [*names, *([UNANSWERED] if any(judged == UNANSWERED for _, judged in counts) else [])]
    golds = {gold for gold, _ in counts}
    return {gold: {judged: counts[gold, judged] for judged in columns} for gold in names if gold in golds}
