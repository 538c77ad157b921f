"""A table of detectors for people: scores by sentences, by words, by threshold, and what tiers were taken for."""

from collections.abc import Mapping

from ..evaluation.contrasts import TEST
from ..evaluation.measured import Score
from ..papers.cognibench.detection import Detection, Kind, Statistic, Weighting
from ..papers.cognibench.result import Line
from ..papers.cognibench.result import Table as Detectors
from ..report.table import Table, records, table
from .compared import decision_row

_KINDS: tuple[Kind, ...] = ("overall", "factual", "cognitive", "macro")
_STATISTICS: Mapping[Statistic, str] = {"precision": "P", "recall": "R", "f1": "F1"}
_EACH: Mapping[Weighting, str] = {"sentence": "sentences", "word": "words"}


def sheets(result: Detectors) -> list[Table]:
    """Return the sheets of a table in the order in which they are read: the paper's shape first."""
    lines = {line.name: line.detection for line in result.lines}
    found = [_paper(_title(result, weighting), "method", lines, weighting) for weighting in _EACH]
    found.append(_intervals("95 % intervals (by group)", "method", lines))
    for name, curve in result.thresholds.items():
        votes = {f"{number} of {len(curve)}": one for number, one in curve.items()}
        found += [
            _paper(f"by votes needed, by {each}, from the same votes: {name}", "votes", votes, weighting)
            for weighting, each in _EACH.items()
        ]
        found.append(_intervals(f"95 % intervals by votes needed: {name}", "votes", votes))
    found += [_tiers(line) for line in result.lines if line.tiers]
    found += [_tests(result)] if result.tests else []
    return found


def _title(result: Detectors, weighting: Weighting) -> str:
    counts = result.lines[0].detection
    sizes = ", ".join(
        f"{counts.positives[kind]} of {counts.sentences[kind]} {kind}" for kind in ("factual", "cognitive")
    )
    return (
        f"{result.name}: detection of hallucinations by {_EACH[weighting]}; {result.gold}, {result.cases} responses, "
        f"{result.sentences} sentences ({sizes} ones hallucinated, strictness {result.strictness}), "
        f"{result.groups} groups"
    )


def _paper(title: str, first: str, lines: Mapping[str, Detection], weighting: Weighting) -> Table:
    """Methods by kinds, as in the paper's Tables 3 and 5."""
    missing = any(one.counts.units.coverage < 1.0 for one in lines.values())
    rows = []
    for name, one in lines.items():
        row = [f"{one.cell(kind, what, weighting).value:.3f}" for kind in _KINDS for what in _STATISTICS]
        units = one.counts.units
        rows.append([name, *row, *([f"{units.answered} of {units.labelled}"] if missing else [])])
    columns = [first, *(f"{kind} {short}" for kind in _KINDS for short in _STATISTICS.values())]
    return table(title, [*columns, *(["answered"] if missing else [])], rows)


def _intervals(title: str, first: str, lines: Mapping[str, Detection]) -> Table:
    columns = [
        first,
        "kind",
        *(f"{short}, {each}" for each in _EACH.values() for short in _STATISTICS.values()),
    ]
    rows = [
        [name, kind, *(_cell(one.cell(kind, what, weighting)) for weighting in _EACH for what in _STATISTICS)]
        for name, one in lines.items()
        for kind in _KINDS
    ]
    return table(title, columns, rows)


def _cell(cell: Score) -> str:
    return f"{cell.value:.3f} {cell.interval}"


def _tiers(line: Line) -> Table:
    found = line.tiers
    assert found is not None
    rows = []
    for place, label in enumerate(found.labels):
        right = found.right[place]
        counts = (str(count) for count in found.counts[place])
        rows.append([label, *counts, str(found.missing[place]), _cell(right) if right else "-"])
    return table(
        f"what cognitive sentences were taken for (rows: people; columns: judged): {line.name}",
        ["tier", *found.judged, "unanswered", "exact [95 %]"],
        rows,
    )


def _tests(result: Detectors) -> Table:
    counts = [f"{one.mcnemar.c} / {one.mcnemar.b}" if one.mcnemar else "-" for one in result.tests]
    return records(
        f"decisions on the macro F1 of sentences: {TEST} on the same sentences, Holm; "
        "unanswered ones count as wrong",
        [
            decision_row(one, "macro F1", {"only one right": count})
            for one, count in zip(result.tests, counts, strict=True)
        ],
    )
