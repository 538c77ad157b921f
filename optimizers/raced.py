"""The search that all racing optimizers share: arms propose prompts, one race scores them, calls go to who gains.

An *arm* is a way to make new prompts: rewrite the instruction from scored
history or from errors, merge two, draw demonstrations, shift the threshold. Each step
one arm proposes, its prompts enter the race (:mod:`jurist.optimizers.racing`), and further
blocks of cases go to whoever could still be best, more of them the longer the search has
run: at first a new idea is worth more, later to know which one is best. The arm
of a step is the one whose prompts gained most so far for the calls they took, those of the race
included: else one whose prompts cost little to make, and are all alike, would take most of them.

What a search leaves are prompts that were scored on different cases, few of
them on many. Before anything is chosen, the best few and the basic prompt, with
which they are compared, are scored on the whole of dev, also where the budget
ended the search (:class:`Finalists`). All optimizers here share this; they differ in how they search.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

from ..cases import Case
from ..errors import BudgetExhausted
from ..programs.state import PromptState
from .base import Job
from .board import Board, Candidate
from .objective import Outcome
from .proposing import CandidateFilter, CopyGuard, Writing
from .racing import Race, interleaved, stratified
from .setting import Setting

_HOPE = (
    0.02  # what the prompts of one step are taken to gain, in units of the metric, before an arm has shown it
)
_HOPED = 2.0  # steps for which that counts
_FADES = 0.9  # an arm's gains count so much less with each of its later steps: ideas run out


@dataclass(kw_only=True)
class Track:
    """What an arm proposes from."""

    job: Job  # the job
    board: Board  # all prompts
    race: Race  # where they stand
    start: Candidate  # what the search began with
    reach: float  # standard errors of the lower bound by which one leads
    step: int = 0  # the step of the search, from 1

    @property
    def leader(self) -> Candidate:
        """The prompt that leads the race."""
        return self.race.leader(self.reach)

    @cached_property
    def _dev(self) -> frozenset[str]:
        return frozenset(case.id for case in self.job.dev)

    @cached_property
    def _guard(self) -> CopyGuard:
        basic = self.board.basic_state().predictors.values()
        return CopyGuard(self.job.train, [prompt.instructions for prompt in basic])

    def filter(self, writing: Writing) -> CandidateFilter:
        """Return what decides which proposed texts become candidates."""
        return CandidateFilter(job=self.job, board=self.board, writing=writing, guard=self._guard)

    def known(self, candidate: Candidate) -> list[tuple[Case, Outcome]]:
        """Return the cases of train that a prompt of the race has met, with the outcomes; dev is shown to nobody."""
        met = [case for case in self.race.seen(candidate) if case.id not in self._dev]
        return list(zip(met, self.board.score(candidate, met), strict=True))

    def best(self, count: int) -> list[tuple[Candidate, float]]:
        """Return the best few prompts with their values: shrunken where they met different cases, else their own."""
        board, first = self.board, self.race.order[: self.race.block]
        pairs = [(board.candidates[one.id], one.mean) for one in self.race.ranking()]
        if not self.race.telling:
            pairs = [(one, board.value(one, first)) for one, _ in pairs]
            pairs.sort(key=lambda pair: -round(pair[1], 9))
        return pairs[:count]

    def on_dev(self, candidate: Candidate) -> list[Case]:
        """Return the cases of dev that a prompt of the race has met: on them the choice compares it."""
        return [case for case in self.race.seen(candidate) if case.id in self._dev]

    def errors(self, candidate: Candidate) -> list[tuple[Case, Outcome]]:
        """Return those of them that it got wrong."""
        return [(case, outcome) for case, outcome in self.known(candidate) if outcome.feedback]

    def fresh(
        self,
        state: PromptState,
        *,
        parent: Candidate,
        source: str,
        demo_ids: tuple[str, ...] | None = None,
        setting: Setting | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Candidate | None:
        """Enter a prompt; ``None`` if it is known. The arguments are those of :meth:`Board.add`."""
        before = len(self.board.candidates)
        made = self.board.add(
            state,
            parent=parent,
            source=source,
            step=self.step,
            demo_ids=demo_ids,
            setting=setting,
            params=params,
        )
        return made if len(self.board.candidates) > before else None


class Arm(Protocol):
    """A way to make new prompts."""

    @property
    def name(self) -> str:
        """For the record."""
        ...

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter new prompts on the board, made for the ``turn``-th time, from 1; none without an idea."""
        ...


@dataclass(frozen=True, kw_only=True)
class Pick:
    """One step of an arm: the prompts it made, what led before, and the calls it took beside the race."""

    made: tuple[Candidate, ...]
    leader: Candidate
    calls: int


