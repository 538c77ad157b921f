"""Precision, recall and F1 of hallucinated sentences by kind: factual, cognitive, their macro average, and overall.

This is CogniBench's Table 3 (F1) and Table 5 (precision and recall). The *kind* of a sentence is the one its gold
label says it is, so that a detector that gives no types is scored like one that does:

===========  ======================================  =====================================  ======================
kind         positive                                negative                               left out
===========  ======================================  =====================================  ======================
factual      invented                                faithful                               cognitive, irrelevant
cognitive    misleading and speculative (those       the tiers that pass: reliable,         factual, irrelevant
             below the strictness chosen; the        irrefutable
             paper's is *grounded*)
overall      all of these                            all others, irrelevant ones too        nothing
macro        the mean of the factual and of the cognitive value
===========  ======================================  =====================================  ======================

A sentence is *detected* when its predicted label is a positive one of any kind: a misleading sentence that is
called invented was found. Unlabelled sentences count nowhere. The paper calls its overall F1 the macro average of
both kinds; its own overall figures are that for auto-labelling only (82.2 of 82.5 and 81.9) and lie elsewhere for
the other rows (70.3 of 64.4 and 73.8), so both are given here. Where a kind has no positive sentence in gold, its
recall and F1 are 0.0 by the convention of :mod:`.metrics`, and so is its half of the macro average.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ...evaluation.confusion import Bools, Floats, Ints, Units, encode
from ...evaluation.intervals import Interval, group_weights, measure_interval
from ...evaluation.measures import Measure
from ...evaluation.metrics import METRICS, Metric
from ...evaluation.rows import Row, Tally, tally
from ...evaluation.scoring import Score
from .words import by_words

__all__ = [
    "KINDS",
    "STATISTICS",
    "Cell",
    "Detection",
    "Kind",
    "Statistic",
    "TierConfusion",
    "Weighting",
    "detection",
    "kind_metric",
    "tier_confusion",
]

Kind = Literal["factual", "cognitive", "macro", "overall"]
Statistic = Literal["precision", "recall", "f1"]
Weighting = Literal["sentence", "word"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One number of a table.

    Attributes:
        score: over the answered sentences, with the worst and best that the unanswered ones could make of it.
        interval: the clustered 95 % interval.
    """

    score: Score
    interval: Interval

    def to_json(self) -> dict[str, float]:
        """Return value, low, high, worst and best."""
        return {
            "value": self.score.value,
            "low": self.interval.low,
            "high": self.interval.high,
            "worst": self.score.worst,
            "best": self.score.best,
        }


@dataclass(frozen=True, kw_only=True)
class Detection:
    """How well one detector finds hallucinated sentences.

    Attributes:
        cells: weighting (``sentence`` or ``word``) -> kind -> statistic -> number.
        counts: sentences and responses by how they ended.
        positives: kind -> hallucinated sentences of it in gold.
        sentences: kind -> labelled sentences of it in gold.
    """

    cells: Mapping[Weighting, Mapping[Kind, Mapping[Statistic, Cell]]]
    counts: Tally
    positives: Mapping[str, int]
    sentences: Mapping[str, int]

    def cell(self, kind: Kind, statistic: Statistic, weighting: Weighting = "sentence") -> Cell:
        """Return one number."""
        return self.cells[weighting][kind][statistic]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        units = self.counts.units
        return {
            **{
                weighting: {
                    kind: {name: cell.to_json() for name, cell in row.items()} for kind, row in kinds.items()
                }
                for weighting, kinds in self.cells.items()
            },
            "counts": {**dict(units.__dict__), "coverage": units.coverage},
            "positives": dict(self.positives),
            "sentences": dict(self.sentences),
        }


def kind_metric(kind: Kind, statistic: Statistic, labels: Sequence[str], kinds: Mapping[str, str]) -> Metric:
    """Return the metric of one kind; it works wherever a named metric does.

    Args:
        kind: of sentences.
        statistic: precision, recall or F1.
        labels: the closed label set of gold.
        kinds: label -> ``factual``, ``cognitive`` or anything else; the gold label decides.
    """
    base = METRICS[statistic].of_confusion
    rows = {
        name: np.array([kinds.get(label) == name for label in labels], dtype=np.bool_)
        for name in ("factual", "cognitive")
    }
    parts = [rows[name] for name in rows if kind in (name, "macro")]
    return Metric(
        name=f"hallucination_{kind}_{statistic}",
        of_confusion=_mean_of(base, parts) if parts else base,
        needs_positive=True,
    )


