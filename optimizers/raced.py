"""The search that all racing optimizers share: arms propose prompts in turn, and calls go to those that may be best."""

import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

from ..cases import Case
from ..errors import BudgetExhausted
from ..programs.state import PromptState
from ..text.sentences import without_repeats
from ..text.wording import normalised
from .base import Job, Optimizer
from .board import Board, Candidate
from .drawing import blocks, stratified
from .objective import Outcome
from .proposing import CopyGuard, Writing
from .standing import Standing

_FRUITLESS = 2  # turns of an arm in a row without a new leader, after which others are tried
ENOUGH = 60  # cases without an error, from which on an error in twenty is unlikely (the rule of three)


@dataclass(kw_only=True)
class Track:
    """A race: its prompts, the order in which all of them meet the cases, and what arms propose from."""

    job: Job
    board: Board  # all prompts
    start: Candidate  # what the search began with
    order: Sequence[Case]
    block: (
        int  # cases that a prompt meets at once; of a race by wholes, those that all prompts are compared on
    )
    shrink: float = 5.0  # as in :func:`.standing.standings`
    reach: float = 1.0  # standard errors of the upper bound, and of the lower bound by which one leads
    by_wholes: bool = False  # whether all prompts meet the same first block, and the best of it leads
    step: int = 0  # the step of the search, from 1
    around: Candidate | None = None  # the prompt around which the metric is taken to first order
    _fitted: tuple[Any, dict[str, Standing]] = ((), {})

    def standings(self) -> dict[str, Standing]:
        """Return where every prompt stands, by id."""
        key = self.board.pairs, self.around
        if self._fitted[0] != key:
            self._fitted = key, self.board.standings(self.around, self.shrink)
        return self._fitted[1]

    def best(self, count: int | None = None) -> list[tuple[Candidate, float]]:
        """Return the best few prompts with their values, the earlier first among equals."""
        board, first = self.board, self.order[: self.block]
        if self.by_wholes:
            scored = [candidate for candidate in board.candidates.values() if board.scored(candidate, first)]
            pairs = [(candidate, board.value(candidate, first)) for candidate in scored]
        else:
            pairs = [(board.candidates[id_], stands.mean) for id_, stands in self.standings().items()]
        return sorted(pairs, key=lambda pair: -round(pair[1], 9))[:count]

    def _leader(self, among: Sequence[Candidate], reach: float) -> Candidate:
        """Return the prompt with the highest ``mean + reach * error``."""
        if self.by_wholes:
            ids = {one.id for one in among}
            return next((one for one, _ in self.best() if one.id in ids), self.start)
        stands = self.standings()
        known = [one for one in among if one.id in stands]
        return max(known, key=lambda one: round(stands[one.id].mean + reach * stands[one.id].error, 9))

    @property
    def leader(self) -> Candidate:
        """The prompt that leads the race."""
        return self._leader([*self.board.candidates.values()], -self.reach)

    @property
    def text(self) -> Candidate:
        """The leader of the prompts that show no more examples than the start: there a row takes fewest tokens."""
        # Instructions are written for it and told apart by it; examples are added to what has come out best.
        texts = []
        for candidate in self.board.candidates.values():
            same_votes = replace(candidate.setting, form=None) == replace(self.start.setting, form=None)
            if same_votes and candidate.state.shown == self.start.state.shown:
                texts.append(candidate)
        return self._leader(texts, -self.reach)

    def open(self, candidate: Candidate) -> list[Case]:
        """Return the cases that a prompt has still to meet, in order; none that it shows."""
        known = self.board.outcomes(candidate)
        return [case for case in self.order if case.id not in known and case.id not in candidate.demo_ids]

    def run(self, candidate: Candidate) -> None:
        """Let a prompt meet a block of cases."""
        self.board.score(candidate, self.open(candidate)[: self.block])

    def advance(self, count: int) -> None:
        """Give ``count`` blocks away, each to the prompt with the highest upper bound; a long prompt takes several."""
        taken, basic = 0.0, self._tokens(self.board.basic)
        while taken < count:
            stands = self.standings()
            known = [candidate for candidate in self.board.candidates.values() if candidate.id in stands]
            if not (able := [candidate for candidate in known if self.open(candidate)]):
                return
            chosen = self._leader(able, self.reach)
            taken += max(1.0, self._tokens(chosen) / basic)
            self.run(chosen)

    def _tokens(self, candidate: Candidate) -> float:
        """Return the tokens of a row under a prompt, at least 1."""
        taken = self.board.spent(candidate, self.order)
        return max(1.0, taken.tokens) if taken else 1.0

    def complete(self) -> None:
        """Let whoever leads meet all cases."""
        while cases := self.open(leader := self.leader):
            self.board.score(leader, cases)

    def known(self, candidate: Candidate) -> list[tuple[Case, Outcome]]:
        """Return the cases of train that a prompt has met, with the outcomes; dev is shown to nobody."""
        dev, outcomes = {case.id for case in self.job.dev}, self.board.outcomes(candidate)
        met = [case for case in self.order if case.id in outcomes and case.id not in dev]
        return [(case, outcomes[case.id]) for case in met if case.id not in candidate.demo_ids]

    def errors(self, candidate: Candidate) -> list[tuple[Case, Outcome]]:
        """Return the cases that a candidate got wrong."""
        return [(case, outcome) for case, outcome in self.known(candidate) if outcome.feedback]

    def fresh(self, state: PromptState, **about: Any) -> list[Candidate]:
        """Enter a prompt, with the arguments of :meth:`Board.add`, and return it; nothing if it is known."""
        before = len(self.board.candidates)
        made = self.board.add(state, step=self.step, **about)
        return [made] if len(self.board.candidates) > before else []

    def write(
        self, writing: Writing, parent: Candidate, proposals: Sequence[Mapping[str, str]]
    ) -> list[Candidate]:
        """Enter what is new, not too long and not copied among proposals: instructions of predictors of ``parent``."""
        known, fresh = {_plain(one.state) for one in self.board.candidates.values()}, list[Candidate]()
        for proposal in proposals:
            cleaned = {name: without_repeats(text) for name, text in proposal.items()}
            usable = {name: text for name, text in cleaned.items() if 0 < len(text) <= writing.longest}
            state = parent.state
            for name, text in usable.items():
                state = state.with_instruction(name, text)
            if _plain(state) in known:
                continue
            known.add(_plain(state))
            share = max(self._guard.share(text) for text in usable.values())
            if share > writing.copied:
                self.job.note(
                    f"step {self.step}: an instruction refused, {share:.0%} of it is copied from train"
                )
                continue
            source = writing.name
            source += f", {share:.1%} copied from train" if share else ""
            params = {"predictors": sorted(usable)} if len(state.predictors) > 1 else None
            fresh.append(self.board.add(state, parent=parent, source=source, step=self.step, params=params))
        return fresh

    @cached_property
    def _guard(self) -> CopyGuard:
        basic = self.board.basic.state.predictors.values()
        return CopyGuard(self.job.train, [prompt.instructions for prompt in basic])


