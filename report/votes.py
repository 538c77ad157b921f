"""What a proof says beyond its verdicts: precision and recall by threshold, how right samples that agree are, and
whether probabilities are right.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from ..evaluation.calibration import ece_by_luck
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
    found: int  # units that would be
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


class Sure(NamedTuple):
    """Units on which the samples agreed equally far."""

    share: float  # of the votes that went to the answer, 0 to 1
    units: int  # how many there are
    right: float  # the mean credit of these units, 0 to 1; of answers that are right or wrong the share that is right


def calibration(judge: Judge, proof: Proof, system: str) -> tuple[Sure, ...]:
    """Return how right a program is by how far its samples agreed; empty if all agreed alike."""
    credits: dict[float, list[float]] = defaultdict(list)
    for row, line in zip(rows_of(judge.answer, proof, system), proof, strict=True):
        for gold, value, share in zip(row.gold, row.predicted, line[system]["agreement"], strict=True):
            if gold is not None and value is not None and share is not None:
                credits[round(share, 2)].append(credit_of(judge, gold, value))
    if len(credits) < 2:
        return ()
    return tuple(Sure(share, len(some), sum(some) / len(some)) for share, some in sorted(credits.items()))


def credit_of(judge: Judge, gold: Any, value: Any) -> float:
    """Return how right an answer is, 0 to 1: 0 or 1 where answers are right or wrong."""
    right = None if value is None else judge.comparison.right(gold, value)
    return judge.answer.scale.credit(gold, value) if right is None else float(right)


def sure_parts(judge: Judge, proof: Proof, samples: int) -> Iterator[Part]:
    """Yield what the answers of a proof, of so many samples each, say beyond themselves."""
    if judge.answer.scale.has_probabilities:
        found = {system: cut_at for system in SYSTEMS if (cut_at := cuts(judge, proof, system))}
        yield from _drawn(
            Plot(
                title="precision against recall",
                words="by the probability that a unit must have at least; see the table below",
                name="cuts",
                series=[
                    _line(name, [(one.recall, one.precision) for one in cut_at])
                    for name, cut_at in found.items()
                ],
                x="recall",
                y="precision",
            ),
            ["program", "at least", "units found", "precision", "recall"],
            [
                [name, f"{one.least:.2f}", one.found, f"{one.precision:.3f}", f"{one.recall:.3f}"]
                for name, cut_at in found.items()
                for one in cut_at[:: max(1, len(cut_at) // _CUTS)]
            ],
        )
    elif voted := thresholds(judge, proof, "compiled", samples):
        names = list(voted[1])
        yield from _drawn(
            Plot(
                title="precision and recall by the votes that are needed",
                words="see the table below",
                name="thresholds",
                series=[
                    _line(name, [(float(t), values[name]) for t, values in voted.items()]) for name in names
                ],
                x="votes that are needed",
                y="value on the sealed test",
            ),
            ["votes needed", *names],
            [[needed, *(f"{values[name]:.3f}" for name in names)] for needed, values in voted.items()],
        )
    if samples > 1:
        agreed = {system: some for system in SYSTEMS if (some := calibration(judge, proof, system))}
        yield from _drawn(
            Plot(
                title="how often it is right when so many samples agree",
                words="see the table below",
                name="calibration",
                series=[
                    *(_line(name, [(one.share, one.right) for one in some]) for name, some in agreed.items()),
                    Series(name="as sure as right", points=((0.0, 0.0), (1.0, 1.0)), style="dashed"),
                ],
                x="share of the votes",
                y="share right",
            ),
            ["program", "share of the votes", "units", "right"],
            [
                [name, f"{one.share:.2f}", one.units, f"{one.right:.3f}"]
                for name, some in agreed.items()
                for one in some
            ],
        )


def reliability_parts(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Part]:
    """Yield what a card says of the probabilities of each program; nothing if it says nothing."""
    if not found:
        return
    scores = [
        [
            system,
            about["units"],
            number_cell(about["ece"]),
            number_cell(ece_by_luck(about["bins"])),
            *(number_cell(about[name]) for name in ("brier", "auc", "average_precision")),
        ]
        for system, about in found.items()
    ]
    bins = [(system, one) for system, about in found.items() for one in about["bins"]]
    yield from _drawn(
        Plot(
            title="reliability: how often it is so when it says so",
            words="see the table below",
            name="reliability",
            series=[
                *(
                    _line(system, [(one["said"], one["found"]) for one in about["bins"]])
                    for system, about in found.items()
                ),
                Series(name="as probable as said", points=((0.0, 0.0), (1.0, 1.0)), style="dashed"),
            ],
            x="probability of being positive",
            y="share positive",
        ),
        ["program", "units", "ECE", "ECE by luck", "Brier", "AUC", "average precision"],
        scores,
    )
    yield table(
        "",
        ["program", "probability", "units", "said, mean", "positive"],
        [
            [
                *(system, f"{one['low']:.1f} to {one['high']:.1f}", one["units"]),
                *(f"{one['said']:.3f}", f"{one['found']:.3f}"),
            ]
            for system, one in bins
        ],
    )


def _line(name: str, points: Sequence[tuple[float, float]]) -> Series:
    return Series(name=name, points=tuple(points))


def _drawn(plot: Plot, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[Part]:
    """Yield a plot and the table of it; nothing without a row."""
    if rows:
        yield plot
        yield table("", columns, rows)
