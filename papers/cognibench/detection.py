"""CogniBench's Table 3 on any gold: detectors of hallucinated sentences side by side, scored by kind.

The *kind* of a sentence is the one its gold label says it is, so that a detector that gives no types is scored like one
that does. Factual: invented against faithful. Cognitive: the tiers below the strictness chosen (the paper's is
*grounded*) against those that pass. Macro: the mean of both values. Overall: all of these against all others,
irrelevant sentences too. The paper calls its overall F1 the macro average of both kinds; its own figures are that for
auto-labelling only (82.2 of 82.5 and 81.9), so both are given here.

A sentence is *detected* when its predicted label is a positive one of any kind: a misleading sentence that is called
invented was found. Unlabelled sentences count nowhere. Where a kind has no positive sentence in gold, its recall and
F1 are 0.0 by the convention of :mod:`jurist.evaluation.metrics`, and so is its half of the macro average.

By words (section 4.1) a row is the row with each unit repeated as often as it has words, so that every metric, bound,
interval and permutation test applies to it as it is. Counts of independent units (McNemar) do not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from ...cases import Label
from ...errors import UsageError
from ...evaluation.closed_labels import CONFUSED, ClosedLabels, confusion_metric
from ...evaluation.contrasts import Contrast, contrast, corrected
from ...evaluation.measured import Score, score
from ...evaluation.metrics import Metric, Ratios
from ...evaluation.plain import plain, plain_fields
from ...evaluation.rows import Row, Tally, tally
from ...evaluation.units import Bools, Floats, encode
from ...gold.goldset import Gold
from ...jobs.experiment import Experiment
from ...jobs.recorded import logs_beside
from ...keeping.logs import Log
from ...keeping.paying import PaidJob
from ...programs.cognibench import BELOW, CLEAR, COGNIBENCH, FOUND, STRICTNESS, statement_type
from ...programs.judge import Judge
from ...report.table import Table, table
from ...signatures.cognibench import LABELS
from ...text.wording import count_words

Kind = Literal["factual", "cognitive", "macro", "overall"]
Statistic = Literal["precision", "recall", "f1"]
Weighting = Literal["sentence", "word"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
STATISTICS: Final[tuple[Statistic, ...]] = get_args(Statistic)
_SHOWN: Final[tuple[Kind, ...]] = ("overall", "factual", "cognitive", "macro")
_UNITS: Final[Mapping[Weighting, str]] = {"sentence": "sentences", "word": "words"}
_SEVEN: Final[Mapping[Label, Label]] = {CLEAR: "faithful", FOUND: "invented"}
"""What a detector that tells two labels apart says in CogniBench's."""


def by_words(rows: Iterable[Row], texts: Mapping[str, Sequence[str]]) -> tuple[Row, ...]:
    """Return the rows with every unit repeated for each of its words."""
    repeated = []
    for row in rows:
        counts = [max(1, count_words(text)) for text in texts[row.id]]
        gold, predicted = (tuple(chain(*map(repeat, units, counts))) for units in (row.gold, row.predicted))
        repeated.append(replace(row, gold=gold, predicted=predicted))
    return tuple(repeated)


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


@dataclass(frozen=True, kw_only=True)
class Line:
    """One detector: its answers, and how well it finds hallucinated sentences."""

    name: str  # the detector
    model: str  # who answered
    rows: tuple[Row, ...]  # its answers, one row a response
    cells: Mapping[Weighting, Mapping[Kind, Mapping[Statistic, Score]]]
    counts: Tally  # sentences and responses by how they ended
    positives: Mapping[str, int]  # kind -> hallucinated sentences of it in gold
    sentences: Mapping[str, int]  # kind -> labelled sentences of it in gold
    spend: Mapping[str, Any]  # calls, tokens and cost

    @classmethod
    def of(
        cls, rows: Sequence[Row], texts: Mapping[str, Sequence[str]], comparison: ClosedLabels, **about: Any
    ) -> "Line":
        """Score the answers of a detector by kind, by sentences and by words; ``about`` are the other fields."""
        gold = [str(value) for row in rows for value in row.gold if value is not None]
        weighted: dict[Weighting, Sequence[Row]] = {"sentence": rows, "word": by_words(rows, texts)}
        cells: dict[Weighting, dict[Kind, dict[Statistic, Score]]] = {}
        for weighting, some in weighted.items():
            units = encode(comparison, some)
            cells[weighting] = {
                kind: {name: score(units, kind_metric(kind, name, comparison)) for name in STATISTICS}
                for kind in KINDS
            }
        return cls(
            rows=tuple(rows),
            cells=cells,
            counts=tally(rows),
            positives=_by_kind([label for label in gold if label in comparison.positive]),
            sentences=_by_kind(gold),
            **about,
        )

    def cell(self, kind: Kind, statistic: Statistic, weighting: Weighting = "sentence") -> Score:
        """Return one number."""
        return self.cells[weighting][kind][statistic]

    def to_json(self) -> dict[str, Any]:
        """Return everything but the rows as plain JSON types."""
        units = self.counts.units
        counts = {**plain_fields(units), "coverage": units.coverage}
        return {**plain_fields(self, "rows", "cells", "counts"), **plain(self.cells), "counts": counts}


def _by_kind(gold: Sequence[str]) -> dict[str, int]:
    kinds = [statement_type(label) for label in gold]
    return {**{name: kinds.count(name) for name in ("factual", "cognitive")}, "overall": len(gold)}


