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
from typing import Any, Literal, get_args

import numpy as np

from ...cases import Case, Label
from ...engines.ledger import Spend
from ...errors import JuristError
from ...evaluation.classes import Confusion, confusion
from ...evaluation.closed_labels import ClosedLabels, confusion_metric, f1, precision, recall
from ...evaluation.contrasts import Contrast, contrast, corrected
from ...evaluation.measured import Score, score
from ...evaluation.metrics import Metric
from ...evaluation.ratios import Ratio, Ratios
from ...evaluation.rows import Row, Tally, tally
from ...evaluation.units import Bools, Floats, encode
from ...programs.cognibench import statement_type
from ...signatures.cognibench import LABELS
from ...text.json_lines import plain, plain_fields

Kind = Literal["factual", "cognitive", "macro", "overall"]
Statistic = Literal["precision", "recall", "f1"]
Weighting = Literal["sentence", "word"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
_FUNCTIONS: Mapping[Statistic, Ratio] = {"precision": precision, "recall": recall, "f1": f1}
_KIND_OF = {label: statement_type(label) for label in LABELS}
_TIERS = tuple(label for label in LABELS if _KIND_OF[label] == "cognitive")
_HAN = r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")


def count_words(text: str) -> int:
    """Return the number of words of a text, at least 1."""
    words = sum(any(map(str.isalnum, word)) for word in _WORD.findall(text))
    return max(1, words)


def by_words(rows: Iterable[Row], texts: Mapping[str, Sequence[str]]) -> tuple[Row, ...]:
    """Return the rows with every unit repeated for each of its words."""
    return tuple(_repeated(row, texts.get(row.id, ())) for row in rows)


def _repeated(row: Row, texts: Sequence[str]) -> Row:
    if len(texts) != len(row.gold):
        raise JuristError(
            f"case {row.id!r} has {len(row.gold)} units and {len(texts)} texts", hint="give one text a unit"
        )
    counts = [count_words(text) for text in texts]
    return replace(row, gold=_times(row.gold, counts), predicted=_times(row.predicted, counts))


def _times(labels: Sequence[str | None], counts: Sequence[int]) -> tuple[str | None, ...]:
    return tuple(label for label, count in zip(labels, counts, strict=True) for _ in range(count))


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


def kind_metric(kind: Kind, statistic: Statistic, comparison: ClosedLabels) -> Metric:
    """Return the metric of one kind; it works wherever a named metric does."""
    base = _FUNCTIONS[statistic]
    parts = [
        np.array([_KIND_OF.get(label) == name for label in comparison.labels], dtype=np.bool_)
        for name in ("factual", "cognitive")
        if kind in (name, "macro")
    ]
    name = f"hallucination_{kind}_{statistic}"
    return confusion_metric(name, comparison, _mean_of(base, parts) if parts else base)


def _mean_of(base: Ratio, parts: Sequence[Bools]) -> Ratio:
    """The mean of a statistic over parts of the confusion matrix, each some of its gold labels."""

    def of(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
        each = [base.parts(np.where(part[:, np.newaxis], counts, 0.0), positive) for part in parts]
        above, below = (np.stack(one, axis=-1) for one in zip(*each, strict=True))
        return above / len(parts), below

    return Ratios(of)


def detection(rows: Sequence[Row], texts: Mapping[str, Sequence[str]], comparison: ClosedLabels) -> Detection:
    """Score a detector by kind, by sentences and by words."""
    units = {"sentence": encode(comparison, rows), "word": encode(comparison, by_words(rows, texts))}
    cells = {
        weighting: {
            kind: {name: score(units[weighting], kind_metric(kind, name, comparison)) for name in STATISTICS}
            for kind in KINDS
        }
        for weighting in get_args(Weighting)
    }
    gold = [str(value) for row in rows for value in row.gold if value is not None]
    return Detection(
        cells=cells,
        counts=tally(rows),
        positives=_by_kind([label for label in gold if label in comparison.positive]),
        sentences=_by_kind(gold),
    )


def _by_kind(gold: Sequence[str]) -> dict[str, int]:
    found = {name: sum(_KIND_OF.get(label) == name for label in gold) for name in ("factual", "cognitive")}
    return {**found, "overall": len(gold)}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a table."""

    name: str  # the detector
    model: str  # who answered
    rows: tuple[Row, ...]  # its answers, one row a response
    detection: Detection  # precision, recall and F1 by kind, by sentences and by words
    tiers: Confusion | None  # what cognitive sentences were taken for; ``None`` for a detector without tiers
    spend: Spend  # calls, tokens and cost; lines that share their answers share this too

    def to_json(self) -> dict[str, Any]:
        """Return everything but the rows as plain JSON types."""
        return {**plain_fields(self, "rows", "detection"), **self.detection.to_json()}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Detectors side by side: one line each, scored by kind, with paired tests."""

    name: str
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
        return {"table": self.name, **plain_fields(self, "name")}


def line_of(
    name: str,
    model: str,
    rows: Sequence[Row],
    cases: Sequence[Case],
    positive: frozenset[Label],
    *,
    tiers: bool,
    spend: Spend,
) -> Line:
    """Score the answers of one detector."""
    comparison = ClosedLabels(LABELS, positive)
    texts = {case.id: tuple(case.inputs["sentences"]) for case in cases}
    return Line(
        name=name,
        model=model,
        rows=tuple(rows),
        detection=detection(rows, texts, comparison),
        tiers=confusion(rows, comparison, shown=_TIERS) if tiers else None,
        spend=spend,
    )


def table_of(
    name: str,
    gold: str,
    strictness: str,
    lines: Sequence[Line],
    positive: frozenset[Label],
    *,
    pairs: Sequence[tuple[int, int]],
    seed: int,
    alpha: float,
    notes: Sequence[str] = (),
) -> Table:
    """Put lines together and test the pairs of them (by number) on the macro F1 of sentences."""
    comparison = ClosedLabels(LABELS, positive)
    metric = kind_metric("macro", "f1", comparison)
    tests = [
        contrast(
            (lines[one].name, [lines[one].rows]),
            (lines[two].name, [lines[two].rows]),
            metric,
            comparison,
            seed=seed,
            alpha=alpha,
        )
        for one, two in pairs
    ]
    rows, counts = lines[0].rows, lines[0].detection
    # Where a zero is a convention: gold has nothing of that kind to find.
    zero = [
        f"gold has no hallucinated {kind} sentence under the strictness {strictness}: its recall and F1, and its half "
        "of the macro average, are 0 for every line"
        for kind in ("factual", "cognitive")
        if not counts.positives[kind]
    ]
    return Table(
        name=name,
        gold=gold,
        cases=len(rows),
        sentences=counts.sentences["overall"],
        groups=len({row.group for row in rows}),
        strictness=strictness,
        lines=tuple(lines),
        tests=corrected(tests),
        notes=(*notes, *zero),
    )
