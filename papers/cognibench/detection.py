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

By words (section 4.1) a row is the row with each unit repeated as often as it has words, so that every metric, bound,
interval and permutation test applies to it as it is. Counts of independent units (McNemar) do not. Every Chinese
character (Han) is a word, and so is every run of other characters without white space that holds a letter or a digit.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any, Literal, get_args

import numpy as np

from ...cases import Label
from ...engines.ledger import Spend
from ...evaluation.classes import UNANSWERED, class_scores, confused
from ...evaluation.closed_labels import CONFUSED, ClosedLabels, confusion_metric
from ...evaluation.contrasts import Contrast, contrast, corrected
from ...evaluation.measured import Score, score
from ...evaluation.metrics import Metric, Ratios
from ...evaluation.rows import Row, Tally, tally
from ...evaluation.units import Bools, Floats, encode
from ...gold.goldset import Gold
from ...programs.cognibench import statement_type
from ...signatures.cognibench import LABELS, TIERS
from ...text.json_lines import plain, plain_fields

Kind = Literal["factual", "cognitive", "macro", "overall"]
Statistic = Literal["precision", "recall", "f1"]
Weighting = Literal["sentence", "word"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
_HAN = r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")


def count_words(text: str) -> int:
    """Return the number of words of a text, at least 1."""
    return max(1, sum(any(map(str.isalnum, word)) for word in _WORD.findall(text)))


def by_words(rows: Iterable[Row], texts: Mapping[str, Sequence[str]]) -> tuple[Row, ...]:
    """Return the rows with every unit repeated for each of its words."""
    repeated = []
    for row in rows:
        counts = [count_words(text) for text in texts[row.id]]
        gold, said = (tuple(chain(*map(repeat, units, counts))) for units in (row.gold, row.predicted))
        repeated.append(replace(row, gold=gold, predicted=said))
    return tuple(repeated)


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
        counts = {**plain_fields(units), "coverage": units.coverage}
        return {**plain(self.cells), "counts": counts, **plain_fields(self, "cells", "counts")}


def kind_metric(kind: Kind, statistic: Statistic, comparison: ClosedLabels) -> Metric:
    """Return the metric of one kind: the mean of a statistic over parts of the confusion matrix, some gold labels."""
    base = CONFUSED[statistic]
    kinds = np.array([statement_type(label) if label in LABELS else "" for label in comparison.labels])
    parts = [(kinds == name)[:, np.newaxis] for name in ("factual", "cognitive") if kind in (name, "macro")]

    @Ratios
    def mean(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
        each = [base.parts(np.where(part, counts, 0.0), positive) for part in parts]
        above, below = (np.stack(one, axis=-1) for one in zip(*each, strict=True))
        return above / len(parts), below

    return confusion_metric(f"hallucination_{kind}_{statistic}", comparison, mean if parts else base)


def detection(rows: Sequence[Row], texts: Mapping[str, Sequence[str]], comparison: ClosedLabels) -> Detection:
    """Score a detector by kind, by sentences and by words."""
    metrics = {kind: {name: kind_metric(kind, name, comparison) for name in STATISTICS} for kind in KINDS}
    weighted: dict[Weighting, Sequence[Row]] = {"sentence": rows, "word": by_words(rows, texts)}
    gold = [str(value) for row in rows for value in row.gold if value is not None]
    return Detection(
        cells={
            weighting: {
                kind: {name: score(units, metric) for name, metric in own.items()}
                for kind, own in metrics.items()
            }
            for weighting, units in ((name, encode(comparison, some)) for name, some in weighted.items())
        },
        counts=tally(rows),
        positives=_by_kind([label for label in gold if label in comparison.positive]),
        sentences=_by_kind(gold),
    )


def _by_kind(gold: Sequence[str]) -> dict[str, int]:
    kinds = [statement_type(label) for label in gold]
    return {**{name: kinds.count(name) for name in ("factual", "cognitive")}, "overall": len(gold)}


def taken(rows: Sequence[Row], comparison: ClosedLabels) -> dict[str, dict[str, Any]]:
    """Return what the sentences of each tier were taken for, and the share of the answered ones that are exact."""
    counts, scores = confused(comparison, rows), {one.label: one for one in class_scores(rows, comparison)}
    return {
        tier: {
            "judged": {label: counts.get(tier, {}).get(label, 0) for label in LABELS},
            "unanswered": counts.get(tier, {}).get(UNANSWERED, 0),
            "right": scores[tier].recall if scores[tier].gold else None,
        }
        for tier in TIERS
    }


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a table."""

    name: str  # the detector
    model: str  # who answered
    rows: tuple[Row, ...]  # its answers, one row a response
    detection: Detection  # precision, recall and F1 by kind, by sentences and by words
    # what cognitive sentences were taken for; ``None`` for a detector without tiers
    tiers: Mapping[str, Mapping[str, Any]] | None
    spend: Spend  # calls, tokens and cost; lines that share their answers share this too

    def to_json(self) -> dict[str, Any]:
        """Return everything but the rows as plain JSON types."""
        return {**plain_fields(self, "rows", "detection"), **self.detection.to_json()}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Detectors side by side: one line each, scored by kind, with paired tests."""

    table: str  # its name
    gold: str  # the gold's name. cases, sentences: responses and labelled sentences that all lines are scored on
    cases: int
    sentences: int
    groups: int  # dialogues or documents they come from
    strictness: str  # below it a cognitive sentence is hallucinated
    lines: tuple[Line, ...]
    tests: tuple[Contrast, ...]  # corrected together (Holm)
    notes: tuple[str, ...] = ()  # what a reader must know, one sentence each

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return plain_fields(self)


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What all lines of a table are scored on."""

    gold: Gold
    positive: frozenset[Label]  # the hallucinated labels
    strictness: str  # by which they are

    @property
    def comparison(self) -> ClosedLabels:
        """How labels are held against gold."""
        return ClosedLabels(LABELS, self.positive)

    def line(self, name: str, model: str, rows: Sequence[Row], *, tiers: bool, spend: Spend) -> Line:
        """Score the answers of one detector."""
        texts = {case.id: case.inputs["sentences"] for case in self.gold.cases}
        return Line(
            name=name,
            model=model,
            rows=tuple(rows),
            detection=detection(rows, texts, self.comparison),
            tiers=taken(rows, self.comparison) if tiers else None,
            spend=spend,
        )

    def table(
        self,
        name: str,
        lines: Sequence[Line],
        pairs: Iterable[tuple[int, int]],
        *,
        seed: int,
        alpha: float,
        notes: Sequence[str] = (),
    ) -> Table:
        """Put lines together and test the pairs of them (by number) on the macro F1 of sentences."""
        metric = kind_metric("macro", "f1", self.comparison)
        told = [(line.name, [line.rows]) for line in lines]
        tests = [
            contrast(told[one], told[two], metric, self.comparison, seed=seed, alpha=alpha)
            for one, two in pairs
        ]
        rows, counts = lines[0].rows, lines[0].detection
        # Where a zero is a convention: gold has nothing of that kind to find.
        zero = [
            f"gold has no hallucinated {kind} sentence under the strictness {self.strictness}: its recall and F1, and "
            "its half of the macro average, are 0 for every line"
            for kind in ("factual", "cognitive")
            if not counts.positives[kind]
        ]
        return Table(
            table=name,
            gold=self.gold.name,
            cases=len(rows),
            sentences=counts.sentences["overall"],
            groups=len({row.group for row in rows}),
            strictness=self.strictness,
            lines=tuple(lines),
            tests=corrected(tests),
            notes=(*notes, *zero),
        )
