"""What a proof says beyond its verdicts: precision and recall by threshold, how right samples that agree are, and
whether probabilities are right.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from ..evaluation.measured import objective_score
from ..evaluation.votes import Sampling
from ..keeping.artifact_card import rows_of
from ..programs.judge import Judge
from .document import Part, Plot
from .judged import SYSTEMS
from .plotting import Series
from .scores import number_cell
from .table import table

Proof: TypeAlias = Sequence[Mapping[str, Any]]
"""The lines of :meth:`~jurist.keeping.artifact_card.Artifact.proof`."""
_CUTS = 12
"""Thresholds of each program that the table shows, about; the plot has all of them."""


def thresholds(judge: Judge, proof: Proof, system: str, samples: int) -> dict[int, dict[str, float]]:
    """Return threshold -> metric -> value on the sealed test, had that many votes been needed; empty without a choice.

    A unit that the votes leave open counts as wrong. Drawing stops where nothing can change any more, so there is a
    choice only where every case was asked ``samples`` times.
    """
    answer = judge.answer
    names = [name for name in ("precision", "recall", "f1") if name in judge.comparison.metrics]
    drawn = all(line[system]["drawn"] >= samples for line in proof)
    if samples < 2 or not answer.scale.uses_threshold or not names or not drawn:
        return {}
    rows = rows_of(answer, proof, system)
    found = {}
    for needed in range(1, samples + 1):
        sampling = Sampling(samples=samples, threshold=needed)
        voted = [
            row
            if row.failed
            else replace(
                row, predicted=tuple(answer.scale.combine(votes, sampling) for votes in line[system]["votes"])
            )
            for row, line in zip(rows, proof, strict=True)
        ]
        found[needed] = {name: objective_score(voted, name, judge.comparison) for name in names}
    return found


class Cut(NamedTuple):
    """What would be found if every unit counted as found that is at least so probable."""

    least: float  # the probability, of tokens or of votes, 0 to 1
    units: int  # those that would be
    precision: float
    recall: float


def cuts(judge: Judge, proof: Proof, system: str) -> tuple[Cut, ...]:
    """Return precision and recall by the least probability, the highest first; empty if units have none, or all one.

    Units without an answer are never found, and missed if they are positive.
    """
    answer, units = judge.answer, []
    for row, line in zip(rows_of(answer, proof, system), proof, strict=True):
        told = line[system].get("probability") or map(answer.scale.probability, line[system]["votes"])
        units += [
            (-1.0 if one is None else round(one, 2), answer.scale.probability({gold: 1.0}) == 1)
            for gold, one in zip(row.gold, told, strict=True)
            if gold is not None
        ]
    positive, levels = sum(is_so for _, is_so in units), sorted({p for p, _ in units if p >= 0}, reverse=True)
    if len(levels) < 2 or not positive:
        return ()
    hits = [[is_so for p, is_so in units if p >= least] for least in levels]
    return tuple(
        Cut(least, len(hit), sum(hit) / len(hit), sum(hit) / positive)
        for least, hit in zip(levels, hits, strict=True)
    )


def calibration(judge: Judge, proof: Proof, system: str) -> list[tuple[float, int, float]]:
    """Return how right a program is by how far its samples agreed; empty if all agreed alike.

    Each entry has the share of the votes that went to the answer, the units for which it is that, and their mean
    credit: of answers that are right or wrong the share that is right.
    """
    credits: dict[float, list[float]] = defaultdict(list)
    for row, line in zip(rows_of(judge.answer, proof, system), proof, strict=True):
        for gold, value, share in zip(row.gold, row.predicted, line[system]["agreement"], strict=True):
            if gold is not None and value is not None and share is not None:
                credits[round(share, 2)].append(credit_of(judge, gold, value))
    return (
        [(share, len(some), fmean(some)) for share, some in sorted(credits.items())]
        if len(credits) > 1
        else []
    )


def credit_of(judge: Judge, gold: Any, value: Any) -> float:
    """Return how right an answer is, 0 to 1: 0 or 1 where answers are right or wrong."""
    right = None if value is None else judge.comparison.right(gold, value)
    return judge.answer.scale.credit(gold, value) if right is None else float(right)


def sure_parts(judge: Judge, proof: Proof, samples: int) -> list[Part]:
    """Return what the answers of a proof, of so many samples each, say beyond themselves."""
    parts: list[Part] = []
    if judge.answer.scale.has_probabilities:
        at = {system: known for system in SYSTEMS if (known := cuts(judge, proof, system))}
        parts += _drawn(
            ("cuts", "precision against recall", "recall", "precision"),
            {name: [(one.recall, one.precision) for one in known] for name, known in at.items()},
            ["program", "at least", "units found", "precision", "recall"],
            [
                [name, f"{one.least:.2f}", one.units, f"{one.precision:.3f}", f"{one.recall:.3f}"]
                for name, known in at.items()
                for one in known[:: max(1, len(known) // _CUTS)]
            ],
            words="by the probability that a unit must have at least; ",
        )
    elif voted := thresholds(judge, proof, "compiled", samples):
        names = list(voted[1])
        title = "precision and recall by the votes that are needed"
        parts += _drawn(
            ("thresholds", title, "votes that are needed", "value on the sealed test"),
            {name: [(float(needed), values[name]) for needed, values in voted.items()] for name in names},
            ["votes needed", *names],
            [[needed, *(f"{values[name]:.3f}" for name in names)] for needed, values in voted.items()],
        )
    if samples > 1:
        agreed = {system: told for system in SYSTEMS if (told := calibration(judge, proof, system))}
        title = "how often it is right when so many samples agree"
        parts += _drawn(
            ("calibration", title, "share of the votes", "share right"),
            {name: [(share, right) for share, _, right in told] for name, told in agreed.items()},
            ["program", "share of the votes", "units", "right"],
            [
                [name, f"{share:.2f}", units, f"{right:.3f}"]
                for name, told in agreed.items()
                for share, units, right in told
            ],
            diagonal="as sure as right",
        )
    return parts


def reliability_parts(kept: Mapping[str, Mapping[str, Any]]) -> list[Part]:
    """Return what a card says of the probabilities of each program; nothing if it says nothing."""
    if not kept:
        return []
    title = "reliability: how often it is so when it says so"
    parts = _drawn(
        ("reliability", title, "probability of being positive", "share positive"),
        {system: [(one["said"], one["found"]) for one in about["bins"]] for system, about in kept.items()},
        ["program", "units", "ECE", "Brier", "AUC", "average precision"],
        [
            [
                system,
                about["units"],
                number_cell(about["ece"]),
                *(number_cell(about[name]) for name in ("brier", "auc", "average_precision")),
            ]
            for system, about in kept.items()
        ],
        diagonal="as probable as said",
    )
    rows = [
        [
            *(system, f"{one['low']:.1f} to {one['high']:.1f}", one["units"]),
            *(f"{one['said']:.3f}", f"{one['found']:.3f}"),
        ]
        for system, about in kept.items()
        for one in about["bins"]
    ]
    return [*parts, table("", ["program", "probability", "units", "said, mean", "positive"], rows)]


def _drawn(
    axes: tuple[str, str, str, str],
    lines: Mapping[str, Sequence[tuple[float, float]]],
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    words: str = "",
    diagonal: str = "",
) -> list[Part]:
    """Return a plot, given by name, title and axes, and the table of it; nothing without a row."""
    if not rows:
        return []
    name, title, x, y = axes
    series = [Series(name=who, points=tuple(points)) for who, points in lines.items()]
    if diagonal:
        series.append(Series(name=diagonal, points=((0.0, 0.0), (1.0, 1.0)), style="dashed"))
    plot = Plot(title=title, words=f"{words}see the table below", name=name, series=series, x=x, y=y)
    return [plot, table("", columns, rows)]
