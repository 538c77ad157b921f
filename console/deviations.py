"""``jurist compare --plot``: how far the scores of each judge are from gold's (FAITHQA, Figure 3)."""

from collections.abc import Sequence

from ..errors import UsageError
from ..jobs.experiment import Answers, Experiment
from ..report.densities import draw_densities
from ..report.plotting import check_drawable

__all__ = ["check_deviations", "plot_deviations"]

_METRIC = "mean_deviation"


def check_deviations(experiment: Experiment, path: str) -> None:
    """Find out before anything is paid.

    Raises:
        UsageError: answers of this kind have no distance from gold, or the file is no plot's.
        JuristError: matplotlib is not installed.
    """
    judge = experiment.contenders[0].judge
    if _METRIC not in judge.comparison.metrics:
        raise UsageError(
            f"--plot draws how far scores are from gold, and {judge.name} gives no scores",
            hint="leave it out, or compare judges of scores",
        )
    check_drawable(path)


def plot_deviations(answers: Sequence[Answers], path: str) -> None:
    """Draw the density of answer minus gold, a line for each contender; missing answers are left out."""
    metric = answers[0].judge.judge.comparison.metrics[_METRIC]
    deviations = {
        one.name: [
            value - gold
            for rows in one.repeats
            for row in rows
            for gold, value in zip(row.gold, row.predicted, strict=True)
            if gold is not None and value is not None
        ]
        for one in answers
    }
    draw_densities(
        path,
        deviations,
        metric.low,
        metric.high,
        title="how far scores are from gold",
        x="deviation (answer less gold)",
    )