def _plain(state: PromptState) -> tuple[str, ...]:
    """Return the instructions of all predictors without differences in case, spacing and form of characters."""
    return tuple(normalised(state.predictors[name].instructions) for name in sorted(state.predictors))


class Arm(Protocol):
    """A way to make new prompts."""

    @property
    def name(self) -> str:
        """For the record."""
        ...

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter new prompts on the board, made for the ``turn``-th time, from 1; none without an idea."""
        ...

    def proposer_calls(self, job: Job) -> int:
        """Return the most calls to the proposer that the first turn takes."""
        ...


class Turns:
    """Whose turn it is: the arm that found the leader; one that finds none twice goes to the end of the row."""

    def __init__(self, arms: Sequence[Arm]) -> None:
        self._row, self._taken, self._fruitless = list(arms), Counter[str](), Counter[str]()
        self._made: list[tuple[Arm, list[Candidate]]] = []

    @property
    def untried(self) -> list[Arm]:
        """The arms that have had no turn."""
        return [arm for arm in self._row if not self._taken[arm.name]]

    def propose(self, track: Track, *, late: bool, first: Collection[str] = ()) -> list[Candidate]:
        """Return the candidates of the first arm that has some; ``late``, an arm without a turn adds its first."""
        # Beside it too have arms named ``first`` theirs. All these are met before it: the budget may end at any case.
        self._made = []
        self._ask(track, list(self._row))
        for arm in self.untried:
            if arm.name in first:
                self._ask(track, [arm])
        if late:
            self._ask(track, self.untried)
        return [candidate for _, made in reversed(self._made) for candidate in made]

    def _ask(self, track: Track, arms: Sequence[Arm]) -> None:
        for arm in arms:
            self._taken[arm.name] += 1
            if made := arm.propose(track, self._taken[arm.name]):
                self._made.append((arm, made))
                return

    def note(self, leader: Candidate) -> None:
        """Note who leads after the last turns."""
        for arm, made in self._made:
            leads = any(candidate.id == leader.id for candidate in made)
            self._fruitless[arm.name] = 0 if leads else self._fruitless[arm.name] + 1
            if leads or self._fruitless[arm.name] == _FRUITLESS:
                self._row.remove(arm)
                self._row.insert(0 if leads else len(self._row), arm)
                self._fruitless[arm.name] = 0


class Finalists:
    """The prompts that a search leaves for the choice, and the calls kept back for them.

    At most a third of the calls that are left, but one pass over dev at least, for the prompt that is left half scored.
    """

    def __init__(self, job: Job, board: Board, count: int, source: str = "") -> None:
        self._job, self._board, self._count, self._source = job, board, count, source
        self._before, self._pass = job.context.meter.held, len(job.dev) * job.calls_per_case
        self._most = (count + 1 + (not board.scored(board.basic, job.dev))) * self._pass
        if (left := job.context.meter.left()) is not None:
            self._most = min(self._most, max(self._pass, left // 3))

    def keep(self) -> None:
        """Keep back what the finalists still need: those that would be it now, and others for the places left."""
        board, dev, first = self._board, self._job.dev, self._first()
        open_ = sum(len(dev) - board.met(candidate, dev) for candidate in [board.basic, *first])
        open_ += (self._count - len(first)) * len(dev)
        wanted = max(self._pass, open_ * self._job.calls_per_case)
        self._job.context.meter.hold(self._before + min(self._most, wanted))

    def _first(self) -> list[Candidate]:
        """Return the candidates that could be best, by gain and error, then unscored ones; DSPy's choice first."""
        board, source = self._board, self._source
        able = [one for one in board.candidates.values() if one.id != board.basic.id]
        able = [one for one in able if not source or one.source == source]
        last, able = (able[-1:], able[:-1]) if source else ([], able)
        stands = board.standings()
        known = [one for one in able if one.id in stands]
        known.sort(key=lambda one: -round(stands[one.id].mean + stands[one.id].error, 9))
        return [*last, *known, *(one for one in able if one.id not in stands)][: self._count]

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
        board, dev = self._board, self._job.dev
        board.score(board.basic, dev)  # by which the gains are known better
        for candidate in self._first():
            board.score(candidate, dev)
        while (best := board.best(dev)) is not None and not board.scored(best, dev):
            board.score(best, dev)
        if ended is not None:
            if ended.limit == "calls":  # what was kept for the finalists is spent, or left for what follows
                kept = self._job.context.meter.unsent
                raise BudgetExhausted("calls", ended.allowed, kept=kept) from ended
            raise ended


