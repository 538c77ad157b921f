"""The decision threshold: where to cut between the two sides, fitted at no further call.

A judge may rank cases well and cut in the wrong place: too strict, or for another
share of positives. Under another threshold the probabilities of the labels, or the votes,
that are stored give other verdicts, so that trying one costs no call. It is fitted on all the cases of
train and dev that a prompt has met, and then it is a candidate like any other: as an arm of the race, and
at the end of every search; alone, or after another optimizer (``gepa+threshold``), on all of train and dev.

What it was fitted on says too much of it. So it stands or falls by cross-fitting: each
case is judged under the threshold that the cases of the other folds, of other groups, gave.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cases import Case
from ..errors import OptimizerError
from ..programs.asking import Asker, Verdict
from .base import Job, Result
from .board import Board, Candidate
from .objective import Outcome
from .raced import Track
from .setting import Setting

__all__ = ["Fitted", "Threshold", "fitted", "with_thresholds"]

_CUTS = 40  # thresholds of probability that are tried, at equal shares of the units
_FOLDS = 4  # in which each case is judged under the threshold that the other folds' cases gave
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
        """Enter the leader under the threshold that is best for it, if that is another one."""
        before = len(track.board.candidates)
        made = _entered(track.job, track.board, track.leader, track.step)
        return [made] if made and len(track.board.candidates) > before else []

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
        if (made := _entered(job, board, one, 0)) is not None:
            board.score(made, [case for case in (*job.train, *job.dev) if board.outcome(one, case)])
    return replace(result, best=board.best(job.dev) or result.best)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A fitted threshold.

    Attributes:
        threshold: best on all cases that its prompt met.
        crossed: for each of these cases, by id, the one that is best on the other folds' cases.
    """

    threshold: float
    crossed: Mapping[str, float]


def fitted(job: Job, board: Board, candidate: Candidate) -> Fitted | None:
    """Return the threshold that is best for a candidate on all that it met; ``None`` if that is the one it has."""
    met = [case for case in (*job.train, *job.dev) if board.outcome(candidate, case)]
    cases = [case for case in met if case.id not in candidate.demo_ids]
    if not cases:
        return None
    verdicts = board.verdicts(candidate, cases)
    now = job.sampling_under(candidate.setting).needed
    under = _under(job, board, cases, verdicts, (now, *_cuts(job, verdicts)))

    def best(places: Iterable[int]) -> float:
        kept = list(places)
        values = {cut: board.objective.aggregate([found[at] for at in kept]) for cut, found in under.items()}
        return max(values, key=lambda cut: (round(values[cut], 9), cut == now, -abs(cut - now)))

    threshold = best(range(len(cases)))
    if threshold == now:
        return None
    fold = _folds(job, cases)
    others = {one: best(at for at, of in enumerate(fold) if of != one) for one in sorted(set(fold))}
    return Fitted(
        threshold=threshold,
        crossed={case.id: others[of] for case, of in zip(cases, fold, strict=True)},
    )


def _entered(job: Job, board: Board, parent: Candidate, step: int) -> Candidate | None:
    """Enter a candidate under the threshold that is fitted for it; ``None`` if that is the one it has."""
    found = fitted(job, board, parent)
    if found is None:
        return None
    cut, setting = found.threshold, replace(parent.setting, threshold=found.threshold)
    source = f"threshold, {cut:g} votes" if cut >= 1 else f"threshold, probability {cut:.3g}"
    return board.add(
        parent.state, parent=parent, source=source, step=step, setting=setting, crossed=found.crossed
    )


def _folds(job: Job, cases: Sequence[Case]) -> list[int]:
    """Return the fold of each case; groups stay whole, and each fold has about its share of every stratum."""
    strata = job.judge.answer.strata(cases)
    order = random.Random(f"folds/{job.seed}").sample(range(len(cases)), len(cases))
    groups = dict.fromkeys(cases[at].group for at in sorted(order, key=lambda at: strata[at]))
    folds = {group: number % _FOLDS for number, group in enumerate(groups)}
    return [folds[case.group] for case in cases]


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


def _under(
    job: Job, board: Board, cases: Sequence[Case], verdicts: Sequence[Verdict], cuts: Sequence[float]
) -> dict[float, list[Outcome]]:
    """Return the outcomes of stored verdicts under each threshold."""
    known: dict[object, Outcome] = {}
    answer, basic = job.judge.answer, job.judge.basic()

    def outcome(case: Case, verdict: Verdict, asker: Asker, cut: float) -> Outcome:
        # Thresholds between which no unit's probability lies decide alike.
        shares = [answer.probability(unit) or 0.0 for unit in verdict.probabilities]
        key = (case.id, cut if cut >= 1 else tuple(share >= cut for share in shares))
        if key not in known:
            known[key] = board.objective.outcome(case, asker.revote(case, verdict))
        return known[key]

    askers = {cut: job.asker(basic, Setting(threshold=cut)) for cut in cuts}
    return {
        cut: [outcome(case, one, asker, cut) for case, one in zip(cases, verdicts, strict=True)]
        for cut, asker in askers.items()
    }
