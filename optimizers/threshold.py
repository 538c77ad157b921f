"""The decision threshold: where to cut between the two sides, fitted on train at no further call.

A judge may rank cases well and cut in the wrong place: too strict, or for another
share of positives. Under another threshold the probabilities of the labels, or the votes,
that are stored give other verdicts, so that trying one costs no call. It is fitted on the
cases of train that a prompt has met, and then it is a candidate like any other, which stands
or falls by what all of its outcomes say: as an arm of the race, and at the end of every search. Alone, or after
another optimizer (``gepa+threshold``), it is fitted on all of train.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cases import Case
from ..errors import OptimizerError
from ..programs.asking import Verdict
from .base import Job, Result
from .board import Board, Candidate
from .raced import Track
from .setting import Setting

__all__ = ["Threshold", "best_threshold", "with_thresholds"]

_CUTS = 40  # thresholds of probability that are tried, at equal shares of the units
_PROMPTS = 5  # prompts for which one is fitted when the search is over, the basic one besides


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The arm, and the optimizer."""

    name: str = "threshold"

    @staticmethod
    def fits(job: Job) -> bool:
        """Return whether the job's verdicts are decided by a threshold that the user left open."""
        answer, sampling = job.judge.answer, job.sampling
        several = answer.uses_threshold and sampling.samples > 1
        return sampling.threshold is None and (several or answer.has_probabilities)

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter the leader under the threshold that is best for it on train, if that is another one."""
        leader = track.leader
        best = best_threshold(track.job, track.board, leader)
        if best is None:
            return []
        setting = replace(leader.setting, threshold=best)
        made = track.fresh(leader.state, parent=leader, source=_source(best), setting=setting)
        return [made] if made else []

    def minimum(self, job: Job) -> int:
        """Return the calls for one prompt on train and dev."""
        return (len(job.train) + len(job.dev)) * job.calls_per_case

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Score ``start`` on all of train; its threshold is fitted where every search ends.

        Raises:
            OptimizerError: the judge's verdicts have no threshold, or the user has set it.
        """
        if not self.fits(job):
            raise OptimizerError(
                f"no threshold of judge {job.judge.name} is left to be fitted",
                hint="it takes closed labels, or several samples, and no --threshold",
            )
        board.score(start, job.labelled_train())
        return start


def with_thresholds(job: Job, result: Result) -> Result:
    """Return a result in which the best few prompts, and the basic one, are candidates under a fitted threshold too.

    They are known on the cases on which their prompts are, all of dev among them, and the choice is made among all.
    """
    board = result.board
    if not Threshold.fits(job) or not board.met(board.basic, job.dev):
        return result
    known = [board.candidates[one.id] for one in board.by_gain()]
    first = [one for one in known if board.scored(one, job.dev)][:_PROMPTS]
    for one in {one.id: one for one in (board.basic, *first)}.values():
        best = best_threshold(job, board, one)
        if best is not None:
            setting = replace(one.setting, threshold=best)
            made = board.add(one.state, parent=one, source=_source(best), setting=setting)
            board.score(made, [case for case in (*job.train, *job.dev) if board.outcome(one, case)])
    return replace(result, best=board.best(job.dev) or result.best)


def best_threshold(job: Job, board: Board, candidate: Candidate) -> float | None:
    """Return the threshold that is best for a candidate on train; ``None`` if that is the one it has."""
    cases = [
        case for case in job.train if board.outcome(candidate, case) and case.id not in candidate.demo_ids
    ]
    if not cases:
        return None
    verdicts = board.verdicts(candidate, cases)
    now = job.sampling_under(candidate.setting).needed
    values = {cut: _value(job, board, cases, verdicts, cut) for cut in (now, *_cuts(job, verdicts))}
    best = max(values, key=lambda cut: (round(values[cut], 9), cut == now, -abs(cut - now)))
    return None if best == now else best


def _cuts(job: Job, verdicts: Sequence[Verdict]) -> Sequence[float]:
    """Return the thresholds to try: of probability where tokens told any, between units, else of votes."""
    answer = job.judge.answer
    if not any(one.measured for one in verdicts):
        return range(1, job.sampling.samples + 1)
    found = [answer.probability(shares) for one in verdicts for shares in one.probabilities]
    known = np.unique([share for share in found if share is not None])
    between = (known[1:] + known[:-1]) / 2
    if len(between) > _CUTS:
        between = between[np.linspace(0, len(between) - 1, _CUTS).round().astype(int)]
    return [round(float(cut), 6) for cut in between if 0 < round(float(cut), 6) < 1]


def _value(job: Job, board: Board, cases: Sequence[Case], verdicts: Sequence[Verdict], cut: float) -> float:
    """Return the value of stored verdicts on their cases, under a threshold."""
    asker = job.asker(job.judge.basic(), Setting(threshold=cut))
    outcome = board.objective.outcome
    return board.objective.aggregate(
        [outcome(case, asker.revote(case, one)) for case, one in zip(cases, verdicts, strict=True)]
    )


def _source(cut: float) -> str:
    return f"threshold, {cut:g} votes" if cut >= 1 else f"threshold, probability {cut:.3g}"