@dataclass(frozen=True, kw_only=True)
class Raced(Optimizer):
    """The settings of the race; a subclass has the arms, and is mostly one itself."""

    steps: int = 30  # at most this many rounds
    sample: int = 200  # train cases of the race, beside all of dev; no prompt is scored on more
    # cases of the race on which the basic prompt is scored first; all that comes is compared with it
    opening: int = 40
    block: int = 8  # cases in a block of the race; each new prompt runs one
    extra: int = 4  # further blocks a step, for the prompts with the highest upper bounds
    growth: float = 0.5  # by how many blocks that grows each step
    reach: float = 1.0  # standard errors of the upper bound, and of the lower bound by which one leads
    shrink: float = 5.0  # cases for which its parent's mean counts beside a prompt's own
    patience: int = 8  # rounds without a new leader or another choice before it stops
    finalists: int = 2  # prompts that are scored on all of dev at the end, beside the basic one
    name: str = "race"
    # in place of blocks, each new prompt is scored on all of dev, and who leads on train too
    whole: bool = False
    first: ClassVar[tuple[str, ...]] = ()  # arms that have a turn in the first step, whoever else has it
    # from the errors of each leader, so that with ``whole`` it meets train too
    learns: ClassVar[bool] = True

    @property
    def races(self) -> bool:
        """Whether the basic prompt is one of the race, and is scored as far as that needs it."""
        return True

    def least_cases(self, job: Job) -> int:
        """Return the cases of the race: it ends where the basic prompt makes no error on them."""
        return min(len(job.train), self.sample) + len(job.dev)

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return the arms, those that are tried first first: itself, unless there are others."""
        return (self,)

    @abstractmethod
    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter new prompts, as :meth:`Arm.propose` does."""

    def proposer_calls(self, job: Job) -> int:
        """Return the most calls to the proposer that the first turn takes; none where prompts are drawn."""
        return 0

    def minimum(self, job: Job) -> int:
        """Return the calls for the opening, the first proposals, the first block of one of them, and both on dev."""
        train = min(self.sample, len(job.train))
        beside = train if self.whole else min(self.opening, train) + min(self.block, train)
        return (beside + 2 * len(job.dev)) * job.calls_per_case + self.proposals_of_first_step(job)

    def proposals_of_first_step(self, job: Job) -> int:
        """Return the most calls to the proposer before the first new prompt is tried."""
        arms = self.arms(job)
        beside = [arm for arm in arms[1:] if arm.name in self.first]
        return sum(arm.proposer_calls(job) for arm in [*arms[:1], *beside])

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Improve on ``start``."""
        finalists = Finalists(job, board, self.finalists)
        with finalists.after():
            track = self._track(job, board, start)
            if start.id != board.basic.id or len(track.order) < ENOUGH or not _flawless(track):
                self._search(track, finalists)

    def _track(self, job: Job, board: Board, start: Candidate) -> Track:
        train, dev = (
            stratified(cases, job.judge.answer, random.Random(f"{part}/{job.seed}"))
            for part, cases in (("race", job.train), ("dev", job.dev))
        )
        train = train[: self.sample]
        if self.whole:
            order, block, opening = [*dev, *train], len(dev), len(dev)
        else:
            order = stratified([*train, *dev], job.judge.answer, random.Random(f"order/{job.seed}"))
            block, opening = max(1, self.block), max(1, self.opening)
        track = Track(job=job, board=board, start=start, order=order, block=block,
                      shrink=self.shrink, reach=self.reach, by_wholes=self.whole)  # fmt: skip
        board.score(board.basic, order[:opening])
        track.run(start)
        if self.whole:
            track.complete()
        return track

    def _search(self, track: Track, finalists: Finalists) -> None:
        job, board, meter = track.job, track.board, track.job.context.meter
        turns, waited, last, begun = Turns(self.arms(job)), 0, (track.start.id, track.start.id), meter.left()
        for step in range(1, self.steps + 1):
            track.step, untried = step, len(turns.untried)
            left = meter.left()
            halved = begun is not None and left is not None and 2 * left < begun
            late = halved or waited >= self.patience or self.steps - step < untried
            made = turns.propose(track, late=late, first=self.first if step == 1 else ())
            for one in made:
                track.run(one)
                job.note(f"step {step}: {board.name(one)}", board.value(one, track.order), kind="candidate")
            if not made and self.whole:
                break  # whoever leads has met all there is
            finalists.keep()
            if not self.whole:
                track.advance(round(self.extra + self.growth * step))
            elif self.learns:
                track.complete()
            leader = track.leader
            turns.note(leader)
            if len(track.open(leader)) < len(track.open(board.basic)):
                track.run(board.basic)
            board.score(board.basic, [case for case in job.dev if board.outcome(leader, case)])
            track.around = leader
            best = board.best(job.dev) or track.start
            new = (best.id, leader.id) != last or len(turns.untried) < untried
            waited, last = 0 if new else waited + 1, (best.id, leader.id)
            job.note(
                f"step {step}: best prompt so far {board.name(best)}, tried on {board.met(best, job.dev)} dev cases",
                board.value(best, job.dev),
                kind="step",
            )
            if waited >= self.patience and not turns.untried:
                break


def _flawless(track: Track) -> bool:
    """Whether the basic prompt makes no error; it meets further cases only as long as it makes none."""
    board, job = track.board, track.job
    for block in blocks(track.order, track.block):
        if any(outcome.feedback for outcome in board.score(board.basic, block)):
            return False
    job.note("the basic prompt makes no error on train and dev: there is nothing to improve")
    return True