class Bandit:
    """Chooses the arm of each step: the one whose prompts gained most over what led per call.

    An arm pays for all calls of its prompts, in the race too. Every arm begins with the same hope, which fades as it
    takes calls without gaining; so all are tried, in their order, and none is given up for ever.
    """

    def __init__(self, arms: Sequence[Arm], race: Race, least: int) -> None:
        self._arms, self._race, self._least = arms, race, max(1, least)
        self._picks: dict[str, list[Pick]] = {arm.name: [] for arm in arms}

    def order(self) -> list[tuple[Arm, int]]:
        """Return the arms, by where all prompts stand now those first that gain most per call, and each one's turn."""
        means = {one.id: one.mean for one in self._race.standings()}
        rates = {arm.name: round(self._rate(arm, means), 12) for arm in self._arms}
        best_first = sorted(self._arms, key=lambda arm: -rates[arm.name])
        return [(arm, len(self._picks[arm.name]) + 1) for arm in best_first]

    def _rate(self, arm: Arm, means: Mapping[str, float]) -> float:
        """Return what an arm gains per call: each step by the best that it made."""
        picks = self._picks[arm.name]
        weight = _HOPED * _FADES ** len(picks)
        gain, calls = weight * _HOPE, weight * self._least
        for age, pick in enumerate(reversed(picks)):
            over = [means[one.id] - means[pick.leader.id] for one in pick.made]
            took = pick.calls + sum(self._race.spent(one) for one in pick.made)
            gain += _FADES**age * max(0.0, *over, 0.0)
            calls += _FADES**age * max(self._least, took)
        return gain / calls

    def took(self, arm: Arm, made: Sequence[Candidate], leader: Candidate, calls: int) -> None:
        """Note what a step of an arm made, what led before, and the calls it took before its prompts ran."""
        self._picks[arm.name].append(Pick(made=tuple(made), leader=leader, calls=calls))


