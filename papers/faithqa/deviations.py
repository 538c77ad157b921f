"""The distance of scores from people's: the numbers behind Figure 3 and section 7 of FAITHQA.

A deviation is a judge's score less the score of people, from -10 to 10. Its density is estimated with Gaussian kernels
whose width is Scott's: the standard deviation times n to the power of -1/5.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...errors import GoldError
from ...evaluation.plain import plain_fields
from ...gold.goldset import Gold
from ...keeping.logs import Log
from ...programs.faithqa.scoring import TOP
from ...report.table import Table, table

STEP: Final = 0.5
"""The distance of the points at which a density is given."""


@dataclass(frozen=True, kw_only=True)
class Deviations:
    """The deviations of one judge's scores."""

    name: str  # the log of its scores
    responses: int  # that both the judge and people scored
    unanswered: int  # that people scored alone
    mean: float
    deviation: float  # the standard deviation
    within_deviation: float  # the share within one standard deviation of their mean
    mse: float
    density: tuple[float, ...] | None  # at each point of ``POINTS``; ``None`` if all deviations are equal

    @classmethod
    def of(cls, gold: Gold, log: Log) -> "Deviations":
        """Hold the scores of a log against those of gold. Raises ``GoldError`` where fewer than two can be compared."""
        deviations: list[float] = []
        unanswered = 0
        for case in gold.cases:
            verdict = log.verdict_of_id.get(case.id)
            if not case.gold or case.gold[0] is None:
                continue
            if verdict is None or verdict.value is None:
                unanswered += 1
                continue
            deviations.append(float(verdict.value) - float(case.gold[0]))
        if len(deviations) < 2:
            hint = "give scores of the same responses: jurist run JUDGE --input GOLD --output F.jsonl"
            raise GoldError(f"{log.name} has fewer than two scores of {gold.name}", hint=hint)
        mean = statistics.fmean(deviations)
        deviation = statistics.stdev(deviations)
        return cls(
            name=log.name,
            responses=len(deviations),
            unanswered=unanswered,
            mean=mean,
            deviation=deviation,
            within_deviation=statistics.fmean(abs(value - mean) <= deviation for value in deviations),
            mse=statistics.fmean(value * value for value in deviations),
            density=density(deviations),
        )


POINTS: Final = tuple(np.arange(-TOP, TOP + STEP, STEP).tolist())
"""Deviations at which a density is given."""


def density(deviations: Sequence[float]) -> tuple[float, ...] | None:
    """Return the density of deviations at each point of ``POINTS``; ``None`` if they are all equal."""
    spread = statistics.stdev(deviations)
    if not spread:
        return None
    width = spread * len(deviations) ** -0.2
    distances = (np.array(POINTS)[:, np.newaxis] - np.array(deviations)) / width
    kernels = np.exp(-0.5 * distances**2) / (width * np.sqrt(2 * np.pi))
    values: list[float] = kernels.mean(axis=1).tolist()
    return tuple(values)


@dataclass(frozen=True, kw_only=True)
class DeviationTable:
    """The deviations of several judges on the same responses."""

    gold: str
    judges: tuple[Deviations, ...]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {"table": "faithqa-3", "points": list(POINTS), **plain_fields(self)}

    def sheets(self) -> list[Table]:
        """Return a table of the figures, and one of the densities."""
        rows: list[list[object]] = []
        names = ["deviation"]
        for judge in self.judges:
            names.append(judge.name)
            numbers = (judge.mean, judge.deviation, judge.within_deviation, judge.mse)
            rows.append([judge.name, judge.responses, judge.unanswered, *map("{:.3f}".format, numbers)])
        columns = ("scores", "responses", "unanswered", "mean", "sd", "within one sd", "mse")
        title = f"{self.gold}: scores less those of people (FAITHQA section 7)"
        density_rows: list[list[str]] = []
        for place, point in enumerate(POINTS):
            row = [f"{point:g}"]
            for judge in self.judges:
                row.append("-" if judge.density is None else f"{judge.density[place]:.4f}")
            density_rows.append(row)
        return [
            table(title, columns, rows),
            table("density of the deviations (Figure 3)", names, density_rows),
        ]
