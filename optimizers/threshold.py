"""The decision threshold as an arm: where to cut between the two sides, fitted on train, raced like any prompt.

A judge may rank cases well and cut in the wrong place: too strict, or for another
share of positives. Under another threshold the stored votes give other verdicts, so
that trying one costs no call. It is fitted on the cases of train that the leader has
met, and then stands or falls by what all of its outcomes say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .base import Job
from .board import Candidate
from .raced import Track
from .setting import Setting

__all__ = ["Threshold"]


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The arm."""

    name: str = "threshold"

    @staticmethod
    def fits(job: Job) -> bool:
        """Return whether the job's verdicts are decided by votes whose threshold the user left open."""
        sampling = job.sampling
        return job.judge.answer.uses_threshold and sampling.samples > 1 and sampling.threshold is None

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter the leader under the threshold that is best for it on train, if that is another one."""
        leader, samples = track.leader, track.job.sampling.samples
        values = {cut: self._value(track, leader, cut) for cut in range(1, samples + 1)}
        now = leader.setting.threshold or track.job.sampling.needed
        best = max(values, key=lambda cut: (round(values[cut], 9), cut == now, -abs(cut - now)))
        if best == now:
            return []
        setting = replace(leader.setting, threshold=best)
        made = track.fresh(leader.state, parent=leader, source=f"threshold, {best} votes", setting=setting)
        return [made] if made else []

    @staticmethod
    def _value(track: Track, leader: Candidate, cut: int) -> float:
        """Return the leader's value on the cases of train that it met, under a threshold."""
        asker = track.job.asker(track.job.judge.basic(), Setting(threshold=cut))
        cases = [case for case, _ in track.known(leader)]
        verdicts = zip(cases, track.board.verdicts(leader, cases), strict=True)
        objective = track.board.objective
        return objective.aggregate(
            [objective.outcome(case, asker.revote(case, one)) for case, one in verdicts]
        )