class Finalists:
    """The prompts that a search leaves for the choice, and the calls kept back for them.

    At most a third of the calls that are left is kept back, but one pass over dev at least. Calls are given back as
    the search itself scores prompts on dev; one pass stays, for the prompt that it leaves half scored.
    """

    def __init__(self, job: Job, board: Board, count: int, source: str = "") -> None:
        self._job, self._board, self._count, self._source = job, board, count, source
        self._before, self._pass = job.context.meter.held, len(job.dev) * job.calls_per_case
        places = count + (not board.scored(board.basic, job.dev))
        self._most, left = places * self._pass, job.context.meter.left()
        if left is not None:
            self._most = min(self._most, max(self._pass, left // 3))

    def keep(self) -> None:
        """Keep back what the finalists still need: those that would be it now, and others for the places left."""
        board, dev = self._board, self._job.dev
        first = self._first()
        open_ = sum(len(dev) - board.met(one, dev) for one in [board.basic, *first])
        open_ += (self._count - len(first)) * len(dev)
        wanted = max(self._pass, open_ * self._job.calls_per_case)
        self._job.context.meter.hold(self._before + min(self._most, wanted))

    def _first(self) -> list[Candidate]:
        """Return the prompts that could be best: of the highest gain and its error together.

        Those that were never scored come last: they are paid for, and whatever is left is spent on them.
        """
        board = self._board
        able = [one for one in board.candidates.values() if one.id != board.basic.id]
        if self._source:
            able = [one for one in able if one.source == self._source]
        last = able[-1:] if self._source else []
        ids = {one.id for one in able} - {one.id for one in last}
        found = [one for one in board.by_gain() if one.id in ids]
        found.sort(key=lambda one: -round(one.gain + one.doubt, 9))
        new = ids - {one.id for one in found}
        first = [*last, *(board.candidates[one.id] for one in found)]
        return [*first, *(one for one in able if one.id in new)][: self._count]

    @contextmanager
    def after(self) -> Iterator[None]:
        """Keep calls back while the block searches, then score the finalists, however the budget ended it."""
        ended: BudgetExhausted | None = None
        try:
            self.keep()
            yield
        except BudgetExhausted as stop:
            ended = stop
        finally:
            self._job.context.meter.hold(self._before)
        self._score()
        if ended is not None:
            raise self._truthful(ended)

    def _score(self) -> None:
        """Score the basic prompt and the best few on all of dev, and then whatever is chosen by that."""
        board, dev = self._board, self._job.dev
        board.score(board.basic, dev)
        for one in self._first():
            board.score(one, dev)
        while (best := board.best(dev)) is not None and not board.scored(best, dev):
            board.score(best, dev)

    def _truthful(self, ended: BudgetExhausted) -> BudgetExhausted:
        """Return the end of a search that met its limit on calls, saying what is left of those kept back."""
        left = self._job.context.meter.left()
        if ended.limit == "calls" and left:
            later = f", but for {self._before} that are kept for what follows" if self._before else ""
            ended.args = (
                f"the calls for the search are spent, of a budget of {ended.allowed:g} calls{later}; "
                f"{left} that were kept for the finalists were not needed",
            )
        elif ended.limit == "calls":
            ended = BudgetExhausted(ended.limit, ended.allowed, kept=self._before)
        return ended


@dataclass(frozen=True, kw_only=True)
class Raced(ABC):
    """The settings of the race; a subclass has the arms, and is mostly one itself."""

    steps: int = 30  # at most this many rounds
    sample: int = 200  # train cases of the race, beside all of dev; no prompt is scored on more
    # cases of the race on which the basic prompt is scored first; all that comes is compared with it
    opening: int = 40
    block: int = 8  # cases in a block of the race; each new prompt runs one
    extra: int = 4  # further blocks a step, for the prompts with the highest upper bounds
    growth: float = 0.5  # by how many blocks that grows each step
    reach: float = 1.0  # standard errors of the upper bound, and of the lower bound by which one leads
    # cases for which its parent's mean counts beside a prompt's own, before anything is known of how much
    # they differ
    shrink: float = 5.0
    patience: int = 8  # rounds without a new leader or another choice before it stops
    finalists: int = 2  # prompts that are scored on all of dev at the end, beside the basic one
    name: str = "race"
    # ``train`` or ``dev``: in place of blocks, each new prompt is scored on all of it, and who leads on the rest too
    whole: ClassVar[str] = ""
    proposal: ClassVar[int] = 1  # calls to the proposer for one new prompt
    learns: ClassVar[bool] = (
        True  # from the errors of each leader, so that with ``whole`` it meets the rest too
    )

    @abstractmethod
    def arms(self, job: Job) -> Sequence[Arm]:
        """Return the arms, those that are tried first first."""

    @property
    def races(self) -> bool:
        """The basic prompt is one of the race, and is scored as far as that needs it."""
        return True

    def minimum(self, job: Job) -> int:
        """Return the calls for the opening, the first block of another prompt, both on dev, and to propose it."""
        train = min(self.sample, len(job.train))
        if self.whole:
            beside_dev = train * (1 + (self.whole == "train"))
        else:
            of_train = interleaved([1] * train, [0] * len(job.dev))
            beside_dev = sum(sum(of_train[: max(1, size)]) for size in (self.opening, self.block))
        return (beside_dev + 2 * len(job.dev)) * job.calls_per_case + self.proposal

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Improve on ``start``."""
        finalists = Finalists(job, board, self.finalists)
        with finalists.after():
            race = self._race(job, board, start)
            track = Track(job=job, board=board, race=race, start=start, reach=self.reach)
            self._search(track, finalists)
        return board.best(job.dev) or start

    def _search(self, track: Track, finalists: Finalists) -> None:
        job, board, race, start = track.job, track.board, track.race, track.start
        bandit = Bandit(self.arms(job), race, self.block * job.calls_per_case)
        last, waited = (start.id, start.id), 0
        for step in range(1, self.steps + 1):
            track.step = step
            if not self._step(track, bandit) and self.whole:
                break  # whoever leads has met all there is
            finalists.keep()
            if self.whole and self.learns:
                race.complete(self.reach)
            if not self.whole:
                race.advance(round(self.extra + self.growth * step), self.reach)
            leader = track.leader
            race.keep_up(board.basic, leader)
            board.score(board.basic, track.on_dev(leader))  # in the end it is scored on all of dev anyway
            race.around(leader)
            best = board.best(job.dev) or start
            waited = waited + 1 if (best.id, leader.id) == last else 0
            last = best.id, leader.id
            job.note(f"step {step}: best {board.name(best)}", board.value(best, job.dev), kind="step")
            if waited >= self.patience:
                break

    def _step(self, track: Track, bandit: Bandit) -> bool:
        """Let the best arm that has an idea propose, and its prompts run their first block; say whether one has."""
        job, leader, meter = track.job, track.leader, track.job.context.meter
        for arm, turn in bandit.order():
            before = meter.calls
            made = arm.propose(track, turn)
            bandit.took(arm, made, leader, meter.calls - before)
            for candidate in made:
                track.race.enter(candidate)
                value = track.board.value(candidate, track.race.order)
                job.note(f"step {track.step}: {candidate.id}", value, kind="candidate")
            if made:
                return True
        return False

    def _race(self, job: Job, board: Board, start: Candidate) -> Race:
        train, dev = (
            stratified(cases, job.judge.answer, random.Random(f"{part}/{job.seed}"))[:most]
            for part, cases, most in (
                ("race", job.train, self.sample),
                ("dev", job.dev, len(job.dev)),
            )
        )
        if self.whole:
            first, rest = (train, dev) if self.whole == "train" else (dev, train)
            order, block, opening = [*first, *rest], len(first), len(first)
        else:
            order, block, opening = interleaved(train, dev), self.block, self.opening
        reference = board.score(board.basic, order[: max(1, opening)])
        race = Race(
            board, order, block=block, reference=reference, shrink=self.shrink, telling=not self.whole
        )
        race.enter(board.basic)
        race.enter(start)
        if self.whole:
            race.complete(self.reach)
        return race
