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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ...evaluation.closed_labels import ClosedLabels, confusion_metric, f1, precision, recall
from ...evaluation.measured import Score, score
from ...evaluation.metrics import Metric
from ...evaluation.ratios import Ratio, Ratios
from ...evaluation.rows import Row, Tally, tally
from ...evaluation.units import Bools, Floats, encode
from ...text.json_lines import plain, plain_fields
from .words import by_words

Kind = Literal["factual", "cognitive", "macro", "overall"]
Statistic = Literal["precision", "recall", "f1"]
Weighting = Literal["sentence", "word"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)


_FUNCTIONS: Mapping[Statistic, Ratio] = {"precision": precision, "recall": recall, "f1": f1}


@dataclass(frozen=True, kw_only=True)
class Detection:
    """How well one detector finds hallucinated sentences."""

    # weighting (``sentence`` or ``word``) -> kind -> statistic -> number
    cells: Mapping[Weighting, Mapping[Kind, Mapping[Statistic, Score]]]
    counts: Tally  # sentences and responses by how they ended
    positives: Mapping[str, int]  # kind -> hallucinated sentences of it in gold
    sentences: Mapping[str, int]  # kind -> labelled sentences of it in gold

    def cell(self, kind: Kind, statistic: Statistic, weighting: Weighting = "sentence") -> Score:
        """Return one number."""
        return self.cells[weighting][kind][statistic]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        units = self.counts.units
        return {
            **plain(self.cells),
            "counts": {**plain_fields(units), "coverage": units.coverage},
            "positives": dict(self.positives),
            "sentences": dict(self.sentences),
        }


def kind_metric(
    kind: Kind, statistic: Statistic, comparison: ClosedLabels, kinds: Mapping[str, str]
) -> Metric:
    """Return the metric of one kind; it works wherever a named metric does."""
    base = _FUNCTIONS[statistic]
    rows = {
        name: np.array([kinds.get(label) == name for label in comparison.labels], dtype=np.bool_)
        for name in ("factual", "cognitive")
    }
    parts = [rows[name] for name in rows if kind in (name, "macro")]
    name = f"hallucination_{kind}_{statistic}"
    return confusion_metric(name, comparison, _mean_of(base, parts) if parts else base)


def _mean_of(base: Ratio, parts: Sequence[Bools]) -> Ratio:
    """The mean of a statistic over parts of the confusion matrix, each some of its gold labels."""

    def of(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
        each = [base.parts(np.where(part[:, np.newaxis], counts, 0.0), positive) for part in parts]
        above, below = (np.stack(one, axis=-1) for one in zip(*each, strict=True))
        return above / len(parts), below

    return Ratios(of)


def detection(
    rows: Sequence[Row],
    texts: Mapping[str, Sequence[str]],
    comparison: ClosedLabels,
    kinds: Mapping[str, str],
) -> Detection:
    """Score a detector by kind, by sentences and by words."""
    units = {"sentence": encode(comparison, rows), "word": encode(comparison, by_words(rows, texts))}
    cells: dict[Weighting, dict[Kind, dict[Statistic, Score]]] = {}
    for weighting in get_args(Weighting):
        cells[weighting] = {
            kind: {
                name: score(units[weighting], kind_metric(kind, name, comparison, kinds))
                for name in STATISTICS
            }
            for kind in KINDS
        }
    gold = [str(value) for row in rows for value in row.gold if value is not None]
    return Detection(
        cells=cells,
        counts=tally(rows),
        positives=_by_kind([label for label in gold if label in comparison.positive], kinds),
        sentences=_by_kind(gold, kinds),
    )


def _by_kind(gold: Sequence[str], kinds: Mapping[str, str]) -> dict[str, int]:
    found = {name: sum(kinds.get(label) == name for label in gold) for name in ("factual", "cognitive")}
    return {**found, "overall": len(gold)}
