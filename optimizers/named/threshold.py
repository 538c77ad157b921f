"""``threshold``: the prompt as it stands, under a fitted decision threshold."""

from dataclasses import dataclass

from ...errors import OptimizerError
from ..base import Job, Optimizer
from ..board import Board
from ..candidate import Candidate
from ..thresholds import can_fit_threshold


@dataclass(frozen=True, kw_only=True)
class Threshold(Optimizer):
    """An optimizer without a search: its threshold is fitted at the end, as in every search."""

    name: str = "threshold"

    def minimum(self, job: Job) -> int:
        """Return the calls for one prompt on train and dev."""
        return (len(job.train) + len(job.dev)) * job.calls_per_case

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Score ``start`` on all of train."""
        if not can_fit_threshold(job):
            raise OptimizerError(
                f"no threshold of judge {job.judge.name} is left to be fitted",
                hint="it takes several samples, or closed labels and a metric that counts units, and no --threshold",
            )
        board.score(start, job.labelled_train())


optimizer = Threshold
