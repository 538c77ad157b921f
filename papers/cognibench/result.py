"""A table of detectors: one line each, scored by kind, with paired tests against the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...cases import Case, Label
from ...engines.ledger import Spend
from ...evaluation.classes import Confusion, confusion
from ...evaluation.closed_labels import ClosedLabels
from ...evaluation.contrasts import Contrast, contrast, corrected
from ...evaluation.rows import Row
from ...programs.cognibench import statement_type
from ...signatures.cognibench import LABELS
from ...text.json_lines import plain_fields
from .asked import sentences_of
from .detection import Detection, detection, kind_metric

_TESTED = ("macro", "f1")
_TIERS = tuple(label for label in LABELS if statement_type(label) == "cognitive")
_KINDS = {label: statement_type(label) for label in LABELS}


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
    """A table."""

    name: str  # ``cognibench-3`` or ``cognibench-5``
    gold: str  # the gold's name. cases, sentences: responses and labelled sentences that all lines are scored on
    cases: int
    sentences: int
    groups: int  # dialogues or documents they come from
    strictness: str  # below it a cognitive sentence is hallucinated
    lines: tuple[Line, ...]  # the lines
    tests: tuple[Contrast, ...]  # each first line of a model against its others, corrected together (Holm)
    notes: tuple[str, ...] = ()  # what a reader must know, one sentence each
    # name -> votes needed -> the detection under that threshold, from the same votes
    thresholds: Mapping[str, Mapping[int, Detection]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        thresholds = {
            name: {str(votes): one.to_json() for votes, one in found.items()}
            for name, found in self.thresholds.items()
        }
        return {"table": self.name, **plain_fields(self, "name"), "thresholds": thresholds}


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
    return Line(
        name=name,
        model=model,
        rows=tuple(rows),
        detection=scored(rows, cases, positive),
        tiers=confusion(rows, ClosedLabels(LABELS, positive), shown=_TIERS) if tiers else None,
        spend=spend,
    )


def scored(rows: Sequence[Row], cases: Sequence[Case], positive: frozenset[Label]) -> Detection:
    """Return the numbers of some answers, by kind and by weighting."""
    texts = {case.id: sentences_of(case) for case in cases}
    return detection(rows, texts, ClosedLabels(LABELS, positive), _KINDS)


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
    thresholds: Mapping[str, Mapping[int, Detection]] | None = None,
) -> Table:
    """Put lines together and test the pairs of them (by number) on the macro F1 of sentences."""
    comparison = ClosedLabels(LABELS, positive)
    metric = kind_metric(*_TESTED, comparison, _KINDS)  # type: ignore[arg-type]
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
    rows = lines[0].rows
    return Table(
        name=name,
        gold=gold,
        cases=len(rows),
        sentences=lines[0].detection.sentences["overall"],
        groups=len({row.group for row in rows}),
        strictness=strictness,
        lines=tuple(lines),
        tests=corrected(tests),
        notes=(*notes, *_without_positives(lines[0].detection, strictness)),
        thresholds=thresholds or {},
    )


def _without_positives(found: Detection, strictness: str) -> list[str]:
    """Say where a zero in the table is a convention: gold has nothing of that kind to find."""
    return [
        f"gold has no hallucinated {kind} sentence under the strictness {strictness}: its recall and F1, and its half "
        "of the macro average, are 0 for every line"
        for kind in ("factual", "cognitive")
        if not found.positives[kind]
    ]