@dataclass(frozen=True, kw_only=True)
class Detection:
    """Detectors side by side: one line each, scored by kind, with paired tests."""

    table: str  # its name
    gold: str  # the gold's name
    cases: int  # responses that all lines are scored on
    sentences: int  # labelled ones of these responses
    groups: int  # dialogues or documents they come from
    strictness: str  # below it a cognitive sentence is hallucinated
    lines: tuple[Line, ...]
    tests: tuple[Contrast, ...]  # corrected together (Holm)
    notes: tuple[str, ...] = ()  # what a reader must know, one sentence each

    @classmethod
    def of(
        cls,
        lines: Sequence[Line],
        pairs: Iterable[tuple[int, int]],
        *,
        strictness: str = STRICTNESS,
        seed: int,
        alpha: float,
        notes: Iterable[str] = (),
        **about: str,
    ) -> "Detection":
        """Put lines together and test the pairs of them (by number) on the macro F1 of sentences."""
        comparison, first = ClosedLabels(LABELS, BELOW[strictness]), lines[0]
        metric = kind_metric("macro", "f1", comparison)
        answers = [(line.name, [line.rows]) for line in lines]
        tests = [
            contrast(answers[one], answers[two], metric, comparison, seed=seed, alpha=alpha)
            for one, two in pairs
        ]
        # Where a zero is a convention: gold has nothing of that kind to find.
        zero = [
            f"gold has no hallucinated {kind} sentence under the strictness {strictness}: its recall and F1, and "
            "its half of the macro average, are 0 for every line"
            for kind in ("factual", "cognitive")
            if not first.positives[kind]
        ]
        return cls(
            cases=len(first.rows),
            sentences=first.sentences["overall"],
            groups=len({row.group for row in first.rows}),
            strictness=strictness,
            lines=tuple(lines),
            tests=corrected(tests),
            notes=(*dict.fromkeys(filter(None, notes)), *zero),
            **about,
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return plain_fields(self)

    def sheets(self) -> list[Table]:
        """Return its tables: by sentences, and by words."""
        return [self._sheet(*which) for which in _UNITS.items()]

    def _sheet(self, weighting: Weighting, units: str) -> Table:
        first = self.lines[0]
        sizes = ", ".join(
            f"{first.positives[kind]} of {first.sentences[kind]} {kind}" for kind in ("factual", "cognitive")
        )
        title = (
            f"{self.table}: detection of hallucinations by {units} [95 % interval, by group]; {self.gold}, "
            f"{self.cases} responses, {self.sentences} sentences ({sizes} ones hallucinated, strictness "
            f"{self.strictness}), {self.groups} groups"
        )
        rows = []
        for line in self.lines:
            answered = f"{line.counts.units.answered} of {line.counts.units.labelled}"
            for kind in _SHOWN:
                cells = [line.cell(kind, name, weighting) for name in STATISTICS]
                rows.append(
                    [line.name, kind, *(f"{cell.value:.3f} {cell.interval}" for cell in cells), answered]
                )
        return table(title, ["method", "kind", *STATISTICS, "answered"], rows)


def recorded_detector(reference: str, gold: Gold) -> Log:
    """Return the verdicts of a log on gold of the judge ``cognibench``, in its labels or in those of ``detector``."""
    labels = {**_SEVEN, **gold.mapping.get("labels", {})}
    (log,) = logs_beside([reference], replace(gold, mapping={**gold.mapping, "labels": labels}))
    return log


@dataclass(frozen=True, kw_only=True)
class Detectors(Experiment):
    """The table before anything is asked. The first contender is tested against each other one."""

    kind: ClassVar[str] = "table cognibench-3"
    fewest: ClassVar[int] = 1
    strictness: str = STRICTNESS  # below it a cognitive sentence is hallucinated (the paper's: grounded)
    seed: int = 0  # of the permutation test

    @property
    def scored(self) -> Judge:
        """The judge ``cognibench``, as whose answers all are scored."""
        return self.gold.judge

    def _check_alike(self) -> None:
        """Refuse judges of something else than the sentences of a response."""
        for judge in (contender.judge for contender in self.contenders):
            labels = set(judge.answer.scale.choices)
            if judge.input_fields != COGNIBENCH.input_fields or labels not in (set(LABELS), set(_SEVEN)):
                raise UsageError(
                    f"judge {judge.name} does not find the hallucinated sentences of a response",
                    hint="name judges of CogniBench responses, such as cognibench or detector, or recorded:FILE",
                )

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same table when it is started again, as JSON values."""
        return {**super().fingerprint(), "strictness": self.strictness}

    def detection(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> Detection:
        """Ask all detectors and score them."""
        comparison = ClosedLabels(LABELS, BELOW[self.strictness])
        fixed = [one.name for one in self.contenders if "strictness" not in one.judge.options]
        strict = f"{', '.join(fixed)} cannot be set to the strictness {self.strictness}: as for {STRICTNESS}"
        texts = {case.id: case.inputs["sentences"] for case in self.gold.cases}
        lines = []
        for one in self.ask(job, on_case):
            rows = [
                replace(row, predicted=tuple(_SEVEN.get(str(value), value) for value in row.predicted))
                for row in one.repeats[0]
            ]
            about = {"name": one.name, "model": one.judge.model.name, "spend": one.spend.to_json()}
            lines.append(Line.of(rows, texts, comparison, **about))
        return Detection.of(
            lines,
            [(0, other) for other in range(1, len(lines))],
            strictness=self.strictness,
            table="cognibench-3",
            gold=self.gold.name,
            seed=self.seed,
            alpha=2.0 * self.look.level,  # two-sided, as compare
            notes=(*self.remarks, strict if fixed and self.strictness != STRICTNESS else ""),
        )