def _mean_of(
    base: Callable[[Floats, Bools], Floats], parts: Sequence[Bools]
) -> Callable[[Floats, Bools], Floats]:
    """The mean of a statistic over parts of the confusion matrix, each some of its gold labels."""

    def value(counts: Floats, positive: Bools) -> Floats:
        values = [base(np.where(part[:, np.newaxis], counts, 0.0), positive) for part in parts]
        return np.asarray(np.mean(values, axis=0))

    return value


def detection(
    rows: Sequence[Row],
    texts: Mapping[str, Sequence[str]],
    labels: Sequence[str],
    positive: AbstractSet[str],
    kinds: Mapping[str, str],
    *,
    seed: int = 0,
) -> Detection:
    """Score a detector by kind, by sentences and by words.

    Args:
        rows: one row a response; gold and predicted labels of its sentences.
        texts: case id -> its sentences, for their words.
        labels: the closed label set.
        positive: the hallucinated labels.
        kinds: label -> ``factual`` or ``cognitive``; other labels (irrelevant) are in ``overall`` only.
        seed: of the bootstrap; both weightings and all kinds share its resamples.

    Raises:
        JuristError: nothing is labelled, a label is not in ``labels``, or texts and sentences do not fit.
        UsageError: the label sets are wrong.
    """
    units = {
        "sentence": encode(rows, labels, positive),
        "word": encode(by_words(rows, texts), labels, positive),
    }
    weights = group_weights(units["sentence"].groups, seed=seed)
    cells: dict[Weighting, dict[Kind, dict[Statistic, Cell]]] = {}
    for weighting in get_args(Weighting):
        cells[weighting] = {
            kind: {
                name: _cell(units[weighting], kind_metric(kind, name, labels, kinds), weights)
                for name in STATISTICS
            }
            for kind in KINDS
        }
    gold = [labels[code] for code in units["sentence"].gold]
    return Detection(
        cells=cells,
        counts=tally(rows),
        positives=_by_kind([label for label in gold if label in positive], kinds),
        sentences=_by_kind(gold, kinds),
    )


def _cell(units: Units, measure: Measure, weights: Ints) -> Cell:
    worst, best = measure.bounds(units)
    score = Score(value=measure.of(units), worst=worst, best=best)
    return Cell(score=score, interval=measure_interval(units, measure, weights))


def _by_kind(gold: Sequence[str], kinds: Mapping[str, str]) -> dict[str, int]:
    found = {name: sum(kinds.get(label) == name for label in gold) for name in ("factual", "cognitive")}
    return {**found, "overall": len(gold)}


@dataclass(frozen=True, kw_only=True)
class TierConfusion:
    """What sentences of each gold label were taken for.

    Attributes:
        labels: the gold labels shown, in their order.
        judged: all labels that can be judged.
        counts: shape (labels, judged): answered sentences.
        missing: per gold label, sentences without an answer.
        right: per gold label, the share that got its exact label (unanswered ones are not in it), with its
            interval; ``None`` where gold has none.
    """

    labels: tuple[str, ...]
    judged: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    missing: tuple[int, ...]
    right: tuple[Cell | None, ...]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {
            label: {
                "judged": dict(zip(self.judged, self.counts[place], strict=True)),
                "unanswered": self.missing[place],
                "right": cell.to_json() if (cell := self.right[place]) else None,
            }
            for place, label in enumerate(self.labels)
        }


def tier_confusion(
    rows: Sequence[Row],
    labels: Sequence[str],
    positive: AbstractSet[str],
    shown: Sequence[str],
    *,
    seed: int = 0,
) -> TierConfusion:
    """Return what sentences of the gold labels ``shown`` (the four tiers, say) were taken for.

    Raises:
        JuristError, UsageError: as :func:`detection`.
    """
    units = encode(rows, labels, positive)
    weights = group_weights(units.groups, seed=seed)
    table, missing = units.confusion(), units.missing()
    places = [tuple(labels).index(label) for label in shown]
    found = [bool(table[place].sum() + missing[place]) for place in places]
    return TierConfusion(
        labels=tuple(shown),
        judged=tuple(labels),
        counts=tuple(tuple(int(count) for count in table[place]) for place in places),
        missing=tuple(int(missing[place]) for place in places),
        right=tuple(
            _cell(units, _share_right(place, labels[place]), weights) if there else None
            for place, there in zip(places, found, strict=True)
        ),
    )


def _share_right(place: int, label: str) -> Metric:
    def value(counts: Floats, positive: Bools) -> Floats:
        row = counts[..., place, :]
        total = row.sum(axis=-1)
        return np.asarray(np.divide(row[..., place], total, out=np.zeros_like(total), where=total > 0))

    return Metric(name=f"right_{label}", of_confusion=value)
