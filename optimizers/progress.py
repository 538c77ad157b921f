"""Where a running search stands: its best candidates.

Reads a board that other threads are writing to, one pair at a time, and keeps
what it computed: a candidate's value and its interval are computed again only
when it was scored on more cases. Draws nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..cases import Case
from ..evaluation.comparisons import resolve
from ..evaluation.intervals import metric_interval
from ..evaluation.units import encode
from .base import Job
from .board import Board, Candidate
from .naming import candidate_names
from .objective import Outcome
from .standing import Standing


@dataclass(frozen=True, kw_only=True)
class Part:
    """A candidate on train or dev: cases scored, of how many, and the metric on them."""

    cases: int
    of: int
    value: float | None

    @property
    def whole(self) -> bool:
        """Whether every case was scored."""
        return self.cases == self.of


@dataclass(frozen=True, kw_only=True)
class CandidateStatus:
    """One candidate; ``gain`` is known once it was scored on the whole of dev."""

    candidate: Candidate
    train: Part
    dev: Part
    gain: Standing | None = None


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A look at the search."""

    tried: int  # candidates so far
    # the one that the board would choose now; ``None`` before the first was scored on dev
    best: CandidateStatus | None
    interval: tuple[float, float] | None  # 95 % of its value on dev
    shown: tuple[CandidateStatus, ...]  # the best few, best first; the chosen one is the first
    names: Mapping[str, str] = field(default_factory=dict)  # what candidates are called, by their ids


class Standings:
    """The standings of one job's board; ``metric`` is what its values are of."""

    def __init__(self, job: Job, board: Board) -> None:
        self._job, self._board = job, board
        self.metric = resolve(job.judge.metric, job.judge.comparison)
        self._kept: dict[str, CandidateStatus] = {}
        self._intervals: dict[str, tuple[float, float]] = {}
        self._known: tuple[tuple[str, int, int], ...] = ()
        self._best, self._gains = "", dict[str, Standing]()

    def look(self, most: int = 8) -> Snapshot:
        """Return where the best ``most`` candidates stand, and the basic prompt."""
        board = self._board
        candidates = list(board.candidates.copy().values())  # other threads enter more
        if not candidates:
            return Snapshot(tried=0, best=None, interval=None, shown=())
        found = self._with_gains([self._status(candidate) for candidate in candidates])
        best = next((one for one in found if one.candidate.id == self._best), None)
        ranked = sorted(found, key=lambda one: (one is not best, one.gain is None, -self._value(one)))
        shown = ranked[:most]
        shown += [one for one in found[:1] if one not in shown]
        return Snapshot(
            tried=len(found),
            best=best,
            interval=self._interval(best) if best and best.dev.whole else None,
            shown=tuple(shown),
            names=candidate_names((one.id, one.source) for one in candidates),
        )

    def _with_gains(self, found: Sequence[CandidateStatus]) -> list[CandidateStatus]:
        """Return them with what the board knows of their gains; it is asked again only when more is known."""
        known = tuple((one.candidate.id, one.train.cases, one.dev.cases) for one in found)
        if known != self._known and any(one.dev.whole for one in found):
            best = self._board.best(self._job.dev)
            self._known, self._best = known, "" if best is None else best.id
            self._gains = {one.id: one for one in self._board.standings(best)}
        gains = {one.candidate.id: self._gains.get(one.candidate.id) for one in found if one.dev.whole}
        return [replace(one, gain=gains.get(one.candidate.id)) for one in found]

    def _status(self, candidate: Candidate) -> CandidateStatus:
        """Return where a candidate stands, but for its gain."""
        known = self._board.outcomes(candidate)
        train, dev = (
            self._part(candidate, known, cases, kept)
            for cases, kept in ((self._job.train, "train"), (self._job.dev, "dev"))
        )
        self._kept[candidate.id] = CandidateStatus(candidate=candidate, train=train, dev=dev)
        return self._kept[candidate.id]

    def _part(
        self, candidate: Candidate, known: dict[str, Outcome], cases: Sequence[Case], which: str
    ) -> Part:
        outcomes = [known[case.id] for case in cases if case.id in known]
        before = self._kept.get(candidate.id)
        part: Part | None = getattr(before, which) if before else None
        if part is not None and part.cases == len(outcomes):
            return part
        value = self.metric.oriented(self._board.objective.aggregate(outcomes)) if outcomes else None
        return Part(cases=len(outcomes), of=len(cases), value=value)

    def _interval(self, best: CandidateStatus) -> tuple[float, float] | None:
        name = best.candidate.id
        if name not in self._intervals:
            outcomes = [self._board.outcome(best.candidate, case) for case in self._job.dev]
            rows = [outcome.row for outcome in outcomes if outcome is not None and outcome.labelled]
            if not rows:
                return None
            found = metric_interval(encode(self._job.judge.comparison, rows), self.metric)
            self._intervals[name] = found.low, found.high
        return self._intervals[name]

    def _value(self, one: CandidateStatus) -> float:
        """Return by what it is ranked: the more, the better."""
        values = (one.dev.value, one.train.value) if one.dev.whole else (one.train.value, one.dev.value)
        return next((self.metric.oriented(value) for value in values if value is not None), float("-inf"))
