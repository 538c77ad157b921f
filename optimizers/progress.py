"""Where a running search stands: its best candidates, read off a board that other threads are writing to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..evaluation.comparisons import resolve
from ..evaluation.intervals import metric_interval
from ..evaluation.units import encode
from .base import Job
from .board import Board, Candidate
from .candidate import candidate_names
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
        self._parts: dict[tuple[str, str], Part] = {}
        self._intervals: dict[str, tuple[float, float]] = {}
        self._seen: tuple[tuple[str, int, int], ...] = ()
        self._best, self._gains = "", dict[str, Standing]()

    def look(self, most: int = 8) -> Snapshot:
        """Return where the best ``most`` candidates stand, and the basic prompt."""
        candidates = list(self._board.candidates.copy().values())  # other threads enter more
        if not candidates:
            return Snapshot(tried=0, best=None, interval=None, shown=())
        statuses = self._with_gains([self._status(candidate) for candidate in candidates])
        best = next((one for one in statuses if one.candidate.id == self._best), None)
        shown = sorted(statuses, key=lambda one: (one is not best, one.gain is None, -self._rank(one)))[:most]
        shown += [one for one in statuses[:1] if one not in shown]
        return Snapshot(
            tried=len(statuses),
            best=best,
            interval=self._interval(best) if best and best.dev.whole else None,
            shown=tuple(shown),
            names=candidate_names((one.id, one.source) for one in candidates),
        )

    def _status(self, candidate: Candidate) -> CandidateStatus:
        """Return where a candidate stands, but for its gain; values are computed where more cases are known."""
        known, parts = self._board.outcomes(candidate), []
        for which, cases in (("train", self._job.train), ("dev", self._job.dev)):
            outcomes = [known[case.id] for case in cases if case.id in known]
            part = self._parts.get((candidate.id, which))
            if part is None or part.cases != len(outcomes):
                value = self.metric.oriented(self._board.objective.aggregate(outcomes)) if outcomes else None
                part = Part(cases=len(outcomes), of=len(cases), value=value)
                self._parts[candidate.id, which] = part
            parts.append(part)
        return CandidateStatus(candidate=candidate, train=parts[0], dev=parts[1])

    def _with_gains(self, statuses: Sequence[CandidateStatus]) -> list[CandidateStatus]:
        """Return them with what the board knows of their gains; it is asked again only when more is known."""
        seen = tuple((one.candidate.id, one.train.cases, one.dev.cases) for one in statuses)
        if seen != self._seen and any(one.dev.whole for one in statuses):
            best = self._board.best(self._job.dev)
            self._seen, self._best = seen, "" if best is None else best.id
            self._gains = {one.id: one for one in self._board.standings(best)}
        return [
            replace(one, gain=self._gains.get(one.candidate.id) if one.dev.whole else None)
            for one in statuses
        ]

    def _interval(self, best: CandidateStatus) -> tuple[float, float] | None:
        name, known = best.candidate.id, self._board.outcomes(best.candidate)
        if name not in self._intervals:
            rows = [known[case.id].row for case in self._job.dev if known[case.id].labelled]
            if not rows:
                return None
            limits = metric_interval(encode(self._job.judge.comparison, rows), self.metric)
            self._intervals[name] = limits.low, limits.high
        return self._intervals[name]

    def _rank(self, one: CandidateStatus) -> float:
        """Return by what it is ranked: the more, the better."""
        values = (one.dev.value, one.train.value) if one.dev.whole else (one.train.value, one.dev.value)
        return next((self.metric.oriented(value) for value in values if value is not None), float("-inf"))
