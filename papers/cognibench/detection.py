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
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from ...cases import Label, Value, Values
from ...errors import UsageError
from ...evaluation.closed_labels import ClosedLabels
from ...evaluation.contrasts import Contrast, contrast, corrected
from ...evaluation.label_metrics import CONFUSED, confusion_metric
from ...evaluation.measured import Score, score
from ...evaluation.metrics import Metric, Ratios
from ...evaluation.plain import plain, plain_fields
from ...evaluation.rows import JudgedRow, Tally, tally
from ...evaluation.units import Bools, Floats, encode
from ...gold.goldset import Gold
from ...jobs.experiment import Experiment
from ...jobs.recorded import read_logs_beside
from ...keeping.logs import Log
from ...keeping.paying import PaidJob
from ...programs.cognibench import BELOW, CLEAR, COGNIBENCH, FOUND, STRICTNESS, statement_type
from ...programs.judge import Judge
from ...report.shown import Shown, score_record
from ...report.table import Table, table
from ...signatures.cognibench_labels import LABELS
from ...text.wording import count_words

Kind = Literal["factual", "cognitive", "macro", "overall"]
Statistic = Literal["precision", "recall", "f1"]
Weighting = Literal["sentence", "word"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
STATISTICS: Final[tuple[Statistic, ...]] = get_args(Statistic)
_KINDS_IN_TABLE: Final[tuple[Kind, ...]] = ("overall", "factual", "cognitive", "macro")
"""The kinds in the order of a table's rows."""
_UNITS: Final[Mapping[Weighting, str]] = {"sentence": "sentences", "word": "words"}
_SENTENCE_LABELS: Final[Mapping[Label, Label]] = {CLEAR: "faithful", FOUND: "invented"}
"""Label of a detector that tells two apart -> CogniBench's label."""
_TYPES: Final[tuple[Kind, ...]] = ("factual", "cognitive")


def by_words(rows: Iterable[JudgedRow], texts: Mapping[str, Sequence[str]]) -> tuple[JudgedRow, ...]:
    """Return the rows with every unit repeated for each of its words."""
    weighted_rows: list[JudgedRow] = []
    for row in rows:
        word_counts = []
        for text in texts[row.id]:
            word_counts.append(max(1, count_words(text)))
        weighted_rows.append(
            replace(
                row,
                gold=_repeat_units(row.gold, word_counts),
                predicted=_repeat_units(row.predicted, word_counts),
            )
        )
    return tuple(weighted_rows)


def _repeat_units(values: Values, counts: Sequence[int]) -> Values:
    """Return each value as often as its count says."""
    repeated: list[Value | None] = []
    for value, count in zip(values, counts, strict=True):
        repeated += [value] * count
    return tuple(repeated)


def kind_metric(kind: Kind, statistic: Statistic, comparison: ClosedLabels) -> Metric:
    """Return the metric of one kind: a statistic over gold labels of that kind, of ``macro`` the mean of both types."""
    name = f"hallucination_{kind}_{statistic}"
    statistic_of_matrix = CONFUSED[statistic]
    if kind == "overall":
        return confusion_metric(name, comparison.labels, comparison.positive, statistic_of_matrix)
    names_of_types: list[str] = []
    for label in comparison.labels:
        names_of_types.append(statement_type(label) if label in LABELS else "")
    label_types = np.array(names_of_types)
    types = _TYPES if kind == "macro" else (kind,)
    gold_rows = []  # for each type, which rows of a confusion matrix (K, 1) hold its gold labels
    for type_name in types:
        gold_rows.append((label_types == type_name)[:, np.newaxis])

    @Ratios
    def mean(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
        numerators: list[Floats] = []
        denominators: list[Floats] = []
        for rows_of_type in gold_rows:
            counts_of_type = np.where(rows_of_type, counts, 0.0)
            numerator, denominator = statistic_of_matrix.parts(counts_of_type, positive)
            numerators.append(numerator)
            denominators.append(denominator)
        return np.stack(numerators, axis=-1) / len(gold_rows), np.stack(denominators, axis=-1)

    return confusion_metric(name, comparison.labels, comparison.positive, mean)


@dataclass(frozen=True, kw_only=True)
class DetectorScores:
    """One detector: its answers, and how well it finds hallucinated sentences."""

    name: str  # the detector
    model: str  # who answered
    rows: tuple[JudgedRow, ...]  # its answers, one row a response
    cells: Mapping[Weighting, Mapping[Kind, Mapping[Statistic, Score]]]
    counts: Tally  # sentences and responses by how they ended
    positives: Mapping[str, int]  # kind -> hallucinated sentences of it in gold
    sentences: Mapping[str, int]  # kind -> labelled sentences of it in gold
    spend: Mapping[str, Any]  # calls, tokens and cost

    @classmethod
    def of(
        cls,
        rows: Sequence[JudgedRow],
        texts: Mapping[str, Sequence[str]],
        comparison: ClosedLabels,
        **fields: Any,
    ) -> "DetectorScores":
        """Score the answers of a detector by kind, by sentences and by words; ``fields`` are the other fields."""
        gold_labels: list[str] = []
        hallucinated_labels: list[str] = []
        for row in rows:
            for value in row.gold:
                if value is not None:
                    gold_labels.append(str(value))
                if value in comparison.positive:
                    hallucinated_labels.append(str(value))
        return cls(
            rows=tuple(rows),
            cells={
                "sentence": _kind_scores(rows, comparison),
                "word": _kind_scores(by_words(rows, texts), comparison),
            },
            counts=tally(rows),
            positives=_counts_by_type(hallucinated_labels),
            sentences=_counts_by_type(gold_labels),
            **fields,
        )

    def cell(self, kind: Kind, statistic: Statistic, weighting: Weighting = "sentence") -> Score:
        """Return the score of one kind and statistic, by sentences or by words."""
        return self.cells[weighting][kind][statistic]

    def to_json(self) -> dict[str, Any]:
        """Return everything but the rows as plain JSON types."""
        units = self.counts.units
        counts = {**plain_fields(units), "coverage": units.coverage}
        return {**plain_fields(self, "rows", "cells", "counts"), **plain(self.cells), "counts": counts}


def _kind_scores(rows: Sequence[JudgedRow], comparison: ClosedLabels) -> dict[Kind, dict[Statistic, Score]]:
    """Return the score of each kind and statistic."""
    units = encode(comparison, rows)
    scores: dict[Kind, dict[Statistic, Score]] = {}
    for kind in KINDS:
        scores[kind] = {}
        for statistic in STATISTICS:
            scores[kind][statistic] = score(units, kind_metric(kind, statistic, comparison))
    return scores


def _counts_by_type(labels: Sequence[str]) -> dict[str, int]:
    """Return how many labels are of each type of statement, and how many there are."""
    types = list(map(statement_type, labels))
    return {
        "factual": types.count("factual"),
        "cognitive": types.count("cognitive"),
        "overall": len(labels),
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class Detection(Shown):
    """Detectors side by side: one line each, scored by kind, with paired tests."""

    table: str  # its name
    gold: str  # the gold's name
    cases: int  # responses that all lines are scored on
    sentences: int  # labelled sentences of these responses
    groups: int  # dialogues or documents they come from
    strictness: str  # below it a cognitive sentence is hallucinated
    lines: tuple[DetectorScores, ...]
    tests: tuple[Contrast, ...]  # corrected together (Holm)
    notes: tuple[str, ...] = ()  # what a reader must know, one sentence each

    @classmethod
    def of(
        cls,
        lines: Sequence[DetectorScores],
        pairs: Iterable[tuple[int, int]],
        *,
        strictness: str = STRICTNESS,
        seed: int,
        alpha: float,
        notes: Iterable[str] = (),
        **fields: str,
    ) -> "Detection":
        """Return lines side by side, with a test on the macro F1 of sentences for each pair of them.

        Args:
            pairs: the places of the two lines of each test, the first one expected to be better.
            fields: ``table`` and ``gold``.
        """
        comparison = ClosedLabels(LABELS, BELOW[strictness])
        metric = kind_metric("macro", "f1", comparison)
        tests: list[Contrast] = []
        for first_number, second_number in pairs:
            first, second = lines[first_number], lines[second_number]
            first_side = (first.name, [first.rows])
            second_side = (second.name, [second.rows])
            tests.append(contrast(first_side, second_side, metric, comparison, seed=seed, alpha=alpha))
        first = lines[0]
        all_notes = [note for note in notes if note]
        for kind in _TYPES:
            if not first.positives[kind]:
                # A zero is a convention here: gold has nothing of that kind to find.
                all_notes.append(
                    f"gold has no hallucinated {kind} sentence under the strictness {strictness}: its recall "
                    "and F1, and its half of the macro average, are 0 for every line"
                )
        return cls(
            cases=len(first.rows),
            sentences=first.sentences["overall"],
            groups=len({row.group for row in first.rows}),
            strictness=strictness,
            lines=tuple(lines),
            tests=corrected(tests),
            notes=tuple(dict.fromkeys(all_notes)),
            **fields,
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return plain_fields(self)

    def parts(self) -> list[Table | str]:
        """Return both tables, the notes, and the tests in words."""
        tests = [test.words for test in self.tests]
        return [*self.sheets(), *self.notes, *tests]

    def records(self) -> list[dict[str, object]]:
        """Return a row for each detector, weighting, kind and statistic."""
        records: list[dict[str, object]] = []
        for line in self.lines:
            for weighting in _UNITS:
                for kind in _KINDS_IN_TABLE:
                    for statistic in STATISTICS:
                        score = line.cell(kind, statistic, weighting)
                        place = {"method": line.name, "model": line.model, "by": weighting, "kind": kind}
                        records.append({**place, "metric": statistic, **score_record(score)})
        return records

    def sheets(self) -> list[Table]:
        """Return two tables: the scores by sentences, and by words."""
        sheets = []
        for weighting, units in _UNITS.items():
            sheets.append(self._sheet(weighting, units))
        return sheets

    def _sheet(self, weighting: Weighting, units: str) -> Table:
        """Return the table of all scores under one weighting, whose units the title names."""
        first = self.lines[0]
        sizes = []
        for kind in _TYPES:
            sizes.append(f"{first.positives[kind]} of {first.sentences[kind]} {kind}")
        title = (
            f"{self.table}: detection of hallucinations by {units} [95 % interval, by group]; {self.gold}, "
            f"{self.cases} responses, {self.sentences} sentences ({', '.join(sizes)} ones hallucinated, strictness "
            f"{self.strictness}), {self.groups} groups"
        )
        rows: list[list[str]] = []
        for line in self.lines:
            for kind in _KINDS_IN_TABLE:
                cells: list[str] = [line.name, kind]
                for statistic in STATISTICS:
                    cell = line.cell(kind, statistic, weighting)
                    cells.append(f"{cell.value:.3f} {cell.interval}")
                cells.append(f"{line.counts.units.answered} of {line.counts.units.labelled}")
                rows.append(cells)
        return table(title, ["method", "kind", *STATISTICS, "answered"], rows)


def recorded_detector(reference: str, gold: Gold) -> Log:
    """Return the verdicts of a log on gold of the judge ``cognibench``, in its labels or in those of ``detector``."""
    labels = {**_SENTENCE_LABELS, **gold.mapping.get("labels", {})}
    (log,) = read_logs_beside([reference], replace(gold, mapping={**gold.mapping, "labels": labels}))
    return log


@dataclass(frozen=True, kw_only=True)
class Detectors(Experiment):
    """The experiment behind the table: detectors to ask, of which the first is tested against each other one."""

    kind: ClassVar[str] = "table cognibench-3"
    fewest: ClassVar[int] = 1
    strictness: str = STRICTNESS  # below it a cognitive sentence is hallucinated (the paper's: grounded)
    seed: int = 0  # of the permutation test

    @property
    def scored(self) -> Judge:
        """The judge ``cognibench``: the answers of all detectors are scored in its labels."""
        return self.gold.judge

    def _check_alike(self) -> None:
        """Refuse judges with other inputs or other labels than detectors of hallucinated sentences have."""
        for contender in self.contenders:
            judge = contender.judge
            labels = set(judge.answer.scale.choices)
            has_labels = labels in (set(LABELS), set(_SENTENCE_LABELS))
            if judge.input_fields != COGNIBENCH.input_fields or not has_labels:
                raise UsageError(
                    f"judge {judge.name} does not find the hallucinated sentences of a response",
                    hint="name judges of CogniBench responses, such as cognibench or detector, or recorded:FILE",
                )

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this table when it is started again, as JSON values."""
        return {**super().fingerprint(), "strictness": self.strictness}

    def detection(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> Detection:
        """Ask all detectors and score them."""
        comparison = ClosedLabels(LABELS, BELOW[self.strictness])
        notes = list(self.notes)
        fixed_names = []
        for contender in self.contenders:
            if "strictness" not in contender.judge.options:
                fixed_names.append(contender.name)
        if fixed_names and self.strictness != STRICTNESS:
            names = ", ".join(fixed_names)
            notes.append(f"{names} cannot be set to the strictness {self.strictness}: as for {STRICTNESS}")
        texts = {case.id: case.inputs["sentences"] for case in self.gold.cases}
        lines: list[DetectorScores] = []
        for answered in self.ask(job, on_case):
            line = DetectorScores.of(
                list(map(_in_sentence_labels, answered.repeats[0])),
                texts,
                comparison,
                name=answered.name,
                model=answered.judge.model.name,
                spend=answered.spend.to_json(),
            )
            lines.append(line)
        return Detection.of(
            lines,
            [(0, number) for number in range(1, len(lines))],
            strictness=self.strictness,
            table="cognibench-3",
            gold=self.gold.name,
            seed=self.seed,
            alpha=2.0 * self.opening.level,  # two-sided; that of an opening is one-sided
            notes=notes,
        )


def _in_sentence_labels(row: JudgedRow) -> JudgedRow:
    """Return a detector's row in CogniBench's labels."""
    labels = [_SENTENCE_LABELS.get(str(value), value) for value in row.predicted]
    return replace(row, predicted=tuple(labels))
